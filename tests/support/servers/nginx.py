"""nginx with a configuration from assets/deploy, on free ports."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.tree import ROOT

DEPLOY = ROOT / 'assets' / 'deploy'
CACHE = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'hemicycle-tests' / 'nginx'
"""Where `.ci/setup` unpacks the distribution's package, which would otherwise begin to serve."""


def nginx() -> str | None:
    """Its path, or None."""
    unpacked = CACHE / 'usr' / 'sbin' / 'nginx'
    return shutil.which('nginx') or (str(unpacked) if unpacked.exists() else None)


def write_configuration(
    folder: Path, certificates: Path, *, name: str, port: int, plain: int, servers: Mapping[str, str]
) -> list[str]:
    """Write one of our configurations as a whole; returns the command that serves it.

    Args:
        folder: for nginx's own files: `access.log` records which server got each request.
        certificates: as `write_certificates` makes them.
        name: of the file in assets/deploy.
        port: for TLS.
        plain: for plain HTTP, which redirects to TLS.
        servers: addresses in the file, and their replacements.
    """
    text = (DEPLOY / name).read_text()
    for old, new in {
        'listen 443 ssl': f'listen 127.0.0.1:{port} ssl',
        'listen 80;': f'listen 127.0.0.1:{plain};',
        'hemicycle.example': '127.0.0.1',
        '/etc/ssl/hemicycle/certificate.pem': str(certificates / 'server.pem'),
        '/etc/ssl/hemicycle/key.pem': str(certificates / 'server.pem'),
        **servers,
    }.items():
        assert old in text
        text = text.replace(old, new)
    kinds = ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')
    places = ''.join(f'{kind}_temp_path {folder}/{kind};' for kind in kinds)
    log = f"log_format where '$upstream_addr $request_uri'; access_log {folder}/access.log where;"
    (folder / 'nginx.conf').write_text(
        f'daemon off; pid {folder}/pid; error_log stderr; events {{}}\nhttp {{ {log} {places}\n{text}\n}}\n'
    )
    return [nginx() or 'nginx', '-e', 'stderr', '-c', str(folder / 'nginx.conf')]
