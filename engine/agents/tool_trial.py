"""ToolPlayground: lets a person try out tools in a folder outside any run."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import BaseModel

from engine.agents.message_accumulator import MessageAccumulator
from engine.agents.tool_execution import execute_tool_call
from engine.agents.tool_model_client import ask_with_repair
from engine.errors import ModelError, ToolError
from engine.models.protocol import Hints, Model, ModelRequest, schema_of
from engine.records import RunId, Usage
from engine.records.message import Message, ToolCall
from engine.runtime.activity import Services
from engine.tools.artifacts import ArtifactStore
from engine.tools.protocol import ToolContext
from engine.workspace.sandbox.limits import Limits, excess_on_disk
from engine.workspace.workspace import Entry
from engine.workspace.workspaces import Workspaces

SCRATCH_RUN = RunId('scratch')
DATA_BLOCK = re.compile(r'<data>\n(.*?)\n</data>', re.S)
"""The subject of a question, as marked by `as_data`."""
WAS_FULL = '[The scratch folder was full, and was emptied before this call.]'
MAX_TASK = 2_000
"""Maximum number of characters of a question that the scripted model gets as its task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTrial:
    """The result of one call."""

    text: str
    ok: bool
    seconds: float
    """Its duration."""
    usage: Usage = field(default_factory=Usage)
    """The usage of the model that the tool asked, if any."""


@dataclass(slots=True, kw_only=True)
class _TrialModel:
    """Passes a tool's questions to one model."""

    tool: str
    model: Model
    name: str
    usage: Usage = field(default_factory=Usage)

    async def __call__(self, prompt: str, *, output: type[BaseModel] | None = None) -> Any:
        return await ask_with_repair(self.tool, prompt, output, partial(self._call, output))

    async def _call(
        self, output: type[BaseModel] | None, messages: tuple[Message, ...]
    ) -> tuple[Message, str]:
        question = messages[-1].text
        data = DATA_BLOCK.search(question)
        task = (data[1] if data else question).strip()[:MAX_TASK]
        request = ModelRequest(
            model=self.name,
            messages=messages,
            schema=schema_of(output) if output else None,
            hints=Hints(role=f'you.{self.tool}', task=task),
        )
        name = '' if self.model.simulated else self.name
        accumulator = MessageAccumulator(name)
        try:
            async for event in self.model.stream(request):
                accumulator.add(event)
            message = accumulator.message(uuid.uuid4().hex[:12])
        except ModelError as error:
            raise ToolError(f'the model failed: {error}') from error
        self.usage += accumulator.usage or Usage(calls=1)
        return message, name


class ToolPlayground:
    """Runs tools as an agent would: sandboxed, within limits, with one folder and one set of notes.

    Args:
        services: the tools, the sandbox and the rules for fetching; the same as for runs.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._workspaces = Workspaces()  # A temporary folder, separate from all runs.
        self._store: dict[str, str] = {}
        self._artifact_store = ArtifactStore()

    async def call(self, tool: str, arguments: Mapping[str, Any], *, model: str = '') -> ToolTrial:
        """Call a tool once; errors are results too. Cancelling kills it and its children.

        Args:
            tool: its name.
            arguments: as its schema defines them.
            model: the name of the model that answers the tool's questions; '' for none.
        """
        clock, services = self._services.clock, self._services
        call = ToolCall(id=uuid.uuid4().hex[:12], name=tool, arguments=json.dumps(dict(arguments)))
        workspace = self._workspaces.of(SCRATCH_RUN, 'you')
        # No command may run in a folder that is full, so one call would stop all that follow.
        was_full = bool(await asyncio.to_thread(excess_on_disk, workspace.folder, Limits()))
        if was_full:
            await self._workspaces.close()
            workspace = self._workspaces.of(SCRATCH_RUN, 'you')
        await workspace.make()
        trial_model = _TrialModel(tool=tool, model=services.model(model), name=model) if model else None
        context = ToolContext(
            key=f'{SCRATCH_RUN}:{call.id}',
            store=self._store,
            workspace=workspace,
            sandbox=services.sandbox,
            private_addresses=services.private_addresses,
            artifact_store=self._artifact_store,
            now=clock.now(),
            model=trial_model,
        )
        started = clock.now()
        result, output = await execute_tool_call(services.tools, call, context)
        self._artifact_store.apply(tool, output)
        return ToolTrial(
            text=f'{WAS_FULL}\n{result.text}' if was_full else result.text,
            ok=result.ok,
            seconds=max(0.0, clock.now() - started),
            usage=trial_model.usage if trial_model else Usage(),
        )

    async def files(self) -> list[Entry]:
        """Return the files in the folder. Raises `WorkspaceError`."""
        return await self._workspaces.of(SCRATCH_RUN, 'you').entries()

    async def reset(self) -> None:
        """Delete the folder, the notes and the artifacts; the next call starts with an empty folder."""
        self._store.clear()
        self._artifact_store = ArtifactStore()
        await self._workspaces.close()
