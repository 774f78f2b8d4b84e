"""The system calls that a sandboxed command may not make, as a filter for the kernel."""

from __future__ import annotations

import platform
import struct
from errno import ENOSYS, EPERM

NUMBERS = {
    'x86_64': {
        'acct': 163, 'add_key': 248, 'bpf': 321, 'delete_module': 176, 'finit_module': 313,
        'init_module': 175, 'kexec_file_load': 320, 'kexec_load': 246, 'keyctl': 250, 'mount': 165,
        'name_to_handle_at': 303, 'open_by_handle_at': 304, 'perf_event_open': 298, 'pivot_root': 155,
        'quotactl': 179, 'reboot': 169, 'request_key': 249, 'setns': 308, 'swapon': 167, 'syslog': 103,
        'umount2': 166, 'userfaultfd': 323, 'memfd_create': 319, 'clone': 56, 'unshare': 272,
    },
    'aarch64': {
        'acct': 89, 'add_key': 217, 'bpf': 280, 'delete_module': 106, 'finit_module': 273,
        'init_module': 105, 'kexec_file_load': 294, 'kexec_load': 104, 'keyctl': 219, 'mount': 40,
        'name_to_handle_at': 264, 'open_by_handle_at': 265, 'perf_event_open': 241, 'pivot_root': 41,
        'quotactl': 60, 'reboot': 142, 'request_key': 218, 'setns': 268, 'swapon': 224, 'syslog': 116,
        'umount2': 39, 'userfaultfd': 282, 'memfd_create': 279, 'clone': 220, 'unshare': 97,
    },
}  # fmt: skip
"""By machine, from the kernel's tables; both number alike what came later."""
LATER = {
    'io_uring_setup': 425, 'io_uring_enter': 426, 'io_uring_register': 427, 'open_tree': 428,
    'move_mount': 429, 'fsopen': 430, 'fsconfig': 431, 'fsmount': 432, 'fspick': 433, 'clone3': 435,
    'mount_setattr': 442, 'memfd_secret': 447,
}  # fmt: skip
MACHINES = {'x86_64': 0xC000003E, 'aarch64': 0xC00000B7}
"""How the kernel names them (`AUDIT_ARCH_...`)."""
ABSENT = ('memfd_create', 'memfd_secret', 'clone3')
"""Said to be unknown, for then programs take another way: what these would take of memory, or ask of a new
process, could not be seen."""
BY_FLAG = ('clone', 'unshare')
NEW_USERS = 0x10000000
"""`CLONE_NEWUSER`: rights over a namespace of one's own are the way to much of the kernel."""
OTHER_ABI = 0x40000000
"""From this number on, x86-64 counts the same calls once more."""

LOAD, EQUAL, AT_LEAST, ANY_OF, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NUMBER_AT, MACHINE_AT, FIRST_ARGUMENT_AT = 0, 4, 16


def program(machine: str = '') -> bytes:
    """The filter for a machine, this one by default; nothing where its calls are not known here.

    It is classic BPF (seccomp(2)): the calls listed above fail, all others are let through.
    """
    machine = machine or platform.machine()
    if machine not in MACHINES:
        return b''
    numbers = {**NUMBERS[machine], **LATER}
    found = [
        _step(LOAD, MACHINE_AT),
        _step(EQUAL, MACHINES[machine], yes=1),
        _step(RETURN, FAIL | ENOSYS),  # a program of the 32-bit kind, whose calls are numbered otherwise
        _step(LOAD, NUMBER_AT),
        _step(AT_LEAST, OTHER_ABI, no=1),
        _step(RETURN, FAIL | ENOSYS),
    ]
    for name, number in numbers.items():
        if name not in BY_FLAG:
            error = ENOSYS if name in ABSENT else EPERM
            found += [_step(EQUAL, number, no=1), _step(RETURN, FAIL | error)]
    for name in BY_FLAG:
        found += [
            _step(EQUAL, numbers[name], no=4),
            _step(LOAD, FIRST_ARGUMENT_AT),
            _step(ANY_OF, NEW_USERS, no=1),
            _step(RETURN, FAIL | EPERM),
            _step(RETURN, ALLOW),
        ]
    return b''.join([*found, _step(RETURN, ALLOW)])


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One instruction; `yes` and `no` are how many of the next ones are left out."""
    return struct.pack('=HBBI', code, yes, no, value)
