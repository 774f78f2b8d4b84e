"""The page of a new experiment, which may begin with a run, several runs or an earlier experiment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine import Catalog, EngineError
from engine.errors import UnknownPattern
from engine.operations.experiments import Variant, change_between
from engine.records import Launch, RunId, RunInfo
from engine.workspace import read_given_files
from ui.app.backend import Backend
from ui.formatting.experiments.words import AS_IT_IS, free_name, proposed_name
from ui.web.components.theme import FORM_KEYS, frame, page_head
from ui.web.pages.experiments.new.form import RUNNING, Draft, NewExperiment
from ui.web.pages.shared import errors
from ui.web.pages.shared.launching.samples import FIRST
from ui.web.routing import serve_page

MAX_RUNS = 12
"""Maximum number of runs that become variants."""


def register(backend: Backend) -> None:
    """Serve the page; `?pattern=`, `?runs=A,B` and `?after=` fill it in."""

    @serve_page('/experiments/new', 'New experiment')
    async def new(pattern: str = '', runs: str = '', after: str = '', dataset: str = '') -> None:
        try:
            draft = await _draft(backend, pattern, [run for run in runs.split(',') if run], after)
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(here='/experiments', of_runs=True, keys=FORM_KEYS):
            summary = 'Run variants of a workflow on the same cases: which is better, and is that clear?'
            title = 'Run again what has changed' if after else 'New experiment'
            page_head(title, summary, back=('/experiments', 'Experiments'))
            form = NewExperiment(backend, replace(draft, dataset=dataset or draft.dataset))
        await form.load()


async def _draft(backend: Backend, pattern: str, runs: list[str], after: str) -> Draft:
    """Return what the form begins with. Raises `EngineError`."""
    if after:
        old = await backend().experiments.get(after)
        return Draft(
            name=old.name,
            dataset=old.dataset,
            version=old.version,
            split=old.split,
            base=old.base,
            variants=old.variants,
            scorers=old.scorers,
            settings={name: getattr(old, name) for name in RUNNING},
            budget=old.budget,
            after=after,
        )
    if runs:
        infos = [await backend().info(RunId(run)) for run in runs[:MAX_RUNS]]
        files = [await read_given_files(backend().workspaces, info) for info in infos]
        # The tags are left out: by them, what a run belonged to before would find the new runs, too.
        launches = [
            replace(
                Launch.of(info), title='', tags=(), replay='', paused=False, breakpoints=(), files=given,
                version=version,
            )
            for info, given, version in zip(infos, files, _versions(backend().catalog, infos), strict=True)
        ]  # fmt: skip
        return draft_of([info.title or info.id for info in infos], launches)
    names = backend().catalog.patterns
    chosen = next((name for name in (pattern, FIRST, *names) if name in names), '')
    return Draft(base=Launch(pattern=chosen))


def draft_of(titles: list[str], launches: list[Launch]) -> Draft:
    """Return a draft in which each run is a variant, and the first is the base.

    A variant is named by its change; one that starts like the first run, such as a fork with another memory,
    by the title of its run, and so is the first if its run was not started as its pattern is.
    """
    base, *others = launches
    variants = [Variant(name=titles[0] if base.models or base.options else AS_IT_IS)]
    for title, launch in zip(titles[1:], others, strict=True):
        change, taken = change_between(base, launch), {variant.name for variant in variants}
        name = proposed_name(change, taken) if change else free_name(title, taken)
        variants.append(Variant(name=name, change=change))
    return Draft(name=titles[0], base=base, variants=tuple(variants))


def _versions(catalog: Catalog, infos: Sequence[RunInfo]) -> Iterator[str]:
    """Yield the version that each run had where they differ in that and it is still there, or '', today's."""
    versions = {(info.pattern, info.version) for info in infos}
    for info in infos:
        differs = len([pattern for pattern, _ in versions if pattern == info.pattern]) > 1
        yield info.version if differs and _is_known(catalog, info) else ''


def _is_known(catalog: Catalog, info: RunInfo) -> bool:
    try:
        catalog.pattern(info.pattern, info.version)
    except UnknownPattern:
        return False
    return True
