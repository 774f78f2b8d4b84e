"""Panels of memory fields: declared by patterns, stored in shapes, and read from older ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from engine import Catalog, Memory, Pattern
from engine.errors import PatternError
from engine.records import MarkField, PanelField, Shape
from engine.records.shape import StoredShape
from engine.statechart.shape_builder import build_shape

CATALOG = Catalog.load()
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
    assert [(panel.panel, panel.part, panel.field) for panel in shape.panels] == [
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
    assert [(mark.kind, mark.field) for mark in shape.marks] == [
        ('verdict', 'consensuses'),
        ('revision', 'revision_count'),
    ]
    person = {'kind': 'atomic', 'name': 'person'}
    agents = [
        {'path': 'coder1', 'name': 'coder1', 'parent': '', 'kind': 'compound'},
        person | {'path': 'coder1.person', 'parent': 'coder1', 'waits': 'work'},
        {'path': 'planning', 'name': 'planning', 'parent': '', 'kind': 'compound', 'role': 'planner'},
        person | {'path': 'planning.person', 'parent': 'planning', 'waits': 'plan'},
        {'path': 'late', 'name': 'late', 'parent': '', 'kind': 'atomic', 'waits': 'plan'},
    ]
    assert STORED.validate_python(OLD | {'states': agents}).seats == ('coder1', 'planner')
    later = OLD | {'states': [work | {'caption': ''}], 'marks': []}
    shape = STORED.validate_python(later)
    assert shape.states[0].caption == '' and shape.marks == ()
    assert STORED.validate_json(TypeAdapter(Shape).dump_json(shape), strict=True).marks == ()


@pytest.mark.parametrize('name', CATALOG.patterns)
def test_the_shape_of_a_built_in_pattern_says_the_same_if_it_was_stored_without(name: str):
    shape = build_shape(CATALOG.patterns[name].sample())
    stored = TypeAdapter(Shape).dump_python(shape)
    for state in stored['states']:
        del state['caption'], state['seat']
    upgraded = STORED.validate_python(stored)
    for field in ('caption', 'seat'):
        states = [(state.path, getattr(state, field)) for state in shape.states if getattr(state, field)]
        assert states == [(one.path, getattr(one, field)) for one in upgraded.states if getattr(one, field)]


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
