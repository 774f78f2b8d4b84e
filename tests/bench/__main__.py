"""Runs the benchmarks and prints their table: `python -m tests.bench --help`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from tests.bench import activities, decided, durable, histories, idle, start, whole
from tests.bench.pages import api, debugger, live, opening, panes, stepping, traffic, transcript, wall
from tests.bench.table import Row, machine, markdown, note, text
from ui.server.tuning import tune


async def _decided(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    for row in decided.measure(fast=fast):
        yield row


TOPICS: dict[str, Callable[..., AsyncIterator[Row]]] = {
    'decided': _decided,
    'durable': durable.one_run,
    'many': durable.many_runs,
    'activities': activities.measure,
    'whole': whole.measure,
    'agents': activities.agents,
    'conversation': activities.conversation,
    'histories': histories.measure,
    'live': live.measure,
    'panes': panes.measure,
    'wall': wall.measure,
    'transcript': transcript.measure,
    'debugger': debugger.measure,
    'opening': opening.measure,
    'stepping': stepping.measure,
    'traffic': traffic.measure,
    'api': api.measure,
    'idle': idle.measure,
    'start': start.measure,
}
"""In the order of the table."""


async def measure(names: Sequence[str], *, fast: bool) -> list[Row]:
    """Run these topics, each with a new folder."""
    found: list[Row] = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix='hemicycle-bench-') as folder:
            async for row in TOPICS[name](Path(folder), fast=fast):
                found.append(row)
                print(f'  {row.name}: {row.cells(verdict=False)[1]}', file=sys.stderr, flush=True)
    return found


def event_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The loop that the server runs on: uvloop where it is installed, as it is with NiceGUI."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def main() -> int:
    """The command; 1 where a bar does not hold."""
    parser = argparse.ArgumentParser(prog='python -m tests.bench', description=__doc__)
    parser.add_argument('--fast', action='store_true', help='small sizes, to see that it runs; no verdict')
    parser.add_argument('--only', action='append', choices=TOPICS, help='this topic; may be repeated')
    parser.add_argument('--skip', action='append', choices=TOPICS, default=[], help='not this topic')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write all numbers there as well')
    parser.add_argument('--markdown', action='store_true', help='print the table as Markdown')
    options = parser.parse_args()
    tune()  # as the server does
    names = [name for name in options.only or TOPICS if name not in options.skip]
    found = machine() | {'loop': 'uvloop' if event_loop() else 'asyncio'}
    with asyncio.Runner(loop_factory=event_loop()) as runner:
        rows = runner.run(measure(names, fast=options.fast))
    print(note(found), end='\n\n')
    print((markdown if options.markdown else text)(rows, verdict=not options.fast))
    if options.json:
        written = {'machine': found, 'fast': options.fast, 'rows': [row.record() for row in rows]}
        options.json.write_text(json.dumps(written, indent=2) + '\n')
    failed = [row.name for row in rows if row.holds is False and not options.fast]
    if failed:
        print(f'\nOver the bar: {"; ".join(failed)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
