"""Exported runs: the page that replays offline, the transcript, names, and what is removed."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from engine import Conductor, LocalConductor
from engine.agents.chart import agent
from engine.errors import UnknownRun
from engine.history import ForkOverrides, Redaction
from engine.journal.projection import EMPTY_DOCUMENT
from engine.records import Change, RunId, RunInfo
from engine.records.document import apply_patch
from engine.tools.builtin.project.read_file import read_file
from tests.support.harness import (
    FakeModel,
    HastyClock,
    Lone,
    catalog,
    complete_run,
    pipeline_reply,
    to_the_end,
    wait_for_state,
)
from ui.web.exports import run_history
from ui.web.exports.formats import FORMATS, file_name, stream_export
from ui.web.exports.markdown import escape_markdown, fence, write_transcript
from ui.web.exports.offline_page import render_page
from ui.web.exports.text import CannotExport

HOSTILE = '</script><script>alert(1)</script><!-- <script> ``` ~~~~ # not a title "quoted"'
SECRET = 'sk-a_secret*of-all-the-keys-12345'


@pytest.fixture
async def conductor() -> AsyncIterator[Conductor]:
    def reply(request: Any) -> Any:
        if request.hints.role == 'working':
            return f'{HOSTILE} {SECRET}'
        return pipeline_reply(request)

    patterns = catalog(FakeModel(reply), Lone, tools=(read_file,))
    async with LocalConductor(catalog=patterns, clock=HastyClock()) as conductor:
        yield conductor


class Reader(Lone):
    """One agent that reads files."""

    states = (agent('working', prompt='ask', tools=('read_file',)), *Lone.states[1:])


async def pipeline(conductor: Conductor, task: str = 'Which database?') -> RunId:
    run = (await conductor.start('pipeline', {'task': task})).id
    await to_the_end(conductor, run)
    return run


async def read_transcript(conductor: Conductor, run: RunId, **options: Any) -> str:
    return ''.join([text async for text in write_transcript(conductor, run, **options)])


def data_of(page: str) -> Any:
    match = re.search(r'<script type="application/json" id="data">"([A-Za-z0-9+/=]+)"</script>', page)
    assert match
    return json.loads(gzip.decompress(base64.b64decode(match[1])))


async def test_a_page_runs_its_own_script_and_nothing_else(conductor: Conductor) -> None:
    page = await render_page(conductor, await pipeline(conductor, HOSTILE))
    policy = html.unescape(re.search(r'Security-Policy" content="([^"]*)"', page)[1])  # type: ignore[index]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    script = page.split('<script type="module">')[1].split('</script>')[0]
    style = page.split('<style>')[1].split('</style>')[0]
    for text, kind in ((script, 'script'), (style, 'style')):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert page.count('<script') == 2 and page.count('</script>') == 2
    assert 'alert(1)</script>' not in page
    bare = re.sub(r'<script.*?</script>', '', page, flags=re.S)
    assert not re.search(r'(?:src|href)="(?!#)|@import|url\(', bare)


async def test_a_page_holds_the_data_of_every_step(conductor: Conductor) -> None:
    run = await pipeline(conductor)
    data = data_of(await render_page(conductor, run))
    info = await conductor.info(run)
    assert len(data['steps']) == info.seq
    document: dict[str, Any] = {**EMPTY_DOCUMENT}
    for seq, step in enumerate(data['steps'], start=1):
        changes = [Change(op=op, path=path, value=value) for op, path, value in step.get('changes', ())]
        document = apply_patch(document, changes)
        view = await conductor.view(run, seq)
        assert (document['memory'], document['agents']) == (view.memory, view.agents)
        assert step['lit']['active'] == list(view.active)
    assert data['steps'][-1]['now']['status'] == 'done'
    kinds = [kind for _, _, kind, _ in data['timeline']['news']['flags']]
    assert (kinds.count('rejected'), kinds.count('approved')) == (1, 1)
    assert data['timeline']['news']['blocks']
    by_title = {step['title']: step for step in data['steps']}
    assert by_title['reviewing → complete: the reviewer approved']['guards'] == ['Approved: yes']
    sent_back = by_title['reviewing → analyzing: the reviewer sent it back, revisions left']
    assert sent_back['guards'] == ['Approved: no', 'No revisions left: no']
    assert [other['to'] for other in sent_back['others']] == ['to complete', 'to complete']


async def test_files_given_with_a_run_are_named(conductor: Conductor) -> None:
    conductor.catalog.add(Reader)
    run = await complete_run(conductor, 'reader', files={'a_b.txt': 'text', 'c.bin': b'\xff'})
    assert '- **Files at the start:** a\\_b.txt (4 B), c.bin (1 B)' in await read_transcript(conductor, run)
    data = data_of(await render_page(conductor, run))
    assert ['Files at the start', 'a_b.txt (4 B), c.bin (1 B)'] in data['facts']


async def test_notes_are_shown_at_their_steps(conductor: Conductor) -> None:
    run = await pipeline(conductor)
    await conductor.write_note(run, f'# Twice?\n{HOSTILE}', at=7)
    second = await conductor.write_note(run, 'and again', at=7)
    await conductor.write_note(run, 'and yet again', note=second.id)
    page = await render_page(conductor, run)
    steps = data_of(page)['steps']
    assert {number: len(step['notes']) for number, step in enumerate(steps, 1) if 'notes' in step} == {7: 2}
    first, changed = steps[6]['notes']
    assert first[0] == f'# Twice?\n{HOSTILE}' and HOSTILE not in page
    assert (
        changed[0] == 'and yet again' and not first[1].endswith('edited') and changed[1].endswith(', edited')
    )
    text = await read_transcript(conductor, run)
    assert '> # Twice?' in text and '\n# Twice?' not in text
    at = text.index('**Note** (step 7')
    assert text.index('step 6,') < at < text.index('> and yet again') < text.index('step 8,')
    assert 'and again\n' not in text.replace('and yet again', '')


async def test_a_thousand_steps_take_a_few_megabytes(conductor: Conductor) -> None:
    run = await pipeline(conductor)
    steps = await conductor.transitions(run)
    repeated, last = list(steps), steps[-1]
    for seq in range(last.seq + 1, 1_001):
        value = hashlib.sha256(str(seq).encode()).hexdigest() * 16
        change = Change(op='add', path='/memory/sources/-', value=value)
        event = replace(last.event, name='noted')
        repeated.append(
            replace(last, seq=seq, time=last.time + seq, event=event, edges=(), changes=(change,))
        )
    info = replace(await conductor.info(run), id=RunId('long'), epoch=1)
    await conductor.journal.create(info, await conductor.shape(run))
    await conductor.journal.append(
        replace(info, seq=1_000), [replace(step, run=info.id) for step in repeated]
    )
    assert len(await render_page(conductor, info.id)) < 3_000_000


async def test_a_run_too_long_for_a_page_is_refused(conductor: Conductor, monkeypatch: Any) -> None:
    run = await pipeline(conductor)
    monkeypatch.setattr(run_history, 'MAX_TEXT', 10)
    with pytest.raises(CannotExport, match='bundle'):
        await render_page(conductor, run)
    monkeypatch.setattr(run_history, 'MAX_STEPS', 5)
    with pytest.raises(CannotExport, match='5 at most'):
        await render_page(conductor, run)


async def test_no_format_holds_secrets(conductor: Conductor) -> None:
    run = (await conductor.start('lone', title=f'with {SECRET}')).id
    await to_the_end(conductor, run)
    await conductor.annotate(run, note=SECRET, tags=[SECRET])
    await conductor.write_note(run, f'it said {SECRET}', at=2)
    redaction = Redaction([lambda text: text.replace(SECRET, '[hidden]')])
    page = await render_page(conductor, run, redaction)
    transcript = await read_transcript(conductor, run, redaction=redaction)
    for text in (page, json.dumps(data_of(page)), transcript):
        assert SECRET not in text and escape_markdown(SECRET) not in text
        assert 'of-all-the-keys' not in text
    assert '[hidden]' in json.dumps(data_of(page)) and 'contained secrets' in page
    assert transcript.count('hidden') >= 4 and 'contained secrets' in transcript


async def test_a_transcript_says_who_said_what_and_how_it_ended(conductor: Conductor) -> None:
    text = await read_transcript(conductor, await pipeline(conductor))
    for line in (
        '# Which database?', '- **Status:** Done', '### researching', '### reviewing',
        '**Researcher** (step 3', 'Asks for `notes`:', 'Tool `calculator` answers', '**Verdict** (step',
        '## Outcome', '> draft 2',
    ):  # fmt: skip
        assert line in text, line
    assert text.index('### researching') < text.index('### analyzing') < text.index('## Outcome')


async def test_human_actions_are_marked(conductor: Conductor) -> None:
    run = (await conductor.start('pipeline', {'task': 'Which database?'})).id
    await wait_for_state(conductor, run, 'researching.thinking')
    await conductor.cancel(run, 'enough')
    text = await read_transcript(conductor, run)
    assert re.search(r'\*\*A person\*\* \(step \d+.*: cancelled the run: enough', text)
    assert '- **Status:** Cancelled: enough' in text


async def test_the_origin_and_end_of_a_forks_replay_are_shown(conductor: Conductor) -> None:
    run = (await conductor.start('pipeline', {'task': 'Which database?'})).id
    await wait_for_state(conductor, run, 'reviewing.thinking')
    await conductor.pause(run)
    fork = await conductor.fork(run, 5, overrides=ForkOverrides(after='recorded'))
    await to_the_end(conductor, fork)
    text = await read_transcript(conductor, fork)
    at = (await conductor.info(fork)).parent_at
    begun = f'**Restart** (step {at + 1}, '
    assert (
        f'forked from run {run} at step {at}: later steps are replayed from the record'
        in text.split(begun)[1]
    )
    ended = r'nothing is recorded of how \w+ › thinking ended: it continues on its own from here'  # noqa: RUF001
    assert re.search(rf'\*\*Restart\*\* \(step \d+, [^)]*\): {ended}', text)
    assert 'was restarted' not in text


async def test_no_text_escapes_its_element(conductor: Conductor) -> None:
    run = (await conductor.start('lone', title=HOSTILE)).id
    await to_the_end(conductor, run)
    lines = (await read_transcript(conductor, run)).splitlines()
    assert lines[0].startswith('# ') and '<script>' not in lines[0].replace('\\<script\\>', '')
    assert all(
        line.startswith('> ') for line in lines if 'alert(1)' in line and not line.startswith(('# ', '-'))
    )


@pytest.mark.parametrize('text', ['x', '```', 'a\n````\nb', '`' * 40, '~~~'])
def test_a_fence_is_longer_than_any_inside(text: str) -> None:
    first, *inner, end = fence(text).splitlines()
    assert set(first) == {'`'} and first == end
    assert all(not re.match(rf'\s*{first}', line) for line in inner)


@pytest.mark.parametrize(
    ('title', 'name'),
    [
        ('What? A/B..\\c', 'what-a-b-c-abcdef.html'),
        ('☂', 'pipeline-abcdef.html'),
        ('x' * 99, f'{"x" * 50}-abcdef.html'),
    ],
)
def test_files_are_named_after_the_run(title: str, name: str) -> None:
    assert file_name(RunInfo(id=RunId('abcdef123456'), pattern='pipeline', title=title), 'html') == name


async def test_a_run_exports_in_every_format(conductor: Conductor) -> None:
    run = await pipeline(conductor)
    for form in FORMATS:
        assert b''.join([piece async for piece in stream_export(conductor, run, form)])
        with pytest.raises(UnknownRun):
            await anext(stream_export(conductor, RunId('nobody'), form))
