"""Runtime dependencies are installed with Hemicycle, not only in a development environment."""

import re
import tomllib

from tests.tree import ROOT

MODULE = re.compile(r"sys\.executable, '-m', '(\w+)'|^ +import (pytest)$", re.M)
"""A module that the engine runs with its own Python, or that one of its programs imports."""


def test_programs_that_agents_use_are_dependencies():
    sources = [path.read_text() for path in (ROOT / 'engine').rglob('*.py')]
    started = {name for source in sources for item in MODULE.findall(source) for name in item if name}
    assert 'pytest' in started
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
    needed = {re.match(r'[\w.-]+', line)[0] for line in project['dependencies']}
    pinned = set(re.findall(r'^([\w.-]+)==', (ROOT / 'requirements.lock').read_text(), re.M))
    assert started <= needed & pinned
