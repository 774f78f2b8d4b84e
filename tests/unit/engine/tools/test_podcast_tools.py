"""Transcripts in three formats, chapter files for players, and quotations that were really said."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from engine import ToolContext
from engine.errors import InvalidInput, ToolError
from engine.models.scripted.library import FOLDER
from engine.patterns.dynamic.podcast import Podcast
from engine.records import RunId
from engine.tools import Tool, ToolOutput
from engine.tools.builtin.podcast import transcript as transcripts
from engine.tools.builtin.podcast.chapter_markers import chapter_markers
from engine.tools.builtin.podcast.show_notes import show_notes
from engine.tools.builtin.podcast.social_clips import social_clips
from engine.tools.builtin.podcast.transcript_processor import transcript_processor
from engine.workspace import Workspaces

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
OTTER = """Night Trains
Tue, Mar 3, 2026 10:02AM • 12:31

SUMMARY KEYWORDS
night, train, sleeper

SPEAKERS
Anna Smith, Speaker 2

Anna Smith  00:03
Welcome to the show.

Speaker 2  1:02:03
Thanks for having me.

Transcribed by https://otter.ai
"""
PLAIN = 'Ann: Hello there.\n\n[00:10] Bo: Hi, Ann.\n\n1:02:03 It is late.'


@pytest.mark.parametrize(
    ('text', 'kind', 'cues'),
    [
        (SRT, 'srt', [(1.0, 3.5, 'Ann', 'Hello there.'), (4.0, 6.0, 'Ann', 'and welcome')]),
        ('\ufeff' + SRT, 'srt', [(1.0, 3.5, 'Ann', 'Hello there.'), (4.0, 6.0, 'Ann', 'and welcome')]),
        (VTT, 'vtt', [(1.0, 3.5, 'Ann Lee', 'Hello there.'), (4.0, 6.0, 'Bo', 'Hi!')]),
        (
            OTTER,
            'text',
            [
                (3.0, 4.6, 'Anna Smith', 'Welcome to the show.'),
                (3723.0, 3724.6, 'Speaker 2', 'Thanks for having me.'),
            ],
        ),
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
def test_all_formats_produce_the_same_cues(text: str, kind: str, cues: list[Any]) -> None:
    detected, read = transcripts.parse(text)
    assert detected == kind
    assert [(cue.start, round(cue.end, 3), cue.speaker, cue.text) for cue in read] == cues


def parse_cues(text: str) -> list[tuple[str, str]]:
    return [(cue.speaker, cue.text) for cue in transcripts.parse(text)[1]]


def test_each_line_with_a_speaker_is_a_cue() -> None:
    text = 'Anna: Hello.\nBob: Hi.\nHow are you?\n\nIt is late.\n\nAnna:\nIt is.'
    assert parse_cues(text) == [
        ('Anna', 'Hello.'), ('Bob', 'Hi. How are you?'), ('Bob', 'It is late.'), ('Anna', 'It is.'),
    ]  # fmt: skip


@pytest.mark.parametrize(
    'name',
    ['Speaker 1', 'SPEAKER_00', 'Åsa', 'Жанна', 'von der Leyen', 'Dr. Anna Berg', '主持人', 'Bo (Host)'],
)
def test_names_of_every_kind_are_recognized_as_speakers(name: str) -> None:
    assert parse_cues(f'Anna: Hello.\n{name}: Hi there.') == [('Anna', 'Hello.'), (name, 'Hi there.')]


@pytest.mark.parametrize(
    'words', ['He said: no.', 'there is one thing: time.', 'At 12:30 it ends.', '10: ten.']
)
def test_a_colon_alone_does_not_make_a_speaker(words: str) -> None:
    assert parse_cues(f'Anna: Hello.\n{words}') == [('Anna', f'Hello. {words}')]


def test_times_after_the_name_count() -> None:
    _, cues = transcripts.parse('Anna (00:10): Hello.\nBob [1:00:05]\nHi.\n[00:75] Odd.')
    assert [(cue.start, cue.speaker, cue.text, cue.estimated) for cue in cues] == [
        (10.0, 'Anna', 'Hello.', False),
        (3605.0, 'Bob', 'Hi. [00:75] Odd.', False),
    ]


def test_estimated_times_are_marked() -> None:
    _, cues = transcripts.parse('Ann: One two three four five.\nBo: Six.\n[01:00] Ann: Seven.\nBo: Eight.')
    assert [(cue.start, cue.estimated) for cue in cues] == [(0, False), (2, True), (60, False), (60.4, True)]
    assert all(cue.estimated for cue in transcripts.parse('Ann: One.\nBo: Two.')[1])
    assert (
        transcripts.format_time(70, estimated=True) == '≈ 01:10' and transcripts.parse_time('≈ 01:10') == 70
    )


@pytest.mark.parametrize(
    ('text', 'cues'),
    [
        (
            '00:00:01,000 --> 00:00:02,000\nIn\n1984\n\n00:00:03,000 --> 00:00:04,000\nBo: Hi.',
            [(1, '', 'In 1984'), (3, 'Bo', 'Hi.')],
        ),
        ('1\n00:01,000 --> 00:02,500\nOne.\n\n2\n61:03,000 --> 61:04,000\nTwo.',
         [(1, '', 'One.'), (3663, '', 'Two.')]),
        ('00:00:01,000 --> 00:00:03,000\nAnn: Is it?\n\n00:00:04,000 --> 00:00:08,000\n- Yes, it is.\n- No.',
         [(1, 'Ann', 'Is it?'), (4, '', 'Yes, it is.'), (7, '', 'No.')]),
        ('WEBVTT\n\nNOTE by us\n\nintro\n00:01.000 --> 00:02.000 align:start\nTom &amp; I &lt;3\n\nNOTE no\n',
         [(1, '', 'Tom & I <3')]),
    ],
)  # fmt: skip
def test_real_world_subtitles_are_read(text: str, cues: list[Any]) -> None:
    assert [(cue.start, cue.speaker, cue.text) for cue in transcripts.parse(text)[1]] == cues


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16', 'utf-16-le', 'utf-16-be', 'latin-1'])
def test_every_encoding_is_read(encoding: str) -> None:
    text = (
        'Åsa: Vad är det för väder på söndag, tror du? Åh, nästan alltid regn här hos oss på västkusten.\n'
        * 3
    )
    assert transcripts.decode(text.encode(encoding))[0] == text


@pytest.mark.parametrize('encoding', ['utf-16', 'utf-16-le', 'utf-16-be', 'cp1251', 'koi8-r'])
def test_other_scripts_are_read(encoding: str) -> None:
    text = 'Жанна: Привет, как дела сегодня? Очень хорошо, спасибо большое.\n' * 3
    assert transcripts.decode(text.encode(encoding))[0] == text


def test_binary_files_are_refused() -> None:
    for seed in range(20):
        with pytest.raises(ValueError, match='it is not text'):
            transcripts.decode(random.Random(seed).randbytes(3_000))
    damaged = 'Åsa: Är det så? '.encode() * 40 + b'\xff.'
    assert transcripts.decode(damaged)[0].startswith('Åsa: Är')


@pytest.mark.parametrize('text', ['', '  \n', 'WEBVTT\n', '[00:10]'])
def test_an_empty_transcript_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match='it contains nothing that is said'):
        transcripts.parse(text)


@pytest.mark.parametrize('text', ['x', '1:99', '1:2:3:4', '-1:00', '', 'nan', 'inf', '1e3'])
def test_invalid_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        transcripts.parse_time(text)
    assert transcripts.format_time(3723.9) == '1:02:03' and transcripts.parse_time('1:02:03') == 3723.0


class Asked:
    """A model that answers with one value."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.prompts = answer, list[str]()

    async def __call__(self, prompt: str, *, output: type[BaseModel] | None = None) -> Any:
        self.prompts.append(prompt)
        return output.model_validate(self.answer) if output else self.answer


