"""What pages load first with this release of NiceGUI; an upgrade that changes it fails here."""

import re

import jinja2
import pytest
from nicegui.client import templates

from ui.web.components.assets import ASSETS
from ui.web.components.loading import quasar
from ui.web.components.loading.bundles import STATIC, VUE, VUE_RUNTIME, Bundles
from ui.web.components.loading.first_paint import IMPORTS, PARTS, style_sheet
from ui.web.components.theme import SCRIPTS, SHEETS

FULL = STATIC / 'quasar.umd.prod.js'


@pytest.fixture
def template() -> str:
    loader = jinja2.FileSystemLoader(STATIC.parent / 'templates')
    return loader.get_source(templates.env, 'index.html')[0]


def test_no_page_waits_for_the_style_sheets_of_nicegui(template):
    assert len(IMPORTS.findall(template)) == 6
    assert '@import' not in IMPORTS.sub('', template)
    for _, file in PARTS:
        assert f'/static/{file}' in template


@pytest.mark.parametrize(('whole', 'part'), [(FULL, ASSETS / quasar.SCRIPT), (VUE, VUE_RUNTIME)])
def test_our_part_replaces_the_same_version_only(tmp_path, whole, part):
    assert quasar.version(whole), 'the file no longer starts with its version'
    assert quasar.smallest(whole, part) == part, 'run `python -m tests.browser.quasar`'
    other = tmp_path / whole.name
    for text in ('/*!\n * Quasar Framework v9.9.9\n */', '(()=>{})()'):
        other.write_text(text)
        assert quasar.smallest(other, part) == other


def test_no_component_needs_the_compiler_of_templates():
    bundles = Bundles(SCRIPTS)
    vue = bundles.served['/hemicycle/vue.bundle.js']
    assert 'compileToFunction' not in vue and len(vue) < 110_000
    assert not [
        path for path, text in bundles.served.items() if re.search(r'^  template: ', text, re.MULTILINE)
    ]


def test_the_script_has_the_listed_components():
    script = (ASSETS / quasar.SCRIPT).read_text('utf-8')
    for name in (*quasar.COMPONENTS, *quasar.PLUGINS):
        assert f'{name}:' in script, f'{name} is not exported'
    assert 'QTable' not in script


def test_unused_styles_are_left_out():
    css = '.q-menu{a:b}.q-table,.q-menu--dark{c:d}.q-pa-md{e:f}@media (x){.q-tab{g:h}}.q-menu:has(+ p){m:n}'
    css += '@keyframes q{0%{i:j}}p{k:l}'
    assert quasar.prune(css) == '.q-menu{a:b}.q-menu--dark{c:d}@keyframes q{0%{i:j}}p{k:l}'
    assert len(style_sheet(SHEETS, str)) < 130_000
