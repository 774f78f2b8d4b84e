"""Blog: writes a post in as many steps as the request needs, in seven fixed phases, or both."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator

from engine.agents.criteria import Check, Criteria
from engine.agents.spec import Role
from engine.patterns.dynamic.dynamic_agent import MODE, DynamicAgent, Mode
from engine.patterns.dynamic.phases import Phase
from engine.patterns.form_fields import LongText, task_field
from engine.records.frozen import Form
from engine.runtime.activity import Activity
from engine.statechart.run_state import AgentState
from engine.tools.builtin.research import calendar
from engine.tools.builtin.writing import static_links
from engine.tools.builtin.writing.blog_notion import blog_notion
from engine.workspace.project import check_file, sample_file

MIN_CONTENT = 500
"""Minimum length of a post in characters."""
MAX_LISTED = 20
"""Maximum number of dates, earlier posts and links at the end of a post."""


def _analyze(memory: Any, artifacts: Mapping[str, Any]) -> Any:
    return [('analyze_prompt', {'prompt': memory.request})]


def _research(memory: Any, artifacts: Mapping[str, Any]) -> Any:
    feed, source, start = (memory.given[name] for name in ('feed', 'calendar', 'first_day'))
    return [
        *([('rss_feed', {'url': feed})] if feed else []),
        *([('calendar', {'source': source} | ({'start': start} if start else {}))] if source else []),
        *([('static_links', {})] if 'static_links' in memory.tools else []),
    ]


def _collect_findings(artifacts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: artifacts[name] for name in ('recent_posts', 'events', 'links') if artifacts.get(name)}


def _outline(memory: Any, artifacts: Mapping[str, Any]) -> Any:
    analysis = artifacts['analysis']
    arguments = {
        'topic': analysis['topic'],
        'sections': analysis['sections'],
        'research': _collect_findings(artifacts),
    }
    return [('generate_outline', {**arguments, 'target_words': analysis['target_words']})]


def _expand(memory: Any, artifacts: Mapping[str, Any]) -> Any:
    tone = artifacts['analysis']['tone']
    titles = [section['title'] for section in artifacts['outline']['sections']]
    shared = {'research': _collect_findings(artifacts), 'tone': tone}
    return [('expand_section', {'section_title': title, **shared}) for title in titles]


def _assemble(memory: Any, artifacts: Mapping[str, Any]) -> Any:
    titles = [item['title'] for item in artifacts['outline']['sections']]
    return [('assemble_content', {'sections': titles, 'outro': _list_unmentioned(artifacts)})]


def _list_unmentioned(artifacts: Mapping[str, Any]) -> str:
    """List the dates, earlier posts and links that no section mentions, for the end of the post."""
    written = '\n'.join(artifacts['section_content'].values())
    events = [
        f'- {item["start"]}: {", ".join(filter(None, (item["title"], item["place"])))}'
        for item in artifacts.get('events', ())
        if item['title'] not in written
    ]
    posts = [
        f'- [{item["title"]}]({item["link"]})'
        for item in artifacts.get('recent_posts', ())
        if item['link'] and item['link'] not in written
    ]
    links = [
        f'- [{name}]({address})'
        for name, address in artifacts.get('links', {}).items()
        if address not in written
    ]
    sections = (('Dates', events), ('Earlier posts', posts), ('Links', links))
    return '\n\n'.join(
        f'## {title}\n\n' + '\n'.join(lines[:MAX_LISTED]) for title, lines in sections if lines
    )


def _promote(memory: Any, artifacts: Mapping[str, Any]) -> Any:
    return [('generate_social_posts', {})]


def _publish(memory: Any, artifacts: Mapping[str, Any]) -> Any:
    should_publish = memory.given['publish'] and 'blog_notion' in memory.tools
    return [('blog_notion', {'title': artifacts['outline']['title']})] if should_publish else []


class Blog(DynamicAgent):
    """Create blog content with optional research and publishing."""

    class Parameters(Form):
        """Launch form parameters."""

        request: str = task_field(
            'Request',
            'What to write, and for whom',
            'Write a short post about why small tools last',
        )
        mode: Mode = MODE
        feed: str = Field(
            '',
            max_length=4_000,
            title='Feed',
            description='Address of the blog’s RSS or Atom feed',
            json_schema_extra={'format': 'path'},
        )
        calendar: str = Field(
            '',
            max_length=4_000,
            title='Calendar',
            description='An iCalendar file or address with events to mention',
            json_schema_extra={'format': 'path'},
        )
        first_day: str = Field(
            '',
            pattern=r'^(\d{4}-\d{2}-\d{2})?$',
            title='Events from',
            description='First day to take from the calendar, such as 2026-12-01; today if empty',
            json_schema_extra={'format': 'date'},
        )
        links: LongText = Field(
            '',
            max_length=10_000,
            title='Links',
            description='Links for the end of a newsletter, one per line: Name: https://address',
        )
        publish: bool = Field(
            False,
            title='Publish',
            description='Ends with a draft in Notion, once you have approved it',
        )

        _are_links = field_validator('links')(static_links.validate_links)

        @field_validator('calendar')
        @classmethod
        def _is_there(cls, value: str) -> str:
            return check_file(value) if value and '://' not in value else value

    suits = ('blog', 'post', 'newsletter', 'article', 'publish', 'announce', 'headline', 'readers')
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
                missing=f'content of at least {MIN_CONTENT} characters',
                holds=lambda evidence: len(str(evidence.artifacts.get('content', ''))) >= MIN_CONTENT,
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

    async def prepare_files(self, folder: str, activity: Activity) -> tuple[str, Mapping[str, str]]:
        """Put the calendar and links into the folder."""
        parameters, workspace = self.parameters, activity.workspace(folder)
        values = {
            'feed': parameters.feed,
            'calendar': parameters.calendar,
            'first_day': parameters.first_day,
            'publish': 'yes' if parameters.publish else '',
        }
        if parameters.links:
            await workspace.write(static_links.FILE, parameters.links.encode())
        if parameters.calendar and '://' not in parameters.calendar:
            data = await asyncio.to_thread(sample_file(parameters.calendar).read_bytes)
            await workspace.write(calendar.FILE, data)
            values['calendar'] = calendar.FILE
        return (await workspace.snapshot() if parameters.links or parameters.calendar else ''), values

    def unusable_tools(self) -> Mapping[str, str]:
        """Research tools without a source, and publishing unless it was requested."""
        parameters = self.parameters
        return {
            name: f'no {what} was given with the run'
            for name, what, source in (
                ('calendar', 'calendar', parameters.calendar),
                ('static_links', 'link', parameters.links or static_links.configured_links()),
            )
            if not source
        } | ({} if parameters.publish else {'blog_notion': 'the run was started without Publish'})

    @classmethod
    def unavailable(cls) -> Mapping[str, str]:
        """Publishing, unless it is configured."""
        problem = blog_notion.missing()
        return {'publish': problem} if problem else {}

    def start_problems(self) -> Mapping[str, str]:
        """Return missing configuration if publishing was requested."""
        return self.unavailable() if self.parameters.publish else {}

    def shortfall(self, worker: AgentState, memory: DynamicAgent.Memory) -> str:
        """Add that nothing was published although it was requested."""
        unmet = super().shortfall(worker, memory)
        is_unpublished = self.parameters.publish and 'published' not in worker.artifacts
        return '; '.join(filter(None, (unmet, 'it was not published' if is_unpublished else '')))