@pytest.fixture
async def context(tmp_path: Path) -> ToolContext:
    tool_context = ToolContext(key='run:1', workspace=Workspaces(tmp_path).of(RunId('run'), 'agent'))
    data = (FOLDER / 'podcast' / 'night-train.srt').read_bytes()
    await tool_context.files.write('transcript.txt', data)
    await use(transcript_processor, tool_context)
    return tool_context


async def use(tool: Tool, context: ToolContext, **arguments: Any) -> ToolOutput:
    result = await tool.invoke(json.dumps(arguments), context)
    context.artifact_store.apply(tool.name, result)
    return result


async def test_the_transcript_keeps_speakers_and_times(context: ToolContext) -> None:
    transcript = context.artifacts['transcript']
    assert (
        transcript['format'] == 'srt'
        and transcript['speakers'] == ['Ines', 'Tomas']
        and transcript['words'] == 387
    )
    await context.files.write('bad.srt', b'')
    with pytest.raises(ToolError, match=r'bad.srt: it contains nothing that is said'):
        await use(transcript_processor, context, path='bad.srt')


async def test_chapters_are_written_for_players(context: ToolContext) -> None:
    named = [{'start': '00:00', 'title': 'Hello'}, {'start': '02:20', 'title': 'Night'}]
    result = await use(chapter_markers, context, chapters=named)
    document = json.loads(await context.files.read('chapters.json'))
    assert document == {
        'version': '1.2.0',
        'chapters': [{'startTime': 0.0, 'title': 'Hello'}, {'startTime': 140.0, 'title': 'Night'}],
    }
    assert result.artifacts['chapters'] == document['chapters']
    assert '02:20 Night' in result.text


