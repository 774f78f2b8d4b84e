"""The terminal can do what a page can: every method that changes something has a command."""

from __future__ import annotations

from ui.access.caller import Role
from ui.access.permissions import METHOD_ROLES
from ui.cli.commands import COMMANDS

COMMAND_OF = {
    'annotate': 'edit',
    'cancel': 'send',
    'catalog.mcp.sign_in': 'sign-in',
    'catalog.mcp.test': 'doctor',
    'catalog.registry.health': 'doctor',
    'catalog.registry.test': 'doctor',
    'check': 'check',
    'clean_up': 'retain',
    'delete': 'delete',
    'delete_note': 'note',
    'extend': 'send',
    'fork': 'fork',
    'import_bundle': 'import',
    'mark_winner': 'winner',
    'merging.merge': 'merge',
    'pause': 'pause',
    'preview_cleanup': 'retain',
    'purge': 'purge',
    'recover': 'resume',
    'rerun': 'rerun',
    'restore': 'restore',
    'resume': 'resume',
    'retry': 'retry',
    'send': 'send',
    'set_breakpoints': 'break',
    'start': 'run',
    'step': 'step',
    'write_note': 'note',
}
INSTEAD = {
    'catalog.agents.test': 'a run with the agent',
    'catalog.connect': 'a text editor changes the configuration file',
    'catalog.disconnect': 'a text editor changes the configuration file',
    'catalog.section': 'a text editor shows the configuration file',
    'catalog.mcp.refresh': 'a command connects anew',
    'catalog.registry.discover': 'a command looks for servers when it starts',
    'catalog.registry.refresh': 'a command asks endpoints for their models when it starts',
    'fork_all': 'a fork each',
    'merging.compose': 'a patch is picked apart with git: `hemicycle merge --patch`',
    'merging.send_back': 'a fork with instructions',
    'merging.test': "the project's own tests",
    'probe': 'a condition is tried by `hemicycle break`',
}
"""Methods without a command, and what people use instead."""


def test_each_change_that_a_page_can_make_has_a_command() -> None:
    changing = {name for name, role in METHOD_ROLES.items() if role is not Role.VIEWER}
    assert sorted([*COMMAND_OF, *INSTEAD]) == sorted(changing)
    assert set(COMMAND_OF.values()) <= set(COMMANDS)
