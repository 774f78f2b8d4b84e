"""The table of commands, and the group that loads each command only when it is called."""

from __future__ import annotations

import importlib
import resource
from typing import Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typing_extensions import override

from ui.cli.exit_codes import ExitCode


class Command(NamedTuple):
    """Where the help lists a command, and where its code is."""

    panel: str
    """The part of the help that lists it."""
    place: str
    """Its module in this folder, and the function."""
    summary: str
    """The first paragraph of its help."""
    epilog: str = 'EPILOG'
    """The name of its examples in that module."""


COMMANDS = {
    'serve': Command(
        'Run', 'operation.serve:serve', 'Serve the dashboard, and continue every run whose process has died.'
    ),
    'mcp': Command(
        'Run', 'operation.mcp:mcp', 'Serve a chat agent over standard input and output, as an MCP server.'
    ),
    'acp': Command(
        'Run', 'operation.acp:acp', 'Serve an editor over standard input and output, as a coding agent.'
    ),
    'worker': Command(
        'Run', 'operation.worker:worker', 'Drive the runs that Temporal assigns, until stopped.'
    ),
    'run': Command('Run', 'execution.run:run', 'Start a run, and show it until it ends.'),
    'sign-in': Command(
        'Run', 'operation.sign_in:sign_in', "Sign in to an MCP server with this machine's browser."
    ),
    'resume': Command(
        'Run',
        'execution.resume:resume',
        'Continue an unfinished run that no process is executing, and show it until it ends.',
    ),
    'send': Command(
        'Run',
        'execution.send:send',
        'Send an event to an unfinished run, and show the run until it ends or waits again.',
    ),
    'inbox': Command(
        'Run',
        'services.inbox:inbox',
        'List and answer the questions of all runs; assign and snooze them.',
    ),
    'fork': Command(
        'Run',
        'execution.fork:fork',
        'Start a new run from a step of another run, with changes; the original is not touched.',
        'FORK',
    ),
    'variants': Command(
        'Run',
        'execution.variants:variants',
        'Fork several variants of a run at once, and wait until each has ended or waits.',
    ),
    'send-back': Command(
        'Run',
        'execution.send_back:send_back',
        "Send an agent's work back to it with instructions: a fork from its last turn, shown until it ends.",
    ),
    'rerun': Command(
        'Run',
        'execution.fork:rerun',
        'Run again from the first step with the same parameters, models, seed, options and budget.',
        'RERUN',
    ),
    'retry': Command(
        'Run',
        'execution.fork:retry',
        'Retry a failed or cancelled run from its last good step, in a fork.',
        'RETRY',
    ),
    'step': Command(
        'Debug',
        'execution.step:step',
        'Advance an unfinished run by one step, then release it.',
        'STEP_EPILOG',
    ),
    'pause': Command(
        'Debug',
        'execution.step:pause',
        'Pause a run, or one of its regions.',
        'PAUSE_EPILOG',
    ),
    'break': Command('Debug', 'execution.break_:break_', 'Set, remove, list or try breakpoints of a run.'),
    'runs': Command(
        'Inspect', 'history.runs:runs', 'List runs, newest first. Works while a server is running.'
    ),
    'show': Command(
        'Inspect',
        'history.show:show',
        'Show a run: its states, its steps with the guards evaluated, and what its agents said.',
    ),
    'files': Command(
        'Inspect',
        'history.files:files',
        "List the files of a run's agent, or save them to a folder.",
        'FILES',
    ),
    'artifacts': Command(
        'Inspect',
        'history.artifacts:artifacts',
        "List the named results that a run's agents made, print one, or save them to a folder.",
    ),
    'diff': Command(
        'Inspect',
        'history.files:diff',
        'Print as a patch what an agent changed in the project it was given.',
        'DIFF',
    ),
    'merge': Command(
        'Inspect',
        'history.merge:merge',
        'Merge the work of agents into a branch of your repository, or print it as a patch.',
    ),
    'lineage': Command(
        'Inspect',
        'history.lineage:lineage',
        "Show a run's fork tree: the runs it was forked from, and all their forks, reruns and retries.",
    ),
    'compare': Command(
        'Inspect',
        'history.compare:compare',
        'Compare two runs, A and B: where they first diverge and why, and how their figures differ.',
    ),
    'traffic': Command(
        'Inspect',
        'catalog.traffic:traffic',
        'Show how often runs took each edge, how long they stayed in each state, and where they failed.',
    ),
    'save-test': Command(
        'Inspect',
        'history.check:save_test',
        'Save a run as a test: it expects what the run did, and replays its recorded replies.',
        'SAVE',
    ),
    'check': Command(
        'Inspect',
        'history.check:check',
        'Replay saved tests through the current patterns: no model, tool or network is needed.',
        'CHECK',
    ),
    'audit': Command(
        'Inspect',
        'history.audit:audit',
        "Fire a run's recorded events through a fresh chart, and compare every step with the recorded one.",
    ),
    'edit': Command(
        'Organize',
        'history.annotate:edit',
        'Change title, tags and note of runs, and who can see them.',
        'EDIT',
    ),
    'note': Command(
        'Organize',
        'history.annotate:note',
        'Add, change or remove a note on a step of a run; with no option, list the notes.',
        'NOTE',
    ),
    'star': Command(
        'Organize',
        'history.annotate:star',
        'Star runs to find them again; the retention policy never deletes them.',
        'STAR',
    ),
    'pin': Command(
        'Organize',
        'history.annotate:pin',
        'Pin runs to the top of the list; the retention policy never deletes them.',
        'PIN',
    ),
    'winner': Command(
        'Organize',
        'history.annotate:winner',
        'Mark a run as the best of the variants it was forked with.',
        'WINNER',
    ),
    'delete': Command(
        'Organize',
        'history.retention:delete',
        'Delete runs that have ended; they can be restored for a while, by default for 7 days.',
        'DELETE',
    ),
    'restore': Command(
        'Organize', 'history.retention:restore', 'Restore deleted runs to the list.', 'RESTORE'
    ),
    'purge': Command(
        'Organize',
        'history.retention:purge',
        'Permanently remove deleted runs, with their histories, files and recordings.',
        'PURGE',
    ),
    'retain': Command(
        'Organize',
        'history.retention:retain',
        'Apply the retention policy: delete what it selects, and purge what was deleted long enough ago.',
        'RETAIN',
    ),
    'export': Command(
        'Share',
        'history.export:export',
        'Export a run to a file for others. Keys and other secrets known to this machine are removed.',
    ),
    'import': Command(
        'Share',
        'history.import_:import_runs',
        'Import the runs of bundles: each as a whole or not at all. Nothing here is overwritten.',
    ),
    'schedule': Command(
        'Operate',
        'services.schedule:schedule',
        'Manage the schedules, which start runs by the clock; a server has to be running.',
    ),
    'trigger': Command(
        'Operate',
        'services.trigger:trigger',
        'Manage the triggers, which start runs when a webhook or a file arrives.',
    ),
    'destination': Command(
        'Operate',
        'services.destination:destination',
        'Manage the destinations of notifications: webhooks, Slack and e-mail.',
    ),
    'message': Command(
        'Operate',
        'services.message:message',
        'List the notifications with their delivery attempts; send them again.',
    ),
    'doctor': Command(
        'Operate',
        'operation.doctor:doctor',
        'Check this installation: storage, sandbox, plug-ins, accounts, mail, schedules; suggest fixes.',
    ),
    'backup': Command(
        'Operate',
        'operation.backup:backup',
        'Write all runs and their files to one archive, even while a server is running.',
        'BACKUP',
    ),
    'restore-backup': Command(
        'Operate',
        'operation.backup:restore_backup',
        'Restore a backup where there is no database yet: all of it or nothing. Nothing is overwritten.',
        'RESTORE',
    ),
    'copy-database': Command(
        'Operate',
        'operation.copy_database:copy_database',
        'Copy a whole database into an empty one: from SQLite to PostgreSQL, or back.',
    ),
    'workers': Command(
        'Operate',
        'operation.workers:workers',
        'List the workers of a fleet and the runs that wait for one; drain workers.',
    ),
    'user': Command(
        'Operate', 'operation.accounts:user', 'Manage accounts: people and programs that can log in.'
    ),
    'token': Command('Operate', 'operation.accounts:token', 'Manage the tokens that programs log in with.'),
    'log': Command(
        'Operate',
        'operation.accounts:log',
        'Show who did what: logins, launches, answers, exports, changes to settings and accounts.',
        'LOG',
    ),
    'tool': Command('Inspect', 'catalog.tool:tool', 'List and try the tools that agents can use.'),
    'endpoint': Command(
        'Operate',
        'catalog.endpoint:endpoint',
        'List, test, add, change and remove the endpoints of models.',
    ),
    'mcp-server': Command(
        'Operate',
        'catalog.mcp_server:mcp_server',
        'List, test, add, change and remove the MCP servers whose tools agents use.',
    ),
    'agent': Command(
        'Operate',
        'catalog.agent:agent',
        'List and test coding agents, which can take the place of a model.',
    ),
    'patterns': Command(
        'Inspect',
        'catalog.patterns:patterns',
        'List patterns with their parameters, and files that could not be loaded.',
    ),
    'diagram': Command(
        'Inspect',
        'catalog.diagram:diagram',
        'Draw the chart of a pattern with these parameters, without running it.',
    ),
}
"""By name, in the order of the help."""

