"""The table of commands, and the groups that load each command only when it is called."""

from __future__ import annotations

import importlib
import resource
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typing_extensions import override

from ui.cli.exit_codes import ExitCode


class Verb(NamedTuple):
    """A command at the top."""

    place: str
    summary: str
    """The first paragraph of its help, which the list of commands shows without importing it."""


class Noun(NamedTuple):
    """A group: what commands are about."""

    summary: str
    commands: Mapping[str, str | Noun]
    """By name: where the command is, or a noun that is a part of this one."""


Entry: TypeAlias = Verb | Noun | str
"""A place is a module in this folder, and a function in it. The module's `EPILOG` has the examples."""

PANELS: dict[str, dict[str, Verb | Noun]] = {
    'Every day': {
        'serve': Verb(
            'operation.serve:serve',
            'Serve the dashboard, and continue every run whose process has died.',
        ),
        'run': Verb('execution.run:run', 'Start a run, and show it until it ends.'),
        'show': Verb(
            'history.show:show',
            'Show a run: its states, its steps with the guards evaluated, and what its agents said.',
        ),
        'send': Verb(
            'execution.send:send',
            'Send an event to an unfinished run, and show the run until it ends or waits again.',
        ),
        'resume': Verb(
            'execution.resume:resume',
            'Continue an unfinished run that no process is executing, and show it until it ends.',
        ),
        'step': Verb('execution.step:step', 'Advance an unfinished run by one step, then release it.'),
        'pause': Verb('execution.step:pause', 'Pause a run, or one of its regions.'),
        'doctor': Verb(
            'operation.doctor:doctor',
            'Check this installation: storage, sandbox, plug-ins, accounts, mail, schedules; suggest fixes.',
        ),
    },
    'Runs': {
        'runs': Noun(
            'Find, label, compare, merge, share and delete runs.',
            {
                'list': 'history.runs:list_runs',
                'change': 'history.annotate:change',
                'compare': 'history.compare:compare',
                'audit': 'history.audit:audit',
                'merge': 'history.merge:merge',
                'export': 'history.export:export',
                'import': 'history.import_:import_runs',
                'remove': 'history.retention:remove',
                'restore': 'history.retention:restore',
                'purge': 'history.retention:purge',
                'retain': 'history.retention:retain',
                'note': Noun(
                    'Manage the notes on the steps of a run.',
                    {
                        'list': 'history.notes:list_notes',
                        'add': 'history.notes:add',
                        'change': 'history.notes:change',
                        'remove': 'history.notes:remove',
                    },
                ),
                'file': Noun(
                    "List, save and compare the files of a run's agents.",
                    {
                        'list': 'history.files:list_files',
                        'save': 'history.files:save',
                        'diff': 'history.files:diff',
                    },
                ),
                'artifact': Noun(
                    "List, show and save the named results that a run's agents made.",
                    {
                        'list': 'history.artifacts:list_artifacts',
                        'show': 'history.artifacts:show',
                        'save': 'history.artifacts:save',
                    },
                ),
            },
        ),
        'inbox': Noun(
            'Answer, assign and snooze the questions of all runs.',
            {
                'list': 'services.inbox:list_questions',
                'show': 'services.inbox:show',
                'answer': 'services.inbox:answer',
                'assign': 'services.inbox:assign',
                'snooze': 'services.inbox:snooze',
            },
        ),
        'fork': Noun(
            'Start runs from other runs, and see how they are related.',
            {
                'start': 'execution.fork:start',
                'rerun': 'execution.fork:rerun',
                'retry': 'execution.fork:retry',
                'send-back': 'execution.send_back:send_back',
                'variants': 'execution.variants:variants',
                'list': 'history.lineage:lineage',
                'choose': 'history.annotate:choose',
            },
        ),
        'breakpoint': Noun(
            'Manage the breakpoints of a run.',
            {
                'list': 'execution.breakpoints:list_breakpoints',
                'add': 'execution.breakpoints:add',
                'remove': 'execution.breakpoints:remove',
                'test': 'execution.breakpoints:test',
            },
        ),
        'experiment': Noun(
            'Run variants of a workflow on the same cases, and see which is better.',
            {
                'run': 'services.experiment:run',
                'list': 'services.experiment:list_experiments',
                'show': 'services.experiment:show',
                'pause': 'services.experiment:pause',
                'resume': 'services.experiment:resume',
                'cancel': 'services.experiment:cancel',
                'rescore': 'services.experiment:rescore',
                'mark': 'services.experiment:mark',
                'adopt': 'services.experiment:adopt',
                'export': 'services.experiment:export',
                'remove': 'services.experiment:remove',
            },
        ),
        'dataset': Noun(
            'Manage the datasets, which have the cases of experiments.',
            {
                'import': 'services.dataset:import_file',
                'list': 'services.dataset:list_datasets',
                'show': 'services.dataset:show',
                'export': 'services.dataset:export',
                'remove': 'services.dataset:remove',
            },
        ),
        'test': Noun(
            'Save runs as tests, and check the patterns with them.',
            {'save': 'history.check:save', 'check': 'history.check:check'},
        ),
    },
    'What runs use': {
        'pattern': Noun(
            'List, draw and rehearse patterns, and show their traffic.',
            {
                'list': 'catalog.patterns:list_patterns',
                'draw': 'catalog.diagram:draw',
                'rehearse': 'catalog.rehearse:rehearse',
                'traffic': 'catalog.traffic:traffic',
            },
        ),
        'chart': Noun(
            'List, check and save charts that are files, and manage their versions.',
            {
                'list': 'catalog.chart:list_charts',
                'show': 'catalog.chart:show',
                'check': 'catalog.chart:check',
                'save': 'catalog.chart:save',
                'versions': 'catalog.chart:versions',
                'restore': 'catalog.chart:restore',
                'remove': 'catalog.chart:remove',
                'export': 'catalog.chart_export:export',
                'schema': 'catalog.chart_schema:schema',
            },
        ),
        'tool': Noun(
            'List and test the tools that agents can use.',
            {'list': 'catalog.tool:list_tools', 'show': 'catalog.tool:show', 'test': 'catalog.tool:test'},
        ),
        'endpoint': Noun(
            'Manage the endpoints of models.',
            {
                'list': 'catalog.endpoint:list_endpoints',
                'add': 'catalog.endpoint:add',
                'change': 'catalog.endpoint:change',
                'remove': 'catalog.endpoint:remove_endpoint',
                'test': 'catalog.endpoint:test',
            },
        ),
        'mcp-server': Noun(
            'Manage the MCP servers that agents use, or be one.',
            {
                'list': 'catalog.mcp_server:list_servers',
                'add': 'catalog.mcp_server:add',
                'change': 'catalog.mcp_server:change',
                'remove': 'catalog.mcp_server:remove_server',
                'test': 'catalog.mcp_server:test',
                'sign-in': 'operation.sign_in:sign_in',
                'serve': 'operation.mcp:serve',
            },
        ),
        'agent': Noun(
            'List and test coding agents, or be one for an editor.',
            {
                'list': 'catalog.agent:list_agents',
                'test': 'catalog.agent:test',
                'serve': 'operation.acp:serve',
            },
        ),
    },
    'Around runs': {
        'schedule': Noun(
            'Manage the schedules, which start runs by the clock.',
            {
                'list': 'services.schedule:list_schedules',
                'show': 'services.schedule:show',
                'add': 'services.schedule:add',
                'change': 'services.schedule:change',
                'remove': 'services.schedule:remove',
                'run': 'services.schedule:run',
                'backfill': 'services.schedule:backfill',
            },
        ),
        'trigger': Noun(
            'Manage the triggers: webhooks and files that start runs.',
            {
                'list': 'services.trigger:list_triggers',
                'show': 'services.trigger:show',
                'add': 'services.trigger:add',
                'change': 'services.trigger:change',
                'remove': 'services.trigger:remove',
            },
        ),
        'destination': Noun(
            'Manage who is notified, and list what was sent.',
            {
                'list': 'services.destination:list_destinations',
                'show': 'services.destination:show',
                'add': 'services.destination:add',
                'change': 'services.destination:change',
                'remove': 'services.destination:remove',
                'test': 'services.destination:test',
                'message': Noun(
                    'List the notifications with their delivery attempts; send them again.',
                    {'list': 'services.message:list_messages', 'resend': 'services.message:resend'},
                ),
            },
        ),
    },
    'Operate': {
        'user': Noun(
            'Manage accounts: people and programs that can log in.',
            {
                'list': 'operation.accounts:list_users',
                'add': 'operation.accounts:add_user',
                'change': 'operation.accounts:change_user',
                'remove': 'operation.accounts:remove_user',
                'log': 'operation.accounts:log',
                'token': Noun(
                    'Manage the tokens that programs log in with.',
                    {
                        'list': 'operation.accounts:list_tokens',
                        'add': 'operation.accounts:add_token',
                        'remove': 'operation.accounts:remove_token',
                    },
                ),
            },
        ),
        'worker': Noun(
            'List and drain the workers of a fleet, or be one.',
            {
                'list': 'operation.workers:list_workers',
                'drain': 'operation.workers:drain',
                'serve': 'operation.worker:serve',
            },
        ),
        'database': Noun(
            'Back up, restore and copy a whole database.',
            {
                'backup': 'operation.backup:backup',
                'restore': 'operation.backup:restore',
                'copy': 'operation.copy_database:copy',
            },
        ),
    },
}
"""All commands, in the order of the help.

What people type while they watch a run is a verb at the top; every other command is a noun and a verb.
"""
SERVERS = frozenset({'operation.serve:serve', 'operation.worker:serve'})

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


