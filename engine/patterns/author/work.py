"""The author's work without a model: reading what it begins with, checking, trying out, saving."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from engine.errors import EngineError
from engine.patterns.author.format_summary import format_summary
from engine.patterns.author.gate import Checked, Gate, check, simulate
from engine.patterns.author.records import AuthorMemory, Found
from engine.records import RunId
from engine.records.jsonable import to_jsonable
from engine.runtime.activity import Activity, ChartDesk
from engine.tools.builtin.prompt_templates import fill

BLOCK = re.compile(r'^```[\w-]*[ \t]*\n(.*?)^```[ \t]*$', re.MULTILINE | re.DOTALL)
MAX_ABOUT = 200
"""Maximum characters of what the author is told about a tool."""


def read_answer(answer: str) -> tuple[str, str]:
    """Return the chart file in an answer, and what is said beside it; without a block, all is the file."""
    blocks = list(BLOCK.finditer(answer))
    if not blocks:
        return answer.strip() + '\n', ''
    last = blocks[-1]
    remarks = f'{answer[: last.start()].strip()}\n{answer[last.end() :].strip()}'.strip()
    return last[1], remarks


async def read_task(memory: AuthorMemory, activity: Activity) -> dict[str, Any]:
    """Return the tools, what is changed, and the author's task. Raises `EngineError`."""
    services, chosen = activity.services, memory.tools
    if unknown := [name for name in chosen if name not in services.tools and not name.startswith('mcp:')]:
        raise EngineError(f'there is no tool {unknown[0]!r}; available: {", ".join(services.tools)}')
    tools = chosen or tuple(name for name, tool in services.tools.items() if not tool.approval)
    base, trouble = None, ''
    if memory.base:
        base = await _desk(activity).base(memory.base)
    run = str(activity.run.parameters.get('run') or '')
    if run:
        trouble = await _desk(activity).trouble(RunId(run), activity.run.author)
    about = [
        {'name': name, 'about': ' '.join(services.tools[name].spec.description.split())[:MAX_ABOUT]}
        if name in services.tools
        else {'name': name, 'about': 'tools of a server'}
        for name in tools
    ]
    prompt = fill(
        'author',
        {
            'request': memory.request,
            'base': base.text if base else '',
            'notes': base.notes if base else (),
            'trouble': trouble,
            'tools': about,
            'format': format_summary(),
        },
    )
    return {
        'tools': list(tools),
        'base_text': base.text if base else '',
        'base_version': base.version if base else '',
        'prompt': prompt,
    }


async def check_draft(memory: AuthorMemory, activity: Activity) -> dict[str, Any]:
    """Return what is found in the latest draft."""
    services = activity.services
    gate = Gate(
        allowed=memory.tools,
        name=memory.base if memory.base_version else '',
        models=services.models,
        tools=services.tools,
    )
    checked = await asyncio.to_thread(check, memory.drafts[-1].text, gate)
    desk = _desk(activity)
    if checked.chart and (problem := await desk.objection(checked.chart, memory.base_version)):
        finding = Found(line=1, text=f'`chart`: {problem}')
        checked = Checked(findings=(finding, *checked.findings), chart=checked.chart, worst=checked.worst)
    return {**to_jsonable(checked), 'sound': checked.sound}


async def try_draft(memory: AuthorMemory, activity: Activity) -> dict[str, Any]:
    """Return how simulated runs of the latest draft end, and what is wrong with that."""
    findings, tried = await asyncio.to_thread(simulate, memory.drafts[-1].text)
    return {'findings': to_jsonable(findings), 'tried': tried}


async def save_draft(memory: AuthorMemory, activity: Activity) -> dict[str, Any]:
    """Save the latest draft; its version is '' if no charts are kept here. Raises `EngineError`."""
    version = await _desk(activity).save(
        memory.drafts[-1].chart,
        memory.drafts[-1].text,
        base=memory.base_version,
        author=memory.approver or activity.run.author,
        note=memory.version_note,
    )
    return {'version': version, 'problem': '' if version else 'this program keeps no charts'}


def _desk(activity: Activity) -> ChartDesk:
    if activity.services.desk is None:
        raise EngineError('this program keeps no charts')
    return activity.services.desk
