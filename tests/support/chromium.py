"""The Chromium used for tests, benchmarks and screenshots: where it is, and how it is started."""

import os
import shutil

NAMES = (
    'chromium-headless-shell',  # without the browser's own windows: a page costs a quarter less
    *('chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome'),
)
LEFT_OUT = (
    # For each window, a process draws what the address bar would pop up: a second of a processor's time.
    *('WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup'),
    # Of Playwright's own list, which gives way to this one, what can be seen in a page.
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
    """Where it is: as `HEMICYCLE_CHROMIUM` says, or the first that is found; None where there is none."""
    return os.environ.get('HEMICYCLE_CHROMIUM') or next(filter(None, map(shutil.which, NAMES)), None)
