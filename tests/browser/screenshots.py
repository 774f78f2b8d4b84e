"""Takes pictures of every page into `build/screens`, and copies those for README and guides.

`python -m tests.browser.screenshots` takes them all; with `stills`, all but the animated one; with
`stills kept`, those for README and guides.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.filled import TASK, Filler, add_account, session
from tests.browser.server import Server
from tests.support.pages import chromium
from tests.tree import ROOT
from ui.app.colours import MEANINGS

SCREENS = ROOT / 'assets' / 'screens'
ALL = ROOT / 'build' / 'screens'
KEPT = {
    *('home-light', 'run-dark', 'run-narrow-light'),
    *('run-light', 'fork-light', 'compare-light', 'traffic-light', 'review-light', 'inbox-light'),
    *('chart-light', 'chart-dark', 'chart-narrow-light', 'difference-light', 'experiment-light'),
}
"""Pictures shown in README and guides."""
SIZES = (('', 1440, 900), ('narrow-', 390, 844))
PATTERNS = ('parallel-review', 'supervisor', 'race', 'pipeline', 'time-bounded')
"""Patterns whose first sample is run to fill the lists."""
TABS = {
    'pipeline': ('transcript', 'drafts'),
    'parallel-review': ('debate', 'candidates', 'files'),
    'supervisor': ('messages',),
    'time-bounded': ('time', 'supervision'),
}
"""Tabs of the run page after its first, by pattern."""
LISTS = (
    *('runs', 'trash', 'wall', 'inbox', 'notifications', 'schedules', 'tools', 'settings', 'workers'),
    *('style', 'charts', 'experiments', 'datasets', 'experiments/new', 'launch/author'),
)
INSPECTED = ('memory', 'usage', 'breakpoints')
"""Tabs of the inspector after its first."""
LIVE_PACE = 25
"""Pieces of text a second, so that a run is still active when its pictures are taken."""
COLOURS = 256
RUN_MS = 120_000
SETTLED_MS = 900
FRAME_MS = 1_000
"""Between two pictures; the film shows them twice as fast."""
GIF_WIDTH, GIF_COLOURS, SHADE = 880, 128, 40
UNCHANGED = 255
"""The palette's number for pixels that stay as they were."""


def main() -> None:
    """Start a server with an empty database, and take pictures of a new user's first minute."""
    ALL.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium.path(), args=chromium.ARGUMENTS)
        _take_without_accounts(browser, Path(folder))
        _take_with_accounts(browser, Path(folder, 'team'))


def _take_without_accounts(browser: Browser, folder: Path) -> None:
    """Take pictures of a server without accounts: nearly all pages."""
    server = Server(folder, pace=0 if 'stills' in sys.argv else 110)
    server.start()
    try:
        run = launch(browser, server, 'pipeline') if 'stills' in sys.argv else record_run(browser, server)
        others = {pattern: launch(browser, server, pattern) for pattern in PATTERNS}
        page = open_page(browser, server.url)
        filled = Filler(page, server).fill()
        page.context.close()
        take_stills(browser, addresses(server, run, others, filled))
    finally:
        server.stop()


def _take_with_accounts(browser: Browser, folder: Path) -> None:
    """Take pictures of a server with accounts and an active run."""
    folder.mkdir()
    server = Server(folder, pace=LIVE_PACE)
    add_account(server)
    server.start()
    try:
        take_stills(browser, {'login': f'{server.url}/login'})
        state = session(browser, server)
        page = open_page(browser, server.url, state=state)
        run = Filler(page, server).start(TASK)
        page.context.close()
        live = {'live': f'{server.url}/runs/{run}', 'wall-live': f'{server.url}/wall'}
        pages = {name: f'{server.url}/{name}' for name in ('account', 'accounts', 'audit')}
        take_stills(browser, live | pages, state=state)
    finally:
        server.stop()


def open_page(
    browser: Browser,
    url: str,
    *,
    width: int = 1440,
    height: int = 900,
    scheme: str = 'light',
    state: Any = None,
) -> Page:
    """Open a page of this size; `state` is the storage state of a login."""
    size = {'width': width, 'height': height}
    context = browser.new_context(viewport=size, color_scheme=scheme, storage_state=state)
    page = context.new_page()
    page.goto(url)
    return page


def record_run(browser: Browser, server: Server) -> str:
    """Record a run from the form to the slider, and return its address."""
    page, frames = open_page(browser, f'{server.url}/launch/pipeline', width=1440, height=900), []

    def take(count: int) -> None:
        for _ in range(count):
            frames.append(page.screenshot())
            page.wait_for_timeout(FRAME_MS)

    page.get_by_label('Task', exact=True).fill(TASK)
    take(2)
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))
    while not page.locator('.pill.done').count():
        take(1)
    expect(page.locator('.result-card.shown')).to_be_visible()
    take(2)
    for step in (26, 21, 15, 10, 7, 4, 10, 16, 22, 29):
        page.goto(f'{page.url.partition("?")[0]}?at={step}')
        expect(page.locator('.step-number')).to_have_text(f'Step {step}')
        take(1)
    animate(frames, SCREENS / 'run.gif')
    run = page.url.partition('?')[0]
    page.context.close()  # otherwise later pictures show another viewer
    return run


