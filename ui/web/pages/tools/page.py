"""The tools page: all tools, the roles that use them, and a page to try each."""

from __future__ import annotations

import contextlib

from fastapi import Request
from nicegui import ui

from engine.errors import ToolError
from engine.tools import Tool, ToolRegistry, missing_requirement
from ui.app.backend import Backend
from ui.formatting.steps import role_title
from ui.formatting.values import count, first_sentence
from ui.web.components.forms.schemas import arguments, draw_arguments
from ui.web.components.theme import FORM_KEYS, empty_state, frame, page_head, text_notice
from ui.web.components.widgets import Box, Text, set_attributes, text_link
from ui.web.pages.shared import errors
from ui.web.pages.tools.listing import ToolList, ToolUser, all_agents, draw_flags, tool_users
from ui.web.pages.tools.try_tool import TryTool
from ui.web.permission import refusal
from ui.web.routing import serve_page, tool_path


def register(backend: Backend) -> None:
    """Serve the pages."""

    @serve_page('/tools', 'Tools')
    async def tools(request: Request) -> None:
        with frame(here='/settings'):
            page_head(
                'Tools',
                'What agents can do, and who can do it. Try any tool by hand.',
                back=('/settings', 'Settings'),
            )
            for warning in ToolRegistry(backend().catalog.tools.values()).warnings():
                text_notice('info', 'link_off', f'{warning}.')
            toolbox = ToolList(backend, request.query_params)
            _draw_users(all_agents(backend().catalog))
            toolbox.draw_servers()
        await ui.context.client.connected()
        await toolbox.load_servers()

    @serve_page('/tools/{name}')
    async def tool(name: str) -> None:
        with contextlib.suppress(ToolError):  # the page reports it as unknown
            await backend().catalog.mcp.find([name])
        item = backend().catalog.tools.get(name)
        if item is None:
            errors.unknown_tool(backend, name)
            return
        with frame(item.name, here='/settings', keys=FORM_KEYS):
            with page_head(item.name, back=('/tools', 'All tools'), classes='mono'), Box('tool-foot'):
                Text('span', item.category.capitalize(), 'chip')
                draw_flags(item)
            with Box('tool-page'):
                with Box('tool-facts'):
                    _draw_facts(backend, item)
                if why := refusal('tools.call'):
                    empty_state('lock', f'{why}.')
                    return
                trying = TryTool(backend, item, await missing_requirement(item, backend.root.sandbox))
            await trying.load()


def _draw_facts(backend: Backend, tool: Tool) -> None:
    with Box('section', 'section', aria_labelledby='about'):
        Text('h2', 'Description for models', id='about')
        Text('p', tool.description, 'said')
        if tool.hint:
            Text('p', tool.hint, 'said')
    with Box('section', 'section', aria_labelledby='takes'):
        Text('h2', 'Arguments', id='takes')
        draw_arguments(tool.spec.schema)
    with Box('section', 'section', aria_labelledby='limits'):
        Text('h2', 'Limits', id='limits')
        with Box('facts', 'dl'):
            _draw_fact('Time', f'{tool.seconds:g} seconds; then it and its processes are stopped')
            _draw_fact(
                'Result', f'The model gets {tool.most_text:,} characters; longer results are stored in full'
            )
            changes = 'Calls of one reply run sequentially' if tool.side_effects else 'Calls run in parallel'
            _draw_fact('Order', changes)
            _draw_fact('Use', 'Required for every task' if tool.required else 'Optional')
            for name, artifacts in (('Reads', tool.consumes), ('Writes', tool.produces)):
                if artifacts:
                    _draw_fact(
                        name,
                        f'the {"artifacts" if len(artifacts) > 1 else "artifact"} {", ".join(artifacts)}',
                    )
    with Box('section', 'section', aria_labelledby='users'):
        Text('h2', 'Used by', id='users')
        using = tool_users(backend().catalog, tool.name)
        if not using:
            Text('p', 'Not used by any pattern by default.', 'muted')
            return
        with Box('plain-list', 'ul'):
            for user in using:
                with Box(tag='li'):
                    Text('b', user.agent.role.replace('_', ' '))
                    Text('span', 'in', 'muted')
                    text_link(f'/launch/{user.pattern.name}', user.pattern.title)


def _draw_fact(name: str, text: str) -> None:
    with Box():
        Text('dt', name)
        Text('dd', text)


def _draw_users(users: list[ToolUser]) -> None:
    with Box('section', 'section', aria_labelledby='roles'):
        Text('h2', 'Roles', id='roles')
        Text('p', 'The agents of each pattern: instructions, tools and answers.', 'muted')
        with Box('tools', 'ul'):
            for user in users:
                with Box('card role-card', 'li'):
                    _draw_user(user)


def _draw_user(user: ToolUser) -> None:
    agent = user.agent
    with Box('tool-foot'):
        Text('h3', role_title(agent.role))
        text_link(f'/launch/{user.pattern.name}', user.pattern.title, 'chip')
    Text('p', first_sentence(agent.instructions) or 'No standing instructions.', 'muted')
    if len(agent.instructions) > len(first_sentence(agent.instructions)):
        with Box('more-text', 'details'):
            Text('summary', 'Full instructions')
            Text('p', agent.instructions, 'said')
    with Box('tool-foot'):
        for name in agent.tools:
            text_link(tool_path(name), name, 'chip mono')
        if not agent.tools:
            Text('span', 'No tools', 'muted small')
    if agent.answer:
        fields = [argument for argument in arguments(agent.answer) if '.' not in argument.name]
        with Box('more-text', 'details'):
            Text('summary', f'Answers with {count(len(fields), "field")}')
            with Box('plain-list', 'ul'):
                for argument in fields:
                    with Box(tag='li'):
                        set_attributes(Text('code', argument.name), title=argument.help)
                        Text('span', argument.kind, 'muted small')
    else:
        Text('p', 'Answers with text', 'muted small')
