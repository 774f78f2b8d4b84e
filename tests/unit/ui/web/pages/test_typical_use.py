"""The launch form's estimate of what a run may use."""

from engine import Budget
from engine.records import Usage
from ui.web.pages.launch.form import NO_RUN, TypicalUse


def test_without_earlier_runs_nothing_is_estimated():
    assert TypicalUse().sentence(lambda usage: 1.0, None) == NO_RUN


def test_the_median_is_priced_with_the_chosen_models():
    typical = TypicalUse(Usage(input=4_000, output=1_400), 3)
    sentence = typical.sentence(lambda usage: usage.input * 1e-5 + usage.output * 1e-4, None)
    assert sentence == 'Similar runs used 5,400 tokens (median of 3), about $0.18 with these models.'


def test_a_limit_is_shown_and_an_unknown_price_is_not_guessed():
    typical = TypicalUse(Usage(input=10), 1)
    sentence = typical.sentence(lambda usage: None, Budget(tokens=200_000, cost=2.5))
    assert sentence == 'Similar runs used 10 tokens (median of 1). It ends at $2.50 or 200,000 tokens.'
