"""Meter: what a run has used of its budget and what became of that, as its journal tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from engine.budgets.budget import FIELDS, KINDS, Budget, Gauge
from engine.errors import InvalidInput
from engine.records import Event, Usage

SLACK = {'tokens': 0.0, 'cost': 1e-9, 'seconds': 1e-3}
"""What sums of fractions and timers may be short of a limit and still be there."""
UNPRICED = 'unpriced'
NOTICE = 'Budget notice:'
"""How a message begins that tells an agent of the budget."""
WRAP_UP = (
    'Wrap up now: finish what you are doing, start nothing new, and give your answer as soon as you can.'
)
KEPT = ('running', 'unpriced', 'warned', 'notices', 'exhausted', 'reason', 'closing', 'until')


class Meter:
    """The budget's part of a ledger. `take` goes on by one control event or by `exhausted`."""

    def __init__(self) -> None:
        self.budget: Budget | None = None
        self.inherited = self.uncounted = Usage()
        """What the run that this one was forked from had used; and what of it does not count. While all is
        played, all counts as it did then."""
        self.playing = False
        self.running = 0.0
        """Seconds that the run has been running (a fork: since it was forked), up to its last step."""
        self.warned: dict[str, str] = {}
        """What there was a warning of, and its sentence: limits, and `unpriced` calls."""
        self.notices: tuple[str, ...] = ()
        """What each agent is to be told, in order; '' has been overtaken."""
        self.unpriced = ''
        """Models that were chosen and whose price is not known."""
        self.exhausted = self.reason = ''
        """The limit that was reached, and the sentence about it."""
        self.closing = 0
        """The step at which the pattern was told of it: what is entered from then on is its shutdown."""
        self.until = 0.0
        """When the grace is over, in seconds of running."""

    def take(self, event: Event, seq: int, usage: Usage) -> None:
        """Go on by an event that has been journaled as step `seq`; `usage` is the run's after it."""
        data = event.data
        if event.name in ('start', 'recover'):
            self.unpriced = ', '.join(map(str, data.get('unpriced', ())))
        match event.name:
            case 'start':
                self.budget, self.playing = _budget(data), bool(event.played)
            case 'recover' if 'forked' in data and data.get('playing'):
                self.inherited, self.playing = usage, True
            case 'recover' if begins_anew(data):
                self._begin_anew(_budget(data) or self.budget, usage)
            case 'warn' if self.budget and data.get('budget'):
                self.warned[str(data['budget'])] = str(data.get('reason', ''))
                self.notices += (str(data['notice']),) if data.get('notice') else ()
            case 'exhaust' if self.budget:
                self.exhausted, self.reason = str(data.get('budget', '')), str(data.get('reason', ''))
                self.closing = 0
                self.until = self.running + self.budget.grace
            case 'exhausted' if self.budget and self.exhausted:
                self.closing, self.until = seq, self.running + self.budget.grace
            case 'extend' if self.budget:
                self._extend(_budget(data) or self.budget, usage)

    def _begin_anew(self, budget: Budget | None, usage: Usage) -> None:
        """A fork has the whole budget before it, whatever its parent has used or was warned of."""
        told, without_price = len(self.notices), self.unpriced
        self.__dict__.update(Meter().__dict__)
        self.unpriced = without_price
        self.budget, self.notices = budget, ('',) * told
        self.inherited = self.uncounted = usage

    def inherit(self, usage: Usage) -> None:
        """Take what was played into account: the run that this one was forked from had used it."""
        self.inherited += usage
        self.uncounted += Usage() if self.playing else usage

    def _extend(self, budget: Budget, usage: Usage) -> None:
        self.budget = budget
        limits, used = budget.limits(), self.used(usage)
        eased = [kind for kind in limits if kind in self.warned and used[kind] < budget.warn * limits[kind]]
        if eased:
            for kind in eased:
                del self.warned[kind]
            self.notices = (*('' for _ in self.notices), f'{NOTICE} it has been raised; go on as planned.')
        if self.exhausted:
            # Whatever else may be used up is found out right after this step.
            self.exhausted, self.closing = '', 0

    def used(self, usage: Usage, more: float = 0.0) -> dict[str, float]:
        """What counts, by kind; `more` are seconds of running since the last step."""
        return {
            'tokens': usage.total - self.uncounted.total,
            'cost': usage.dollars - self.uncounted.dollars,
            'seconds': self.running + more,
        }

    def gauges(self, usage: Usage) -> dict[str, Gauge]:
        """Each limit, and how far it is used up."""
        if self.budget is None:
            return {}
        used = self.used(usage)
        return {
            kind: Gauge(
                used=used[kind],
                limit=limit,
                warned=kind in self.warned,
                exhausted=kind == self.exhausted,
                lasts=max(0.0, limit - used[kind]) * self.running / used[kind] if used[kind] > 0 else None,
            )
            for kind, limit in self.budget.limits().items()
        }

    def due(self, usage: Usage, more: float = 0.0) -> list[Event]:
        """The control events that are called for: warnings, and then the limit that is reached."""
        if self.budget is None or self.exhausted:
            return []
        used, found, spent = self.used(usage, more), [], ''
        for kind, limit in self.budget.limits().items():
            if used[kind] >= limit - SLACK[kind]:
                spent = spent or kind
            elif used[kind] >= self.budget.warn * limit - SLACK[kind] and kind not in self.warned:
                found.append(_warning(kind, used[kind], limit))
        if self.budget.cost is not None and UNPRICED not in self.warned:
            called = 'a model that was called' if usage.unpriced > self.uncounted.unpriced else ''
            what = self.unpriced or called
            found += [_unpriced(what, self.budget.cost)] if what else []
        return [*found, _exhaustion(spent, used[spent], self.budget.limits()[spent])] if spent else found

    def next(self) -> float | None:
        """At how many seconds of running something is due next; None where time brings nothing about."""
        if self.budget is None:
            return None
        if self.exhausted:
            return self.until
        if self.budget.seconds is None:
            return None
        return self.budget.seconds * (1.0 if 'seconds' in self.warned else self.budget.warn)

    def over(self, more: float) -> bool:
        """Whether the grace is over."""
        return self.running + more >= self.until - SLACK['seconds']

    def starts(self, entered: int) -> bool:
        """Whether work may start in a state that was entered at that step."""
        return not self.exhausted or 0 < self.closing <= entered

    def raised(self, more: Mapping[str, Any], usage: Usage) -> Budget:
        """The budget with so much more of each kind. Raises `InvalidInput`, which names the field."""
        problems: dict[str, str] = {}
        asked = {kind: amount for kind, amount in more.items() if amount is not None}
        limits = self.budget.limits() if self.budget else {}
        for kind, amount in asked.items():
            if kind not in KINDS:
                problems[kind] = f'there is no such budget; there are: {", ".join(KINDS)}'
            elif isinstance(amount, bool) or not isinstance(amount, int | float) or not amount > 0:
                problems[kind] = f'must be a number above 0, not {amount!r}'
            elif kind not in limits:
                problems[kind] = 'this run has no such budget'
        if not asked:
            problems['budget'] = f'say how much more of which: {", ".join(KINDS)}'
        if problems or self.budget is None:
            raise InvalidInput(problems)
        wider = replace(self.budget, **{kind: limits[kind] + amount for kind, amount in asked.items()})
        wider.check()
        if self.exhausted:
            used, limit = self.used(usage)[self.exhausted], wider.limits()[self.exhausted]
            if used >= limit:
                least = f'must be more than {said(self.exhausted, used - limits[self.exhausted])}'
                raise InvalidInput({self.exhausted: f'{least}: so much is used beyond the limit already'})
        return wider

    def dump(self) -> dict[str, Any]:
        """All of it as JSON values."""
        budget = asdict(self.budget) if self.budget else None
        kept = {name: getattr(self, name) for name in KEPT}
        usages = {name: asdict(getattr(self, name)) for name in ('inherited', 'uncounted')}
        return {**kept, **usages, 'warned': dict(self.warned), 'budget': budget, 'playing': self.playing}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from what `dump` gave."""
        for name in KEPT:
            setattr(self, name, state[name])
        self.notices = tuple(self.notices)
        self.budget, self.inherited = _budget(state), Usage(**state['inherited'])
        self.uncounted = Usage(**state.get('uncounted', state['inherited']))
        self.playing = bool(state.get('playing', False))


def begins_anew(data: Mapping[str, Any]) -> bool:
    """Whether a `recover` is a run's own beginning: of a fork, or when one has no more to play."""
    return ('forked' in data and not data.get('playing')) or 'left' in data


