"""Panels of memory fields: declared by patterns, and stored in shapes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import Catalog, Memory, Pattern
from engine.errors import PatternError
from engine.records import MarkField, PanelField
from engine.statechart.shape_builder import build_shape

CATALOG = Catalog.load()


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
