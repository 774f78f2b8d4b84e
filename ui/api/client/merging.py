"""RemoteMerging: merges the work of a run's agents, on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import InvalidInput
from engine.history import COMPOSED_AGENT, Mergeable, Pick
from engine.records import RunId
from engine.workspace import FileChange, MergePreview, Resolution, SuiteResult, is_own_work
from ui.api.client.connection import Connection
from ui.api.client.files import RemoteFiles
from ui.api.wire import decode, dump


class RemoteMerging:
    """The methods of `RunMerging`, for runs on a server."""

    def __init__(self, connection: Connection, files: RemoteFiles) -> None:
        self._ask, self._files = connection, files

    async def mergeable(self, run: RunId) -> Mergeable:
        """Return what can be merged from a run, and into which branches."""
        return await self._ask.one(Mergeable, f'runs/{run}/merging')

    async def changes(self, found: Mergeable, agent: str) -> list[FileChange]:
        """Return an agent's changes to its project."""
        if agent not in found.folders:
            names = ', '.join(sorted(found.folders)) or 'none'
            raise InvalidInput({'agent': f'name whose work to take; there is work of: {names}'})
        changes = await self._files.diff(found.run.id, *found.folders[agent])
        return [change for change in changes if is_own_work(change)]

    async def compose(self, found: Mergeable, picks: Sequence[Pick]) -> Mergeable:
        """Compose a result from several agents' files, or from some of their changes."""
        return decode(Mergeable, await self._do(found, 'compose', {'picks': [dump(one) for one in picks]}))

    async def test(self, found: Mergeable, agent: str) -> SuiteResult:
        """Run the run's tests on a copy of an agent's folder."""
        return decode(SuiteResult, await self._do(found, 'test', _whose(found, agent)))

    async def preview(
        self,
        found: Mergeable,
        agent: str = '',
        into: str = '',
        *,
        resolutions: Mapping[str, Resolution] | None = None,
        only: Sequence[str] = (),
    ) -> MergePreview:
        """Preview a merge; change nothing."""
        body = {**_whose(found, agent), 'into': into, **_merge_options(resolutions, only)}
        return decode(MergePreview, await self._do(found, 'preview', body))

    async def merge(  # noqa: PLR0913  (all but two have defaults)
        self,
        found: Mergeable,
        preview: MergePreview,
        agent: str = '',
        *,
        resolutions: Mapping[str, Resolution] | None = None,
        only: Sequence[str] = (),
        message: str = '',
    ) -> str:
        """Merge as previewed, in one commit on the branch; return its id."""
        place = {'into': preview.branch, 'onto': preview.onto, 'message': message}
        body = {**_whose(found, agent), **place, **_merge_options(resolutions, only)}
        return str((await self._do(found, 'merge', body))['commit'])

    async def send_back(self, run: RunId, agent: str, text: str) -> RunId:
        """Fork a run from an agent's last turn, with a message to it."""
        made = await self._ask.create(f'runs/{run}/merging/send-back', {'agent': agent, 'text': text})
        return RunId(made['id'])

    async def _do(self, found: Mergeable, action: str, body: Mapping[str, Any]) -> Any:
        return await self._ask.do(f'runs/{found.run.id}/merging/{action}', body)


def _whose(found: Mergeable, agent: str) -> dict[str, Any]:
    """Name the agent whose work to use; a composed result is identified only by its snapshots."""
    name = agent or found.best
    composed = {'result': list(found.folders[name])} if name == COMPOSED_AGENT else {}
    return {'agent': name, **composed}


def _merge_options(resolutions: Mapping[str, Resolution] | None, only: Sequence[str]) -> dict[str, Any]:
    given = {path: dump(one) for path, one in (resolutions or {}).items()}
    return {'resolutions': given, 'only': list(only)}
