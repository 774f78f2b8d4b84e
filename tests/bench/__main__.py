"""Runs the benchmarks and prints their table: `python -m tests.bench --help`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import activities, decided, histories, idle, start, whole
from tests.bench.durable import postgres, sqlite
from tests.bench.fleet import running, watching
from tests.bench.pages import api, debugger, lanes, live, opening, panes, stepping, traffic, transcript, wall
from tests.bench.table import Row, machine, markdown, note, report, text, update_readme
from tests.tree import ROOT
from ui.server.tuning import collect_young_objects, tune

README, BENCHMARKS = ROOT / 'README.md', ROOT / 'assets' / 'BENCHMARKS.md'


async def _measure_decided(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    for row in decided.measure(fast=fast):
        yield row


TOPICS: dict[str, Callable[..., AsyncIterator[Row]]] = {
    'decided': _measure_decided,
    'durable': sqlite.one_run,
    'many': sqlite.many_runs,
    'postgres': postgres.measure,
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
    'lanes': lanes.measure,
    'traffic': traffic.measure,
    'api': api.measure,
    'fleet': running.measure,
    'watching': watching.measure,
    'idle': idle.measure,
    'start': start.measure,
}
"""In the order of the table."""


async def measure(names: Sequence[str], *, fast: bool) -> tuple[list[Row], list[str]]:
    """Run these topics; returns their rows and the topics that failed."""
    rows: list[Row] = []
    broken: list[str] = []
    collecting = asyncio.create_task(collect_young_objects())  # as the server does
    for name in names:
        begun = time.monotonic()
        try:
            with tempfile.TemporaryDirectory(prefix='hemicycle-bench-') as folder:
                async for row in TOPICS[name](Path(folder), fast=fast):
                    rows.append(row)
                    print(f'  {row.name}: {row.cells(verdict=False)[1]}', file=sys.stderr, flush=True)
        except Exception:  # The other topics are still worth running.
            traceback.print_exc()
            broken.append(name)
        print(f'{name}: {time.monotonic() - begun:.0f} seconds', file=sys.stderr, flush=True)
    collecting.cancel()
    return rows, broken


def event_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The server's event loop: uvloop if installed, as it is with NiceGUI."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def main() -> int:
    """The command; returns 1 if a target is not met or something could not be measured."""
    parser = argparse.ArgumentParser(prog='python -m tests.bench', description=__doc__)
    parser.add_argument('--fast', action='store_true', help='small sizes, to see that it runs; no verdict')
    parser.add_argument('--only', action='append', choices=TOPICS, help='this topic; may be repeated')
    parser.add_argument('--skip', action='append', choices=TOPICS, default=[], help='not this topic')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write all numbers there as well')
    parser.add_argument('--markdown', action='store_true', help='print the table as Markdown')
    parser.add_argument(
        '--write',
        action='store_true',
        help='write assets/BENCHMARKS.md and its rows in README.md; whole runs only',
    )
    options = parser.parse_args()
    if options.write and (options.fast or options.only or options.skip):
        parser.error('--write takes no part of a run, and none of small sizes')
    tune()  # as the server does
    names = [name for name in options.only or TOPICS if name not in options.skip]
    machine_info = machine() | {'loop': 'uvloop' if event_loop() else 'asyncio'}
    with asyncio.Runner(loop_factory=event_loop()) as runner:
        rows, broken = runner.run(measure(names, fast=options.fast))
    print(note(machine_info), end='\n\n')
    print((markdown if options.markdown else text)(rows, verdict=not options.fast))
    if options.json:
        record = {'machine': machine_info, 'fast': options.fast, 'rows': [row.record() for row in rows]}
        options.json.write_text(json.dumps(record, indent=2) + '\n')
    if options.write and not broken:
        line = f'Measured on {datetime.now(UTC).date()}: {note(machine_info)}.'
        BENCHMARKS.write_text(report(rows, line), 'utf-8')
        README.write_text(update_readme(README.read_text('utf-8'), rows), 'utf-8')
    failed = [row.name for row in rows if row.met is False and not options.fast]
    if failed:
        print(f'\nOver the target: {"; ".join(failed)}')
    if broken:
        print(f'\nNot measured, since it broke: {", ".join(broken)}')
    return 1 if failed or broken else 0


if __name__ == '__main__':
    sys.exit(main())
