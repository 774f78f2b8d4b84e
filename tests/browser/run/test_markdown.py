"""Model output: formulas, highlighted code that can be copied, and plain dollar signs."""

import pytest

RENDER = """async (text) => {
    const { render } = await import('/hemicycle/conversation/markdown.js');
    const box = document.createElement('div');
    box.className = 'prose';
    document.body.append(box);
    render(box, text);
    document.getElementById('said')?.remove();
    return box.id = 'said';
}"""


RESULT = """async (text) => {
    const { renderToolCall } = await import('/hemicycle/conversation/tool_call.js');
    const call = renderToolCall({ title: 'give', state: 'done', arguments: [['who', 'x']], text });
    const [pre, value] = [call.querySelector('.result pre'), call.querySelector('.tool-value')];
    return [pre.textContent, pre.dir, value.dir];
}"""


def test_a_tool_result_is_cut_between_characters_as_people_see_them_and_runs_in_its_direction(home):
    shown, *directions = home.evaluate(
        RESULT, 'a' * 1679 + '\U0001f468\u200d\U0001f469\u200d\U0001f467' + ' more' * 20
    )
    assert shown == 'a' * 1679
    assert directions == ['auto', 'auto']


@pytest.fixture
def render(home):
    def write(text: str):
        home.evaluate(RENDER, text)
        return home.locator('#said')

    return write


@pytest.mark.parametrize(
    'text',
    [r'Euler: $e^{i\pi} + 1 = 0$.', r'So \(a^2 + b^2\) it is.', '$$\n\\sum_{i=1}^n i\n$$', '\\[x_1\\]'],
)
def test_formulas_are_drawn(render, text):
    element = render(text)
    element.locator('math').wait_for()
    assert '$' not in element.locator('math').evaluate('math => math.textContent.replace(/annotation/, "")')


@pytest.mark.parametrize('text', ['It costs $5 or $6.', 'From $10 to $20 a month', r'Keep `$x$` as code'])
def test_money_and_code_are_not_formulas(render, home, text):
    element = render(text)
    home.wait_for_function('document.fonts.ready.then(() => true)')
    assert element.locator('.math').count() == 0


def test_an_invalid_formula_is_shown_as_written_and_runs_nothing(render):
    element = render(r'$\href{javascript:alert(1)}{x} \frac{$ and <img src=x onerror=alert(2)>')
    assert element.locator('a[href^="javascript"], img').count() == 0


def test_code_is_highlighted_and_copied(render, home):
    home.context.grant_permissions(['clipboard-read', 'clipboard-write'])
    element = render('```python\ndef add(a, b):\n    return a + b\n```')
    element.locator('.hljs-keyword').first.wait_for()
    assert element.locator('.hljs-keyword').all_inner_texts() == ['def', 'return']
    element.locator('pre').hover()
    element.get_by_role('button', name='Copy').click()
    element.get_by_role('button', name='Copied').wait_for()
    assert home.evaluate('navigator.clipboard.readText()') == 'def add(a, b):\n    return a + b\n'


@pytest.mark.parametrize(
    'text',
    [
        'Three:\n- one\n- two, which\n  goes on\n- three',
        'Three:\n\n- one\n\n- two\n\n- three\n\nThe end',
        '1. Three:\n   - one\n   - two\n   - three\n2. The end',
    ],
)
def test_lists_are_recognized_everywhere(render, text):
    element = render(text).locator('ul')
    element.first.wait_for()
    assert element.count() == 1 and element.locator('li').count() == 3
    assert '- ' not in element.inner_text()


def test_a_very_long_word_does_not_push_table_columns_away(render):
    element = render(
        f'| What | Why |\n|---|---|\n| {"sha" * 60} | It is the address of the file that the agent wrote. |'
    )
    table = element.locator('table')
    assert table.evaluate('(table) => table.scrollWidth <= table.clientWidth')
    assert table.locator('td').first.inner_text() == 'sha' * 60
    assert table.locator('td').last.bounding_box()['height'] < 60
    words = render('| A | B |\n|---|---|\n| Characteristically | ordinary words |')
    assert words.locator('wbr').count() == 0


def test_right_to_left_text_begins_at_the_right(render):
    hello = '\u05e9\u05dc\u05d5\u05dd'
    element = render(f'# {hello} (2)\n\n- {hello}\n\nSo {hello} it is.\n\n```\n{hello}\n```')
    element.locator('pre').wait_for()
    directions = element.evaluate('(box) => [...box.children].map((one) => getComputedStyle(one).direction)')
    assert directions == ['rtl', 'rtl', 'ltr', 'ltr']
    entry, around = (element.locator(selector).bounding_box() for selector in ('li', 'ul'))
    assert entry['x'] == around['x']


def test_a_task_has_a_box_and_no_bullet(render):
    items = render('- [x] done\n- [ ] open\n- plain').locator('li')
    styles = items.evaluate_all(
        'all => all.map(one => [one.textContent.trim(), getComputedStyle(one).listStyleType])'
    )
    assert styles == [['☑ done', 'none'], ['☐ open', 'none'], ['plain', 'disc']]
