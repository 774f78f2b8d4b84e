"""Viewers of a run: they come, move and leave."""

from engine.records import RunId
from ui.app.presence import Presence, Viewer


def take_outdated(viewer: Viewer) -> bool:
    """Whether the page has to be updated."""
    outdated, viewer.outdated = viewer.outdated, False
    return outdated


def test_other_viewers_are_seen_as_they_come_move_and_leave():
    presence = Presence()
    ada, bo, elsewhere = (
        presence.viewer(RunId(run), name) for run, name in (('r', 'ada'), ('r', 'bo'), ('s', 'cy'))
    )
    for viewer in (ada, bo, elsewhere):
        viewer.join()
    assert ada.others == [bo] and bo.others == [ada] and elsewhere.others == []
    assert take_outdated(ada) and take_outdated(bo) and take_outdated(elsewhere)
    bo.move(3)
    assert take_outdated(ada) and ada.others[0].at == 3
    bo.move(3)
    assert not take_outdated(ada)
    bo.leave()
    assert take_outdated(ada) and ada.others == []
    bo.join()  # It has reconnected.
    assert take_outdated(ada) and ada.others == [bo]
    for viewer in (ada, bo, elsewhere):
        viewer.leave()
    assert not presence.viewers
    ada.move(2)  # Its page is not connected.
    assert not presence.viewers
