"""Pane: a part of the run page, drawn in its place, and handed each moment that the page shows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, TypeVar, get_args

from nicegui import ui

from engine import Transition
from engine.records import Shape, View
from ui.app.presence import Viewer
from ui.web.components.widgets import Box, set_attributes
from ui.web.pages.run.debugger.debugger import Debugger
from ui.web.pages.shared.run.context import RunContext
from ui.web.replay.live import Follower

Place = Literal[
    'head', 'column', 'story', 'tab', 'foot', 'strip', 'below diagram', 'above agents', 'below step'
]
"""Where a pane is drawn: over the columns, as one, over the tabs, in them, under all; or in another pane."""
Face = Literal['watch', 'debug']
"""What the page is for: to see what the agents do, or to find out why."""
FACES: tuple[Face, ...] = get_args(Face)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the page shows: the run at one of its steps, and the run as it is now."""

    view: View
    """The run after the step that is shown."""
    newest: View
    """The run after its newest step."""
    step: Transition | None
    """The step that is shown; None before the first."""
    at: int | None
    """The step that a person went to; None is the present."""
    since: float | None
    """Seconds since the step before, if known."""
    may_control: bool
    """Whether the viewer can control the run here."""

    @property
    def live(self) -> bool:
        """Whether it is the present."""
        return self.at is None

    @property
    def may_answer(self) -> bool:
        """Whether the viewer can answer what is asked at this moment."""
        return self.live and self.may_control


class Seek(Protocol):
    """Goes to a step; None is the present. With `add_history`, the back button undoes it."""

    def __call__(self, at: int | None, *, add_history: bool = True) -> Awaitable[None]:
        """Go there."""


class ShowAddress(Protocol):
    """Shows the page's address again; with `add_history`, as a new entry of the browser's history."""

    def __call__(self, *, add_history: bool = False) -> None:
        """Show it."""


@dataclass(slots=True, kw_only=True)
class RunPage:
    """What a pane gets when it is drawn: the run, what moves the page, and the other panes."""

    context: RunContext
    follower: Follower
    debugger: Debugger
    viewer: Viewer
    seek: Seek
    address: Callable[[int | None], str]
    """Returns the address of the page at a step."""
    show_address: ShowAddress
    """Called after a pane's part of the address has changed."""
    kinds: Sequence[type[Pane]]
    """All kinds of panes, in the order in which they are drawn."""
    query: Mapping[str, str] = field(default_factory=dict)
    """The parameters in the address with which the page was opened."""
    panes: list[Pane] = field(default_factory=list)
    """Those that have been drawn."""
    face: Face = 'watch'
    """The face that is shown."""
    of_one_face: list[tuple[Sequence[Face], Box]] = field(default_factory=list)
    """What holds the panes that not every face shows."""
    grid: ui.element = field(init=False)
    """The element around the columns."""
    moment: Moment = field(init=False)
    """What is shown, once anything is."""

    def draw(self, place: Place) -> list[Pane]:
        """Draw the panes of a place in the current element, and return them."""
        return [self._draw(kind) for kind in self.kinds_of(place)]

    def _draw(self, kind: type[Pane]) -> Pane:
        if kind.faces == FACES:
            return self.add(kind)
        with Box('of-one-face') as holder:
            self.of_one_face.append((kind.faces, holder))
            return self.add(kind)

    def show_face(self, face: Face) -> None:
        """Turn to a face."""
        self.face = face
        set_attributes(self.grid, data_face=face)
        for faces, holder in self.of_one_face:
            holder.set_visibility(face in faces)
        for pane in self.panes:
            pane.show_face(face)

    def kinds_of(self, place: Place) -> list[type[Pane]]:
        """Return the kinds of panes that this run has in a place."""
        return [kind for kind in self.kinds if kind.place == place and kind.is_for(self.context.shape)]

    def add(self, kind: type[P]) -> P:
        """Draw a pane in the current element."""
        pane = kind(self)
        self.panes.append(pane)
        return pane

    def find(self, kind: type[P]) -> P:
        """Return the pane of this kind. Raises `LookupError` if the page has none."""
        for pane in self.panes:
            if isinstance(pane, kind):
                return pane
        raise LookupError(f'the page has no {kind.__name__}')


