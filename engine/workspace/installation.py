"""Installs a project's dependencies in a copy of it, in the sandbox with network access."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.workspace.directories import MEBIBYTE
from engine.workspace.project import copy_project
from engine.workspace.sandbox.limits import Confinement, Limits
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.testing.test_setup import TestSetup
from engine.workspace.workspace import Workspace

LIMITS = Limits(
    seconds=1_800,
    memory=4_096 * MEBIBYTE,
    processes=512,
    file_size=2_048 * MEBIBYTE,
    disk=8_192 * MEBIBYTE,
    files=1_000_000,
    scratch=2_048 * MEBIBYTE,
)
MAX_OUTPUT = 20_000
"""Maximum characters of output retained, from its end."""
PASSED_ON = re.compile(
    r'(PIP|PIPENV|UV|NPM_CONFIG|YARN)_\w+|(PDM_PYPI|POETRY_REPOSITORIES|POETRY_HTTP_BASIC)_\w+|GOPROXY'
    r'|(HTTPS?|NO|ALL)_PROXY|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|NODE_EXTRA_CA_CERTS'
    r'|CARGO_(REGISTRIES|HTTP|NET)_\w+',
    re.IGNORECASE,
)
"""Environment variables that configure package managers' indexes, proxies and certificates."""
CREDENTIALS = re.compile(r'(?<=://)[^/\s@]+@')


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """How installing a project's dependencies went."""

    folder: str
    """The copy of the project with its dependencies."""
    ok: bool
    text: str
    """The command, the end of its output without credentials in URLs, and how it ended."""


async def install_dependencies(
    project: str, command: str, workspace: Workspace, sandbox: Sandbox, setup: TestSetup | None = None
) -> Installation:
    """Copy a project into a separate folder, and run the command that installs its dependencies there.

    Agents' own commands can read the result but not change it, and run without this network access. The
    `setup` says where the tools for it are.

    Raises:
        WorkspaceError: there is no project, or it is too big.
        ToolError: there is no sandbox.
    """
    needed = setup or TestSetup()
    await copy_project(project, workspace)
    ran = await sandbox.run(
        ['sh', '-c', command],
        workspace,
        Confinement(
            limits=LIMITS,
            variables={**_variables(), 'PATH': needed.search_path},
            mounts=needed.mounts,
            network=True,
        ),
    )
    output = CREDENTIALS.sub('', ran.output.strip())[-MAX_OUTPUT:]
    text = '\n'.join(filter(None, (f'$ {command}', output, ran.summary)))
    return Installation(folder=str(workspace.folder), ok=ran.code == 0, text=text)


def _variables() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
