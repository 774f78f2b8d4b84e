"""The folder for everything that an installation keeps on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home_folder() -> Path:
    """Return the folder: `HEMICYCLE_HOME`, or one in the system's folder for user data."""
    named = os.environ.get('HEMICYCLE_HOME', '').strip()
    return Path(named).expanduser() if named else platformdirs.user_data_path('hemicycle', appauthor=False)
