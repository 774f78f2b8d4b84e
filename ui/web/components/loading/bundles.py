"""Bundles the scripts of pages: each request costs a round trip, and small files compress badly."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

import nicegui
from nicegui.dependencies import compute_key

from ui.web.components.assets import ASSETS
from ui.web.components.loading.quasar import SCRIPT, smallest

ELEMENTS = Path(nicegui.__file__).parent / 'elements'
STATIC = Path(nicegui.__file__).parent / 'static'
CONVERSATION, VIEWERS = ASSETS / 'conversation', ASSETS / 'viewers'
FRAME = 'frame'
"""The bundle of classic scripts; the others are modules."""
COMMON = 'everywhere'
VUE, VUE_RUNTIME = STATIC / 'vue.esm-browser.prod.js', ASSETS / 'vendor' / 'vue.js'
"""Vue with and without its compiler of templates, which is a third of it."""
LANGUAGE = STATIC / 'lang' / 'en-US.umd.prod.js'

MODULES: Mapping[str, Sequence[Path]] = MappingProxyType(
    {
        COMMON: (
            STATIC / 'dompurify.mjs',
            *(ELEMENTS / f'{name}.js' for name in ('html', 'timer', 'input', 'dialog')),
            ASSETS / 'frame' / 'color_scheme.js',
            *(ASSETS / 'controls' / f'{name}.js' for name in ('combobox', 'file_picker')),
        ),
        'charts': (ASSETS / 'diagram' / 'diagram.js',),
        'editor': (ASSETS / 'editor' / 'chart_text.js',),
        'runs': (
            ELEMENTS / 'keyboard.js',
            *(ASSETS / 'controls' / f'{name}.js' for name in ('slider', 'splitters')),
            *(CONVERSATION / f'{name}.js' for name in ('conversation', 'engagement')),
            CONVERSATION / 'transcript_list.js',
            *sorted((ASSETS / 'panels').glob('*.js')),
            *(
                VIEWERS / f'{name}.js'
                for name in ('aligned_rows', 'cell_table', 'code', 'diff_text', 'file_tree', 'json_tree')
            ),
        ),
    }
)
"""Modules that pages load together, bundled with what they import."""
RENDERS: Mapping[Path, str] = MappingProxyType(
    {
        ELEMENTS / 'html.js': 'return Vue.h(this.tag);',
        ELEMENTS / 'dialog.js': (
            'return Vue.h(Vue.resolveComponent("q-dialog"),'
            ' { onShow: this.addClass, onHide: this.removeClass }, this.$slots);'
        ),
        ELEMENTS / 'input.js': (
            'return [Vue.h(Vue.resolveComponent("q-input"), Vue.mergeProps(this.$attrs, { ref: "qRef",'
            ' modelValue: this.inputValue, "onUpdate:modelValue": (value) => { this.inputValue = value; } }),'
            ' this.$slots)];'
        ),
    }
)
"""What draws NiceGUI's elements instead of their templates; no page uses the completion of inputs."""

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "([^"]+)";\n', re.MULTILINE)
_LIBRARY = re.compile(r'^import \* as \w+ from "[\w-]+";\n', re.MULTILINE)
"""The import of a library that NiceGUI serves, by the name that its map of imports has."""
_EXPORT = re.compile(r'^export (?:default |(?=(?:function|class|const) (\w+)))', re.MULTILINE)
_VUE = re.compile(r'[^"]*/static/vue\.esm-browser\.prod\.js')
_TEMPLATE = re.compile(r'^  template: `[^`]*`', re.MULTILINE)
_LIST = re.compile(r'\bexport\s*\{([^{}]*)\};?\s*\Z')
"""All exports at the end of a file, as minifiers write them."""
_COMMENT = re.compile(r'^[ \t]*//.*(?:\n|\Z)| // [^"\'`\n]*$', re.MULTILINE)
"""A comment on its own line, or one after code without quotes, which cannot be part of a string."""

IMPORT_COMPONENT = """
const bundledComponents = %s;
async function importComponent(url) {
  const [bundle, name] = bundledComponents[url.split("/components/")[1]] ?? [];
  return bundle ? { default: (await import(path_prefix + bundle))[name] } : import(url);
}
"""
_LATER = 'import(url)'
"""How NiceGUI's script loads a component that is new to the page."""
_READY = 'element.update_method ??= null;'
"""In NiceGUI's script: prepares an element that came from the server."""
_PLACE = (
    'for (const name of ["href", "src", "action"]) if (/^\\/(?!\\/)/.test(element.props[name]) &&'
    ' !element.tag.includes("-")) element.props[name] = path_prefix + element.props[name];'
)
"""Places the addresses of plain HTML below the path of a proxy; NiceGUI places those of its components."""
_RAW = f'{_READY} {_PLACE} if (element.props.loopback !== false) Vue.markRaw(element);'
"""Lets Vue track which elements exist, but not their contents: NiceGUI always replaces whole elements,
except for fields that a person types into. Redrawing a page takes half as long."""

# In NiceGUI's template, and in the imports that it is given:
_SCRIPT = re.compile(
    r'^ *<script defer src="[^"]*/static/(socket\.io|quasar|nicegui|lang/)[^"]*"></script>\n', re.MULTILINE
)
_MOUNT = 'app.mount("#app");'
_SANITIZER = 'import DOMPurify from "dompurify";'
_COMPONENT = re.compile(r'import \{ default as (\w+) \} from "[^"]*?/components/([^"]+)";')


