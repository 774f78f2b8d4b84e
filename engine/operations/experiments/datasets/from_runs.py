"""Cases from runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.operations.experiments.datasets.records import Case
from engine.records import FileContent, RunInfo, Status


def case_of(
    info: RunInfo,
    answer: Any = None,
    expectation: Any = None,
    files: Mapping[str, FileContent] | None = None,
) -> Case:
    """Return the case that a run was, whether it succeeded or not.

    Args:
        info: the run.
        answer: its result, which is expected again if the run is done.
        expectation: what a person expects instead.
        files: those that it was started with.
    """
    expected = answer if expectation is None and info.status is Status.DONE else expectation
    return Case(
        id=info.id,
        parameters=dict(info.parameters),
        files=files or {},
        expectation=expected,
        source=info.id,
    )
