"""A kernel filter (seccomp) that denies system calls to sandboxed commands."""

from __future__ import annotations

import platform
import struct
from errno import EAFNOSUPPORT, ENOSYS, EPERM

NUMBERS = {
    'x86_64': {
        'acct': 163, 'add_key': 248, 'bpf': 321, 'delete_module': 176, 'finit_module': 313,
        'init_module': 175, 'kexec_file_load': 320, 'kexec_load': 246, 'keyctl': 250, 'mount': 165,
        'name_to_handle_at': 303, 'open_by_handle_at': 304, 'perf_event_open': 298, 'pivot_root': 155,
        'quotactl': 179, 'reboot': 169, 'request_key': 249, 'setns': 308, 'swapon': 167, 'syslog': 103,
        'umount2': 166, 'userfaultfd': 323, 'memfd_create': 319, 'clone': 56, 'unshare': 272,
        'shmget': 29, 'semget': 64, 'msgget': 68, 'socket': 41, 'socketpair': 53,
        'setsockopt': 54,
    },
    'aarch64': {
        'acct': 89, 'add_key': 217, 'bpf': 280, 'delete_module': 106, 'finit_module': 273,
        'init_module': 105, 'kexec_file_load': 294, 'kexec_load': 104, 'keyctl': 219, 'mount': 40,
        'name_to_handle_at': 264, 'open_by_handle_at': 265, 'perf_event_open': 241, 'pivot_root': 41,
        'quotactl': 60, 'reboot': 142, 'request_key': 218, 'setns': 268, 'swapon': 224, 'syslog': 116,
        'umount2': 39, 'userfaultfd': 282, 'memfd_create': 279, 'clone': 220, 'unshare': 97,
        'shmget': 194, 'semget': 190, 'msgget': 186, 'socket': 198, 'socketpair': 199,
        'setsockopt': 208,
    },
}  # fmt: skip
"""By architecture, from the kernel's tables; newer calls have the same numbers on both."""
COMMON_NUMBERS = {
    'io_uring_setup': 425, 'io_uring_enter': 426, 'io_uring_register': 427, 'open_tree': 428,
    'move_mount': 429, 'fsopen': 430, 'fsconfig': 431, 'fsmount': 432, 'fspick': 433, 'clone3': 435,
    'mount_setattr': 442, 'memfd_secret': 447,
}  # fmt: skip
AUDIT_ARCHES = {'x86_64': 0xC000003E, 'aarch64': 0xC00000B7}
"""The kernel's constants for them (`AUDIT_ARCH_...`)."""
ABSENT = ('memfd_create', 'memfd_secret', 'clone3', 'shmget', 'semget', 'msgget')
"""Reported as not implemented, so that programs use a fallback: the filter cannot see how much memory these
calls would allocate, or which flags they would pass to a new process. System V shared memory counts towards
no process once it is detached, while `/dev/shm`, which Python and others use, has a size limit."""
BY_FLAG = ('clone', 'unshare')
CLONE_NEWUSER = 0x10000000
"""Creates a user namespace; privileges in one expose much of the kernel."""
BY_FAMILY = ('socket', 'socketpair')
FAMILIES = (1, 2, 10, 16)
"""Address families that sockets may have: `AF_UNIX`, `AF_INET`, `AF_INET6`, `AF_NETLINK` (needed to look up
names). Others bypass the network namespace (`AF_VSOCK`), or reach parts of the kernel no command needs."""
BY_OPTION = ('setsockopt',)
SOL_SOCKET = 1
BUFFERS = (7, 8, 32, 33)
"""`SO_SNDBUF`, `SO_RCVBUF` and the like succeed as no-ops, so that buffers keep their default size, from
which the watchdog computes the total."""
X32_BIT = 0x40000000
"""From this number on, x86-64 has a second set of numbers for the same calls (x32)."""

LOAD, EQUAL, AT_LEAST, ANY_OF, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NUMBER_AT, MACHINE_AT, FIRST_ARGUMENT_AT, SECOND_ARGUMENT_AT, THIRD_ARGUMENT_AT = 0, 4, 16, 24, 32


def build_filter(machine: str = '') -> bytes:
    """Build the filter for an architecture, by default this machine's; empty if its calls are not known.

    It is a classic BPF program (see seccomp(2)): the calls listed above fail, all others are allowed.
    """
    machine = machine or platform.machine()
    if machine not in AUDIT_ARCHES:
        return b''
    numbers = {**NUMBERS[machine], **COMMON_NUMBERS}
    instructions = [
        _step(LOAD, MACHINE_AT),
        _step(EQUAL, AUDIT_ARCHES[machine], yes=1),
        _step(RETURN, FAIL | ENOSYS),  # a 32-bit program, whose calls are numbered differently
        _step(LOAD, NUMBER_AT),
        _step(AT_LEAST, X32_BIT, no=1),
        _step(RETURN, FAIL | ENOSYS),
    ]
    for name, number in numbers.items():
        if name not in BY_FLAG + BY_FAMILY + BY_OPTION:
            error = ENOSYS if name in ABSENT else EPERM
            instructions += [_step(EQUAL, number, no=1), _step(RETURN, FAIL | error)]
    for name in BY_FLAG:
        instructions += [
            _step(EQUAL, numbers[name], no=4),
            _step(LOAD, FIRST_ARGUMENT_AT),
            _step(ANY_OF, CLONE_NEWUSER, no=1),
            _step(RETURN, FAIL | EPERM),
            _step(RETURN, ALLOW),
        ]
    for name in BY_FAMILY:
        comparisons = [
            _step(EQUAL, family, yes=len(FAMILIES) - place) for place, family in enumerate(FAMILIES)
        ]
        instructions += [
            _step(EQUAL, numbers[name], no=len(comparisons) + 3),
            _step(LOAD, FIRST_ARGUMENT_AT),
            *comparisons,
            _step(RETURN, FAIL | EAFNOSUPPORT),
            _step(RETURN, ALLOW),
        ]
    for name in BY_OPTION:
        comparisons = [_step(EQUAL, option, yes=len(BUFFERS) - place) for place, option in enumerate(BUFFERS)]
        instructions += [
            _step(EQUAL, numbers[name], no=len(comparisons) + 5),
            _step(LOAD, SECOND_ARGUMENT_AT),
            _step(EQUAL, SOL_SOCKET, no=len(comparisons) + 1),
            _step(LOAD, THIRD_ARGUMENT_AT),
            *comparisons,
            _step(RETURN, ALLOW),
            _step(RETURN, FAIL),
        ]
    return b''.join([*instructions, _step(RETURN, ALLOW)])


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """Encode an instruction; `yes` and `no` are the numbers of instructions to skip."""
    return struct.pack('=HBBI', code, yes, no, value)
