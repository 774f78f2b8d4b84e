"""Experiments in the terminal and as JUnit reports."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from engine.operations import ExperimentResult
from engine.operations.experiments import Cell, Experiment
from engine.records import Status
from ui.formatting.plain_text import strip_control
from ui.formatting.usage import dollars
from ui.formatting.values import count


def result_lines(result: ExperimentResult) -> Iterator[str]:
    """Yield the scores of all variants, and what they say."""
    experiment = result.experiment
    why = f': {experiment.reason}' if experiment.reason else ''
    yield f'{experiment.name} ({experiment.id}) is {experiment.state}{why}'
    for item in result.answer.variants:
        scores = ', '.join(
            f'{score.measure} {"not scored" if score.mean is None else f"{score.mean:.3g}"}'
            for score in item.scores
        )
        cost = f', {dollars(item.dollars)} a run' if item.dollars else ''
        failed = f', {item.failed} failed' if item.failed else ''
        yield f'  {item.variant}: {scores} in {count(item.runs, "run")}{failed}{cost}'
    yield result.answer.text


def junit_of(result: ExperimentResult, fail_under: float | None, about: str = '') -> bytes:
    """Return a JUnit report: a suite for each variant, with a test for each run.

    A failed run is an error, and one without a score is skipped. Of the variant `about`, by default the
    first, one whose score is worse than `fail_under` has failed.
    """
    root = ET.Element('testsuites', name=_text(result.experiment.name))
    for variant in result.experiment.variants:
        cells = [cell for cell in result.cells if cell.variant == variant.name and cell.state == 'scored']
        limit = fail_under if variant.name == (about or result.experiment.variants[0].name) else None
        suite = ET.SubElement(root, 'testsuite', name=_text(variant.name))
        counts = {'tests': 0, 'failures': 0, 'errors': 0, 'skipped': 0}
        for cell in cells:
            case = ET.SubElement(
                suite,
                'testcase',
                name=_text(f'{cell.case} ({cell.repeat})' if result.experiment.repeats > 1 else cell.case),
                classname=_text(f'{result.experiment.name}.{variant.name}'),
                time=f'{cell.seconds:.3f}',
            )
            counts['tests'] += 1
            if problem := _problem(result.experiment, cell, limit):
                kind, text = problem
                ET.SubElement(case, kind, message=_text(text))
                counts[{'failure': 'failures', 'error': 'errors'}.get(kind, kind)] += 1
        suite.attrib.update({name: str(number) for name, number in counts.items()})
    report: bytes = ET.tostring(root, encoding='utf-8', xml_declaration=True)
    return report


def _problem(experiment: Experiment, cell: Cell, limit: float | None) -> tuple[str, str] | None:
    """Return the element that says what is wrong with a run, and its message."""
    spec = experiment.scorers[0]
    score = cell.scores.get(spec.name)
    is_wanted = spec.kind == 'status' and score is not None and bool(score.value)
    if cell.status is not Status.DONE and not is_wanted:
        return 'error', cell.error or f'the run is {cell.status}'
    if score is None or score.value is None:
        return 'skipped', score.reason if score else 'not scored'
    is_lower_better = spec.better == 'lower'
    if limit is not None and (score.value > limit if is_lower_better else score.value < limit):
        return 'failure', f'{spec.name} {score.value:.3g}: {score.reason}'
    return None


def _text(text: str) -> str:
    return strip_control(text)[:2_000]
