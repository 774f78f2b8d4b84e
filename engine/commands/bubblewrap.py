"""Writes the command line of bubblewrap: what a command sees of the system, and what it may do."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from engine.commands.limits import Limits
from engine.files.beneath import SEEN_AS

SCRATCH = str(PurePosixPath('/', 'tmp'))
SYSTEM = ('bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32')
SETTINGS = (
    'alternatives',
    'ca-certificates',
    'ld.so.cache',
    'ld.so.conf',
    'ld.so.conf.d',
    'localtime',
    'mime.types',
    'protocols',
    'services',
    'ssl/certs',
)
"""What of the system's settings programs need; the others are nobody's business."""
NETWORK_SETTINGS = ('hosts', 'nsswitch.conf', 'resolv.conf')
TOOLS = ('bwrap', 'prlimit', 'setpriv')


def environment(more: Mapping[str, str] | None = None, *, home: str = SCRATCH) -> dict[str, str]:
    """What a command finds in its environment: nothing of this process's own."""
    folders = (f'{sys.prefix}/bin', '/usr/local/bin', '/usr/bin', '/bin')
    return {
        'PATH': ':'.join(dict.fromkeys(folders)),
        'HOME': home,
        'TMPDIR': home,
        'USER': 'agent',
        'LANG': 'C.UTF-8',
        'TERM': 'dumb',
        'NO_COLOR': '1',
        'PYTHONDONTWRITEBYTECODE': '1',
        **(more or {}),
    }


def options(  # noqa: PLR0913
    folder: Path,
    limits: Limits,
    variables: Mapping[str, str],
    *,
    network: bool,
    guest: int | None,
    passwd: int,
) -> list[str]:
    """The options of `bwrap`, without the command.

    Args:
        folder: the workspace, the only place that can be written and stays.
        limits: of which the size of temporary files is set here.
        variables: the whole environment.
        network: whether it may use the network.
        guest: the system's user that the command is to run as, where this process may become anybody; None
            runs it as this process's own user, in a user namespace without any right.
        passwd: a descriptor from which the list of users is read.
    """
    found = ['--die-with-parent', '--new-session', '--unshare-ipc', '--unshare-pid', '--unshare-uts']
    found += ['--unshare-cgroup-try', '--hostname', 'sandbox', '--clearenv']
    found += [] if network else ['--unshare-net']
    if guest is None:
        found += ['--unshare-user', '--disable-userns']
    else:
        found += ['--cap-drop', 'ALL']
        for right in ('CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'):  # needed to become the guest, then given up
            found += ['--cap-add', right]
    for name, value in variables.items():
        found += ['--setenv', name, value]
    found += ['--ro-bind', '/usr', '/usr', *_system(), *_folder('/etc'), *_folder('/etc/ssl')]
    for name in (*SETTINGS, *(NETWORK_SETTINGS if network else ())):
        found += ['--ro-bind-try', f'/etc/{name}', f'/etc/{name}']
    found += [
        '--perms',
        '0444',
        '--ro-bind-data',
        str(passwd),
        '/etc/passwd',
        '--proc',
        '/proc',
        '--dev',
        '/dev',
    ]
    for place in ('/dev/shm', SCRATCH):
        found += ['--perms', '1777', '--size', str(limits.scratch), '--tmpfs', place]
    for place in interpreter():
        for around in reversed(PurePosixPath(place).parents):
            found += [] if str(around) in ('/', SCRATCH) else _folder(str(around))
        found += ['--ro-bind', place, place]
    found += ['--bind', str(folder), SEEN_AS, '--remount-ro', '/dev', '--remount-ro', '/', '--chdir', SEEN_AS]
    return found


def confined(command: Sequence[str], limits: Limits, guest: int | None) -> list[str]:
    """The command, under its limits and without any right, as it is run inside the sandbox."""
    become = [] if guest is None else [f'--reuid={guest}', f'--regid={guest}', '--clear-groups']
    rights = [] if guest is None else ['--bounding-set=-all']
    bounds = {
        'nproc': limits.processes,
        'data': limits.memory,
        'fsize': limits.file_size,
        'nofile': 512,
        'core': 0,
        'memlock': 0,
        'msgqueue': 0,
    }
    return [
        *('setpriv', *become, '--inh-caps=-all', *rights, '--no-new-privs'),
        *('prlimit', *(f'--{name}={value}' for name, value in bounds.items())),
        *(('choom', '-n', '1000', '--') if shutil.which('choom') else ()),
        *('nice', '-n', '5'),
        *command,
    ]


def users(guest: int | None) -> bytes:
    """The list of users inside: many programs want to know the name of the one they run as."""
    number = os.geteuid() if guest is None else guest
    return f'agent:x:{number}:{number}:agent:{SCRATCH}:/bin/sh\n'.encode()


def interpreter() -> list[str]:
    """The folders of this Python, where the system's own do not hold it: for tests in the workspace."""
    home = os.path.realpath(Path.home())
    found = []
    for prefix in dict.fromkeys([sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix)]):
        real = os.path.realpath(prefix)
        holds_home = os.path.commonpath([home, real]) == real
        if not holds_home and not real.startswith('/usr/') and real != '/usr':
            found.append(prefix)
    return found


def _folder(path: str) -> list[str]:
    """An empty folder that all may enter: bubblewrap's own are shut."""
    return ['--perms', '0755', '--dir', path]


def _system() -> Iterator[str]:
    for name in SYSTEM:
        path = Path('/', name)
        if path.is_symlink():
            yield from ('--symlink', os.readlink(path), str(path))
        elif path.is_dir():
            yield from ('--ro-bind', str(path), str(path))
