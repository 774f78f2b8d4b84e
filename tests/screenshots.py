"""Takes the README's pictures: `python -m tests.screenshots`; the animated one needs Pillow."""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.server import Server
from tests.support import chromium
from tests.tree import ROOT

SCREENS = ROOT / 'assets' / 'screens'
TASK = 'Should a small team adopt event sourcing for its order system?'
FRAME_MS = 350
GIF_WIDTH = 960


def main() -> None:
    """Start a server with an empty database, and photograph a newcomer's first minute."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.path(), args=chromium.ARGUMENTS)
        server = Server(Path(folder), pace=110)
        server.start()
        try:
            run = moving(browser, server)
            stills(browser, server, run)
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


def stills(browser: Browser, server: Server, run: str) -> None:
    """Every page, light and dark, wide and narrow."""
    for scheme in ('light', 'dark'):
        for name, url in (
            ('home', server.url),
            ('launch', f'{server.url}/launch/pipeline'),
            ('run', f'{run}?at=20'),
        ):
            for kind, width, height in ((scheme, 1440, 900), (f'narrow-{scheme}', 390, 844)):
                page = opened(browser, url, width=width, height=height, scheme=scheme)
                page.wait_for_timeout(1500)
                page.screenshot(path=SCREENS / f'{name}-{kind}.png')
                page.context.close()


if __name__ == '__main__':
    sys.exit(main())
