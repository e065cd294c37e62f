# SPDX-License-Identifier: MIT
"""
Execute a command with the socket families of a systemd unit only: RestrictAddressFamilies= is a
filter of system calls, as here.

usage: families UNIT COMMAND ...
"""
import ctypes
import errno
import os
import platform
import re
import socket
import struct
import sys
from pathlib import Path

# linux/prctl.h, linux/filter.h, linux/seccomp.h
NO_NEW_PRIVS, SECCOMP, MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7fff0000, 0x00050000
NUMBER, FIRST_ARGUMENT = 0, 16  # offsets in struct seccomp_data
SOCKET = {'x86_64': 41, 'aarch64': 198}[platform.machine()]


def families_of(unit):
    words = re.findall(r'^RestrictAddressFamilies=(.*)$', Path(unit).read_text(), re.M)
    return [getattr(socket, name) for name in ' '.join(words).split()]


def restrict(families):
    n = len(families)
    program = [(LOAD, 0, 0, NUMBER), (JUMP_IF_EQUAL, 0, n + 2, SOCKET),
               (LOAD, 0, 0, FIRST_ARGUMENT)]
    program += [(JUMP_IF_EQUAL, n - i, 0, family) for i, family in enumerate(families)]
    program += [(RETURN, 0, 0, FAIL | errno.EAFNOSUPPORT), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b''.join(struct.pack('<HBBI', *step) for step in program))
    libc = ctypes.CDLL(None, use_errno=True)
    fprog = struct.pack('<HxxxxxxQ', len(program), ctypes.addressof(code))
    if libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(SECCOMP, MODE_FILTER, fprog):
        raise OSError(ctypes.get_errno(), 'prctl')


def main():
    restrict(families_of(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == '__main__':
    main()
