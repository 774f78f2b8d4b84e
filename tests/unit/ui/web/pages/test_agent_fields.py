"""The fields for what a launch gives by role."""

from dataclasses import replace

import pytest

from engine.agents import AgentInfo
from engine.records import StatePath
from ui.web.pages.shared.launching.agent_fields import stub_fields


def test_stubs_edited_as_json_have_to_be_a_list() -> None:
    (field,) = stub_fields([AgentInfo(path=StatePath('work'), role='writer', instructions='', tools=())])
    as_json = replace(field, kind='json')
    assert as_json.parse('["Hi"]') == ['Hi'] and field.parse([]) == []
    for text in ('5', 'null', '"Hi"', '{"a": 1}'):
        with pytest.raises(ValueError, match='list of answers'):
            as_json.parse(text)
