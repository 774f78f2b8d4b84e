"""Values formatted for people."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from engine import Status
from ui.formatting.values import ORIGIN_NOTES, exact, first_sentence, result_notes, with_list_ends, with_times

NOW = 1_790_000_000.5


def test_fields_named_like_times_are_formatted_as_times() -> None:
    value = {
        'start_time': NOW,
        'messages': [{'time': NOW, 'ran': 12.5, 'seq': 3}],
        'since': 4.0,
        'tokens': 1_790_000_000,
        'at': True,
        'end_time': None,
    }
    assert with_times(value) == {
        **value,
        'start_time': exact(NOW),
        'messages': [{'time': exact(NOW), 'ran': 12.5, 'seq': 3}],
    }
    assert with_times(NOW, 'ended') == exact(NOW) and with_times(NOW, 'amount') == NOW


def test_the_end_of_a_long_list_is_shown():
    shortened = with_list_ends({'log': list(range(2_000)), 'few': [{'inner': [1]}]})
    assert shortened['few'] == [{'inner': [1]}]
    assert shortened['log'] == {str(n): n for n in range(1_500, 2_000)} | {
        'earlier': '1,500 more items, which are not shown'
    }


def test_an_incomplete_result_says_so_in_one_sentence() -> None:
    view: Any = SimpleNamespace(status=Status.DONE, error='The time is over.', origins=('simulated',))
    assert result_notes(view) == ['Done with issues: The time is over.', ORIGIN_NOTES['simulated']]
    run: Any = SimpleNamespace(status=Status.DONE, error='', origins=('live',))
    assert result_notes(run) == []


def test_no_sentence_ends_in_a_name_in_quotes():
    text = '“Be short. Really!” is better than “as it is” by 0.11 (0.04 to 0.19) on 40 cases. It costs more.'
    assert first_sentence(text) == text.removesuffix(' It costs more.')
    assert first_sentence('It says “so.') == 'It says “so.'
