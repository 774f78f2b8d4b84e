"""Transcripts in three formats, chapters as a file of players, and quotations that somebody really said."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from engine import Given, Tool, ToolContext, ToolError, Workspaces
from engine.records import RunId
from engine.scripted.library import FOLDER
from engine.sources import transcript as transcripts
from engine.tools.chapter_markers import chapter_markers
from engine.tools.show_notes import show_notes
from engine.tools.social_clips import social_clips
from engine.tools.transcript_processor import transcript_processor

SRT = """1
00:00:01,000 --> 00:00:03,500
Ann: Hello <i>there</i>.

2
00:00:04,000 --> 00:00:06,000
and welcome
"""
VTT = """WEBVTT

00:01.000 --> 00:03.500
<v Ann Lee>Hello there.

00:04.000 --> 00:06.000
<v.loud Bo>Hi!</v>
"""
PLAIN = 'Ann: Hello there.\n\n[00:10] Bo: Hi, Ann.\n\n1:02:03 It is late.'


@pytest.mark.parametrize(
    ('text', 'kind', 'cues'),
    [
        (SRT, 'srt', [(1.0, 3.5, 'Ann', 'Hello there.'), (4.0, 6.0, 'Ann', 'and welcome')]),
        ('\ufeff' + SRT, 'srt', [(1.0, 3.5, 'Ann', 'Hello there.'), (4.0, 6.0, 'Ann', 'and welcome')]),
        (VTT, 'vtt', [(1.0, 3.5, 'Ann Lee', 'Hello there.'), (4.0, 6.0, 'Bo', 'Hi!')]),
        (
            PLAIN,
            'text',
            [
                (0.0, 0.8, 'Ann', 'Hello there.'),
                (10.0, 10.8, 'Bo', 'Hi, Ann.'),
                (3723.0, 3724.2, 'Bo', 'It is late.'),
            ],
        ),
    ],
)
def test_formats_give_the_same_kind_of_cues(text: str, kind: str, cues: list[Any]) -> None:
    found, read = transcripts.read(text)
    assert found == kind
    assert [(cue.start, round(cue.end, 3), cue.speaker, cue.text) for cue in read] == cues


@pytest.mark.parametrize('text', ['', '  \n', 'WEBVTT\n', '[00:10]'])
def test_nothing_said_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match='there is nothing said in it'):
        transcripts.read(text)


@pytest.mark.parametrize('text', ['x', '1:99', '1:2:3:4', '-1:00', ''])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        transcripts.seconds_of(text)
    assert transcripts.clock(3723.9) == '1:02:03' and transcripts.seconds_of('1:02:03') == 3723.0


class Asked:
    """A model that answers with one value."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.prompts = answer, list[str]()

    async def __call__(self, prompt: str, *, output: type[BaseModel] | None = None) -> Any:
        self.prompts.append(prompt)
        return output.model_validate(self.answer) if output else self.answer


@pytest.fixture
async def context(tmp_path: Path) -> ToolContext:
    made = ToolContext(key='run:1', workspace=Workspaces(tmp_path).of(RunId('run'), 'agent'))
    data = (FOLDER / 'podcast' / 'night-train.srt').read_bytes()
    await made.files.write('transcript.txt', data)
    await use(transcript_processor, made)
    return made


async def use(tool: Tool, context: ToolContext, **arguments: Any) -> Given:
    made = await tool.give(json.dumps(arguments), context)
    context.shelf.take(tool.name, made)
    return made


async def test_the_transcript_is_kept_with_speakers_and_times(context: ToolContext) -> None:
    found = context.artifacts['transcript']
    assert found['format'] == 'srt' and found['speakers'] == ['Ines', 'Tomas'] and found['words'] == 397
    await context.files.write('bad.srt', b'')
    with pytest.raises(ToolError, match=r'bad.srt: there is nothing said in it'):
        await use(transcript_processor, context, path='bad.srt')


