"""RemoteMerging: merges the work of a run's agents, on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from engine.history import COMPOSED_AGENT, Mergeable, MergeOptions, Pick
from engine.operations import Merging
from engine.records import RunId
from engine.workspace import FileChange, MergePreview, SuiteResult, is_own_work
from ui.api.client.connection import Connection
from ui.api.client.derived import remote
from ui.api.client.files import RemoteFiles
from ui.api.wire import decode, dump


class RemoteMerging:
    """The methods of `RunMerging`, for runs on a server."""

    def __init__(self, connection: Connection, files: RemoteFiles) -> None:
        self._ask, self._files = connection, files
        self.send_back = remote(Merging, connection).send_back

    async def mergeable(self, run: RunId) -> Mergeable:
        """Return what can be merged from a run, and into which branches."""
        return await self._ask.one(Mergeable, f'runs/{run}/merging')

    async def changes(self, mergeable: Mergeable, agent: str) -> list[FileChange]:
        """Return an agent's changes to its project."""
        changes = await self._files.diff(mergeable.run.id, *mergeable.snapshots(agent))
        return [change for change in changes if is_own_work(change)]

    async def compose(self, mergeable: Mergeable, picks: Sequence[Pick]) -> Mergeable:
        """Compose a result from several agents' files, or from some of their changes."""
        return decode(
            Mergeable, await self._do(mergeable, 'compose', {'picks': [dump(pick) for pick in picks]})
        )

    async def test(self, mergeable: Mergeable, agent: str) -> SuiteResult:
        """Run the run's tests on a copy of an agent's folder."""
        return decode(SuiteResult, await self._do(mergeable, 'test', _source_of(mergeable, agent)))

    async def preview(
        self,
        mergeable: Mergeable,
        agent: str = '',
        into: str = '',
        **options: Unpack[MergeOptions],
    ) -> MergePreview:
        """Preview a merge; change nothing."""
        body = {**_source_of(mergeable, agent), 'into': into, **_merge_options(options)}
        return decode(MergePreview, await self._do(mergeable, 'preview', body))

    async def merge(
        self,
        mergeable: Mergeable,
        preview: MergePreview,
        agent: str = '',
        *,
        message: str = '',
        **options: Unpack[MergeOptions],
    ) -> str:
        """Merge as previewed, in one commit on the branch; return its id."""
        place = {'into': preview.branch, 'onto': preview.onto, 'message': message}
        body = {**_source_of(mergeable, agent), **place, **_merge_options(options)}
        return str((await self._do(mergeable, 'merge', body))['commit'])

    async def _do(self, mergeable: Mergeable, action: str, body: Mapping[str, Any]) -> Any:
        return await self._ask.do(f'runs/{mergeable.run.id}/merging/{action}', body)


def _source_of(mergeable: Mergeable, agent: str) -> dict[str, Any]:
    """Name the agent whose work to use; a composed result is identified only by its snapshots."""
    name = agent or mergeable.best
    composed = {'result': list(mergeable.folders[name])} if name == COMPOSED_AGENT else {}
    return {'agent': name, **composed}


def _merge_options(options: MergeOptions) -> dict[str, Any]:
    choices = {path: dump(resolution) for path, resolution in (options.get('resolutions') or {}).items()}
    return {'resolutions': choices, 'only': list(options.get('only', ()))}
