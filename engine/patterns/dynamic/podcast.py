"""Podcast: show notes, chapters and clips from an episode's transcript."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from pydantic import Field, field_validator

from engine.agents.criteria import Check, Criteria
from engine.agents.spec import Role
from engine.patterns.dynamic.dynamic_agent import MODE, DynamicAgent, Mode
from engine.patterns.dynamic.phases import Phase
from engine.patterns.form_fields import LongText, task_field
from engine.records.frozen import Form
from engine.runtime.activity import Activity
from engine.tools.builtin.podcast import transcript_processor
from engine.tools.builtin.writing import static_links
from engine.workspace.project import check_file, sample_file

SUFFIXES = ('.srt', '.vtt', '.json', '.txt', '.md')
PATH = re.compile(
    r'(?:sample:|https?://|~?/|\.{1,2}/|[A-Za-z]:\\).*|\S+\.\w{1,5}|[^\n{\[]*\.(?:srt|vtt|json|txt|md)', re.I
)
"""One line that is a path or an address: by its beginning, or as one word with a file's ending."""
MIN_SHOW_NOTES = 300
"""Minimum length of show notes in characters."""


def _call(name: str) -> Any:
    return lambda memory, artifacts: [(name, {})]


def _links(memory: Any, artifacts: Mapping[str, Any]) -> Any:
    return [('static_links', {})] if 'static_links' in memory.tools else []


class Podcast(DynamicAgent):
    """Process podcast transcripts and generate show content."""

    class Parameters(Form):
        """Launch form parameters."""

        request: str = task_field(
            'Request',
            'What to make of the episode',
            'Create notes, chapters and clips for the night train episode',
        )
        transcript: LongText = Field(
            min_length=1,
            max_length=2_000_000,
            title='Transcript',
            description='SRT, WebVTT, JSON or plain text, or the path of a file',
            examples=['sample:podcast/night-train.srt'],
        )
        mode: Mode = MODE
        links: LongText = Field(
            '',
            max_length=10_000,
            title='Links',
            description='Links for the end of the notes, one per line: Name: https://address',
        )

        @field_validator('transcript')
        @classmethod
        def _is_there(cls, value: str) -> str:
            if not _is_path(value):
                return value
            if (suffix := PurePath(value).suffix.lower()) not in SUFFIXES:
                what = f'a {suffix} file' if suffix else 'a path without an ending'
                raise ValueError(f'it is {what}: a transcript is one of {", ".join(SUFFIXES)}')
            return check_file(value)

        _are_links = field_validator('links')(static_links.validate_links)

    suits = ('podcast', 'episode', 'transcript', 'chapters', 'clips', 'interview', 'audio')
    role = Role(
        name='podcast',
        title='Podcast producer',
        instructions='You prepare the texts and clips that a podcast episode is published with.',
        tools=(
            'transcript_processor', 'show_notes', 'chapter_markers', 'social_clips',
            'rss_feed', 'static_links',
        ),
    )  # fmt: skip
    until = Criteria(
        signal='CONTENT_COMPLETE',
        artifacts=('show_notes', 'chapters'),
        checks=(
            Check(
                name='notes_are_long_enough',
                missing=f'show notes of at least {MIN_SHOW_NOTES} characters',
                holds=lambda evidence: len(str(evidence.artifacts.get('show_notes', ''))) >= MIN_SHOW_NOTES,
            ),
        ),
    )
    template = 'podcast'
    result = 'show_notes'
    phases = (
        Phase(name='transcript', calls=_call('transcript_processor')),
        Phase(name='links', calls=_links, optional=True),
        Phase(name='chapters', calls=_call('chapter_markers')),
        Phase(name='notes', calls=_call('show_notes')),
        Phase(name='clips', calls=_call('social_clips')),
    )

    async def prepare_files(self, folder: str, activity: Activity) -> tuple[str, Mapping[str, str]]:
        """Put the transcript and links into the folder."""
        parameters, workspace = self.parameters, activity.workspace(folder)
        data = parameters.transcript.encode(errors='replace')
        if _is_path(parameters.transcript):
            data = await asyncio.to_thread(sample_file(parameters.transcript).read_bytes)
        await workspace.write(transcript_processor.FILE, data)
        if parameters.links:
            await workspace.write(static_links.FILE, parameters.links.encode())
        return await workspace.snapshot(), {'file': transcript_processor.FILE}

    def unusable_tools(self) -> Mapping[str, str]:
        """Links, if none were given."""
        links = self.parameters.links or static_links.configured_links()
        return {} if links else {'static_links': 'no link was given with the run'}


def _is_path(text: str) -> bool:
    """Whether a text is the path of a file rather than a transcript."""
    return bool(PATH.fullmatch(text.strip()))