async def test_without_names_chapters_begin_after_the_longest_pauses(context: ToolContext) -> None:
    result = await use(chapter_markers, context)
    starts = [item['startTime'] for item in result.artifacts['chapters']]
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
    context.artifact_store.values['transcript'] = long
    result = await use(chapter_markers, context)
    assert [item['startTime'] for item in result.artifacts['chapters']] == [0, 300.0, 520.0]
    assert result.artifacts['chapters'][1]['title'] == 'At 300.0 it begins and goes on and …'


async def test_even_pauses_spread_chapters_over_the_whole_show(context: ToolContext) -> None:
    cues = [
        {
            'start': 10.0 * number,
            'end': 10.0 * number + 9,
            'speaker': '',
            'text': f'{number}.',
            'estimated': True,
        }
        for number in range(1_080)
    ]
    context.artifact_store.values['transcript'] = {'cues': cues, 'duration': 10_799.0, 'estimated': True}
    result = await use(chapter_markers, context)
    starts = [item['startTime'] for item in result.artifacts['chapters']]
    assert len(starts) == 12 and all(abs(start - 900 * number) <= 10 for number, start in enumerate(starts))
    assert '00:00 0\n≈ 15:00 90\n' in result.text and 'The times are estimates' in result.text
    assert json.loads(await context.files.read('chapters.json'))['chapters'][1]['estimated'] is True


def touching(number: int) -> dict[str, Any]:
    text = 'and so on.' if number % 7 == 6 else 'and'
    return {'start': 5.0 * number, 'end': 5.0 * number + 5, 'speaker': '', 'text': text}


@pytest.mark.parametrize(
    'cues',
    [
        [touching(number) for number in range(720)],
        [{'start': 0.0, 'end': 3_600.0, 'speaker': '', 'text': 'One more word. ' * 3_000}],
        [{'start': 0.0, 'end': 3_600.0, 'speaker': '', 'text': 'word ' * 9_000}],
    ],
    ids=['touching', 'one-paragraph', 'no-punctuation'],
)
async def test_an_hour_without_pauses_has_chapters_of_even_length(context: ToolContext, cues: Any) -> None:
    context.artifact_store.values['transcript'] = {'cues': cues, 'duration': 3_600.0}
    result = await use(chapter_markers, context)
    starts = [item['startTime'] for item in result.artifacts['chapters']]
    assert len(starts) == 12 and all(abs(start - 300 * number) <= 35 for number, start in enumerate(starts))
    if len(cues) > 1:  # After the end of a sentence.
        assert all(start % 35 == 0 for start in starts)


async def test_a_long_transcript_is_processed_in_parts(context: ToolContext) -> None:
    text = '\n'.join(f'Speaker {number % 2}: {"word " * 60}{number}.' for number in range(800))
    await context.files.write('long.txt', text.encode())
    result = await use(transcript_processor, context, path='long.txt')
    joined = result.text
    while '[There is more: continue with start=' in result.text:
        start = result.text.rpartition('start=')[2].rstrip(']')
        result = await use(transcript_processor, context, path='long.txt', start=start)
        joined += result.text
    assert all(f' {number}.' in joined for number in range(800)) and '≈' in joined
    model = context.model = Asked({'title': 'T', 'summary': 'S', 'points': ['P']})
    await use(show_notes, context)
    assert len(model.prompts) == 3 and 'part 2 of 2' in model.prompts[1] and 'Combine' in model.prompts[2]


