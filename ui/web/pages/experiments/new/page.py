"""The page of a new experiment, which may begin with a run, several runs or an earlier experiment."""

from __future__ import annotations

from dataclasses import replace

from engine import EngineError
from engine.operations.experiments import Variant, change_between
from engine.records import Launch, RunId
from engine.workspace import read_given_files
from ui.app.backend import Backend
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
        launches = [
            replace(Launch.of(info), title='', replay='', paused=False, breakpoints=(), files=given)
            for info, given in zip(infos, files, strict=True)
        ]
        return draft_of([info.title or info.id for info in infos], launches)
    names = backend().catalog.patterns
    chosen = next((name for name in (pattern, FIRST, *names) if name in names), '')
    return Draft(base=Launch(pattern=chosen))


def draft_of(titles: list[str], launches: list[Launch]) -> Draft:
    """Return a draft in which each run is a variant, named by its title, and the first is the base."""
    base, *others = launches
    names: dict[str, None] = {}
    for number, title in enumerate(titles, start=1):
        names[title if title not in names else f'{title} ({number})'] = None
    first, *more = names
    return Draft(
        name=first,
        base=base,
        variants=(
            Variant(name=first),
            *(
                Variant(name=name, change=change_between(base, launch))
                for name, launch in zip(more, others, strict=True)
            ),
        ),
    )
