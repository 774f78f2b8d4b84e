"""Typed breakpoints, and the terminal's prompt for stepping a run."""

import asyncio
import os
import re
import signal
from typing import Any

import pytest

from engine import Breakpoint, InvalidInput, LocalConductor, SimulatedClock, Status
from engine.journal import Fold
from tests.support.cli import Hemicycle
from tests.support.harness import FakeModel, catalog, pipeline_reply, start_run, until
from ui.cli.execution.breakpoints import format_breakpoint, parse_breakpoint
from ui.cli.execution.follow import follow
from ui.cli.execution.prompt import HELP, SHORT, Prompt
from ui.cli.output.reporters import QuietReporter


@pytest.mark.parametrize(
    ('text', 'item'),
    [
        ('enter reviewing', Breakpoint(enter='reviewing')),
        ('once leave a.b', Breakpoint(leave='a.b', once=True)),
        (
            'region once edge a>b when loops > 2',
            Breakpoint(edge='a>b', when='loops > 2', once=True, stop='region'),
        ),
        ('when "enter x" in text', Breakpoint(when='"enter x" in text')),
    ],
)
def test_breakpoints_are_typed_in_words(text: str, item: Breakpoint) -> None:
    assert parse_breakpoint(text) == item


@pytest.mark.parametrize('text', ['', 'once', 'reviewing', 'enter', 'enter a b', 'when'])
def test_invalid_breakpoints_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match='must be'):
        parse_breakpoint(text)


def test_a_line_describes_a_breakpoint_completely() -> None:
    item = Breakpoint(id='3', enter='a', hits=2, enabled=False, stop='region', problem='why')
    assert (
        format_breakpoint(item)
        == '  3  enter a · hit 2 times · its region alone · disabled · could not be evaluated: why'
    )


class Typist:
    """Types one line after another, and records the output."""

    def __init__(self, *lines: str) -> None:
        self.lines, self.said = list(lines), list[str]()
        self.prompt = Prompt(self.line, self.said.append)

    async def line(self) -> str:
        if not self.lines:
            await asyncio.Event().wait()
        return self.lines.pop(0)


async def type_lines(*lines: str, **start: Any) -> tuple[Typist, Fold]:
    """Control a run by typing, and return the typist and the final state."""
    typist = Typist(*lines)
    model = FakeModel(pipeline_reply)
    async with LocalConductor(catalog=catalog(model), clock=SimulatedClock()) as conductor:
        begin = start_run(conductor, 'pipeline', {'task': 'Compare tea and coffee'}, paused=True, **start)
        await follow(conductor, begin, QuietReporter(), ask=typist.prompt)
        (info,) = (await conductor.runs()).runs
        return typist, await conductor.fold(info.id)


async def test_a_person_steps_in_the_terminal() -> None:
    lines = ['\n', 'o\n', 'b enter reviewing when loops == 1\n', 'l\n', 'c\n', 'd all\n', 'l\n', 'continue\n']
    typist, fold = await type_lines(*lines)
    assert fold.view.status is Status.DONE and not typist.lines
    stops = [line for line in typist.said if line.startswith('paused at step')]
    assert [line.partition(' in ')[2].partition(':')[0] for line in stops] == [
        'researching.thinking',
        'researching.using_tools',
        'analyzing.thinking',
        'reviewing.thinking',
    ]
    assert typist.said.count('  1  enter reviewing when loops == 1') == 2 and 'no breakpoints' in typist.said


async def test_errors_are_printed_and_the_prompt_repeated() -> None:
    lines = ['jump\n', 'help\n', 'pause\n', 'pause none\n', 'b nonsense\n', 'b when price\n', 'd 3\n', 'q\n']
    typist, fold = await type_lines(*lines)
    assert fold.view.status is Status.PAUSED and fold.view.seq == 2
    output = '\n'.join(typist.said)
    for part in (
        "there is no 'jump'",
        HELP,
        'already paused',
        'is not active',
        'must be',
        "no 'price'",
        "'3'",
    ):
        assert part in output
    assert set(SHORT.values()) >= {'in', 'over', 'out', 'continue', 'quit'}


async def test_a_run_can_be_cancelled_at_the_prompt() -> None:
    typist, cancelled = Typist(), asyncio.Event()
    async with LocalConductor(
        catalog=catalog(FakeModel(pipeline_reply)), clock=SimulatedClock()
    ) as conductor:
        begin = start_run(conductor, 'pipeline', {'task': 'Compare tea and coffee'}, paused=True)

        class Told(QuietReporter):
            def notice(self, text: str) -> None:
                cancelled.set()

        following = asyncio.ensure_future(follow(conductor, begin, Told(), ask=typist.prompt))
        await until(lambda: typist.said)
        os.kill(os.getpid(), signal.SIGINT)
        await following
        (info,) = (await conductor.runs()).runs
        assert info.status is Status.CANCELLED and cancelled.is_set()


def test_a_condition_is_tried_at_the_present_step(hemicycle: Hemicycle) -> None:
    assert hemicycle('run', 'pipeline', '--task', 'Tea?', '--approvals', 'all', '-q').exit_code == 4
    tried = hemicycle('breakpoint', 'test', 'last', "event == 'done'")
    assert tried.exit_code == 0, tried.output
    outcome, *values = tried.stdout.splitlines()
    assert re.fullmatch(r'(yes|no), at step \d+', outcome) and values[0].startswith('    event = ')
    assert hemicycle('breakpoint', 'list', 'last').stdout == '', 'nothing is set'
    assert 'column' in hemicycle('breakpoint', 'test', 'last', 'event ==').stderr
