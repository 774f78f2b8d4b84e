"""Streamed Markdown renders block by block like the whole text, wherever it is cut."""

import json
import random

import pytest
from playwright.sync_api import expect

WHOLE = """# Findings

The *first* paragraph has **bold**, `code` and a [link](https://example.org),
over two lines.

- one

- two, loose
  with a second line

    and a paragraph of its own
- three

1. first
2. second

```python
def settle(text):

    return text  # the fence has an empty line inside
```

> a quotation

| name | count |
| --- | --- |
| ann | 2 |

Setext
------

<b onclick="window.pwned=1">not HTML</b> & the end
"""

PIECES = """async (pieces) => {
  const { render, Stream } = await import('/hemicycle/conversation/markdown.js');
  const whole = document.createElement('div'), grown = document.createElement('div');
  render(whole, pieces.join(''));
  const stream = new Stream(grown);
  let redone = 0;
  for (const piece of pieces) {
    const before = new Set(grown.childNodes);
    stream.add(piece);
    redone = Math.max(redone, [...grown.children].filter((child) => !before.has(child)).length);
  }
  return [grown.innerHTML, whole.innerHTML, redone];
}"""


def cut(text: str, seed: int) -> list[str]:
    chance, pieces = random.Random(seed), []
    while text:
        size = chance.randint(1, 12)
        pieces, text = [*pieces, text[:size]], text[size:]
    return pieces


@pytest.mark.parametrize('ends', ['\n', '\r\n'])
@pytest.mark.parametrize('seed', range(4))
def test_streamed_pieces_add_up_and_only_the_end_is_redrawn(home, seed, ends):
    grown, full, redone = home.evaluate(PIECES, cut(WHOLE.replace('\n', ends), seed))
    assert grown.replace('\n', '') == full.replace('\n', '')
    assert redone <= 2


ANSWER = {
    'approach': 'First “this”,\nthen that.',
    'tasks': [{'task_id': 'a', 'after': ['x', 'y'], 'ok': True}, {'task_id': 'b', 'after': [], 'why': ''}],
    'open_points': ['one\ntwo', 'three'],
    'sources': [],
    'output': '- a\n- b',
    'comment': '',
    'approved': False,
    'score': 91,
}
READABLE = """**Approach**: First “this”,
then that.

**Tasks**

- Task id: a · After: x, y · Ok: yes
- Task id: b · After: none · Why: none

**Open points**

- one
  two
- three

**Sources**

- none

**Output**:

- a
- b

**Comment**: none

**Approved**: no

**Score**: 91"""
READ = """async ([pieces, options]) => {
  const { JsonText } = await import('/hemicycle/conversation/json_text.js');
  const read = new JsonText(options);
  return pieces.map((piece) => read.add(piece)).join('');
}"""


@pytest.mark.parametrize(('seed', 'ascii'), [(0, True), (1, False), (2, True)])
def test_json_is_readable_while_it_is_written(home, seed, ascii):
    text = json.dumps(ANSWER, ensure_ascii=ascii, indent=seed)
    assert home.evaluate(READ, [cut(text, seed), {}]) == READABLE
    early = home.evaluate(READ, [cut(text[:60], seed), {}])
    assert early and READABLE.startswith(early)


def test_a_written_file_is_shown_verbatim(home):
    text = json.dumps({'path': 'a.py', 'text': 'def f():\n    return "é"\n'})
    markdown = home.evaluate(READ, [cut(text, 3), {'code': True}])
    assert markdown == '**Path**: a.py\n\n**Text**\n\n~~~~~~~~\ndef f():\n    return "é"\n\n~~~~~~~~'


def test_calls_and_records_are_readable_while_they_stream(page, new_server):
    new_server.pace = 30  # Slow enough for a page that is drawn late on a busy machine.
    new_server.start()
    page.goto(f'{new_server.url}/launch/pipeline')
    page.get_by_label('Task').fill('Should our library lend bicycles?')
    page.get_by_role('button', name='Run', exact=True).click()
    streaming = page.locator('.block.streaming')
    expect(streaming.filter(has_text='notes')).to_contain_text('Calling notes…')
    expect(streaming.filter(has_text='notes')).to_contain_text('What exactly does the task ask about')
    expect(streaming.filter(has_text='Findings').locator('strong').first).to_have_text('Findings')
    expect(streaming.filter(has_text='Findings')).not_to_contain_text('{')


DESCRIBE = """async (values) => {
    const { renderToolCall } = await import('/hemicycle/conversation/tool_call.js');
    const given = values.map((value, i) => [`a${i}`, value]);
    const call = renderToolCall({ state: 'ok', title: 'post', arguments: given });
    return [...call.querySelectorAll('dd')].map((one) => (one.querySelector('pre') ?? one).textContent);
}"""


def test_call_arguments_are_not_shown_as_json(home):
    values = [['mastodon', 'linkedin'], [], True, None, 0.1234567890123, {'x': 1, 'dry': False}]
    values += [[f'a word {number}' for number in range(20)], {'a': {'b': 1}}, '{"kept": "as written"}']
    descriptions = home.evaluate(DESCRIBE, values)
    assert descriptions[:6] == ['mastodon, linkedin', 'none', 'yes', 'none', '0.123457', 'x: 1 · dry: no']
    assert descriptions[6].splitlines()[:2] == ['a word 0', 'a word 1']
    assert descriptions[7:] == ['{"a":{"b":1}}', '{"kept": "as written"}']


