"""Tools: all there are, the roles that use them, and a page for each, where it can be tried."""

from __future__ import annotations

import contextlib

from fastapi import Request
from nicegui import ui

from engine import Registry, Tool, ToolError, lacking
from ui.door import Door
from ui.forms.schemas import arguments, draw_arguments
from ui.pages import missing
from ui.parts import Text, attach, link
from ui.presenters.words import count, first_sentence
from ui.served import served
from ui.theme import frame, notice
from ui.toolbox.listing import Toolbox, User, address, agents, flags, users
from ui.toolbox.trying import Trying


def register(door: Door) -> None:
    """Serve the pages."""

    @served('/tools')
    async def tools(request: Request) -> None:
        with frame('Tools', here='/tools'):
            with ui.element('div').classes('hero'):
                Text('h1', 'Tools')
                Text(
                    'p',
                    'What agents may do besides talking, and which of them may. Try any by hand.',
                    'muted',
                )
            for warning in Registry(door().catalog.tools.values()).warnings():
                with notice('wait', 'link_off'):
                    Text('p', f'{warning}.')
            toolbox = Toolbox(door, request.query_params)
            _roles(agents(door().catalog))
            toolbox.draw_servers()
        await ui.context.client.connected()
        await toolbox.look()

    @served('/tools/{name}')
    async def tool(name: str) -> None:
        with contextlib.suppress(ToolError):  # the page says that it is not there
            await door().catalog.mcp.find([name])
        found = door().catalog.tools.get(name)
        if found is None:
            missing.unknown_tool(door, name)
            return
        with frame(found.name, here='/tools'):
            with ui.element('div').classes('hero'):
                with link('/tools', 'small back'):
                    Text('span', '← All tools')
                Text('h1', found.name, 'mono')
                with ui.element('div').classes('tool-foot'):
                    Text('span', found.category.capitalize(), 'chip')
                    flags(found)
            with ui.element('div').classes('tool-page'):
                with ui.element('div').classes('tool-facts'):
                    _facts(door, found)
                trying = Trying(door, found, await lacking(found, door().sandbox))
            await trying.load()


def _facts(door: Door, tool: Tool) -> None:
    with ui.element('section').classes('section').props('aria-labelledby="about"'):
        Text('h2', 'What a model reads of it', id='about')
        Text('p', tool.description, 'said')
        if tool.hint:
            Text('p', tool.hint, 'said')
    with ui.element('section').classes('section').props('aria-labelledby="takes"'):
        Text('h2', 'Arguments', id='takes')
        draw_arguments(tool.spec.schema)
    with ui.element('section').classes('section').props('aria-labelledby="limits"'):
        Text('h2', 'Limits', id='limits')
        with ui.element('dl').classes('facts'):
            _fact('Time', f'{tool.seconds:g} seconds; then it is ended, with all that it has started')
            _fact(
                'Result', f'{tool.most_text:,} characters go to the model; the whole of a longer one is kept'
            )
            changes = (
                'Calls of one reply run one after another' if tool.side_effects else 'Calls run side by side'
            )
            _fact('Order', changes)
            _fact('Use', 'For every task of an agent that has it' if tool.required else 'Where it helps')
            for name, artifacts in (('Reads', tool.consumes), ('Makes', tool.produces)):
                if artifacts:
                    _fact(
                        name,
                        f'the {"artifacts" if len(artifacts) > 1 else "artifact"} {", ".join(artifacts)}',
                    )
    with ui.element('section').classes('section').props('aria-labelledby="users"'):
        Text('h2', 'Who uses it', id='users')
        using = users(door().catalog, tool.name)
        if not using:
            Text('p', 'No pattern gives it to an agent by default.', 'muted')
            return
        with ui.element('ul').classes('plain-list'):
            for user in using:
                with ui.element('li'):
                    Text('b', user.agent.role.replace('_', ' '))
                    Text('span', 'in', 'muted')
                    with link(f'/launch/{user.pattern.name}'):
                        Text('span', user.pattern.title)


def _fact(name: str, text: str) -> None:
    with ui.element('div'):
        Text('dt', name)
        Text('dd', text)


def _roles(found: list[User]) -> None:
    with ui.element('section').classes('section').props('aria-labelledby="roles"'):
        Text('h2', 'Roles', id='roles')
        Text(
            'p',
            'The agents of each pattern: what they are told, what they may use, what they answer with.',
            'muted',
        )
        with ui.element('ul').classes('tools'):
            for user in found:
                with ui.element('li').classes('card role-card'):
                    _role(user)


def _role(user: User) -> None:
    agent = user.agent
    with ui.element('div').classes('tool-foot'):
        Text('h3', agent.role.replace('_', ' ').capitalize())
        with link(f'/launch/{user.pattern.name}', 'chip'):
            Text('span', user.pattern.title)
    Text(
        'p', first_sentence(agent.instructions) or 'It gets its task, and no standing instructions.', 'muted'
    )
    if len(agent.instructions) > len(first_sentence(agent.instructions)):
        with ui.element('details').classes('more-text'):
            Text('summary', 'All that it is told')
            Text('p', agent.instructions, 'said')
    with ui.element('div').classes('tool-foot'):
        for name in agent.tools:
            with link(address(name), 'chip mono'):
                Text('span', name)
        if not agent.tools:
            Text('span', 'No tools', 'muted small')
    if agent.answer:
        fields = [argument for argument in arguments(agent.answer) if '.' not in argument.name]
        with ui.element('details').classes('more-text'):
            Text('summary', f'Answers with {count(len(fields), "field")}')
            with ui.element('ul').classes('plain-list'):
                for argument in fields:
                    with ui.element('li'):
                        attach(Text('code', argument.name), title=argument.help)
                        Text('span', argument.kind, 'muted small')
    else:
        Text('p', 'Answers with text', 'muted small')
