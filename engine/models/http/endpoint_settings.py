"""The configured endpoints: the source of each, and which are unusable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import platformdirs

from engine.models.endpoint import Endpoint
from engine.models.http.prices import Prices


def endpoints_file() -> Path:
    """Return the file that configures models: `HEMICYCLE_ENDPOINTS`, or one in the user's config folder."""
    named = os.environ.get('HEMICYCLE_ENDPOINTS', '').strip()
    if named:
        return Path(named).expanduser()
    return platformdirs.user_config_path('hemicycle', appauthor=False) / 'endpoints.toml'


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSource:
    """Where an endpoint's configuration comes from; contains no secrets."""

    found: Literal['file', 'environment']
    url: str
    key: str
    """Where its key is kept, such as `env:NAME`; '' if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """The endpoints as configured, with where each comes from and what is wrong."""

    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    sources: Mapping[str, EndpointSource] = field(default_factory=dict)
    """By endpoint, including the unusable ones."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a configured endpoint is unusable; for example, its key is missing."""
    prices: Prices = field(default_factory=Prices)
