"""VersionChoice: which version of a pattern is run, with the date of each."""

from __future__ import annotations

from collections.abc import Callable

from engine import EngineError
from ui.app.backend import Backend
from ui.formatting.fields.parameters import version_name
from ui.formatting.values import ago
from ui.web.components.debounce import create_page_task
from ui.web.components.widgets import Box, NativeSelect, label

CURRENT = 'The current one'
MAX_NOTE = 60
"""Maximum number of characters shown of a version's note."""


class VersionChoice:
    """A select of the versions of a pattern; hidden where there is only one."""

    def __init__(self, backend: Backend, *, on_change: Callable[[], None]) -> None:
        """Draw it; `show` says of which pattern."""
        self._backend, self._on_change = backend, on_change
        self._pattern = ''
        with Box('field') as self._box:
            self._select = NativeSelect({'': CURRENT}, value='', on_change=self._notify)
            label('Version of the pattern', self._select).move(target_index=0)
        self._is_quiet = False

    @property
    def value(self) -> str:
        """The version that is chosen; '' is the current one at the time of a run."""
        return str(self._select.value)

    def show(self, pattern: str, version: str) -> None:
        """Offer the versions of a pattern, and choose one."""
        self._pattern = pattern
        self._offer(
            {version: version_name(self._backend().catalog, pattern, version)} if version else {}, version
        )
        if pattern:
            create_page_task(self._box, self._find_versions(pattern), 'versions of a pattern')

    def _offer(self, names: dict[str, str], version: str) -> None:
        self._is_quiet = True
        self._select.set_value(version)
        self._select.set_options({'': CURRENT, **names})
        self._is_quiet = False
        self._box.set_visibility(len(names) > 1 or bool(version))

    async def _find_versions(self, pattern: str) -> None:
        """Offer the versions, each with the time when it was saved, and what its author noted."""
        try:
            versions = await self._backend().charts.versions(pattern)
        except EngineError:
            return  # It is no chart file, and has one version only.
        if pattern != self._pattern or self._box.is_deleted:
            return
        now = self._backend().clock.now()
        names = {
            each.version: ' · '.join(
                filter(
                    None,
                    [
                        f'{each.number}{" (current)" if each.current else ""}',
                        ago(each.saved, now),
                        each.note[:MAX_NOTE],
                    ],
                )
            )
            for each in versions
        }
        chosen = self.value
        self._offer({**names, chosen: names.get(chosen, chosen)} if chosen else names, chosen)

    def _notify(self) -> None:
        if not self._is_quiet:
            self._on_change()
