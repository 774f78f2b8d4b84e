"""Panels of memory fields: declared by patterns, stored in shapes, and read from older ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from engine import Memory, Pattern
from engine.errors import PatternError
from engine.records import MarkField, PanelField, Shape
from engine.records.shape import StoredShape
from engine.statechart.shape_builder import build_shape

STORED: TypeAdapter[Shape] = TypeAdapter(StoredShape)
OLD: dict[str, Any] = {
    'pattern': 'time-bounded',
    'title': 'Time-bounded',
    'initial': 'working',
    'states': [],
    'edges': [],
    'answer': 'report',
    'caveat': '',
    'plan': 'checklist',
    'debate': '',
    'candidates': '',
    'messages': 'sent',
    'report': 'report',
    'clock': 'clock',
    'oversight': {'verdicts': 'found', 'interventions': 'escalated', 'level': 'level', 'issues': 'issues'},
    'compared': 'sides',
}


class Watched(Pattern):
    """A pattern with memory fields shown in panels."""

    class Memory(Memory):
        left: int = 0
        posts: list[str] = []
        alarms: list[str] = []

    initial = 'on'
    states = ['on', {'name': 'off', 'final': True}]
    transitions = [['stop', 'on', 'off']]
    panels = {'messages': 'posts', 'gauge': {'value': 'left', 'alarms': 'alarms'}}


def test_a_shape_stored_with_one_key_per_panel_is_read():
    shape = STORED.validate_python(OLD)
    assert [(one.panel, one.part, one.field) for one in shape.panels] == [
        ('plan', '', 'checklist'),
        ('messages', '', 'sent'),
        ('report', '', 'report'),
        ('time', '', 'clock'),
        ('comparison', '', 'sides'),
        ('supervision', 'verdicts', 'found'),
        ('supervision', 'interventions', 'escalated'),
        ('supervision', 'level', 'level'),
        ('supervision', 'issues', 'issues'),
    ]
    assert type(shape) is Shape
    assert STORED.validate_json(TypeAdapter(Shape).dump_json(shape), strict=True) == shape
    assert STORED.validate_python(OLD | {'oversight': None}).field('supervision', 'level') == ''


def test_a_shape_stored_without_marks_and_captions_is_shown_as_before():
    work = {'path': 'testing', 'name': 'testing', 'parent': '', 'kind': 'atomic', 'invokes': True}
    wait = {'path': 'preparing', 'name': 'preparing', 'parent': '', 'kind': 'atomic'}
    shape = STORED.validate_python(OLD | {'states': [work, wait]})
    assert [state.caption for state in shape.states] == ['Running tests', '']
    assert [(one.kind, one.field) for one in shape.marks] == [
        ('verdict', 'consensuses'),
        ('revision', 'revision_count'),
    ]
    later = OLD | {'states': [work | {'caption': ''}], 'marks': []}
    shape = STORED.validate_python(later)
    assert shape.states[0].caption == '' and shape.marks == ()
    assert STORED.validate_json(TypeAdapter(Shape).dump_json(shape), strict=True).marks == ()


def test_charts_are_the_same_whatever_is_said_about_them():
    shape = build_shape(Watched())
    assert replace(shape, marks=(MarkField(kind='verdict', field='posts'),)) == shape


def test_a_pattern_states_what_is_marked_and_what_its_states_do():
    class Marked(Watched):
        states = [{'name': 'on', 'caption': 'Measuring'}, {'name': 'off', 'final': True}]
        marks = {'verdict': 'posts'}

    shape = build_shape(Marked())
    assert shape.marks == (MarkField(kind='verdict', field='posts'),)
    assert shape.states[0].caption == 'Measuring'
    with pytest.raises(PatternError, match=r"marks\.revision.*no field 'lost'"):

        class Lost(Watched):
            marks = {'revision': 'lost'}


def test_a_pattern_may_name_panels_unknown_to_the_engine():
    shape = build_shape(Watched())
    assert shape.field('gauge', 'alarms') == 'alarms' and shape.field('messages') == 'posts'
    assert shape.field('gauge') == shape.field('plan') == ''
    assert shape.panels[0] == PanelField(panel='messages', field='posts')


def test_panels_may_depend_on_parameters():
    class Sometimes(Watched):
        def panels(self) -> dict[str, str]:
            return {'messages': 'posts'} if self.parameters is None else {}

    assert build_shape(Sometimes()).panels == ()


def test_a_panel_shows_a_field_of_memory():
    with pytest.raises(PatternError, match=r"panels\.gauge\.value.*no field 'lost'"):

        class Lost(Watched):
            panels = {'gauge': {'value': 'lost'}}
