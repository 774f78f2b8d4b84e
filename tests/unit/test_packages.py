"""What Hemicycle needs to run is installed with it, and not only for who develops it."""

import re
import tomllib

from tests.tree import ROOT

MODULE = re.compile(r"sys\.executable, '-m', '(\w+)'")
"""A program that the engine starts as a module of its own Python."""


def test_the_programs_that_agents_are_given_are_installed_with_it():
    started = {name for path in (ROOT / 'engine').rglob('*.py') for name in MODULE.findall(path.read_text())}
    assert 'pytest' in started
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
    needed = {re.match(r'[\w.-]+', line)[0] for line in project['dependencies']}
    pinned = set(re.findall(r'^([\w.-]+)==', (ROOT / 'requirements.lock').read_text(), re.M))
    assert started <= needed & pinned
