"""Connecting an MCP server: the dialog for local programs and for addresses."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from typing_extensions import override

from engine.operations import McpServers
from ui.formatting.values import EMPTY, describe_tools
from ui.web.pages.shared.section_dialog import Address, Name, SectionDialog

PROGRAM: Any = {'when': {'connection': ['program']}}
BY_ADDRESS: Any = {'when': {'connection': ['address']}}
REFERENCE = 'For a secret, enter env:NAME or keyring:SERVICE/USER'


class ServerFields(BaseModel):
    """The form of an MCP server."""

    model_config = ConfigDict(str_strip_whitespace=True)

    name: Name = Field(
        min_length=1, max_length=32, title='Name', description='Its tools are named name_tool, in lower case'
    )
    connection: Literal['program', 'address'] = Field(
        'program',
        title='Connection',
        json_schema_extra={
            'labels': {'program': 'Start a program on this machine', 'address': 'Connect to an address'}
        },
    )
    command: str = Field(
        '',
        title='Command',
        description='The program and its arguments, as in a terminal: uvx mcp-server-git --repository .',
        json_schema_extra=PROGRAM,
    )
    env: dict[str, str] = Field(
        {}, title='Environment variables', description=REFERENCE, json_schema_extra=PROGRAM
    )
    url: Address = Field('', title='Address', description='https://…/mcp', json_schema_extra=BY_ADDRESS)
    headers: dict[str, str] = Field({}, title='Headers', description=REFERENCE, json_schema_extra=BY_ADDRESS)
    oauth: bool = Field(
        False,
        title='Sign in with OAuth',
        description='A browser asks you to sign in; tokens are stored next to the configuration',
        json_schema_extra=BY_ADDRESS,
    )
    tools: list[str] = Field(
        [],
        title='Tools',
        description='The tools to offer; * stands for any text. Leave empty for all',
        json_schema_extra={'inline': True},
    )
    approvals: Literal['marked', 'all', 'none'] = Field(
        'marked',
        title='Approval',
        json_schema_extra={
            'labels': {
                'marked': 'Unless the server declares the tool harmless',
                'all': 'For every call',
                'none': 'Never',
            }
        },
    )

    @field_validator('command', 'url')
    @classmethod
    def _require(cls, text: str, info: ValidationInfo) -> str:
        """Require the field of the chosen connection; a command must also parse."""
        needed = 'program' if info.field_name == 'command' else 'address'
        if info.data.get('connection') == needed and not (shlex.split(text) if needed == 'program' else text):
            raise ValueError(EMPTY)
        return text


class ConnectServerDialog(SectionDialog):
    """Adds an MCP server or edits one."""

    TITLE = 'Connect an MCP server'

    @override
    def sections(self) -> McpServers:
        return self._backend().mcp_servers

    @override
    def model(self) -> type[BaseModel]:
        return ServerFields

    @override
    def fill(self, name: str, section: Mapping[str, Any]) -> Mapping[str, Any]:
        command = [str(section.get('command', '')), *map(str, section.get('args', ()))]
        return {
            'name': name,
            'connection': 'address' if section.get('url') else 'program',
            'command': shlex.join(filter(None, command)),
            'env': section.get('env', {}),
            'url': section.get('url', ''),
            'headers': section.get('headers', {}),
            'oauth': bool(section.get('oauth')),
            'tools': [] if section.get('tools') == ['*'] else section.get('tools', []),
            'approvals': section.get('approvals', 'marked'),
        }

    def values(self, form_values: Any, section: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return the name and the entries to write; those of the other kind of connection are removed."""
        program = form_values.connection == 'program'
        command, *arguments = shlex.split(form_values.command) if program else ['']
        oauth = section.get('oauth') if form_values.oauth and section.get('oauth') else form_values.oauth
        return form_values.name, {
            'command': command,
            'args': arguments,
            'env': form_values.env if program else {},
            'url': '' if program else form_values.url,
            'headers': {} if program else form_values.headers,
            'oauth': False if program else oauth,
            'tools': form_values.tools,
            'approvals': '' if form_values.approvals == 'marked' else form_values.approvals,
        }

    @override
    async def test(self, name: str) -> tuple[str, str]:
        health = await self._backend().mcp_servers.test(name)
        return (
            health.problem,
            f'{name} is available and offers {describe_tools(health.tools, health.unusable)}.',
        )