def said(kind: str, amount: float) -> str:
    """An amount in words: `20,000 tokens`, `$0.50`, `90 seconds`."""
    if kind == 'cost':
        return f'${amount:,.2f}' if amount >= 0.1 else f'${amount:.4f}'
    return f'{amount:,.0f} {kind}'


def _unpriced(what: str, limit: float) -> Event:
    """The warning that a budget of money cannot be kept to."""
    problem = (
        f'the price of {what} is not known: its budget of {said("cost", limit)} cannot count those calls'
    )
    return Event(name='warn', data={'budget': UNPRICED, 'limit': limit, 'reason': problem})


def _warning(kind: str, used: float, limit: float) -> Event:
    share = f'{used / limit:.0%} of its budget of {said(kind, limit)} is used'
    notice = f'{NOTICE} {used / limit:.0%} of the budget of this run ({said(kind, limit)}) is used. {WRAP_UP}'
    data = {'budget': kind, 'used': used, 'limit': limit, 'reason': share, 'notice': notice}
    return Event(name='warn', data=data)


def _exhaustion(kind: str, used: float, limit: float) -> Event:
    amount = said(kind, used).removesuffix(f' {kind}')
    reason = f'its budget of {said(kind, limit)} is spent ({amount} used)'
    return Event(name='exhaust', data={'budget': kind, 'used': used, 'limit': limit, 'reason': reason})


def _budget(data: Mapping[str, Any]) -> Budget | None:
    told = data.get('budget')
    if not isinstance(told, Mapping) or not set(told) <= set(FIELDS):
        return None
    return Budget(**told)
