"""When a schedule is due, as fields: to and from cron expressions and intervals, and in words."""

from datetime import datetime, time
from zoneinfo import ZoneInfo

import pytest

from ui.app.services.schedules import Interval, ScheduleSpec
from ui.web.pages.schedules.timing import due_words, spec_of, timing_model, timing_of, timing_words

HALF_PAST = time(7, 30)


@pytest.mark.parametrize(
    ('expression', 'fields', 'words'),
    [
        ('30 7 * * *', {'repeat': 'daily', 'at': HALF_PAST}, 'Every day at 07:30 in Berlin'),
        ('30 7 * * 1-5', {'repeat': 'weekdays', 'at': HALF_PAST}, 'Every weekday at 07:30 in Berlin'),
        (
            '30 7 * * SUN,MON,3',
            {'repeat': 'weekly', 'at': HALF_PAST, 'days': ['1', '3', '0']},
            'Every Mon, Wed and Sun at 07:30 in Berlin',
        ),
        ('30 7 * * 7', {'repeat': 'weekly', 'at': HALF_PAST, 'days': ['0']}, 'Every Sun at 07:30 in Berlin'),
        (
            '30 7 31 * *',
            {'repeat': 'monthly', 'at': HALF_PAST, 'day': '31'},
            'On day 31 of each month at 07:30 in Berlin',
        ),
        (
            '30 7 L * *',
            {'repeat': 'monthly', 'at': HALF_PAST, 'day': 'L'},
            'On the last day of each month at 07:30 in Berlin',
        ),
        ('*/15 * * * *', {'repeat': 'minutes', 'minutes': 15}, 'Every 15 minutes'),
        ('0,12 * * * *', {'repeat': 'cron'}, None),
        ('0 */2 * * *', {'repeat': 'hours', 'hours': 2}, 'Every 2 hours'),
        ('*/7 * * * *', {'repeat': 'cron'}, None),  # the last step of an hour is shorter
        ('30 7,12 * * *', {'repeat': 'cron'}, None),
        ('30 7 1 1 *', {'repeat': 'cron'}, None),
        ('30 7 1-31 * 1-5', {'repeat': 'cron'}, None),  # any day, as cron joins the two by “or”
        ('15 30 7 * * *', {'repeat': 'cron'}, None),
    ],
)
def test_a_cron_expression_that_fields_can_say_opens_as_fields(expression, fields, words):
    spec = ScheduleSpec(cron=(expression,), time_zone='Europe/Berlin', end=4e9)
    if fields['repeat'] == 'cron':
        fields = fields | {'cron': expression}
    assert timing_of(spec) == fields | {'time_zone': 'Europe/Berlin'}
    assert timing_words(spec) == words or (words is None and '(Europe/Berlin)' in timing_words(spec))
    form = timing_model(spec, '')(**timing_of(spec))
    assert spec_of(form, spec) is spec, 'unchanged, it is kept to the letter'
    later = form.model_copy(update={'time_zone': 'UTC'})
    assert timing_of(spec_of(later, spec)) == fields | {'time_zone': 'UTC'}
    assert spec_of(later, spec).end == spec.end, 'what has no field is kept'


@pytest.mark.parametrize(
    ('spec', 'fields'),
    [
        (ScheduleSpec(intervals=(Interval(every=5_400),)), {'repeat': 'minutes', 'minutes': 90}),
        (ScheduleSpec(intervals=(Interval(every=3_600),)), {'repeat': 'hours', 'hours': 1}),
        (ScheduleSpec(intervals=(Interval(every=45),)), {'repeat': 'kept'}),
        (ScheduleSpec(intervals=(Interval(every=3_600, offset=60),)), {'repeat': 'kept'}),
        (ScheduleSpec(cron=('0 9 * * *', '0 15 * * *')), {'repeat': 'kept'}),
        (ScheduleSpec(cron=('0 9 * * *',), intervals=(Interval(every=60),)), {'repeat': 'kept'}),
    ],
)
def test_due_times_without_fields_are_offered_as_they_are(spec, fields):
    assert timing_of(spec) == fields | {'time_zone': 'UTC'}
    form = timing_model(spec, '')(**timing_of(spec))
    assert spec_of(form, spec) is spec
    daily = spec_of(form.model_copy(update={'repeat': 'daily'}), spec)
    assert (daily.cron, daily.intervals) == (('30 7 * * *',), ())


def test_due_times_are_told_by_the_readers_clock_and_by_the_schedules():
    spec = ScheduleSpec(cron=('30 7 * * 1-5',), time_zone='Europe/Berlin')
    now = datetime(2026, 12, 31, 8, tzinfo=ZoneInfo('Europe/Berlin')).timestamp()
    times = spec.next(now, 2)
    assert due_words(times, 'Europe/Berlin', 'America/Los_Angeles', now) == [
        ('tomorrow, 22:30', 'Fri 1 Jan, 07:30 in Berlin'),
        ('Sun 3 Jan 2027, 22:30', 'Mon 4 Jan, 07:30 in Berlin'),
    ]
    assert due_words(times[:1], 'Europe/Berlin', 'Europe/Paris', now) == [('tomorrow, 07:30', '')]
    assert due_words(times[:1], 'Europe/Berlin', '', now) == [('tomorrow, 07:30', '')]
    assert due_words(times[:1], 'UTC', 'Asia/Kolkata', now)[0][1].endswith(' UTC')
