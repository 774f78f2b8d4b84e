"""LiveSessions: the sessions with external agents in this process, by run and by the agent's state."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.tools.acp.session import AgentSession


@dataclass(slots=True)
class LiveSessions:
    """The sessions of this process, by run and by the state of the agent."""

    _open: dict[tuple[str, str], AgentSession] = field(default_factory=dict)
    _closing: set[asyncio.Task[None]] = field(default_factory=set)

    def get(self, run: str, path: str) -> AgentSession | None:
        """Return the agent's session, if there is one."""
        return self._open.get((run, path))

    def add(self, run: str, path: str, session: AgentSession) -> None:
        """Store a session until its agent's state is left or has ended."""
        self._open[run, path] = session

    def end(self, run: str, path: str) -> asyncio.Task[None] | None:
        """Kill an agent whose work is over or no longer wanted; the task ends once it has exited."""
        session = self._open.pop((run, path), None)
        if session is None:
            return None
        task = asyncio.get_running_loop().create_task(session.close(), name=f'{run}:{path} agent')
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return task

    async def close(self, run: str) -> None:
        """Kill all agents of a run, and wait until they have exited."""
        for owner, path in list(self._open):
            if owner == run:
                self.end(owner, path)
        closing = [task for task in self._closing if task.get_name().startswith(f'{run}:')]
        if closing:
            await asyncio.wait(closing)
