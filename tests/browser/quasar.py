"""Builds the parts of Quasar and Vue that pages use: `python -m tests.browser.quasar`; needs Node.js, npm."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ui.web.components.assets import ASSETS
from ui.web.components.loading.bundles import STATIC, VUE, VUE_RUNTIME
from ui.web.components.loading.quasar import COMPONENTS, PLUGINS, SCRIPT, version

ENTRY = """
import install from 'quasar/src/install-quasar.js';
{imports}
const components = {{ {components} }}, plugins = {{ {plugins} }};
window.Quasar = {{
  version: __QUASAR_VERSION__,
  install: (app, options) => install(app, {{ components, directives: {{}}, plugins, ...options }}),
  lang: Lang, ...components, ...plugins,
}};
"""
FLAGS = ('SSR', 'SSR_CLIENT', 'SSR_SERVER', 'SSR_PWA')


def entry(modules: Path) -> str:
    """Return a script that imports each part from its file: a bundler keeps all that an index imports."""
    imports = []
    for name in (*COMPONENTS, *PLUGINS):
        (path,) = (modules / 'quasar' / 'src').glob(f'*/*/{name}.js')
        imports.append(f"import {name} from '{path.relative_to(modules).as_posix()}';")
    return ENTRY.format(
        imports='\n'.join(imports), components=', '.join(COMPONENTS), plugins=', '.join(PLUGINS)
    )


def main() -> None:
    """Write the scripts, in the versions that NiceGUI has, and their licences."""
    quasar_version = version(STATIC / 'quasar.umd.prod.js')
    script = ASSETS / SCRIPT
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            ['npm', 'install', '--no-save', f'quasar@{quasar_version}', f'vue@{version(VUE)}', 'esbuild'],
            cwd=folder,
            check=True,
        )
        subprocess.run(['node', 'node_modules/esbuild/install.js'], cwd=folder, check=True)
        (folder / 'entry.js').write_text(entry(folder / 'node_modules'), 'utf-8')
        (folder / 'vue.js').write_text('module.exports = window.Vue;', 'utf-8')
        command = ['node_modules/.bin/esbuild', 'entry.js', '--bundle', '--minify', '--format=iife']
        command += [f'--outfile={script}', '--target=es2020', '--legal-comments=none', '--alias:vue=./vue.js']
        command += [f'--define:__QUASAR_{flag}__=false' for flag in FLAGS]
        command += [f'--define:__QUASAR_VERSION__="{quasar_version}"']
        command += [
            f'--banner:js=/*! Quasar v{quasar_version}, in part, (c) 2015-present Razvan Stoenescu, MIT */'
        ]
        subprocess.run(command, cwd=folder, check=True)
        modules = folder / 'node_modules'
        shutil.copy(modules / 'vue' / 'dist' / 'vue.runtime.esm-browser.prod.js', VUE_RUNTIME)
        for package, path in (('quasar', script), ('vue', VUE_RUNTIME)):
            shutil.copy(modules / package / 'LICENSE', path.with_suffix('.LICENSE'))
    print(f'{script.stat().st_size:,} bytes, {len(gzip.compress(script.read_bytes())):,} compressed')


if __name__ == '__main__':
    sys.exit(main())
