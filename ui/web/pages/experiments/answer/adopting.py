"""Making a variant the default: as a version of its chart, with the difference, or as settings."""

from __future__ import annotations

from engine import EngineError
from engine.operations.experiments import (
    AdoptionKind,
    AdoptionPlan,
    Experiment,
    LaunchDefault,
    Variant,
    quoted,
)
from ui.app.backend import Backend
from ui.formatting.experiments.adoption import adoption_difference
from ui.formatting.experiments.words import variant_words
from ui.formatting.files import diff_rows
from ui.web.components.dialogs import (
    await_answer,
    confirm,
    dialog_frame,
    notify_error,
    notify_errors,
)
from ui.web.components.elements import Code
from ui.web.components.theme import button, text_notice
from ui.web.components.widgets import Box, Text, text_link
from ui.web.routing import difference_path

SETTINGS = 'Settings of the launch form'


async def adopt(backend: Backend, experiment: Experiment, variant: Variant) -> bool:
    """Ask how a variant is to be the default, and make it that; return whether it is."""
    experiments = backend().experiments
    plan = await notify_errors(experiments.adoption(experiment.id, variant.name))
    kind = await _ask(variant, plan) if plan else None
    if plan is None or kind is None:
        return False
    base = plan.base if kind == 'version' else ''
    adopted = experiments.adopt(experiment.id, variant.name, kind=kind, base=base)
    return await notify_errors(adopted) is not None


async def take_back(backend: Backend, default: LaunchDefault) -> bool:
    """Ask whether a variant is no longer to be the default, and undo it; return whether that was done."""
    text = 'The launch form then starts from the own defaults of the pattern again.'
    if default.version:
        text = f'The version of the chart {default.pattern} before it is then current again; both are kept.'
    if not await confirm(
        f'Undo that {quoted(default.variant)} is the default?', text, yes='Undo', no='Cancel'
    ):
        return False
    try:
        await backend().experiments.reset_default(default.pattern, version=default.version)
    except EngineError as error:
        notify_error(error)
        return False
    return True


async def _ask(variant: Variant, plan: AdoptionPlan) -> AdoptionKind | None:
    """Show what would change, and return how the variant is to be the default; None not at all."""
    with dialog_frame(f'Make {quoted(variant.name)} the default?', 'wide') as dialog:
        Text('p', f'It differs by: {variant_words(variant)}.', dir='auto')
        with Box('adopt-choice', 'section', aria_label='Version of the chart'):
            _draw_version(plan)
        with Box('adopt-choice', 'section', aria_label=SETTINGS):
            Text('h3', SETTINGS)
            words = f'The launch form then starts from: {variant_words(variant)}. Other ways to start do not.'
            Text('p', words, dir='auto')
        with Box('dialog-actions'):
            button('Cancel', autofocus='').on('click', lambda: dialog.submit(None))
            as_settings = button('Use as settings', kind='primary' if plan.problems else '')
            as_settings.on('click', lambda: dialog.submit('settings'))
            if not plan.problems:
                words = 'Make version current' if plan.restores else 'Save as version'
                as_version = button(words, kind='primary')
                as_version.on('click', lambda: dialog.submit('version'))
    answer = await await_answer(dialog)
    return 'version' if answer == 'version' else 'settings' if answer == 'settings' else None


def _draw_version(plan: AdoptionPlan) -> None:
    Text('h3', 'Earlier version of the chart' if plan.restores else 'New version of the chart')
    if plan.problems:
        Text('p', 'It cannot become a version of the chart:')
        with Box('details-list', 'ul'):
            for field, problem in plan.problems.items():
                with Box(tag='li'):
                    if field not in ('pattern', 'variant'):
                        Text('b', f'{field}: ')
                    Text('span', problem, dir='auto')
        return
    for warning in plan.warnings:
        text_notice('info', 'history', warning)
    if plan.restores:
        with Box(tag='p'):
            Text('span', 'It is then current again, for all runs that start from then on. ')
            text_link(difference_path(plan.pattern, plan.base, plan.restores), 'Difference on the diagram')
    else:
        Text('p', 'All runs that start from then on have it. Its note names the experiment, and links to it.')
    Code().show(diff_rows('\n'.join(adoption_difference(plan))), f'What changes in {plan.pattern}')
