"""The Chromium used for tests, benchmarks and screenshots: where it is, and how it is started."""

import os
import shutil

NAMES = (
    'chromium-headless-shell',  # without the browser's own UI: a page costs a quarter less
    *('chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome'),
)
LEFT_OUT = (
    # Otherwise each window has a process for the address bar's popup: a second of processor time.
    *('WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup'),
    # From Playwright's default list, which this one replaces: features with visible effects.
    *('PaintHolding', 'HttpsUpgrades', 'ThirdPartyStoragePartitioning'),
)
ARGUMENTS = (
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    f'--disable-features={",".join(LEFT_OUT)}',
)


def path() -> str | None:
    """Return its path: `HEMICYCLE_CHROMIUM`, or the first one found, or None."""
    return os.environ.get('HEMICYCLE_CHROMIUM') or next(filter(None, map(shutil.which, NAMES)), None)
