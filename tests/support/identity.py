"""FixedIdentity: a caller for tests, who is never signed out."""

from __future__ import annotations

from ui.app.access.caller import Caller


class FixedIdentity:
    """An identity that never ends."""

    def __init__(self, caller: Caller) -> None:
        self.last_caller = caller

    async def check(self) -> Caller:
        """The caller."""
        return self.last_caller
