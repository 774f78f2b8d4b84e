"""Runs small checks of untrusted text in a process of their own, which can be stopped."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from engine.errors import ToolError

LIMIT = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
given = json.load(sys.stdin)
"""


async def check_apart(program: str, given: Any, *, seconds: float, packages: bool = False) -> Any:
    """Return what a Python program prints, as JSON, for the value `given`.

    A regular expression that backtracks for ever would hold up this process, whatever thread it is in.

    Args:
        program: its text.
        given: a JSON value.
        seconds: its time limit.
        packages: whether it imports packages, which take longer to find.

    Raises:
        ToolError: it took too long, or failed.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, '-I', *(() if packages else ('-S',)), '-c', LIMIT + program),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(seconds):
            output, errors = await process.communicate(json.dumps(given).encode())
    except TimeoutError:
        raise ToolError(f'it took longer than {seconds:g} s') from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise ToolError((errors.decode(errors='replace').strip().splitlines() or ['it failed'])[-1][:500])
    return json.loads(output)
