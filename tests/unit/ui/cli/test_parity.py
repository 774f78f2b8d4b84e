"""The terminal can do what a page can: every action of a page has a command."""

from __future__ import annotations

from engine.operations import Role
from tests.support.cli import all_commands
from ui.web.permission import ROLES

COMMAND_OF = {
    'account.add': 'user add',
    'account.add_token': 'user token',
    'account.list': 'user list',
    'account.remove': 'user remove',
    'account.revoke_token': 'user token',
    'account.set_password': 'user change',
    'account.set_role': 'user change',
    'account.tokens': 'user token',
    'agents.test': 'agent test',
    'annotate': 'runs change',
    'approve': 'send RUN approve',
    'cancel': 'send RUN cancel',
    'charts.remove': 'chart remove',
    'charts.restore': 'chart restore',
    'charts.save': 'chart save',
    'check': 'test check',
    'clean_up': 'runs retain',
    'datasets.remove': 'dataset remove',
    'datasets.save': 'dataset import',
    'delete': 'runs remove',
    'deny': 'send RUN deny',
    'delete_note': 'runs note remove',
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
    'experiment': 'experiment run',
    'experiments.add': 'experiment run',
    'experiments.adopt': 'experiment adopt',
    'experiments.cancel': 'experiment cancel',
    'experiments.mark': 'experiment mark',
    'experiments.pause': 'experiment pause',
    'experiments.remove': 'experiment remove',
    'experiments.reset_default': 'experiment adopt --reset',
    'experiments.rescore': 'experiment rescore',
    'experiments.resume': 'experiment resume',
    'extend': 'send RUN extend',
    'fleet.drain': 'worker drain',
    'fork': 'fork start',
    'fork_all': 'fork variants',
    'hand_back': 'send RUN hand_back',
    'import_bundle': 'runs import',
    'inbox.answer': 'inbox answer',
    'inbox.assign': 'inbox assign',
    'inbox.snooze': 'inbox snooze',
    'mark_winner': 'fork choose',
    'mcp_servers.get': 'mcp-server change',
    'mcp_servers.remove': 'mcp-server remove',
    'mcp_servers.save': 'mcp-server add',
    'mcp_servers.sign_in': 'mcp-server sign-in',
    'mcp_servers.test': 'mcp-server test',
    'merging.compose': 'runs merge --pick',
    'merging.merge': 'runs merge',
    'merging.send_back': 'fork send-back',
    'merging.test': 'runs merge --test',
    'notifications.log': 'destination message list',
    'notifications.resend': 'destination message resend',
    'notifications.test': 'destination test',
    'pause': 'pause',
    'preview_cleanup': 'runs retain --dry-run',
    'probe': 'breakpoint test',
    'purge': 'runs purge',
    'recover': 'resume',
    'rerun': 'fork rerun',
    'restore': 'runs restore',
    'resume': 'resume',
    'retry': 'fork retry',
    'schedules.add': 'schedule add',
    'schedules.backfill': 'schedule backfill',
    'schedules.change': 'schedule change',
    'schedules.remove': 'schedule remove',
    'schedules.run_now': 'schedule run',
    'send': 'send',
    'set_breakpoints': 'breakpoint add',
    'start': 'run',
    'step': 'step',
    'take_seat': 'send RUN take_seat',
    'triggers.add': 'trigger add',
    'triggers.change': 'trigger change',
    'triggers.get': 'trigger show',
    'triggers.list': 'trigger list',
    'triggers.log': 'trigger show',
    'triggers.remove': 'trigger remove',
    'tools.call': 'tool test',
    'write_note': 'runs note add',
}
"""The command for each action: its words, then an option of it, if that matters."""


def test_each_action_of_a_page_has_a_command() -> None:
    reads = {name for name, role in ROLES.items() if role is Role.VIEWER}
    assert sorted(COMMAND_OF) == sorted(ROLES.keys() - reads)


def test_each_of_these_commands_exists() -> None:
    for text in set(COMMAND_OF.values()):
        words, _, option = text.partition(' --')
        name = 'send' if words.startswith('send RUN ') else words  # The events of a run are its own.
        options = {name for parameter in all_commands()[name].params for name in parameter.opts}
        assert not option or f'--{option}' in options, text
