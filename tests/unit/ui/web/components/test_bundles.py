"""The bundles of scripts that pages load fit this release of NiceGUI; an upgrade may fail here."""

import re

import jinja2
import pytest
from nicegui import ui
from nicegui.client import templates

from ui.web.components import theme
from ui.web.components.assets import ASSETS
from ui.web.components.elements import Code, Diagram
from ui.web.components.loading.bundles import MODULES, STATIC, VUE, Bundles, join_modules

ADDRESS = r'/hemicycle/(\w+)\.bundle\.js\?[0-9a-f]+'


@pytest.fixture(scope='module')
def bundles() -> Bundles:
    return Bundles(theme.SCRIPTS)


@pytest.fixture
def template(bundles: Bundles) -> str:
    loader = jinja2.FileSystemLoader(STATIC.parent / 'templates')
    return bundles.rewrite_template(loader.get_source(templates.env, 'index.html')[0])


def test_the_template_loads_bundles_instead_of_single_scripts(template):
    for name in ('socket.io', 'quasar.umd', 'nicegui.js', 'lang/', '"dompurify"'):
        assert name not in template, name
    assert re.findall(ADDRESS, template) == ['frame', 'everywhere']
    assert re.search(r'await dressed;\s+app\.mount', template)
    assert (template.count('| bundled'), template.count('| placed')) == (3, 2)


def test_components_are_loaded_from_bundles_where_possible(bundles):
    diagram, upload = Diagram.component, ui.upload.component
    imports = '\n'.join(
        f'import {{ default as {item.name} }} from "/_nicegui/1/components/{item.key}";'
        for item in (diagram, upload)
    )
    first, second = bundles.rewrite_imports(imports, '').split('\n')
    assert re.fullmatch(rf'import \{{ diagram as {diagram.name} \}} from "{ADDRESS}";', first)
    assert second == imports.split('\n')[1]
    urls = [
        f'/_nicegui/1/components/{kind.component.key}'
        for kind in (Diagram, Code, ui.html, ui.timer, ui.upload)
    ]
    early = bundles.rewrite_imports(urls, '')
    assert [re.findall(ADDRESS, url) for url in early] == [['charts'], ['runs'], ['everywhere'], []]
    vue = f'/_nicegui/1/static/{VUE.name}'
    assert re.fullmatch(ADDRESS, bundles.rewrite_imports([vue], '')[0])
    assert re.fullmatch(
        rf'{{"vue": "/below{ADDRESS}"}}', bundles.rewrite_imports(f'{{"vue": "/below{vue}"}}', '/below')
    )


def test_a_late_component_is_loaded_from_its_bundle(bundles):
    frame = bundles.served['/hemicycle/frame.bundle.js']
    assert frame.count('import(url)') == 1, 'NiceGUI no longer gets late components in this way'
    assert frame.count('importComponent(url)') == 2
    assert Diagram.component.key in frame
    assert 'sourceMappingURL' not in frame


def test_vue_does_not_observe_the_contents_of_elements(bundles):
    frame = bundles.served['/hemicycle/frame.bundle.js']
    assert frame.count('Vue.markRaw(element)') == 1, 'NiceGUI no longer prepares elements in this way'
    # Only code that changes part of an element in the browser needs the element to be reactive.
    script = (STATIC / 'nicegui.js').read_text('utf-8')
    changed = re.findall(r'^.*\b(?:element|elements\[\w+\])\.\w+\S* = .*$', script, re.MULTILINE)
    assert [line.strip() for line in changed] == [
        'element.slots = {',  # before the element is marked
        'element.props["model-value"] = args;',  # with `loopback` off
        'element.props[prop] = this.elements[id].props[prop];',  # of an element that replaces another
    ]


def test_every_module_is_in_one_bundle(bundles):
    own = [asset for asset in ASSETS.glob('*/*.js') if asset.parent.name not in ('export', 'vendor')]
    assert len(own) > 20
    for asset in (*own, ASSETS / 'vendor' / 'marked.js'):
        name = f'{asset.parent.name}/{asset.name}'
        holders = [path for path, text in bundles.served.items() if f'"{name}"] =' in text]
        assert len(holders) == (name not in theme.SCRIPTS), f'{name}: {holders}'
    assert len({path for paths in MODULES.values() for path in paths}) == sum(map(len, MODULES.values()))


def test_modules_are_joined_in_dependency_order(tmp_path, monkeypatch):
    monkeypatch.setattr('ui.web.components.loading.bundles.ASSETS', tmp_path)
    (tmp_path / 'ask.js').write_text(
        'import { answer, Why } from "/hemicycle/answer.js";\n'
        'import { q } from "/hemicycle/short.js";\nexport default { answer, q };\n'
    )
    (tmp_path / 'answer.js').write_text('export const answer = 42;\nexport class Why {}\n')
    (tmp_path / 'short.js').write_text('var a=1,b=2;export{a as q,b};\n//# sourceMappingURL=short.js.map')
    joined = join_modules([tmp_path / 'ask.js'])
    assert joined.index('answer.js"] =') < joined.index('short.js"] =') < joined.index('ask.js"] =')
    assert 'return { answer, Why };' in joined
    assert 'return { q: a, b: b };' in joined
    assert 'return { default: exported };' in joined
    assert joined.count('export') == 1 + joined.count('exported')


def test_a_library_of_nicegui_is_imported_once_at_the_top_of_a_bundle(tmp_path):
    for name in ('one', 'two'):
        (tmp_path / f'{name}.js').write_text(f'import * as CM from "nicegui-x";\nexport default CM.{name};\n')
    joined = join_modules([tmp_path / 'one.js', tmp_path / 'two.js'])
    assert joined.startswith('import * as CM from "nicegui-x";\nconst modules = {};')
    assert joined.count('import') == 1 and 'const exported = CM.two;' in joined


def test_comments_are_not_sent_to_browsers(tmp_path):
    path = tmp_path / 'one.js'
    path.write_text(
        '// Why it is so.\nexport default {\n  // At "//".\n'
        '  url: "//x", // a path\n  at: 1, // "kept"\n};\n// The end'
    )
    joined = join_modules([path])
    for comment in ('Why', 'At', 'a path', 'The end'):
        assert comment not in joined
    assert 'url: "//x",\n  at: 1, // "kept"\n' in joined, 'only comments without quotes go'
