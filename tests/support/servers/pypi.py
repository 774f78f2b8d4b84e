"""Programs that tests run from PyPI, each in a virtual environment of its own in the user's cache.

For programs whose requirements do not go together with ours.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.servers.npm import CACHE


def install(package: str, version: str) -> Path:
    """Install a package, and return the folder of its programs; where pip cannot, the test is skipped."""
    folder = CACHE / f'{package}-{version}'
    programs = folder / 'bin'
    if not (programs / package).exists():
        subprocess.run([sys.executable, '-m', 'venv', str(folder)], check=True, timeout=300)
        command = [str(programs / 'python'), '-m', 'pip', 'install', '--quiet', f'{package}=={version}']
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if ran.returncode != 0:
            pytest.skip(f'pip cannot install {package} here: {ran.stderr.strip()[-300:]}')
    return programs