def animate(frames: list[bytes], path: Path) -> None:
    """Write the frames as one GIF of few colours, in which each frame holds only what has changed."""
    images = [_shrink(frame) for before, frame in pairwise([b'', *frames]) if frame != before]
    width, height = images[0].size
    samples = images[:: max(len(images) // 6, 1)]
    shades = [tone.light for meaning in MEANINGS.values() for tone in (meaning.ink, meaning.soft)]
    sheet = Image.new('RGB', (width, height * len(samples) + SHADE * len(shades)))
    for place, image in enumerate(samples):
        sheet.paste(image, (0, place * height))
    for place, shade in enumerate(shades):  # However small what they say is drawn, it keeps its colour.
        top = height * len(samples) + SHADE * place
        sheet.paste(shade, (0, top, width, top + SHADE))
    palette = sheet.quantize(GIF_COLOURS, dither=Image.Dither.NONE)
    drawn = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    changes = [drawn[0]]
    for before, now in pairwise(drawn):
        pixels = (Image.frombytes('L', now.size, image.tobytes()) for image in (before, now))
        same = ImageChops.difference(*pixels).point(lambda value: 255 if value == 0 else 0)
        change = now.copy()
        change.paste(UNCHANGED, mask=same)
        changes.append(change)
    changes[0].save(
        path, save_all=True, append_images=changes[1:], duration=FRAME_MS // 2, loop=0, disposal=1,
        transparency=UNCHANGED,
    )  # fmt: skip


def _shrink(frame: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(frame)).convert('RGB')
    return image.resize((GIF_WIDTH, image.height * GIF_WIDTH // image.width), Image.Resampling.LANCZOS)


def launch(browser: Browser, server: Server, pattern: str) -> str:
    """Run the first sample of a pattern to its end, and return its address."""
    page = open_page(browser, f'{server.url}/launch/{pattern}')
    page.get_by_role('button', name='Samples').click()
    page.locator('[role=menuitem]').first.click()
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))
    page.locator('.pill.done').first.wait_for(timeout=RUN_MS)
    run = page.url
    page.context.close()
    return run


def addresses(server: Server, run: str, others: dict[str, str], filled: dict[str, str]) -> dict[str, str]:
    """Return the address of every page by the name of its picture."""
    ids = [address.rpartition('/')[2] for address in (run, others['pipeline'])]
    tabs = {f'{pattern}-{tab}': f'{others[pattern]}/{tab}' for pattern, tabs in TABS.items() for tab in tabs}
    return {
        'home': server.url,
        'launch': f'{server.url}/launch/pipeline',
        'run': f'{run}?at=20',
        'run-review': others['parallel-review'],
        'run-tasks': others['supervisor'],
        'run-time': others['time-bounded'],
        'run-waits': f'{server.url}/runs/{filled["waits"]}',
        **tabs,
        **{f'run-{tab}': f'{run}?at=20&inspect={tab}' for tab in INSPECTED},
        'report': f'{others["time-bounded"]}/report',
        'fork': f'{run}/fork?at=20',
        'family': f'{server.url}/runs/{filled["run"]}/family',
        'variants': f'{server.url}/variants/{filled["group"]}',
        'compare': f'{server.url}/compare?a={ids[0]}&b={ids[1]}',
        'review': f'{others["race"]}/review',
        'traffic': f'{server.url}/patterns/pipeline/traffic',
        'simulator': f'{server.url}/patterns/pipeline/simulate',
        'tool': f'{server.url}/tools/calculator',
        'question': f'{server.url}/inbox/{filled["question"]}',
        'chart': f'{server.url}/charts/critique',
        'difference': f'{server.url}/charts/critique/difference',
        'experiment': f'{server.url}/experiments/{filled["experiment"]}',
        'missing': f'{server.url}/runs/missing',
        **{name.replace('/', '-'): f'{server.url}/{name}' for name in LISTS},
    }


def take_stills(browser: Browser, pages: dict[str, str], *, state: Any = None) -> None:
    """Take pictures of these pages, light and dark, wide and narrow."""
    for scheme in ('light', 'dark'):
        for size, width, height in SIZES:
            for name, url in pages.items():
                title = f'{name}-{size}{scheme}'
                if 'kept' in sys.argv and title not in KEPT:
                    continue
                page = open_page(browser, url, width=width, height=height, scheme=scheme, state=state)
                page.wait_for_timeout(SETTLED_MS)
                picture = page.screenshot()
                page.context.close()
                shrink(picture, ALL / f'{title}.png')
                if title in KEPT:
                    shutil.copy(ALL / f'{title}.png', SCREENS)


def shrink(picture: bytes, path: Path) -> None:
    """Write a picture with few colours, which takes a third of the bytes."""
    image = Image.open(io.BytesIO(picture)).convert('RGB')
    how = Image.Quantize.MAXCOVERAGE  # keeps colours of small parts, such as green check marks
    image.quantize(COLOURS, how, kmeans=3, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == '__main__':
    sys.exit(main())