class LazyCommand(TyperCommand):
    """A command that is imported when it is called, or when its group lists it."""

    def __init__(self, name: str, entry: Verb | str) -> None:
        self.place, summary = (entry, None) if isinstance(entry, str) else entry
        super().__init__(name, help=summary)

    @cached_property
    def loaded(self) -> Any:
        """The command with its options."""
        _check_memory(SERVER_MEMORY if self.place in SERVERS else MIN_MEMORY)
        module, function = _find(self.place)
        alone = typer.Typer(
            add_completion=False, rich_markup_mode='markdown', pretty_exceptions_show_locals=False
        )
        alone.command(self.name, epilog=module.EPILOG)(function)
        return typer.main.get_command(alone)

    @override
    def make_context(self, *arguments: Any, **options: Any) -> Any:
        return self.loaded.make_context(*arguments, **options)


class LazyGroup(TyperGroup):
    """Commands that are each imported when needed; its help shows the examples of the first."""

    def __init__(self, entries: Mapping[str, Entry], **options: Any) -> None:
        super().__init__(**options)
        for name, entry in entries.items():
            self.add_command(_listed(name, entry))

    @override
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        return command.loaded if isinstance(command, LazyCommand) and not command.help else command

    @override
    def format_help(self, ctx: Any, formatter: Any) -> None:
        first = next(iter(self.commands.values()))
        if not self.epilog and isinstance(first, LazyCommand):
            self.epilog = _find(first.place)[0].EPILOG
        super().format_help(ctx, formatter)


