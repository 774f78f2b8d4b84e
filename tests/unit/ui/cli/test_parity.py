"""The terminal can do what a page can: every action of a page has a command."""

from __future__ import annotations

import pytest

from engine.operations import Role
from ui.cli.commands import COMMANDS, load
from ui.web.permission import ROLES

COMMAND_OF = {
    'agents.test': 'agent test',
    'annotate': 'edit',
    'approve': 'send RUN approve',
    'cancel': 'send RUN cancel',
    'check': 'check',
    'clean_up': 'retain',
    'delete': 'delete',
    'deny': 'send RUN deny',
    'delete_note': 'note --remove',
    'destinations.add': 'destination add',
    'destinations.change': 'destination change',
    'destinations.get': 'destination show',
    'destinations.list': 'destination list',
    'destinations.remove': 'destination remove',
    'edit': 'send RUN edit',
    'endpoints.discover': 'endpoint list',
    'endpoints.get': 'endpoint change',
    'endpoints.remove': 'endpoint remove',
    'endpoints.save': 'endpoint add',
    'endpoints.test': 'endpoint test',
    'extend': 'send RUN extend',
    'fleet.drain': 'workers drain',
    'fork': 'fork',
    'fork_all': 'variants',
    'hand_back': 'send RUN hand_back',
    'import_bundle': 'import',
    'inbox.answer': 'inbox answer',
    'inbox.assign': 'inbox assign',
    'inbox.snooze': 'inbox snooze',
    'mark_winner': 'winner',
    'mcp_servers.get': 'mcp-server change',
    'mcp_servers.remove': 'mcp-server remove',
    'mcp_servers.save': 'mcp-server add',
    'mcp_servers.sign_in': 'sign-in',
    'mcp_servers.test': 'mcp-server test',
    'merging.compose': 'merge --pick',
    'merging.merge': 'merge',
    'merging.send_back': 'send-back',
    'merging.test': 'merge --test',
    'notifications.log': 'message list',
    'notifications.resend': 'message resend',
    'notifications.test': 'destination test',
    'pause': 'pause',
    'preview_cleanup': 'retain --dry-run',
    'probe': 'break --try',
    'purge': 'purge',
    'recover': 'resume',
    'rerun': 'rerun',
    'restore': 'restore',
    'resume': 'resume',
    'retry': 'retry',
    'schedules.add': 'schedule add',
    'schedules.backfill': 'schedule backfill',
    'schedules.change': 'schedule change',
    'schedules.remove': 'schedule remove',
    'schedules.run_now': 'schedule run',
    'send': 'send',
    'set_breakpoints': 'break',
    'start': 'run',
    'step': 'step',
    'take_seat': 'send RUN take_seat',
    'triggers.add': 'trigger add',
    'triggers.change': 'trigger change',
    'triggers.get': 'trigger show',
    'triggers.list': 'trigger list',
    'triggers.log': 'trigger show',
    'triggers.remove': 'trigger remove',
    'try tools': 'tool try',
    'write_note': 'note --at',
}
"""The command for each action: its name, then a subcommand or an option of it, if that matters."""


def test_each_action_of_a_page_has_a_command() -> None:
    reads = {name for name, role in ROLES.items() if role is Role.VIEWER}
    assert sorted(COMMAND_OF) == sorted(ROLES.keys() - reads)


@pytest.mark.parametrize('text', sorted(set(COMMAND_OF.values())))
def test_the_command_exists(text: str) -> None:
    name, *rest = text.split()
    assert name in COMMANDS
    command = load(name)
    options = {option for parameter in command.params for option in parameter.opts}
    for word in rest:
        if word.startswith('--'):
            assert word in options
        elif subcommands := getattr(command, 'commands', None):
            assert word in subcommands
        else:
            assert name == 'send', 'the events of a run are its own'
