# SPDX-License-Identifier: MIT
"""
A BPF program named attar_test.

    python3 bpf_program.py      loads it, prints "ready", and runs it until it is killed
"""
import ctypes
import os
import struct

PROG_LOAD, PROG_TEST_RUN, SOCKET_FILTER = 5, 10, 1
BPF = {'x86_64': 321, 'aarch64': 280}[os.uname().machine]
RETURN_0 = struct.pack('<QQ', 0xb7, 0x95)
MULTIPLY = struct.pack('<BBhi', 0x27, 0, 0, 3)  # r0 *= 3


def bpf(command, attr):
    """Return what bpf(2) returns, or the negative errno."""
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(BPF, command, attr, len(attr))
    return result if result >= 0 else -ctypes.get_errno()


def load(multiplications=0):
    """Load "return 0" as a socket filter; return its descriptor, or the negative errno."""
    bytes_ = RETURN_0[:8] + MULTIPLY * multiplications + RETURN_0[8:]
    code, text = ctypes.create_string_buffer(bytes_), ctypes.create_string_buffer(b'GPL')
    attr = struct.pack('<IIQQIIQII16s', SOCKET_FILTER, len(bytes_) // 8, ctypes.addressof(code),
                       ctypes.addressof(text), 0, 0, 0, 0, 0, b'attar_test')
    return bpf(PROG_LOAD, attr)


def run(program, times):
    """Run the program on a packet of zeros."""
    packet = ctypes.create_string_buffer(64)
    attr = struct.pack('<IIIIQQII', program, 0, 64, 0, ctypes.addressof(packet), 0, times, 0)
    return bpf(PROG_TEST_RUN, attr)


def main():
    program = load(3000)
    print('ready', flush=True)
    while run(program, 10000) == 0:
        pass


if __name__ == '__main__':
    main()
