"""Usage and cost: per call, agent, model and run."""

from __future__ import annotations

from typing import Any

import pytest

from engine import Event, LocalConductor, Transition
from engine.errors import ModelError
from engine.journal import Fold
from engine.journal.projection import RunProjection
from engine.journal.usage_records import usage_from_dict
from engine.models.protocol import Completed, ModelRequest, TextPiece, ToolSpec
from engine.models.usage_estimate import estimate_usage
from engine.records import RunId, Shape, Spending, StatePath, Usage
from engine.records.message import Message
from tests.support.harness import FakeModel, HastyClock, Lone, catalog, complete_run, in_turn, pipeline_reply

SILENT = Usage(source='missing')


class Silent(FakeModel):
    """A provider that reports no usage; `cents` is the cost of its calls, if known."""

    def __init__(self, reply: Any = 'four', *, cents: float | None = None) -> None:
        super().__init__(reply, simulated=False)
        self._cents = cents

    def price(self, usage: Usage) -> float | None:
        return None if self._cents is None else self._cents / 100

    async def stream(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        reply = self._reply(request)
        if isinstance(reply, str):
            yield TextPiece(text=reply)
            yield Completed(usage=SILENT)
        else:
            raise reply


async def play(models: dict[str, Any], chosen: str) -> Fold:
    own_catalog = catalog(FakeModel(), Lone)
    own_catalog.models.update(models)  # type: ignore[arg-type]
    async with LocalConductor(catalog=own_catalog, clock=HastyClock()) as conductor:
        run = await complete_run(conductor, 'lone', models={'': chosen})
        fold = await conductor.fold(run)
        assert (await conductor.info(run)).usage == fold.view.usage
        return fold


def test_an_estimate_counts_four_characters_per_token() -> None:
    tool = ToolSpec(name='t', description='d' * 38, schema={})
    request = ModelRequest(model='m', messages=(Message.of('user', 'x' * 41),), tools=(tool,))
    assert estimate_usage(request, 9) == Usage(input=21, output=3, calls=1, source='estimated')


async def test_unreported_usage_is_estimated_and_priced_as_an_estimate() -> None:
    view = (await play({'one': Silent('four', cents=2)}, 'one')).view
    assert view.usage == Usage(input=2, output=1, calls=1, source='estimated', dollars=0.02)
    assert view.spending == {'working': Spending(models={'one': view.usage}, origins=('live',))}


async def test_an_unknown_cost_is_not_zero() -> None:
    view = (await play({'one': Silent()}, 'one')).view
    assert (view.usage.cost, view.usage.unpriced) == (None, 1)


async def test_failed_attempts_and_fallbacks_count_for_the_model_that_was_called() -> None:
    busy = ModelError('busy', kind='overloaded', retryable=True, usage=Usage(input=9))
    one = Silent(in_turn(busy, ModelError('no', kind='auth')), cents=1)
    view = (await play({'one': one, 'two': Silent(cents=3)}, 'one,two')).view
    assert view.models['one'] == Usage(input=9, calls=2, dollars=0.01)
    assert view.models['two'].dollars == 0.03 and view.models['two'].source == 'estimated'
    assert view.usage.calls == 3 and view.usage.cost == pytest.approx(0.04)
    assert view.spending['working'].origins == ('live',)


async def test_a_permanent_failure_counts_too() -> None:
    view = (await play({'one': Silent(ModelError('no', kind='auth', usage=Usage(input=5)))}, 'one')).view
    assert view.status == 'failed'
    assert view.spending['working'] == Spending(models={'one': Usage(input=5, calls=1, unpriced=1)})


async def test_each_agent_has_its_own_sum_and_simulated_calls_cost_nothing() -> None:
    async with LocalConductor(catalog=catalog(FakeModel(pipeline_reply)), clock=HastyClock()) as conductor:
        run = await complete_run(conductor, 'pipeline', {'task': 'six?'})
        view = await conductor.view(run)
    assert {path: spent.total.calls for path, spent in view.spending.items()} == {
        'researching': 2, 'analyzing': 2, 'reviewing': 2,
    }  # fmt: skip
    assert all(spent.origins == ('simulated',) for spent in view.spending.values())
    assert view.models == {'scripted': view.usage} and view.usage.cost == 0


async def test_spending_is_the_same_from_a_snapshot() -> None:
    fold = await play({'one': Silent(cents=2)}, 'one')
    loaded = Fold.load(fold.snapshot(), fold.shape)
    assert loaded.view == fold.view


@pytest.mark.parametrize('usage', ['much', None, {'input': 'x', 'calls': -1, 'source': ['?']}], ids=str)
def test_an_activitys_own_usage_field_is_ignored(usage: Any) -> None:
    shape = Shape(pattern='p', title='P', initial=StatePath('a'), states=(), edges=())
    projection = RunProjection(shape)
    event = Event(name='done', at=StatePath('a'), data={'usage': usage})
    projection.apply(Transition(run=RunId('r'), seq=1, time=1.0, event=event))
    assert projection.usage == Usage()


def test_counts_too_large_for_the_database_are_dropped() -> None:
    for dollars in (10**400, 1e300, float('inf'), float('nan')):
        usage = usage_from_dict({'usage': {'input': 10**30, 'output': 7, 'calls': True, 'dollars': dollars}})[
            ''
        ]
        assert usage == Usage(output=7)