async def test_chapters_are_written_for_players(context: ToolContext) -> None:
    named = [{'start': '00:00', 'title': 'Hello'}, {'start': '02:20', 'title': 'Night'}]
    made = await use(chapter_markers, context, chapters=named)
    document = json.loads(await context.files.read('chapters.json'))
    assert document == {
        'version': '1.2.0',
        'chapters': [{'startTime': 0.0, 'title': 'Hello'}, {'startTime': 140.0, 'title': 'Night'}],
    }
    assert made.artifacts['chapters'] == document['chapters']
    assert '02:20 Night' in made.text


async def test_without_names_chapters_begin_after_the_longest_pauses(context: ToolContext) -> None:
    made = await use(chapter_markers, context)
    starts = [item['startTime'] for item in made.artifacts['chapters']]
    assert starts[0] == 0 and all(later - earlier >= 60 for earlier, later in pairwise(starts))
    cues = [
        {
            'start': start,
            'end': start + 5.0,
            'speaker': '',
            'text': f'At {start} it begins and goes on and on.',
        }
        for start in (0.0, 100.0, 106.0, 300.0, 306.0, 520.0, 700.0)
    ]
    long = {'cues': cues, 'duration': 705.0}
    context.shelf.values['transcript'] = long
    made = await use(chapter_markers, context)
    assert [item['startTime'] for item in made.artifacts['chapters']] == [0, 300.0, 520.0]
    assert made.artifacts['chapters'][1]['title'] == 'At 300.0 it begins and goes on and …'


@pytest.mark.parametrize(
    ('chapters', 'says'),
    [
        ([{'start': '00:10', 'title': 'x'}], 'the first chapter begins at 00:00'),
        ([{'start': '00:00', 'title': 'x'}, {'start': '00:00', 'title': 'y'}], 'each begins after the one'),
        (
            [{'start': '00:00', 'title': 'x'}, {'start': '59:00', 'title': 'y'}],
            r'chapters.1.start: the show is over',
        ),
        ([{'start': 'now', 'title': 'x'}], r'chapters.0.start'),
        ([{'start': '00:00'}], r'chapters.0.title: Field required'),
    ],
)
async def test_chapters_that_cannot_be_are_refused(context: ToolContext, chapters: Any, says: str) -> None:
    with pytest.raises(ToolError, match=says):
        await use(chapter_markers, context, chapters=chapters)


async def test_notes_hold_what_was_made_before(context: ToolContext) -> None:
    await use(chapter_markers, context, chapters=[{'start': '00:00', 'title': 'Hello'}])
    context.shelf.values['links'] = {'Home': 'https://home.example'}
    asked = Asked({'title': 'T', 'summary': 'S', 'points': ['P'], 'mentioned': ['M']})
    context.model = asked
    made = await use(show_notes, context, focus='trains')
    assert made.text == (
        '# T\n\nS\n\n- P\n\n## Chapters\n\n- 00:00 Hello\n\n## Mentioned\n\n- M\n\n## Links\n\n'
        '- [Home](https://home.example)'
    )
    assert (
        '[00:08] Tomas: Good evening.' in asked.prompts[0] and '<data>\ntrains\n</data>' in asked.prompts[0]
    )


async def test_a_clip_is_found_by_what_was_said_over_several_cues(context: ToolContext) -> None:
    quote = 'What is the difference? Those who want to be woken are afraid'
    context.model = Asked(
        {'clips': [{'quote': quote, 'post': 'p'}, {'quote': 'Nobody says this.', 'post': 'q'}]}
    )
    made = await use(social_clips, context)
    (clip,) = made.artifacts['social_clips']
    assert (clip['start'], clip['end']) == (101.0, 112.0)
    assert "left out, for nobody says it: 'Nobody says this.'" in made.text
    context.model = Asked({'clips': [{'quote': 'Nobody says this.', 'post': 'q'}]})
    with pytest.raises(ToolError, match='nobody says this in the show'):
        await use(social_clips, context)


@pytest.mark.parametrize('tool', [chapter_markers, show_notes, social_clips], ids=lambda tool: tool.name)
async def test_the_transcript_comes_first(tool: Tool) -> None:
    with pytest.raises(ToolError, match='use transcript_processor first'):
        await tool.run('{}', ToolContext(key='x'))
