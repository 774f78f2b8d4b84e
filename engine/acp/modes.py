"""Agent modes: found in the answer that opens a session, and set so that the agent asks for approval."""

from __future__ import annotations

import logging

from acp import schema
from acp.client.connection import ClientSideConnection

from engine.acp.known_agents import ExternalAgent
from engine.errors import ModelError
from engine.records.run_info import Approvals

log = logging.getLogger('hemicycle')
OPTION = 'mode'
"""The id or the category of the option with which newer agents offer their modes."""


async def set_mode(
    connection: ClientSideConnection,
    session: str,
    opened: schema.NewSessionResponse | schema.LoadSessionResponse | None,
    agent: ExternalAgent,
    approvals: Approvals,
) -> None:
    """Set the mode in which an agent asks for the approvals; some start in another.

    Args:
        connection: the connection to it.
        session: the session's id.
        opened: the answer when the session began or was resumed.
        agent: names the mode.
        approvals: what waits for a person.

    Raises:
        ModelError: it does not offer the configured mode, or offers none that is known to ask for the
            approvals.
    """
    wanted = agent.mode_for(approvals)
    option = _option(opened)
    if opened and opened.modes:
        now, offered = opened.modes.current_mode_id, [mode.id for mode in opened.modes.available_modes]
    elif option:
        now, offered = option.current_value, _values(option)
    else:
        now, offered = '', []
    if wanted in ('', now):
        return
    if wanted not in offered:
        if agent.mode or (offered and approvals != 'none'):
            has = f'it has {", ".join(offered)}' if offered else 'it has none'
            hint = '' if agent.mode else f'; choose one as mode in [agents.{agent.name}]'
            raise ModelError(f'mode: it has no mode {wanted!r}; {has}{hint}', kind='bad request')
        log.info('%s has no mode %s', agent.name, wanted)
    elif opened and opened.modes:
        await connection.set_session_mode(session_id=session, mode_id=wanted)
    elif option:
        await connection.set_config_option(session_id=session, config_id=option.id, value=wanted)


def _option(
    opened: schema.NewSessionResponse | schema.LoadSessionResponse | None,
) -> schema.SessionConfigOptionSelect | None:
    for option in (opened.config_options if opened else None) or []:
        if isinstance(option, schema.SessionConfigOptionSelect) and OPTION in (option.category, option.id):
            return option
    return None


def _values(option: schema.SessionConfigOptionSelect) -> list[str]:
    found: list[str] = []
    for item in option.options:
        group = item.options if isinstance(item, schema.SessionConfigSelectGroup) else [item]
        found += [choice.value for choice in group]
    return found
