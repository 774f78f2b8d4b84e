"""A single HTML file that replays a run offline, with data, script and styles; it loads nothing."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import html
import re
from collections.abc import Iterable, Mapping
from functools import cache
from string import Template
from typing import Any

import orjson

from engine import Conductor
from engine.history import Redaction
from engine.records import RunId
from ui.app.colours import colour_sheet
from ui.formatting.changes import wordings
from ui.formatting.diagram.folding import default_folds
from ui.formatting.diagram.rendering import svg
from ui.formatting.files import given_files_text
from ui.formatting.values import STATUS_TEXT, moment_text
from ui.web.components.assets import ASSETS, MARK, STYLES
from ui.web.exports.run_history import RunHistory, read_history
from ui.web.exports.text import export_note

PARTS = ASSETS / 'export'
SHEETS = ('base', 'diagram', 'conversation', 'frame', 'timeline')
"""The style sheets that it shares with the pages."""
POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}';"
    " base-uri 'none'; form-action 'none'"
)
"""The content security policy: the file may run its own script, use its own styles, and nothing else."""


async def render_page(conductor: Conductor, run: RunId, redaction: Redaction | None = None) -> str:
    """Render the page of a run. Raises `UnknownRun`, `CannotExport`."""
    past = await read_history(conductor, run)
    drawing = await svg(past.shape, folded=default_folds(past.shape))
    redaction = redaction or Redaction.for_catalog(conductor.catalog)
    return await asyncio.to_thread(_render, past, drawing, redaction, conductor.clock.now())


def _render(past: RunHistory, drawing: str, redaction: Redaction, now: float) -> str:
    info, view = past.info, past.view
    content: dict[str, Any] = redaction.redact_value(
        {
            'pattern': info.pattern,
            'run': info.id,
            'title': info.title,
            'facts': _list_facts(past),
            'words': {status.value: word for status, word in STATUS_TEXT.items()},
            'constants': wordings(_written_values(past.steps)),
            'steps': past.steps,
            'timeline': past.timeline,
            'files': past.files,
            'panels': [[panel.panel, panel.field] for panel in past.shape.panels if not panel.part],
            'started': view.started,
        }
    )
    chart = redaction.redact_text(drawing)
    script, style = _script(), _style()
    data = base64.b64encode(gzip.compress(orjson.dumps(content, default=list), 6, mtime=0)).decode()
    return Template(_read_part('page.html')).substitute(
        policy=POLICY.format(script=_digest(script), style=_digest(style)),
        title=html.escape(content['title'] or info.pattern),
        mark=MARK,
        chart=_strip_svg(chart) or '<p class="empty">No diagram: Graphviz was not installed.</p>',
        about=html.escape(export_note(now, redaction.found)),
        style=style,
        script=script,
        data=data,
    )


def _written_values(steps: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return all values that were written, each by the name of its field."""
    changes = (change for step in steps for change in step.get('changes', ()))
    return [{pointer.rpartition('/')[2]: value} for _, pointer, value in changes]


def _list_facts(past: RunHistory) -> list[list[str]]:
    info = past.info
    parameters = [[name, _short(value)] for name, value in info.parameters.items()]
    models = ', '.join(f'{role or "all"}: {name}' for role, name in info.models.items())
    return [
        ['Run', info.id],
        ['Pattern', f'{past.shape.title} ({info.pattern})'],
        *([['Version', info.version]] if info.version else []),
        ['Started', moment_text(past.view.started or info.created, 'UTC', seconds=False)],
        *([['Forked from', f'{info.parent} at step {info.parent_at}']] if info.parent else []),
        ['Models', models or ('scripted, simulated' if info.simulated else 'as configured')],
        *([['Simulated', 'all models were scripted; no provider was called']] if info.simulated else []),
        *([['Files at the start', given]] if (given := given_files_text(info)) else []),
        *([['Tags', ', '.join(info.tags)]] if info.tags else []),
        *([['Note', info.note]] if info.note else []),
        *parameters,
    ]


def _short(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def _strip_svg(drawing: str) -> str:
    """Return a drawing without its size, comments and tooltips."""
    return re.sub(
        r'<!--.*?-->|<title>.*?</title>|(?<=<svg) width="[^"]*"\s+height="[^"]*"', '', drawing, flags=re.S
    )


@cache
def _read_part(name: str) -> str:
    return (PARTS / name).read_text('utf-8')


@cache
def _script() -> str:
    """Return the parts of the script as one module, where the next part can use what one exports."""
    marked, exported = (ASSETS / 'vendor' / 'marked.js').read_text('utf-8').rsplit('export{', 1)
    lexer = re.search(r'(\w+) as lexer\b', exported)
    assert lexer, 'marked.js exports its lexer'
    viewer = (ASSETS / 'viewers' / 'json_tree.js').read_text('utf-8')
    tree = viewer.replace('export default', 'const tree =')
    timeline = (ASSETS / 'timeline' / 'timeline.js').read_text('utf-8')
    bar = f'const Timeline = (() => {{\n{timeline.replace("export ", "")}\nreturn Timeline;\n}})();'
    markdown = f'const lexMarkdown = (() => {{\n{marked}\nreturn {lexer[1]};\n}})();'
    panels = [path.read_text('utf-8') for path in sorted((PARTS / 'panels').glob('*.js'))]
    scripts = '\n'.join([markdown, tree, bar, 'const offlinePanels = {};', *panels, _read_part('page.js')])
    return scripts.replace('</script', r'<\/script').replace('<!--', r'<\x21--')


@cache
def _style() -> str:
    sheets = ((STYLES / f'{name}.css').read_text('utf-8') for name in SHEETS)
    panels = (path.read_text('utf-8') for path in sorted((PARTS / 'panels').glob('*.css')))
    return ''.join([colour_sheet(), *sheets, _read_part('page.css'), *panels])


def _digest(text: str) -> str:
    """Return the digest of an inline part for the policy. Browsers normalize line endings first."""
    return base64.b64encode(hashlib.sha256(text.replace('\r\n', '\n').encode()).digest()).decode()
