import pytest

from spans import check, free, merge


def test_touching_spans_become_one():
    assert merge([(540, 600), (600, 660)]) == [(540, 660)]


def test_spans_apart_stay_apart():
    assert merge([(700, 720), (540, 600)]) == [(540, 600), (700, 720)]


def test_a_span_inside_another_adds_nothing():
    assert merge([(540, 720), (560, 580)]) == [(540, 720)]


def test_free_time_is_between_the_spans():
    assert free([(540, 600), (660, 720)]) == [(480, 540), (600, 660), (720, 1080)]


def test_a_long_booking_hides_a_short_one():
    assert free([(480, 1000), (500, 520)]) == [(1000, 1080)]


def test_a_full_day_has_no_free_time():
    assert free([(400, 1200)]) == []


def test_a_span_that_ends_before_it_begins_is_refused():
    with pytest.raises(ValueError, match='ends before it begins'):
        check((600, 540))