class Bundles:
    """The bundles of this server; their addresses change with their content."""

    def __init__(self, own: Iterable[str]) -> None:
        """Read the files; `own` are our scripts that every page runs."""
        self.served: dict[str, str] = {}
        modules = {name: self._serve(name, join_modules(paths)) for name, paths in MODULES.items()}
        self._common = modules[COMMON]
        self._vue = self._serve('vue', smallest(VUE, VUE_RUNTIME).read_text('utf-8'))
        self._places = {
            compute_key(path, max_time=path.stat().st_mtime): (modules[name], path.stem)
            for name, paths in MODULES.items()
            for path in paths
        }
        self._frame = self._serve(FRAME, frame_script(own, self._places))

    def _serve(self, name: str, text: str) -> str:
        path = f'/hemicycle/{name}.bundle.js'
        self.served[path] = text
        return f'{path}?{zlib.crc32(text.encode()):x}'

    def rewrite_template(self, source: str) -> str:
        """Return NiceGUI's page template with bundles instead of single scripts."""
        below = '{{ prefix | safe }}'
        frame = f'<script>window.path_prefix = "{below}";</script>\n'
        frame += f'<script defer src="{below}{self._frame}"></script>\n'
        source = _SCRIPT.sub(lambda match: frame if match[1] == 'nicegui' else '', source)
        sanitizer = f'import {{ dompurify as DOMPurify }} from "{below}{self._common}";'
        source = source.replace(_SANITIZER, sanitizer)
        for part in ('imports', 'js_imports'):
            source = source.replace(f'{{{{ {part} | safe }}}}', f'{{{{ {part} | bundled(prefix) | safe }}}}')
        source = source.replace(_MOUNT, f'await dressed;\n      {_MOUNT}')
        for part in ('head_html', 'body_html'):
            source = source.replace(f'{{{{ {part} | safe }}}}', f'{{{{ {part} | placed(prefix) | safe }}}}')
        return source.replace('in js_imports_urls %}', 'in js_imports_urls | bundled(prefix) %}')

    def rewrite_imports(self, imports: str | list[str], prefix: str) -> str | list[str]:
        """Point the imports of a page and its components, or the addresses to preload, at bundles."""
        if isinstance(imports, str):
            placed = _VUE.sub(prefix + self._vue, imports)
            return _COMPONENT.sub(partial(self._rewrite_import, prefix), placed)
        keys = {url: url.partition('/components/')[2] for url in imports}
        early = (
            prefix + self._places[key][0] if key in self._places else _VUE.sub(prefix + self._vue, url)
            for url, key in keys.items()
        )
        return list(dict.fromkeys([*early, prefix + self._common]))

    def _rewrite_import(self, prefix: str, match: re.Match[str]) -> str:
        if match[2] not in self._places:
            return match[0]
        bundle, name = self._places[match[2]]
        return f'import {{ {name} as {match[1]} }} from "{prefix}{bundle}";'


def frame_script(own: Iterable[str], places: Mapping[str, tuple[str, str]] = MappingProxyType({})) -> str:
    """Return the scripts that NiceGUI loads, in order, with our Quasar if its version matches, and our own.

    Components loaded after the page was drawn come from bundles, too: `places` has bundle and name by key.
    """
    whole = STATIC / 'quasar.umd.prod.js'
    part = smallest(whole, ASSETS / SCRIPT)
    paths = [STATIC / 'socket.io.min.js', part, STATIC / 'nicegui.js']
    paths += [LANGUAGE, *(ASSETS / name for name in own)]
    texts = [_COMMENT.sub('', path.read_text('utf-8')) for path in paths]
    texts[2] = texts[2].replace(_LATER, 'importComponent(url)').replace(_READY, _RAW)
    return '\n;'.join([*texts, IMPORT_COMPONENT % json.dumps(places)])


def join_modules(paths: Iterable[Path]) -> str:
    """Join modules into one that exports the default of each under the name of its file."""
    parts: dict[Path, str] = {}
    exports = []
    for path in paths:
        _add(path, parts)
        exports.append(f'export const {path.stem} = {_place(path)}.default;')
    libraries = dict.fromkeys(line for text in parts.values() for line in _LIBRARY.findall(text))
    texts = [_LIBRARY.sub('', text) for text in parts.values()]
    return '\n'.join([''.join(libraries) + 'const modules = {};', *texts, *exports, ''])


def _add(path: Path, parts: dict[Path, str]) -> None:
    """Add a module as an immediately invoked function, after the modules that it imports."""
    if path in parts:
        return
    source = _COMMENT.sub('', path.read_text('utf-8'))
    if path in RENDERS:
        source = _TEMPLATE.sub(lambda _: f'  render() {{ {RENDERS[path]} }}', source)
    taken = []
    for names, address in _IMPORT.findall(source):
        imported = ASSETS / address.removeprefix('/hemicycle/')
        _add(imported, parts)
        taken.append(f'const {{ {names} }} = {_place(imported)};')
    exports = [name or 'default: exported' for name in _EXPORT.findall(source)]
    if listed := _LIST.search(source):
        pairs = (pair.split(' as ') for pair in listed[1].split(','))
        exports += [f'{pair[-1].strip()}: {pair[0].strip()}' for pair in pairs]
    body = _IMPORT.sub('', _LIST.sub('', source))
    body = _EXPORT.sub(lambda match: '' if match[1] else 'const exported = ', body)
    parts[path] = '\n'.join(
        [f'{_place(path)} = (() => {{', *taken, body, f'return {{ {", ".join(exports)} }};', '})();']
    )


def _place(path: Path) -> str:
    return f'modules[{json.dumps(f"{path.parent.name}/{path.name}")}]'