READER = """async ([blocks, after, mark]) => {
  const conversation = (await import('/hemicycle/conversation/conversation.js')).default;
  const pane = document.body.appendChild(document.createElement('div'));
  pane.style = 'overflow: auto; height: 120px; width: 400px';
  const talk = { ...conversation.methods, blocks, follow: true, $el: document.createElement('div') };
  talk.$el.className = 'talk';
  pane.append(talk.$el);
  conversation.mounted.call(talk);
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await drawn();
  if (mark === 'selection') getSelection().selectAllChildren(talk.$el.querySelector('.tool-arguments'));
  else talk.$el.querySelector('.btn').click(), talk.$el.querySelector('.btn').focus();
  pane.scrollTop = pane.scrollHeight;
  const marked = () => mark === 'selection' ? String(getSelection()) : document.activeElement.textContent;
  const look = () => [pane.scrollTop, marked()];
  const before = look();
  talk.splice(0, after);
  talk.append('text', 'A line that follows.\\n\\n'.repeat(40));
  await drawn();
  const state = talk.$el.querySelector('.tool-state').textContent;
  const seen = [before, look(), state, talk.$el.querySelectorAll('.result').length];
  pane.remove();
  return seen;
}"""


@pytest.mark.parametrize('mark', ['selection', 'focus'])
def test_a_call_that_ends_keeps_the_selection_and_the_focus(home, mark):
    arguments = [['request', 'word ' * 20], ['lines', 'line\n' * 40]]
    call = {
        'kind': 'tool',
        'title': 'search',
        'arguments': arguments,
        'raw': '',
        'tags': [],
        'text': '',
        'full_result_url': '',
    }
    running = {**call, 'state': 'running', 'note': 'running', 'ok': None}
    ended = {**call, 'state': 'ok', 'note': 'done · 2 s', 'ok': True, 'text': 'Found nothing.'}
    before, after, summary, results = home.evaluate(READER, [[running], [ended], mark])
    assert before == after
    assert before[1] == 'Show less' if mark == 'focus' else 'line' in before[1]
    assert (summary, results) == ('done · 2 s', 1)


UNREAD = """async (blocks) => {
  const conversation = (await import('/hemicycle/conversation/conversation.js')).default;
  const pane = document.body.appendChild(document.createElement('div'));
  pane.style = 'overflow: auto; height: 120px; width: 400px';
  pane.tabIndex = 0;
  const talk = { ...conversation.methods, blocks, follow: true, $el: document.createElement('div') };
  pane.append(talk.$el);
  conversation.mounted.call(talk);
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const offered = () => pane.querySelector('.unread-text')?.textContent ?? '';
  const seen = [];
  const append = async () => {
    talk.append('text', 'More.\\n\\n'.repeat(20));
    await drawn();
    seen.push([Math.round(pane.scrollTop), offered()]);
  };
  await append();
  pane.scrollTop = 10;
  await drawn();
  await append();
  const height = pane.scrollHeight;
  pane.querySelector('.unread-text button').click();
  await drawn();
  const left = pane.scrollHeight - pane.scrollTop - pane.clientHeight;
  seen.push([left, offered(), document.activeElement === pane, pane.scrollHeight === height]);
  pane.scrollTop = 0;
  await drawn();
  await append();
  talk.splice(0, [{ kind: 'text', text: 'A line.' }]);
  await drawn();
  seen.push(offered());
  conversation.unmounted.call(talk);
  pane.remove();
  return seen;
}"""


def test_a_pane_that_was_scrolled_up_stays_and_offers_new_text(home):
    followed, stayed, led, unread, shortened = home.evaluate(
        UNREAD, [{'kind': 'text', 'text': 'A line.\n\n' * 40}]
    )
    assert followed[0] > 100 and followed[1] == ''
    assert stayed == [10, '↓ New text']
    assert led == [0, '', True, True], 'at the end, without the button, which took no room'
    assert unread == [0, '↓ New text']
    assert shortened == '', 'an earlier step has less text, and all of it is in view'


LATE = """async (blocks) => {
  const conversation = (await import('/hemicycle/conversation/conversation.js')).default;
  const pane = document.body.appendChild(document.createElement('div'));
  pane.style = 'overflow: auto; height: 9000px';
  const talk = { ...conversation.methods, blocks, follow: true, $el: document.createElement('div') };
  pane.append(talk.$el);
  conversation.mounted.call(talk);
  pane.style.height = '100px';  // like a page that is laid out late
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const left = pane.scrollHeight - pane.scrollTop - pane.clientHeight;
  pane.remove();
  return left;
}"""


def test_a_pane_that_gets_its_size_late_shows_the_newest_text(home):
    assert home.evaluate(LATE, [{'kind': 'text', 'text': 'A line.\n\n' * 40}]) <= 1