@pytest.mark.parametrize(
    ('starts', 'chapters'),
    [
        (('00:00', '20:02', '20:03', '44:58'), [0, 1200.0, 2700.0]),
        (('00:00', '30:00'), [0, 300.0]),
        (('00:00', '00:10', '00:20'), [0, 300.0]),
        (('soon',), [0, 300.0]),
    ],
)
async def test_a_model_divides_a_show_by_topic(context: ToolContext, starts: Any, chapters: Any) -> None:
    """Each chapter begins where a passage does; too few, too long ones, or none that fits are not taken."""
    context.artifacts['transcript'] = hour_of_passages()
    asked: list[str] = []

    async def model(prompt: str, *, output: type[BaseModel]) -> BaseModel:
        asked.append(prompt)
        return output.model_validate({'chapters': [{'start': start, 'title': start} for start in starts]})

    result = await use(chapter_markers, replace(context, model=model))
    assert [item['startTime'] for item in result.artifacts['chapters']][: len(chapters)] == chapters
    assert len(asked) == 1 and 'by topic' in asked[0]
    assert ('of similar length' in result.text) == (chapters == [0, 300.0])


async def test_only_the_first_part_of_a_long_transcript_starts_at_zero(context: ToolContext) -> None:
    cues = [
        {'start': 60.0 * number, 'end': 60.0 * number + 60, 'speaker': '', 'text': 'word ' * 200}
        for number in range(300)
    ]
    context.artifacts['transcript'] = {'cues': cues, 'duration': 18_000.0}
    model = Asked({'chapters': [{'start': '00:00', 'title': 'x'}]})
    await use(chapter_markers, replace(context, model=model))
    questions = [prompt.partition('\n')[0] for prompt in model.prompts]
    assert len(questions) > 1 and ['starts at 00:00' in question for question in questions] == [
        number == 0 for number in range(len(questions))
    ]
    assert f'part 2 of {len(questions)}' in questions[1]


async def test_topics_are_placed_in_a_transcript_of_one_passage(context: ToolContext) -> None:
    cue = {'start': 0.0, 'end': 3_600.0, 'speaker': '', 'text': 'It goes on.  ' * 1_200}
    context.artifacts['transcript'] = {'cues': [cue], 'duration': 3_600.0}

    async def model(prompt: str, *, output: type[BaseModel]) -> BaseModel:
        return output.model_validate(
            {'chapters': [{'start': f'{at}:00', 'title': 'x'} for at in (0, 20, 40)]}
        )

    result = await use(chapter_markers, replace(context, model=model))
    assert [item['startTime'] for item in result.artifacts['chapters']] == [0.0, 1_200.0, 2_400.0]


def hour_of_passages() -> dict[str, Any]:
    cues = [
        {'start': start, 'end': start + 60.0, 'speaker': '', 'text': 'It goes on.'}
        for start in map(float, range(0, 3_600, 60))
    ]
    return {'cues': cues, 'duration': 3_600.0}


@pytest.mark.parametrize(
    ('chapters', 'says'),
    [
        ([{'start': '59:00', 'title': 'y'}], r'chapters.0.start: the show ends'),
        ([{'start': 'now', 'title': 'x'}], r'chapters.0.start'),
        ([{'start': '00:00'}], r'chapters.0.title: Field required'),
    ],
)
async def test_invalid_chapters_are_refused(context: ToolContext, chapters: Any, says: str) -> None:
    with pytest.raises(ToolError, match=says):
        await use(chapter_markers, context, chapters=chapters)


async def test_a_bad_time_drops_only_its_chapter(context: ToolContext) -> None:
    starts = ['00:10', 'soon', '01:00', '01:00', '02:20', '59:00']
    named = [{'start': start, 'title': f'Part {number}'} for number, start in enumerate(starts)]
    result = await use(chapter_markers, context, chapters=named)
    chapters = [(item['startTime'], item['title']) for item in result.artifacts['chapters']]
    assert chapters == [(0.0, 'Part 0'), (60.0, 'Part 2'), (140.0, 'Part 4')]
    assert (
        'Left out: chapters.1.start: ' in result.text and 'chapters.3.start: it must be later' in result.text
    )
    assert 'chapters.5.start: the show ends' in result.text
    assert 'The first chapter was moved from 00:10 to 00:00.' in result.text


