"""The options of commands that launch runs, now or later."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from engine.models import read_stub_file
from engine.records import Launch
from ui.cli.execution.breakpoints import parse_breakpoint
from ui.cli.execution.given_files import read_files
from ui.cli.inputs import parse_data
from ui.cli.options import Command
from ui.cli.record_options import OptionNote, RecordOption, record_options, with_options

OWN: Final = ('pattern', 'parameters')
"""Fields that `hemicycle run` takes in its own way."""
AGAIN, DEBUG, LIMITS = 'Reproducibility', 'Debugging', 'Budget'
NOTES: Final[Mapping[str, OptionNote]] = {
    'parameters': OptionNote(name='set', metavar='NAME=VALUE', parse=parse_data),
    'effort': OptionNote(metavar='[ROLE=]LEVEL'),
    'instructions': OptionNote(metavar='[ROLE=]TEXT'),
    'tools': OptionNote(metavar='[ROLE=]NAMES'),
    'files': OptionNote(
        metavar='PATH[=NAME]',
        hint=': a file, or a folder with all that is in it; under its own name, or another one.',
        parse=read_files,
    ),
    'budget': OptionNote(panel=LIMITS),
    'record': OptionNote(panel=AGAIN, variable='HEMICYCLE_RECORD'),
    'replay': OptionNote(panel=AGAIN, metavar='RUN', hint=' Options not given are as in that run.'),
    'stubs': OptionNote(
        panel=AGAIN,
        metavar='FILE',
        hint=' Read from a file, YAML or JSON.',
        once=True,
        parse=read_stub_file,
    ),
    'seed': OptionNote(panel=AGAIN),
    'paused': OptionNote(panel=DEBUG),
    'breakpoints': OptionNote(
        name='break',
        panel=DEBUG,
        metavar='WHERE',
        hint=': `enter STATE`, `leave STATE`, `edge A>B`, and `when CONDITION`, or both; see'
        ' `hemicycle breakpoint add --help`.',
        parse=lambda texts: [parse_breakpoint(text) for text in texts],
    ),
}


def launch_options(record: Any, without: Collection[str] = ()) -> list[RecordOption]:
    """Return the options for the fields of a launch."""
    return record_options(record, without=without, notes=NOTES)


def with_launch(*without: str) -> Callable[[Command], Command]:
    """Add an option for each field of `Launch` to a command, in place of its parameter `launch`.

    Args:
        without: fields for which the command has no option.
    """
    return with_options('launch', launch_options(Launch, without))
