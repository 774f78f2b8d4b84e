"""Programs that tests run from npm, each installed once into the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'hemicycle-tests'


def install(package: str, version: str) -> Path:
    """Install a package, and return its folder `node_modules`; without npm the test is skipped."""
    folder = CACHE / f'{package}-{version}'
    modules = folder / 'node_modules'
    if not (modules / package).exists():
        npm = shutil.which('npm')
        if npm is None:
            pytest.skip(f'npm is missing: it would install {package} (apt install npm)')
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, 'install', '--prefix', str(folder), '--no-audit', '--no-fund', f'{package}@{version}']
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if ran.returncode != 0:
            pytest.skip(f'npm cannot install {package} here: {ran.stderr.strip()[-300:]}')
    return modules
