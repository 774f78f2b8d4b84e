"""The agent's chart: tools, structured output, turns, visits, approval."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from engine import Conductor, EventRefused, LocalConductor, Memory, Pattern, Status, ToolContext
from engine.agents.chart import agent
from engine.errors import ToolError
from engine.journal import MemoryJournal
from engine.models.protocol import Completed, ModelEvent, ModelRequest
from engine.records import Outcome, message_of
from engine.tools.protocol import tool
from tests.support.harness import ENDS, FakeModel, Lone, calls, catalog, in_turn, wait_for_state

SEEN: list[tuple[str, str]] = []


@tool()
async def good(context: ToolContext, text: str) -> str:
    """Say it back."""
    SEEN.append((context.key, text))
    return f'good {text}'


@tool()
async def bad(context: ToolContext, how: str) -> str:
    """Fail in some way."""
    if how == 'said':
        raise ToolError('not today')
    if how == 'exit':
        raise SystemExit(2)
    if how == 'number':
        return 7  # type: ignore[return-value]
    raise ZeroDivisionError('oh')


@tool(approval=True)
async def danger(context: ToolContext, text: str) -> str:
    """Do something that needs approval."""
    SEEN.append((context.key, text))
    return f'done {text}'


class Answer(BaseModel):
    number: int


class Kept(Memory):
    text: str = ''
    number: int = 0


def lone(**options: Any) -> type[Pattern]:
    options = {'prompt': 'ask', **options}

    class One(Lone):
        Memory = Kept
        answer = 'text'
        states = [agent('working', tools=('good', 'bad', 'danger'), then='keep', **options), *ENDS]

        def keep(self, memory: Kept, event: Any) -> None:
            memory.text = event.data['text'].strip()
            memory.number = event.data.get('output', {}).get('number', 0)

    return One


async def run(reply: Callable[..., Any] | Any, **options: Any) -> tuple[Outcome, Any, FakeModel]:
    return await run_model(FakeModel(reply), **options)


async def run_model(model: FakeModel, **options: Any) -> tuple[Outcome, Any, FakeModel]:
    SEEN.clear()
    async with LocalConductor(
        catalog=catalog(model, lone(**options), tools=(good, bad, danger))
    ) as conductor:
        run_id = (await conductor.start('one')).id
        outcome = await conductor.result(run_id)
        assert await conductor.audit(run_id) == (await conductor.info(run_id)).seq
        return outcome, (await conductor.view(run_id)).agents['working'], model


def results(state: Any) -> list[tuple[bool, str]]:
    return [
        (part['ok'], part['text'])
        for item in state['messages']
        for part in item['parts']
        if part['kind'] == 'result'
    ]


@pytest.mark.parametrize(
    'prompt',
    [
        lambda memory, event: f'after {event.name}',
        lambda memory: 'after start',
        lambda memory, name='start': f'after {name}',
    ],
    ids=['with the event', 'without', 'with a default of its own'],
)
async def test_a_prompt_is_called_like_an_action_and_may_leave_out_the_event(
    prompt: Callable[..., str],
) -> None:
    outcome, state, _ = await run(in_turn('the end'), prompt=prompt)
    assert outcome.status is Status.DONE
    assert state['messages'][0]['parts'][0]['text'] == 'after start'


async def test_results_of_tools_go_back_in_the_order_of_the_calls() -> None:
    outcome, state, model = await run(
        in_turn(calls(('good', {'text': 'a'}), ('good', {'text': 'b'})), 'the end')
    )
    assert outcome.status is Status.DONE and outcome.answer == 'the end'
    assert results(state) == [(True, 'good a'), (True, 'good b')]
    assert [item.role for item in model.requests[1].messages] == ['user', 'assistant', 'tool']
    assert len({key for key, _ in SEEN}) == 2, 'each call has its own key'


@pytest.mark.parametrize(
    ('call', 'says'),
    [
        (('bad', {'how': 'said'}), 'not today'),
        (('bad', {'how': 'exit'}), 'bad failed unexpectedly: SystemExit: 2'),
        (('bad', {'how': 'bug'}), 'bad failed unexpectedly: ZeroDivisionError: oh'),
        (('bad', {'how': 'number'}), 'a tool must return text, not int'),
        (('bad', {}), 'the arguments of bad are invalid: how: Field required'),
        (('bad', {'how': 'x', 'why': 'y'}), 'the arguments of bad are invalid: why: Extra inputs'),
        (('bad', '{"how": '), 'the arguments are not valid JSON'),
        (('bad', '[' * 100_000), 'the arguments are not valid JSON'),
        (('bad', '[1]'), 'the arguments must be a JSON object'),
        (('nothing', {}), "there is no tool 'nothing'; available: good, bad, danger"),
        (('notes', {}), "there is no tool 'notes'"),
        (('x' * 200_000, {}), "x…'; available: good, bad, danger"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_tool_errors_are_reported_to_the_model(call: Any, says: str) -> None:
    outcome, state, _ = await run(in_turn(calls(call, ('good', {'text': 'beside'})), 'sorry'))
    assert outcome.status is Status.DONE and outcome.answer == 'sorry'
    (failed, success) = results(state)
    assert failed[0] is False and says in failed[1] and len(failed[1]) < 3_000
    assert success == (True, 'good beside')


@pytest.mark.parametrize(
    'text',
    [
        '{"number": 3}',
        '```json\n{"number": 3}\n```',
        'In {short}: {"number": 3} {as asked}.',
        '{"number": "3"}',
        'A valid one is {"number": 1}, and {"number": 2}. Mine: {"number": 3}. {"other": 4}, {}',
        '{"draft": {"number": 1}} {"number": 3} {"number": "many"}',
        '{"draft": {"number": 1} {"number": 3}',
    ],
)
async def test_a_valid_answer_is_found_in_any_wrapping(text: str) -> None:
    outcome, _, model = await run(text, output=Answer)
    assert outcome.memory['number'] == 3 and len(model.requests) == 1
    assert model.requests[0].schema == Answer.model_json_schema()


@pytest.mark.parametrize(
    'unfit',
    [
        *(
            'no',
            '{"number": "x"}',
            '{}',
            '[1]',
            '9' * 5_000,
            '{' * 100_000,
            '{"":' * 100_000,
            '{"}' * 100_000,
        ),
        'Like {"number": 1}? Mine: {"number": 2, "wh',
        'Like {"number": 1}? Mine: {number: 2}',
        '{"draft": {"number": 1}, "why": "It see',
        '{"draft": {"number": 1}}',
        '{"number": 1}' + '{"x":' * 100_000,
    ],
    ids=lambda text: text[:44],
)
async def test_an_invalid_answer_is_requested_once_more(unfit: str) -> None:
    outcome, _, model = await run(in_turn(unfit, {'number': 4}), output=Answer)
    assert outcome.status is Status.DONE and outcome.memory['number'] == 4
    assert model.requests[1].messages[-1].text.startswith('Your answer does not fit: ')


async def test_a_second_invalid_answer_fails_and_says_why() -> None:
    outcome, state, model = await run({'number': 'x'}, output=Answer)
    assert outcome.status is Status.FAILED and len(model.requests) == 2
    assert outcome.error.startswith('number: Input should be a valid integer')
    assert state['problem'] == outcome.error


class CutOff(FakeModel):
    """A model whose first answers are cut off at the length limit."""

    def __init__(self, answers: int, reply: Any) -> None:
        super().__init__(reply)
        self._cut = answers

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        async for event in super().stream(request):
            cut = isinstance(event, Completed) and len(self.requests) <= self._cut
            yield replace(event, reason='length') if cut else event


async def test_a_truncated_answer_is_requested_once_more() -> None:
    outcome, _, model = await run_model(CutOff(1, in_turn('half of', 'all of it')))
    assert outcome.status is Status.DONE and outcome.memory['text'].strip() == 'all of it'
    assert model.requests[1].messages[-1].text == (
        'Your answer does not fit: it was cut off at the length limit\n'
        'Give the whole answer again, more briefly if it is long.'
    )
    outcome, _, model = await run_model(CutOff(2, 'half of'))
    assert outcome.status is Status.FAILED and len(model.requests) == 2
    assert outcome.error == 'it was cut off at the length limit'


LOOKS = calls(('good', {'text': 'x'}))


@pytest.mark.parametrize('before', [(), (LOOKS,)], ids=['at first', 'after results'])
@pytest.mark.parametrize('output', [None, Answer], ids=['words', 'a record'])
async def test_a_second_empty_answer_fails(before: tuple[Any, ...], output: Any) -> None:
    outcome, _, model = await run(in_turn(*before, ' ', '{"number": 7}'), output=output)
    assert outcome.memory['text'] == '{"number": 7}' and len(model.requests) == len(before) + 2
    assert model.requests[-1].messages[-1].text.startswith('Your answer does not fit: the answer is empty\n')
    outcome, _, model = await run(in_turn(*before, ''), output=output)
    assert (outcome.status, outcome.error) == (Status.FAILED, 'the answer is empty')
    assert len(model.requests) == len(before) + 2


async def test_an_agent_that_may_be_silent_has_to_use_a_tool_before() -> None:
    outcome, _, model = await run(in_turn(LOOKS, ''), may_be_silent=True)
    assert outcome.status is Status.DONE and len(model.requests) == 2
    outcome, _, _ = await run('', may_be_silent=True)
    assert outcome.error == 'the answer is empty'


async def test_a_failure_names_the_real_model_that_answered() -> None:
    for options, problem in (({}, 'the answer is empty'), ({'output': Answer}, 'number: Field required')):
        outcome, _, _ = await run_model(FakeModel('{}' if options else '', simulated=False), **options)
        assert outcome.error == f'scripted: {problem}'


async def test_turns_are_limited() -> None:
    outcome, _, model = await run(calls(('good', {'text': 'again'})), turns=3)
    assert outcome.status is Status.FAILED and len(model.requests) == 3
    assert outcome.error == 'it used all its turns without an answer'


class Waiting:
    """A run that waits for approval of two calls."""

    def __init__(self, *approved_calls: Any) -> None:
        self.model = FakeModel(
            in_turn(calls(*approved_calls), calls(('danger', {'text': 'more'})), 'the end')
        )
        self.journal = MemoryJournal()
        SEEN.clear()

    async def begin(self) -> None:
        self.conductor = self.make_conductor()
        self.run = (await self.conductor.start('one')).id
        await self.wait_for_approval()

    def make_conductor(self) -> Conductor:
        return LocalConductor(
            self.journal, catalog=catalog(self.model, lone(), tools=(good, bad, danger)), owner='me'
        )

    async def wait_for_approval(self) -> None:
        await wait_for_state(self.conductor, self.run, 'working.approving')

    async def send(self, name: str, **data: Any) -> None:
        await self.conductor.send(self.run, name, data=data)

    async def ids(self) -> list[str]:
        state = (await self.conductor.view(self.run)).agents['working']
        return [call.id for call in message_of(state['messages'][-1]).calls]


@pytest.fixture
async def waiting() -> Waiting:
    waiting = Waiting(('danger', {'text': 'one'}), ('good', {'text': 'two'}))
    await waiting.begin()
    return waiting


async def test_a_call_that_needs_approval_waits(waiting: Waiting) -> None:
    info = await waiting.conductor.info(waiting.run)
    assert (info.status, info.waiting, SEEN) == (Status.WAITING, 'approval', [])
    await waiting.send('approve')
    await waiting.wait_for_approval()  # The next call asks again.
    assert [text for _, text in SEEN] == ['one', 'two']


async def test_always_approve_lasts_for_the_rest_of_the_run(waiting: Waiting) -> None:
    await waiting.send('approve', always=True)
    outcome = await waiting.conductor.result(waiting.run)
    assert outcome.answer == 'the end' and [text for _, text in SEEN] == ['one', 'two', 'more']


async def test_a_denial_is_returned_with_its_reason(waiting: Waiting) -> None:
    await waiting.send('deny', reason='too dear')
    await waiting.wait_for_approval()
    state = (await waiting.conductor.view(waiting.run)).agents['working']
    assert SEEN == [] and results(state) == [(False, 'A person did not allow this: too dear')] * 2


@pytest.mark.parametrize('edited', ['{"text": "mine"}', {'text': 'mine'}], ids=['text', 'mapping'])
async def test_arguments_can_be_changed_on_approval(waiting: Waiting, edited: Any) -> None:
    first, _ = await waiting.ids()
    await waiting.send('approve', always=True, arguments={first: edited})
    await waiting.conductor.result(waiting.run)
    assert [text for _, text in SEEN] == ['mine', 'two', 'more']
    assert 'mine' in waiting.model.requests[1].messages[1].calls[0].arguments, 'the model sees what was run'
    assert await waiting.conductor.audit(waiting.run)


@pytest.mark.parametrize('arguments', [{'call-0-9': '{}'}, ['x'], 'x'], ids=str)
async def test_arguments_for_calls_that_do_not_wait_are_refused(waiting: Waiting, arguments: Any) -> None:
    with pytest.raises(EventRefused):
        await waiting.send('approve', arguments=arguments)
    await waiting.wait_for_approval()


async def test_a_pending_approval_survives_recovery(waiting: Waiting) -> None:
    await waiting.conductor.close()
    waiting.conductor = waiting.make_conductor()
    assert await waiting.conductor.recover() == [waiting.run]
    assert (await waiting.conductor.info(waiting.run)).status is Status.WAITING
    await waiting.send('approve', always=True)
    assert (await waiting.conductor.result(waiting.run)).answer == 'the end'
    assert [text for _, text in SEEN] == ['one', 'two', 'more'] and len(waiting.model.requests) == 3


class Stopped(lone()):  # type: ignore[misc]
    """A pattern whose agent can be restarted while its calls are unanswered."""

    name = 'stopped'
    transitions = [*lone().transitions, ['again', 'working', 'working']]


async def test_a_second_visit_answers_the_calls_that_were_never_run() -> None:
    model = FakeModel(in_turn(calls(('danger', {'text': 'x'})), 'the end'))
    async with LocalConductor(catalog=catalog(model, Stopped, tools=(good, bad, danger))) as conductor:
        run_id = (await conductor.start('stopped')).id
        await wait_for_state(conductor, run_id, 'working.approving')
        await conductor.send(run_id, 'again')
        await conductor.result(run_id)
    assert [item.role for item in model.requests[1].messages] == ['user', 'assistant', 'tool', 'user']


@pytest.mark.parametrize(
    ('prompt', 'says'),
    [
        (
            lambda memory: setattr(memory, 'text', 'x'),
            "'prompt of working' raised MemoryMisuse: .*only actions write",
        ),
        (lambda memory: 7, "'prompt of working' must return a string, not int"),
        (lambda memory: memory.nothing, "'prompt of working' raised AttributeError"),
    ],
)
async def test_a_failing_prompt_is_named(prompt: Any, says: str) -> None:
    async with LocalConductor(
        catalog=catalog(FakeModel(), lone(prompt=prompt), tools=(good, bad, danger))
    ) as conductor:
        outcome = await conductor.result((await conductor.start('one')).id)
    assert outcome.status is Status.FAILED

    assert re.search(f"pattern 'one', state 'working': {says}", outcome.error), outcome.error
