"""Takes pictures of every page into `build/screens`, and keeps those of README and guides; needs Pillow.

`python -m tests.screenshots` takes them all; with `stills`, all but the animated one.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.server import Server
from tests.support import chromium
from tests.tree import ROOT

SCREENS = ROOT / 'assets' / 'screens'
ALL = ROOT / 'build' / 'screens'
KEPT = {
    *('home-light', 'run-dark', 'run-narrow-light'),
    *('run-light', 'fork-light', 'compare-light', 'traffic-light', 'review-light', 'inbox-light'),
}
"""What README and guides show."""
SIZES = (('', 1440, 900), ('narrow-', 390, 844))
PATTERNS = ('parallel-review', 'supervisor', 'race', 'pipeline')
"""Patterns whose first sample fills the lists, beside the pipeline."""
COLOURS = 128
RUN_MS = 120_000
SETTLED_MS = 900
TASK = 'Should a small team adopt event sourcing for its order system?'
FRAME_MS = 350
GIF_WIDTH = 960


def main() -> None:
    """Start a server with an empty database, and photograph a newcomer's first minute."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.path(), args=chromium.ARGUMENTS)
        server = Server(Path(folder), pace=0 if 'stills' in sys.argv else 110)
        server.start()
        try:
            run = (
                moving(browser, server) if 'stills' not in sys.argv else launched(browser, server, 'pipeline')
            )
            others = [launched(browser, server, pattern) for pattern in PATTERNS]
            wait_for(browser, server)
            stills(browser, server, run, others)
        finally:
            server.stop()


def opened(
    browser: Browser, url: str, *, width: int = 1440, height: int = 900, scheme: str = 'light'
) -> Page:
    """A page of that size."""
    context = browser.new_context(viewport={'width': width, 'height': height}, color_scheme=scheme)
    page = context.new_page()
    page.goto(url)
    return page


def moving(browser: Browser, server: Server) -> str:
    """A run from the form to the slider sent back; returns its address."""
    page, frames = opened(browser, f'{server.url}/launch/pipeline', width=1280, height=800), []

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
    expect(page.locator('.agent.result')).to_be_visible()
    take(4)
    for step in (26, 21, 15, 10, 7, 4, 10, 16, 22, 29):
        page.goto(f'{page.url.partition("?")[0]}?at={step}')
        expect(page.locator('.step-number')).to_have_text(f'Step {step}')
        take(2)
    animate(frames, SCREENS / 'run.gif')
    run = page.url.partition('?')[0]
    page.context.close()  # else the pictures that follow show that somebody else watches
    return run


def animate(frames: list[bytes], path: Path) -> None:
    """Write the frames as one GIF, with few colours and without the frames in which nothing changed."""
    from PIL import Image  # only for pictures: not among the locked packages

    images, last = [], b''
    for frame in frames:
        if frame == last:
            continue
        last = frame
        image = Image.open(io.BytesIO(frame)).convert('RGB')
        image = image.resize((GIF_WIDTH, image.height * GIF_WIDTH // image.width), Image.Resampling.LANCZOS)
        images.append(image.quantize(64, dither=Image.Dither.NONE))
    images[0].save(path, save_all=True, append_images=images[1:], duration=FRAME_MS, loop=0, optimize=True)


def launched(browser: Browser, server: Server, pattern: str) -> str:
    """Run the first sample of a pattern to its end; returns its address."""
    page = opened(browser, f'{server.url}/launch/{pattern}')
    page.get_by_role('button', name='Samples').click()
    page.locator('[role=menuitem]').first.click()
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))
    page.locator('.pill.done').first.wait_for(timeout=RUN_MS)
    run = page.url
    page.context.close()
    return run


def wait_for(browser: Browser, server: Server) -> None:
    """Start a run whose tool calls wait for approval, so that the inbox and the home page have a question."""
    page = opened(browser, server.url)
    parameters = {'pattern': 'pipeline', 'parameters': {'task': TASK}, 'approvals': 'all'}
    answer = page.request.post(f'{server.url}/api/v1/runs', data=parameters)
    assert answer.ok, answer.text()
    page.goto(f'{server.url}/inbox')
    page.get_by_role('button', name=re.compile('^Allow')).first.wait_for()
    page.context.close()


def addresses(server: Server, run: str, others: list[str]) -> dict[str, str]:
    """Every page, by the name of its picture."""
    ids = [address.rpartition('/')[2] for address in (run, others[3])]
    return {
        'home': server.url,
        'launch': f'{server.url}/launch/pipeline',
        'run': f'{run}?at=20',
        'run-review': others[0],
        'run-tasks': others[1],
        'fork': f'{run}/fork?at=20',
        'family': f'{run}/family',
        'compare': f'{server.url}/compare?a={ids[0]}&b={ids[1]}',
        'review': f'{others[2]}/review',
        'traffic': f'{server.url}/patterns/pipeline/traffic',
        **{
            name: f'{server.url}/{name}'
            for name in ('runs', 'trash', 'wall', 'inbox', 'notifications', 'schedules', 'tools', 'settings')
        },
    }


def stills(browser: Browser, server: Server, run: str, others: list[str]) -> None:
    """Every page, light and dark, wide and narrow."""
    ALL.mkdir(parents=True, exist_ok=True)
    for scheme in ('light', 'dark'):
        for size, width, height in SIZES:
            for name, url in addresses(server, run, others).items():
                page = opened(browser, url, width=width, height=height, scheme=scheme)
                page.wait_for_timeout(SETTLED_MS)
                picture, title = page.screenshot(), f'{name}-{size}{scheme}'
                page.context.close()
                shrink(picture, ALL / f'{title}.png')
                if title in KEPT:
                    shutil.copy(ALL / f'{title}.png', SCREENS)


def shrink(picture: bytes, path: Path) -> None:
    """Write a picture with few colours: a third of its bytes."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert('RGB')
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == '__main__':
    sys.exit(main())
