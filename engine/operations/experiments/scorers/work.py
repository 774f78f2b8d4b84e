"""Work: scorers that look at the files that the agents of a run have left."""

from __future__ import annotations

import asyncio
import shutil
from fnmatch import fnmatchcase

from pydantic import Field
from typing_extensions import override

from engine.errors import ToolError
from engine.operations.experiments.records import Score
from engine.operations.experiments.scorers.base import Evidence, Scorer, decide
from engine.workspace.directories import remove_tree
from engine.workspace.sandbox.limits import Confinement, Limits

MAX_REASON = 2_000
MAX_NAMED = 5
MAX_SECONDS = 3_600.0


class WorkScorer(Scorer):
    """Looks at an agent's files."""

    agent: str = Field('', max_length=500)
    """Whose files: the path of the agent's state; by default those of the only one."""


class File(WorkScorer):
    """Whether a file is there, and perhaps what is in it."""

    path: str = Field(min_length=1, max_length=1_000)
    """Its path in the agent's folder; parts may have wildcards: `docs/*.md`."""
    contains: str = Field('', max_length=20_000)
    """A text that has to be in it; by default its content does not matter."""

    @override
    async def score(self, evidence: Evidence) -> Score:
        snapshot, workspaces, run = evidence.files(self.agent), evidence.bench.workspaces, evidence.info.id
        files = await workspaces.files(run, snapshot) if snapshot else []
        matching = [file for file in files if fnmatchcase(file.path, self.path)]
        for file in matching:
            data = await workspaces.content(run, file.digest) if self.contains and not file.target else b''
            if not self.contains or self.contains.encode() in data:
                return decide(True, file.path)
        if matching:
            return decide(
                False, f'{", ".join(file.path for file in matching[:MAX_NAMED])}: it lacks the text'
            )
        return decide(False, f'there is no {self.path}')


class Command(WorkScorer):
    """Whether a shell command succeeds in a copy of the agent's folder, in the sandbox."""

    command: str = Field(min_length=1, max_length=20_000)
    code: int = 0
    """The exit code of success."""
    seconds: float = Field(120.0, gt=0, le=MAX_SECONDS)
    """Its time limit."""

    @override
    async def score(self, evidence: Evidence) -> Score:
        snapshot = evidence.files(self.agent)
        copy = evidence.bench.workspaces.of(evidence.info.id, f'scored {evidence.key}')
        try:
            await copy.restore(snapshot)
            ran = await evidence.bench.sandbox.run(
                [shutil.which('bash') or 'sh', '-c', self.command],
                copy,
                Confinement(limits=Limits(seconds=self.seconds)),
            )
        finally:
            await asyncio.to_thread(remove_tree, copy.folder)
        return decide(
            ran.ended == 'exit' and ran.code == self.code,
            f'{ran.output.strip()[-MAX_REASON:]}\n{ran.summary}'.strip(),
        )


class PassingTests(Scorer):
    """Whether the tests of the run's project pass on an agent's work."""

    agent: str = Field('', max_length=500)
    """Whose work; by default the run's result."""

    @override
    async def score(self, evidence: Evidence) -> Score:
        merging = evidence.bench.merging
        mergeable = await merging.mergeable(evidence.info.id)
        agent = self.agent or mergeable.best
        if not agent:
            raise ToolError(f'name the agent; there is work of: {", ".join(mergeable.folders) or "none"}')
        result = await merging.test(mergeable, agent)
        if result.report is None:
            raise ToolError(f'the tests did not run: {result.text[-MAX_REASON:]}')
        return decide(result.passed, result.text[-MAX_REASON:])
