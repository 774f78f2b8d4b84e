"""Panel: base class of the tabs that a run's pattern asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from engine.records import Shape, View
from ui.pages.shared.run.context import RunContext
from ui.replay.live import Follower


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSetup:
    """What the page passes to each of its panels."""

    context: RunContext
    follower: Follower
    seek: Callable[[int | None], Awaitable[None]]
    query: Mapping[str, str]
    """The parameters in the page's address."""
    show_address: Callable[[], None]
    """Called after `Panel.query` has changed."""


class Part:
    """What a panel shows beside the other parts of the page, whichever tab is open."""

    panel: ClassVar[str]
    """Its name in `Shape.panels`."""

    def __init__(self, context: RunContext, seek: Callable[[int], Awaitable[None]]) -> None:
        """Draw it."""

    def show(self, view: View) -> None:
        """Show the run at this step."""


class StripPart:
    """What a panel shows in the strip under the header, whichever tab is open."""

    keeps_height: ClassVar[bool] = False
    """Whether the strip keeps its height while buttons beside this part come and go."""

    def __init__(self, shape: Shape) -> None:
        """Draw it for runs of this shape."""

    def show(self, view: View) -> None:
        """Show the run at this step."""

    def tick(self, now: float) -> None:
        """Update the clocks, if it has any."""


class Panel:
    """A panel with its own tab. A subclass draws itself in its constructor, and overrides what it needs.

    In `assets/web`, its styles are in `styles/panels`, its scripts in `panels`, and what draws it in exported
    pages is in `export/panels`; everything there is loaded. `registry.py` lists the panels.
    """

    title: ClassVar[str]
    """The title of its tab. In lower case, it ends the tab's address and is its name in `Shape.panels`."""
    layout: ClassVar[str] = ''
    """`flat` if it scrolls its content itself."""
    wide: ClassVar[bool] = False
    """Whether it needs the width of the page; its tab then comes right after the agents."""
    strip: ClassVar[type[StripPart] | None] = None
    """What it shows in the strip under the header, if anything."""
    inputs: ClassVar[frozenset[str]] = frozenset()
    """Triggers for which it has controls, so that the page needs no button for them."""

    def __init__(self, setup: PanelSetup) -> None:
        """Draw the panel."""

    @property
    def query(self) -> Mapping[str, str]:
        """The panel's parameters in the address while it is open."""
        return {}

    def show(self, view: View, *, live: bool, may_control: bool) -> None:
        """Show the run at this step; `may_control` is whether the viewer can control it here."""

    def tick(self, view: View, now: float) -> None:
        """Update the clocks, if the panel has any."""

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

    def __init__(self, setup: PanelSetup) -> None:
        super().__init__(setup)
        self._view: View | None = None
        self._opened = False

    def open(self, opened: bool) -> None:
        """Draw the panel if its tab was opened."""
        self._opened = opened
        self.refresh()

    def show(self, view: View, *, live: bool, may_control: bool) -> None:
        """Show the run at this step, once the tab is visible."""
        self._view = view
        self.refresh()

    def refresh(self) -> None:
        """Draw the panel again, if it is visible."""
        if self._opened and self._view is not None:
            self.fill(self._view)

    def fill(self, view: View) -> None:
        """Draw the panel at the step of `view`."""
        raise NotImplementedError
