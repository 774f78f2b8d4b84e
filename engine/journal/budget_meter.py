"""BudgetMeter: how much of its budget a run has used, and the consequences, as read from its journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from engine.errors import InvalidInput
from engine.records import Event, Usage
from engine.records.payloads import BudgetData
from engine.records.usage import BUDGET_FIELDS, BUDGET_KINDS, NOTICE, Budget, Gauge

SLACK = {'tokens': 0.0, 'cost': 1e-9, 'seconds': 1e-3}
"""How far sums of fractions and timers may fall short of a limit and still count as reaching it."""
UNPRICED = 'unpriced'
WRAP_UP = (
    'Wrap up now: finish what you are doing, start nothing new, and give your answer as soon as you can.'
)
DUMPED_FIELDS = ('running', 'unpriced', 'warned', 'notices', 'exhausted', 'reason', 'closing', 'until')


class BudgetMeter:
    """The budget part of a `RunProjection`. `apply` applies one control event or `exhausted`."""

    def __init__(self) -> None:
        self.budget: Budget | None = None
        self.inherited = self.uncounted = Usage()
        """What the parent of a fork had used; and the usage that budgets ignore. During a replay all usage
        counts, as it did originally."""
        self.playing = False
        self.running = 0.0
        """Seconds of running up to the last step (in a fork: since the fork)."""
        self.warned: dict[str, str] = {}
        """Warnings given, as sentences, by limit; `unpriced` is for calls with unknown prices."""
        self.notices: tuple[str, ...] = ()
        """Notices for each agent, in order; '' marks one that was superseded."""
        self.unpriced = ''
        """Chosen models whose price is unknown."""
        self.exhausted = self.reason = ''
        """The limit that was reached, and the reason as a sentence."""
        self.closing = 0
        """The step at which the chart received `exhausted`: states entered since belong to its shutdown."""
        self.until = 0.0
        """When the grace period ends, in seconds of running."""

    def apply(self, event: Event, seq: int, usage: Usage) -> None:
        """Apply an event journaled as step `seq`; `usage` is the run's after it."""
        data = event.data
        if event.name in ('start', 'recover'):
            self.unpriced = ', '.join(map(str, data.get('unpriced', ())))
        match event.name:
            case 'start':
                self.budget, self.playing = _budget(data), bool(event.played)
            case 'recover' if 'forked' in data and data.get('playing'):
                self.inherited, self.playing = usage, True
            case 'recover' if resets_budget(data):
                self._restart(_budget(data) or self.budget, usage)
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

    def _restart(self, budget: Budget | None, usage: Usage) -> None:
        """Start a fork with its whole budget, whatever its parent used or was warned about."""
        count, without_price = len(self.notices), self.unpriced
        self.__dict__.update(BudgetMeter().__dict__)
        self.unpriced = without_price
        self.budget, self.notices = budget, ('',) * count
        self.inherited = self.uncounted = usage

    def inherit(self, usage: Usage) -> None:
        """Account for replayed usage: the parent of this fork paid for it."""
        self.inherited += usage
        self.uncounted += Usage() if self.playing else usage

    def _extend(self, budget: Budget, usage: Usage) -> None:
        self.budget = budget
        limits, used = budget.limits(), self.measure(usage)
        eased = [kind for kind in limits if kind in self.warned and used[kind] < budget.warn * limits[kind]]
        if eased:
            for kind in eased:
                del self.warned[kind]
            self.notices = (*('' for _ in self.notices), f'{NOTICE} it has been raised; go on as planned.')
        if self.exhausted:
            # Other limits that are already reached are found right after this step.
            self.exhausted, self.closing = '', 0

    def measure(self, usage: Usage, more: float = 0.0) -> dict[str, float]:
        """Return the usage that counts, by kind; `more` is seconds of running since the last step."""
        return {
            'tokens': usage.total - self.uncounted.total,
            'cost': usage.dollars - self.uncounted.dollars,
            'seconds': self.running + more,
        }

    def gauges(self, usage: Usage) -> dict[str, Gauge]:
        """Return each limit, and how much of it is used."""
        if self.budget is None:
            return {}
        used = self.measure(usage)
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

    def due_events(self, usage: Usage, more: float = 0.0) -> list[Event]:
        """Return the control events now due: warnings, or the limit that is reached after them."""
        if self.budget is None or self.exhausted:
            return []
        used, events, spent = self.measure(usage, more), [], ''
        for kind, limit in self.budget.limits().items():
            if used[kind] >= limit - SLACK[kind]:
                spent = spent or kind
            elif used[kind] >= self.budget.warn * limit - SLACK[kind] and kind not in self.warned:
                events.append(_warning(kind, used[kind], limit))
        if self.budget.cost is not None and UNPRICED not in self.warned:
            called = 'a model that was called' if usage.unpriced > self.uncounted.unpriced else ''
            what = self.unpriced or called
            events += [_price_warning(what, self.budget.cost)] if what else []
        return [*events, _exhaustion(spent, used[spent], self.budget.limits()[spent])] if spent else events

    def next_due(self) -> float | None:
        """Return the seconds of running at which the next event is due; None if none is due by time alone."""
        if self.budget is None:
            return None
        if self.exhausted:
            return self.until
        if self.budget.seconds is None:
            return None
        return self.budget.seconds * (1.0 if 'seconds' in self.warned else self.budget.warn)

    def is_grace_over(self, more: float) -> bool:
        """Return whether the grace period is over."""
        return self.running + more >= self.until - SLACK['seconds']

    def allows_start(self, entered: int) -> bool:
        """Return whether work may start in a state entered at that step."""
        return not self.exhausted or 0 < self.closing <= entered

    def raise_limits(self, more: Mapping[str, Any], usage: Usage) -> Budget:
        """Return the budget raised by these amounts. Raises `InvalidInput`, naming the field."""
        problems: dict[str, str] = {}
        increases = {kind: amount for kind, amount in more.items() if amount is not None}
        limits = self.budget.limits() if self.budget else {}
        for kind, amount in increases.items():
            if kind not in BUDGET_KINDS:
                problems[kind] = f'there is no such budget; available: {", ".join(BUDGET_KINDS)}'
            elif isinstance(amount, bool) or not isinstance(amount, int | float) or not amount > 0:
                problems[kind] = f'must be a number above 0, not {amount!r}'
            elif kind not in limits:
                problems[kind] = 'this run has no such budget'
        if not increases:
            problems['budget'] = f'say how much more of which: {", ".join(BUDGET_KINDS)}'
        if problems or self.budget is None:
            raise InvalidInput(problems)
        wider = replace(self.budget, **{kind: limits[kind] + amount for kind, amount in increases.items()})
        wider.check()
        if self.exhausted:
            used, limit = self.measure(usage)[self.exhausted], wider.limits()[self.exhausted]
            if used >= limit:
                least = f'must be more than {describe_amount(self.exhausted, used - limits[self.exhausted])}'
                raise InvalidInput({self.exhausted: f'{least}: this much is already used beyond the limit'})
        return wider

    def dump(self) -> dict[str, Any]:
        """Return the complete state as JSON values."""
        budget = asdict(self.budget) if self.budget else None
        fields = {name: getattr(self, name) for name in DUMPED_FIELDS}
        usages = {name: asdict(getattr(self, name)) for name in ('inherited', 'uncounted')}
        return {**fields, **usages, 'warned': dict(self.warned), 'budget': budget, 'playing': self.playing}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore the state from `dump`."""
        for name in DUMPED_FIELDS:
            setattr(self, name, state[name])
        self.notices = tuple(self.notices)
        self.budget, self.inherited = _budget(state), Usage(**state['inherited'])
        self.uncounted, self.playing = Usage(**state['uncounted']), state['playing']


def resets_budget(data: Mapping[str, Any]) -> bool:
    """Return whether a `recover` restarts the run's usage: in a fork, or when its replay has run out."""
    return ('forked' in data and not data.get('playing')) or 'left' in data


