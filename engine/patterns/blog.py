"""Blog: writes a post with as many steps as the request needs, or in seven fixed phases, or both."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from engine.activity import Activity
from engine.agent import Role
from engine.dynamic.agent import MODE, DynamicAgent, Mode
from engine.dynamic.criteria import Check, Criteria
from engine.dynamic.phases import Phase
from engine.fields import Form, task_field
from engine.files.project import sample_file
from engine.tools import calendar, static_links

SHORTEST = 500
"""Characters of a post."""


def _analyze(memory: Any, made: Mapping[str, Any]) -> Any:
    return [('analyze_prompt', {'prompt': memory.request})]


def _research(memory: Any, made: Mapping[str, Any]) -> Any:
    feed, source = memory.given['feed'], memory.given['calendar']
    return [
        *([('rss_feed', {'url': feed})] if feed else []),
        *([('calendar', {'source': source} | _first_day(memory))] if source else []),
        *([('static_links', {})] if 'static_links' in memory.tools else []),
    ]


def _first_day(memory: Any) -> dict[str, str]:
    return {'start': memory.given['first_day']} if memory.given['first_day'] else {}


def _found(made: Mapping[str, Any]) -> dict[str, Any]:
    return {name: made[name] for name in ('recent_posts', 'events', 'links') if made.get(name)}


def _outline(memory: Any, made: Mapping[str, Any]) -> Any:
    asked = made['analysis']
    arguments = {'topic': asked['topic'], 'sections': asked['sections'], 'research': _found(made)}
    return [('generate_outline', {**arguments, 'target_words': asked['target_words']})]


def _expand(memory: Any, made: Mapping[str, Any]) -> Any:
    tone = made['analysis']['tone']
    titles = [section['title'] for section in made['outline']['sections']]
    shared = {'research': _found(made), 'tone': tone}
    return [('expand_section', {'section_title': title, **shared}) for title in titles]


def _assemble(memory: Any, made: Mapping[str, Any]) -> Any:
    return [('assemble_content', {'sections': [item['title'] for item in made['outline']['sections']]})]


def _promote(memory: Any, made: Mapping[str, Any]) -> Any:
    return [('generate_social_posts', {})]


def _publish(memory: Any, made: Mapping[str, Any]) -> Any:
    wanted = memory.given['publish'] and 'blog_notion' in memory.tools
    return [('blog_notion', {'title': made['outline']['title']})] if wanted else []


class Blog(DynamicAgent):
    """Create blog content with optional research and publishing."""

    class Parameters(Form):
        """What the launch form asks for."""

        request: str = task_field(
            'Request',
            'What to write, and for whom; say so if it is to be published',
            'Write a short post about why small tools last',
        )
        mode: Mode = MODE
        feed: str = Field(
            '', max_length=4_000, title='Feed', description='The address of the blog’s feed, RSS or Atom'
        )
        calendar: str = Field(
            '',
            max_length=4_000,
            title='Calendar',
            description='An iCalendar file on this machine, or an address, with events to mention',
        )
        first_day: str = Field(
            '',
            pattern=r'^(\d{4}-\d{2}-\d{2})?$',
            title='Events from',
            description='The first day of the calendar to look at, as 2026-12-01; today if left empty',
        )
        links: str = Field(
            '',
            max_length=10_000,
            title='Links',
            description='Links for the end of a newsletter, a line each: Name: https://address',
            json_schema_extra={'multiline': True},
        )
        publish: bool = Field(
            False, title='Publish', description='Whether the fixed phases end with a draft in Notion'
        )

        _are_links = field_validator('links')(static_links.checked)

        @field_validator('calendar')
        @classmethod
        def _is_there(cls, value: str) -> str:
            if value and '://' not in value and not sample_file(value).is_file():
                raise ValueError(f'there is no file {value!r}')
            return value

    role = Role(
        name='blog',
        title='Blog writer',
        instructions='You are a blog content creator.',
        tools=(
            'analyze_prompt', 'generate_outline', 'expand_section', 'assemble_content',
            'rss_feed', 'static_links', 'calendar', 'generate_social_posts', 'blog_notion',
        ),
    )  # fmt: skip
    until = Criteria(
        signal='CONTENT_COMPLETE',
        artifacts=('content',),
        checks=(
            Check(
                name='content_is_long_enough',
                missing=f'a content of at least {SHORTEST} characters',
                holds=lambda seen: len(str(seen.artifacts.get('content', ''))) >= SHORTEST,
            ),
        ),
        words='content',
    )
    template = 'blog'
    phases = (
        Phase(name='analyze', calls=_analyze),
        Phase(name='research', calls=_research, optional=True),
        Phase(name='outline', calls=_outline),
        Phase(name='expand', calls=_expand),
        Phase(name='assemble', calls=_assemble),
        Phase(name='promote', calls=_promote),
        Phase(name='publish', calls=_publish, optional=True),
    )

    async def lay_out(self, folder: str, activity: Activity) -> tuple[str, Mapping[str, str]]:
        """Put the calendar and the links into the folder."""
        wanted, workspace = self.parameters, activity.workspace(folder)
        given = {
            'feed': wanted.feed,
            'calendar': wanted.calendar,
            'first_day': wanted.first_day,
            'publish': 'yes' if wanted.publish else '',
        }
        if wanted.links:
            await workspace.write(static_links.FILE, wanted.links.encode())
        if wanted.calendar and '://' not in wanted.calendar:
            await workspace.write(calendar.FILE, await _bytes(sample_file(wanted.calendar)))
            given['calendar'] = calendar.FILE
        return (await workspace.snapshot() if wanted.links or wanted.calendar else ''), given

    def unusable(self) -> Mapping[str, str]:
        """Research tools that were given nothing to look into."""
        wanted = self.parameters
        return {
            name: f'no {what} was given with the run'
            for name, what, given in (
                ('calendar', 'calendar', wanted.calendar),
                ('static_links', 'link', wanted.links or static_links.configured()),
            )
            if not given
        }


async def _bytes(path: Path) -> bytes:
    return await asyncio.to_thread(path.read_bytes)
