"""Artifacts and criteria without a browser: long and unusual ones, old charts, downloads."""

import json
from types import SimpleNamespace
from typing import Any

from nicegui import ui
from nicegui.testing import User

from engine import Transition
from engine.records import Shape, StatePath, StateShape, View
from tests.support.pages.clicks import see
from ui.web.components.elements import Conversation, JsonTree
from ui.web.downloads import _artifact
from ui.web.pages.run.inspector.inspector import draw_criteria
from ui.web.pages.run.panels.artifacts import LONG, Artifacts

STATE = StateShape(path=StatePath('working'), name='working', parent=StatePath(''), kind='compound', role='x')


def view(agents: dict[str, Any]) -> Any:
    return SimpleNamespace(agents=agents)


def moment(agents: dict[str, Any]) -> Any:
    return SimpleNamespace(view=view(agents))


def make_artifact(value: Any, **more: Any) -> dict[str, Any]:
    return {'value': value, 'by': 'a_tool', 'size': len(str(value)), **more}


def around(*states: StateShape) -> Any:
    shape = SimpleNamespace(states=states)
    return SimpleNamespace(shape=shape, name_of=lambda path: path.title(), kept='/runs/r1/kept')


async def test_each_kind_of_artifact_is_rendered_and_long_ones_are_folded(user: User):
    panes: list[Artifacts] = []

    @ui.page('/artifacts')
    def page() -> None:
        panes.append(Artifacts(SimpleNamespace(context=around())))  # type: ignore[arg-type]

    await user.open('/artifacts')
    assert not panes[0].offered
    artifacts = {
        'page': make_artifact('# A page'),
        'tree': make_artifact([{'a': 1}]),
        'passed': make_artifact(True),
        'nothing': make_artifact(''),
        'long': make_artifact('x' * (LONG + 1), kept='0' * 64),
    }
    panes[0].show(moment({'working': {'artifacts': artifacts}}))
    assert panes[0].offered
    await user.should_not_see('by a_tool')  # not shown yet
    with user:
        panes[0].open(True)
    await see(user, 'by a_tool', 'Yes', 'Empty.')
    conversations = user.find(kind=Conversation).elements
    assert [block['text'] for talk in conversations for block in talk._props['blocks']] == ['# A page']
    (tree,) = user.find(kind=JsonTree).elements
    assert tree._props['value'] == {'0': {'a': 1}}
    panes[0].show(moment({'working': {'artifacts': {'page': make_artifact('Another')}}}))
    (talk,) = user.find(kind=Conversation).elements
    assert [block['text'] for block in talk._props['blocks']] == ['Another']
    panes[0].show(moment({}))
    await user.should_see('No artifacts up to this step.')


async def test_criteria_are_shown_for_charts_older_than_them(user: User):
    criteria = [{'name': 'has_content', 'holds': False, 'missing': "the artifact 'content'"}]

    @ui.page('/criteria')
    def page() -> None:
        shape: Shape = SimpleNamespace(states=(STATE,))  # type: ignore[assignment]
        at: View = view({'working': {'criteria': criteria}, 'other': {}})
        step: Transition = SimpleNamespace(guards=())  # type: ignore[assignment]
        draw_criteria(at, step, shape, str.title)

    await user.open('/criteria')
    await see(user, 'Working is complete when', "missing: the artifact 'content'", '0 of 1 met')


def test_artifacts_are_downloaded_as_text_or_json():
    assert _artifact('content', json.dumps('# Ünï').encode()) == ('content.md', '# Ünï'.encode())
    assert _artifact('outline', b'{"a": 1}') == ('outline.json', b'{"a": 1}')
    assert _artifact('odd', b'\xff') == ('odd', b'\xff')
