"""Results of single agents with tools: a piece to read, a patch, findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from engine.history import artifacts_of
from engine.patterns import CodeReview, Triage
from engine.records import View
from engine.statechart import read_leniently
from ui.formatting.results.blocks import Block, Fact, Facts, Patch, Points, Prose, Remark, Remarks, Result
from ui.formatting.results.contests import Times
from ui.formatting.values import as_sentence, count

WORDS_A_MINUTE = 220
GRAVITY = ('blocker', 'critical', 'high', 'major', 'medium', 'low', 'minor', 'praise')
"""Severities of findings, the gravest first."""


def read_piece(view: View, field: str, times: Times) -> Result:
    """Return a piece as it would be read, and how long that takes."""
    text = str(view.memory.get(field) or '')
    words = len(re.findall(r'\w+', text))
    minutes = max(1, round(words / WORDS_A_MINUTE))
    return Result(
        headline=f'{count(words, "word")} · {minutes} min read' if text else '',
        main=(Prose(text=text, as_piece=True),) if text else (),
    )


def read_patch(view: View, field: str, times: Times) -> Result:
    """Return a change to a project, with the tests before and after."""
    runs = list(_test_runs(view))
    facts = []
    if len(runs) > 1:
        facts.append(_test_fact('First test run', runs[0]))
    if runs:
        facts.append(_test_fact('Last test run', runs[-1]))
    text = str(view.memory.get(field) or '')
    main: list[Block] = [Prose(text=text)] if text else []
    return Result(main=(*main, Patch(title='The patch')), aside=(Facts(facts=tuple(facts)),) if facts else ())


def read_findings(view: View, field: str, times: Times) -> Result:
    """Return what was found, by file and line."""
    values = {name: artifact.get('value') for (_, name), artifact in artifacts_of(view).items()}
    runs = list(_test_runs(view))
    tests = (Facts(facts=(_test_fact('Tests', runs[-1]),)),) if runs else ()
    if isinstance(values.get('triage'), Mapping):
        triage = read_leniently(Triage, values['triage'])
        remark = Remark(
            file=triage.file,
            line=triage.line,
            severity=triage.severity,
            text=triage.cause,
            suggestion=triage.suggestion,
        )
        evidence = Points(title='Evidence', points=triage.evidence)
        return Result(
            headline=f'{triage.component} is to blame for {triage.test}',
            main=(Remarks(remarks=(remark,)),),
            aside=(*tests, evidence),
        )
    if isinstance(values.get('review'), Mapping):
        review = read_leniently(CodeReview, values['review'])
        remarks = sorted(
            (
                Remark(
                    file=finding.file,
                    line=finding.line,
                    severity=finding.severity,
                    text=finding.problem,
                    suggestion=finding.suggestion,
                )
                for finding in review.findings
            ),
            key=lambda remark: (GRAVITY.index(remark.severity), remark.file, remark.line),
        )
        return Result(
            headline=f'{as_sentence(review.verdict)} {review.summary}',
            main=(Remarks(remarks=tuple(remarks)),),
            aside=tests,
        )
    text = str(view.memory.get(field) or '')
    return Result(main=(Prose(text=text),) if text else (), aside=tests)


def _test_runs(view: View) -> Iterator[str]:
    """Yield the outcome of each run of the tests, on one line."""
    for agent in view.agents.values():
        for message in agent.get('messages') or ():
            for part in message['parts']:
                if part['kind'] == 'result' and part['name'] == 'run_tests':
                    yield str(part['text']).partition('\n')[0]


def _test_fact(name: str, outcome: str) -> Fact:
    went_well = 'passed' in outcome and not re.search(r'\b(failed|errors?)\b', outcome)
    return Fact(name=name, words=outcome, tone='good' if went_well else 'bad')