async def test_notes_include_earlier_artifacts(context: ToolContext) -> None:
    await use(chapter_markers, context, chapters=[{'start': '00:00', 'title': 'Hello'}])
    context.artifact_store.values['links'] = {'Home': 'https://home.example'}
    model = Asked({'title': 'T', 'summary': 'S', 'points': ['P'], 'mentioned': ['M']})
    context.model = model
    result = await use(show_notes, context, focus='trains')
    assert result.text == (
        '# T\n\nS\n\n- P\n\n## Chapters\n\n- 00:00 Hello\n\n## Mentioned\n\n- M\n\n## Links\n\n'
        '- [Home](https://home.example)'
    )
    assert (
        '[00:08] Tomas: Good evening.' in model.prompts[0] and '<data>\ntrains\n</data>' in model.prompts[0]
    )


async def test_a_clip_is_found_across_several_cues(context: ToolContext) -> None:
    quote = 'What is the difference? Those who want to be woken are afraid'
    context.model = Asked(
        {'clips': [{'quote': quote, 'post': 'p'}, {'quote': 'Nobody says this.', 'post': 'q'}]}
    )
    result = await use(social_clips, context)
    (clip,) = result.artifacts['social_clips']
    assert (clip['start'], clip['end']) == (101.0, 112.0)
    assert "left out because nobody says it: 'Nobody says this.'" in result.text


async def test_a_paraphrased_clip_is_requested_again_and_then_dropped(context: ToolContext) -> None:
    model = context.model = Asked({'clips': [{'quote': 'Nobody says this.', 'post': 'q'}]})
    result = await use(social_clips, context)
    assert result.ok and result.artifacts['social_clips'] == [] and 'There are no clips' in result.text
    assert len(model.prompts) == 2 and model.prompts[1].endswith('<data>\nNobody says this.\n</data>')


@pytest.mark.parametrize('tool', [chapter_markers, show_notes, social_clips], ids=lambda tool: tool.name)
async def test_other_tools_need_the_processed_transcript(tool: Tool) -> None:
    with pytest.raises(ToolError, match='use transcript_processor first'):
        await tool.run('{}', ToolContext(key='x'))


SAID = {'start': 1.5, 'end': 3, 'text': 'Hello there.'}


@pytest.mark.parametrize(
    ('data', 'speaker'),
    [
        ({'segments': [SAID]}, ''),
        ({'segments': [{**SAID, 'speaker': 'SPEAKER_00'}]}, 'SPEAKER_00'),
        ({'utterances': [{**SAID, 'start': 1500, 'end': 3000, 'speaker': 'A'}]}, 'Speaker A'),
        ({'results': {'utterances': [{**SAID, 'transcript': 'Hello there.', 'speaker': 0}]}}, 'Speaker 0'),
        ({'events': [{'tStartMs': 1500, 'dDurationMs': 1500, 'segs': [{'utf8': 'Hello there.'}]}]}, ''),
        ([{'start': 1.5, 'duration': 1.5, 'text': 'Hello there.'}], ''),
    ],
    ids=['whisper', 'whisperx', 'assemblyai', 'deepgram', 'json3', 'youtube-api'],
)
def test_json_of_the_usual_services_keeps_times_and_speakers(data: Any, speaker: str) -> None:
    kind, (cue,) = transcripts.parse(json.dumps(data))
    assert (kind, cue.start, cue.end, cue.speaker, cue.text) == ('json', 1.5, 3, speaker, 'Hello there.')


def test_other_json_is_no_transcript() -> None:
    with pytest.raises(ValueError, match='no transcript from Whisper'):
        transcripts.parse('{"name": "x"}')


@pytest.mark.parametrize('path', ['talk.mp3', '/talks/our talk.docx', 'https://example.com/talk'])
def test_a_path_to_anything_else_is_refused_by_what_it_is(path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Podcast.parse({'request': 'Notes', 'transcript': path})
    assert 'a transcript is one of .srt' in refused.value.problems['transcript']
