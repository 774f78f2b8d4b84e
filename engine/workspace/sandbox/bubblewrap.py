"""Builds the bubblewrap command line, which decides what a command can see and do."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from engine.workspace.confined_dir import SANDBOX_PATH
from engine.workspace.sandbox.limits import SCRATCH_DIRS, TEMP_DIR, Confinement, Limits

HOME_PATH = '/home/agent'
"""The home of a program that stores data between its starts, if it is given one."""
SYSTEM_DIRS = ('bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32')
ETC_FILES = (
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
"""The system settings that programs need; all others stay hidden."""
ETC_NETWORK_FILES = ('hosts', 'nsswitch.conf', 'resolv.conf')
REQUIRED_PROGRAMS = ('bwrap', 'prlimit', 'setpriv')
PYTEST_PLUGINS = 'PYTEST_DISABLE_PLUGIN_AUTOLOAD'
"""pytest's own switch; if set, pytest loads no plugins that happen to be installed alongside Hemicycle."""


def environment(more: Mapping[str, str] | None = None, *, home: str = TEMP_DIR) -> dict[str, str]:
    """Return a command's environment, which inherits only pytest's plugin switch from this process."""
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
        **({PYTEST_PLUGINS: switch} if (switch := os.environ.get(PYTEST_PLUGINS)) else {}),
        **(more or {}),
    }


def bwrap_options(folder: Path, confinement: Confinement, *, guest: int | None, passwd: int) -> list[str]:
    """Return the options of `bwrap`, without the command.

    Args:
        folder: the workspace, the only persistent folder a command can write to, apart from its home.
        confinement: what it may use; of its limits, only the size of temporary files is applied here.
        guest: the uid to run the command as, if this process may switch users; None runs it as this
            process's own user, in a user namespace without privileges.
        passwd: a descriptor from which to read the sandbox's `/etc/passwd`.
    """
    network, mounts, home = confinement.network, confinement.mounts, confinement.home
    options = ['--die-with-parent', '--new-session', '--unshare-ipc', '--unshare-pid', '--unshare-uts']
    options += ['--unshare-cgroup-try', '--hostname', 'sandbox', '--clearenv']
    options += [] if network else ['--unshare-net']
    if guest is None:
        options += ['--unshare-user', '--disable-userns']
    else:
        options += ['--cap-drop', 'ALL']
        for right in ('CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'):  # to become the guest, then dropped
            options += ['--cap-add', right]
    for name, value in environment(confinement.variables, home=HOME_PATH if home else TEMP_DIR).items():
        options += ['--setenv', name, value]
    options += ['--ro-bind', '/usr', '/usr', *_system(), *_folder('/etc'), *_folder('/etc/ssl')]
    for name in (*ETC_FILES, *(ETC_NETWORK_FILES if network else ())):
        options += ['--ro-bind-try', f'/etc/{name}', f'/etc/{name}']
    options += [
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
    for place in SCRATCH_DIRS:
        options += ['--perms', '1777', '--size', str(confinement.limits.scratch), '--tmpfs', place]
    inside = {source: place for source, place in mounts.items() if place.startswith(f'{SANDBOX_PATH}/')}
    outside = {source: place for source, place in mounts.items() if source not in inside}
    for source, place in ({place: place for place in interpreter_dirs()} | outside).items():
        for around in reversed(PurePosixPath(place).parents):
            options += [] if str(around) in ('/', TEMP_DIR) else _folder(str(around))
        options += ['--ro-bind', source, place]
    options += (
        [*_folder(str(PurePosixPath(HOME_PATH).parent)), '--bind', str(home), HOME_PATH] if home else []
    )
    options += ['--bind', str(folder), SANDBOX_PATH]
    for source, place in inside.items():
        options += ['--ro-bind', source, place]
    options += [
        '--remount-ro',
        '/dev',
        '--remount-ro',
        '/',
        '--chdir',
        SANDBOX_PATH,
    ]
    return options


def sandbox_argv(command: Sequence[str], limits: Limits, guest: int | None) -> list[str]:
    """Return the command as run inside the sandbox, with its limits and without privileges."""
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


def passwd_entry(guest: int | None) -> bytes:
    """Return the sandbox's `/etc/passwd`: many programs look up the name of the user they run as."""
    number = os.geteuid() if guest is None else guest
    return f'agent:x:{number}:{number}:agent:{TEMP_DIR}:/bin/sh\n'.encode()


def interpreter_dirs() -> list[str]:
    """Return this Python's folders outside `/usr`, which tests in the workspace need."""
    home = os.path.realpath(Path.home())
    folders = []
    for prefix in dict.fromkeys([sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix)]):
        real = os.path.realpath(prefix)
        holds_home = os.path.commonpath([home, real]) == real
        if not holds_home and not real.startswith('/usr/') and real != '/usr':
            folders.append(prefix)
    return folders


def _folder(path: str) -> list[str]:
    """Make an empty folder that everybody may enter; those bubblewrap makes implicitly are closed."""
    return ['--perms', '0755', '--dir', path]


def _system() -> Iterator[str]:
    for name in SYSTEM_DIRS:
        path = Path('/', name)
        if path.is_symlink():
            yield from ('--symlink', os.readlink(path), str(path))
        elif path.is_dir():
            yield from ('--ro-bind', str(path), str(path))