def describe_amount(kind: str, amount: float) -> str:
    """Format an amount: `20,000 tokens`, `$0.50`, `90 seconds`."""
    if kind == 'cost':
        return f'${amount:,.2f}' if amount >= 0.1 else f'${amount:.4f}'
    return f'{amount:,.0f} {kind}'


def _price_warning(what: str, limit: float) -> Event:
    """Return the warning that a cost budget cannot be enforced."""
    amount = describe_amount('cost', limit)
    problem = f'the price of {what} is not known: its budget of {amount} cannot count those calls'
    data: BudgetData = {'budget': UNPRICED, 'limit': limit, 'reason': problem}
    return Event(name='warn', data=data)


def _warning(kind: str, used: float, limit: float) -> Event:
    amount = describe_amount(kind, limit)
    share = f'{used / limit:.0%} of its budget of {amount} is used'
    notice = f'{NOTICE} {used / limit:.0%} of the budget of this run ({amount}) is used. {WRAP_UP}'
    data: BudgetData = {'budget': kind, 'used': used, 'limit': limit, 'reason': share, 'notice': notice}
    return Event(name='warn', data=data)


def _exhaustion(kind: str, used: float, limit: float) -> Event:
    amount = describe_amount(kind, used).removesuffix(f' {kind}')
    reason = f'its budget of {describe_amount(kind, limit)} is spent ({amount} used)'
    data: BudgetData = {'budget': kind, 'used': used, 'limit': limit, 'reason': reason}
    return Event(name='exhaust', data=data)


def _budget(data: Mapping[str, Any]) -> Budget | None:
    limits = data.get('budget')
    if not isinstance(limits, Mapping) or not set(limits) <= set(BUDGET_FIELDS):
        return None
    return Budget(**limits)