class Pane:
    """A part of the run page, listed in `panes.py`. It draws itself in its constructor.

    It overrides what it needs of the methods below. Which of `follow`, `show_step` and `show` it overrides
    determines the pace of its refreshes.
    """

    place: ClassVar[Place]
    """Where it is drawn."""
    faces: ClassVar[Sequence[Face]] = FACES
    """The faces of the page that show it."""
    panel: ClassVar[str] = ''
    """Its name in `Shape.panels` if it is only for patterns that ask for it."""
    inputs: ClassVar[frozenset[str]] = frozenset()
    """Triggers for which it has controls, so that the faces that show it need no button for them."""

    def __init__(self, page: RunPage) -> None:
        """Draw it."""
        self.page, self.context = page, page.context

    @classmethod
    def is_for(cls, shape: Shape) -> bool:
        """Return whether runs of this shape have it."""
        return not cls.panel or any(item.panel == cls.panel for item in shape.panels)

    def follow(self, moment: Moment) -> None:
        """Show what keeps up with a dragged slider: called at once for every moment, so it must be cheap."""

    def show_step(self, moment: Moment) -> None:
        """Show what keeps up with a person who steps: called at most 100 ms later."""

    def show(self, moment: Moment) -> None:
        """Show what may lag behind: text, and what is slow to draw."""

    async def complete(self, moment: Moment) -> None:
        """Show what must be read or laid out first; called after `show` of all panes."""

    def show_newest(self, moment: Moment) -> None:
        """Show the run as it is now; called with `show`, and as it goes on while the page shows the past."""

    def tick(self, moment: Moment, now: float) -> None:
        """Update the clocks; `now` is the time, in the past that of the step."""

    def look(self) -> None:
        """Show what is not the run's, such as other viewers: called many times a second."""

    def add_steps(self, steps: Sequence[Transition]) -> None:
        """Take new steps, before the present is shown with them."""

    def stream(self, text: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """Append text that is still being streamed: kinds and pieces, by agent path."""

    def show_face(self, face: Face) -> None:
        """Change what differs between the faces of the page; it is hidden already where it has no place."""

    async def load(self) -> None:
        """Load what the page does not wait for; called once, when the page is complete."""


P = TypeVar('P', bound=Pane)


class Panel(Pane):
    """A pane with its own tab.

    In `assets/web`, its styles are in `styles/panels`, its scripts in `panels`, and what draws it in exported
    pages is in `export/panels`; everything there is loaded.
    """

    place = 'tab'
    title: ClassVar[str]
    """The title of its tab. In lower case, it ends the tab's address."""
    layout: ClassVar[str] = ''
    """`flat` if it scrolls its content itself."""

    @property
    def query(self) -> Mapping[str, str]:
        """The panel's parameters in the address while it is open."""
        return {}

    @property
    def offered(self) -> bool:
        """Whether its tab is shown."""
        return True

    def open(self, opened: bool) -> None:
        """Set whether its tab is open."""

    def pending_action(self, view: View) -> str:
        """Return what the run waits for a person to do here, in two words; '' if nothing."""
        return ''

    def relevance(self, view: View) -> int:
        """Return how relevant this panel is at the step: the tab with the highest value above 0 is marked."""
        return 0


class LazyPanel(Panel):
    """A panel that is drawn only while its tab is visible, by `fill`."""

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._view: View | None = None
        self._opened = False

    def open(self, opened: bool) -> None:
        """Draw the panel if its tab was opened."""
        self._opened = opened
        self.refresh()

    def show(self, moment: Moment) -> None:
        """Show the run at this step, once the tab is visible."""
        self._view = moment.view
        self.refresh()

    def refresh(self) -> None:
        """Draw the panel again, if it is visible."""
        if self._opened and self._view is not None:
            self.fill(self._view)

    def fill(self, view: View) -> None:
        """Draw the panel at the step of `view`."""
        raise NotImplementedError


class StripPart(Pane):
    """A pane in the strip under the header."""

    place = 'strip'
    keeps_height: ClassVar[bool] = False
    """Whether the strip keeps its height while buttons beside this part come and go."""


def handled_inputs(kinds: Iterable[type[Pane]], shape: Shape, faces: Collection[Face]) -> set[str]:
    """Return the triggers for which panes of some patterns have controls, on each of the faces."""
    return {
        trigger
        for kind in kinds
        if kind.panel and kind.is_for(shape) and set(kind.faces).issuperset(faces)
        for trigger in kind.inputs
    }


def pattern_panels(kinds: Iterable[type[Pane]], shape: Shape) -> list[type[Panel]]:
    """Return the panes with tabs that a run's pattern asks for."""
    return [kind for kind in kinds if issubclass(kind, Panel) and kind.panel and kind.is_for(shape)]