class CommandGroup(LazyGroup):
    """All commands, with errors turned into one line on standard error and an exit code."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            {name: entry for entries in PANELS.values() for name, entry in entries.items()}, **options
        )
        for panel, entries in PANELS.items():
            for name in entries:
                listed: Any = self.commands[name]
                listed.rich_help_panel = panel

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


def _listed(name: str, entry: Entry) -> LazyCommand | LazyGroup:
    if isinstance(entry, Noun):
        return LazyGroup(
            entry.commands, name=name, help=entry.summary, no_args_is_help=True, rich_markup_mode='markdown'
        )
    return LazyCommand(name, entry)


def _find(place: str) -> tuple[Any, Any]:
    """Import the module of a place; return it, and the function."""
    path, function = place.split(':')
    module = importlib.import_module(f'{__package__}.{path}')
    return module, getattr(module, function)


def _check_memory(megabytes: int) -> None:
    """Exit if this process may use less memory: later imports could fail anywhere."""
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0] >> 20
    if 0 <= allowed < megabytes:  # A limit of -1 is none.
        problem = f'{megabytes:,} MB of address space are needed, and {allowed:,} MB are allowed'
        typer.echo(f'hemicycle: not enough memory: {problem} (ulimit -v)', err=True)
        raise typer.Exit(ExitCode.REFUSED)