MIN_MEMORY, SERVER_MEMORY = 512, 1_024
"""Minimum address space for a command, and for a server with its threads, in megabytes."""


TYPES = {
    **dict.fromkeys(('int', 'int range'), 'N'),
    **dict.fromkeys(('float', 'float range'), 'NUMBER'),
    'bool': '',
    'path': 'FILE',
    'str': 'TEXT',
}


def name_type(option: Any, ctx: Any) -> str:
    """Return an option's type for its help: Typer would show `<list[str]>`, and `<bool>` for a flag."""
    type_name = str(option.display_type(ctx) or '').strip('<>').removeprefix('list[').removesuffix(']')
    name = TYPES.get(type_name, type_name)
    if isinstance(option, TyperArgument):  # its name is clear enough
        return name if '|' in name else ''
    return str(option.metavar or name)


for kind in (TyperOption, TyperArgument):
    setattr(kind, 'display_type_rich', name_type)  # noqa: B010


class CommandGroup(TyperGroup):
    """The commands, with errors turned into one line on standard error and an exit code."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, command in COMMANDS.items():
            listed = TyperCommand(name, help=command.summary, rich_help_panel=command.panel)
            self.add_command(listed)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the arguments call, and load it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in ('serve', 'worker'):
            _check_memory(SERVER_MEMORY)
        return name, load(name) if name in COMMANDS else command, rest

    @override
    def invoke(self, ctx: Any) -> Any:
        _check_memory(MIN_MEMORY)
        from engine import EngineError  # Slow to import, and not needed for the help.
        from ui.cli.output.errors import exit_code, print_error

        try:
            return super().invoke(ctx)
        except EngineError as error:
            print_error(str(error))
            raise typer.Exit(exit_code(error)) from None
        except BrokenPipeError:
            raise  # Typer handles it: the reader of our output has closed the pipe.
        except OSError as error:
            problem = error.strerror or str(error)
            print_error(f'{error.filename}: {problem}' if error.filename else problem)
            raise typer.Exit(ExitCode.STORAGE) from None


def _check_memory(megabytes: int) -> None:
    """Exit if this process may use less memory: later imports could fail anywhere."""
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0] >> 20
    if 0 <= allowed < megabytes:  # A limit of -1 is none.
        problem = f'{megabytes:,} MB of address space are needed, and {allowed:,} MB are allowed'
        typer.echo(f'hemicycle: not enough memory: {problem} (ulimit -v)', err=True)
        raise typer.Exit(ExitCode.REFUSED)


def load(name: str | None) -> Any:
    """Import the module of a command, and return the command with its options."""
    assert name is not None
    module, function = COMMANDS[name].place.split(':')
    place = importlib.import_module(f'{__package__}.{module}')
    command = getattr(place, function)
    if isinstance(command, typer.Typer):
        return typer.main.get_command(command)
    alone = typer.Typer(
        add_completion=False, rich_markup_mode='markdown', pretty_exceptions_show_locals=False
    )
    epilog = getattr(place, COMMANDS[name].epilog)
    alone.command(name, epilog=epilog)(command)
    return typer.main.get_command(alone)
