# SPDX-License-Identifier: MIT
"""Programs of another user whose call frame information takes long to compile."""
import os
import signal
import struct
import subprocess

import pytest

from adversary import UID, compile_c, measure
from command import ATTAR, run, workload

pytestmark = pytest.mark.skipif(os.uname().machine != 'x86_64', reason='it is for x86-64')

BASE, CODE_AT, FRAMES_AT = 0x400000, 0x1000, 0x2000
SPIN = b'\xeb\xfe'
RETURN = b'\xb9\0\0\x10\0\xff\xc9\x75\xfc\xc3'  # after a million turns

# Calls code of many files in turn.
CALLS = r'''
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    void (*f[64])(void);
    int n = 0;
    alarm(60);
    for (; n < 64 && argv[n + 1]; n++) {
        int fd = open(argv[n + 1], O_RDONLY);
        f[n] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
        close(fd);
    }
    puts("ready");
    fflush(stdout);
    for (;;)
        for (int i = 0; i < n; i++)
            f[i]();
}
'''


@pytest.fixture(autouse=True)
def can_walk(nobody):
    done = run('profile', '-g', '--unwind', 'kernel', '-d', '10ms')
    assert done.returncode == 0, done.stderr
    if 'stacks are copied instead' in done.stderr:
        pytest.skip(done.stderr)


def frames_of(functions, code):
    """.eh_frame: a CIE with 4,090 bytes of instructions, and so many functions for the code."""
    cie = struct.pack('<IB', 0, 1) + b'zR\0\x01\x78\x10\x01\x1b' + b'\x0c\x07\x08\x90\x01'
    cie += b'\xc3' * (4090 - 5)  # DW_CFA_restore
    cie += bytes(-len(cie) % 4)
    start = 4 + len(cie)
    text = [struct.pack('<I', len(cie)) + cie]
    for at in range(start, start + 20 * functions, 20):
        text.append(struct.pack('<IIiII', 16, at + 4, CODE_AT - (FRAMES_AT + at + 8), len(code), 0))
    return b''.join(text) + bytes(4)


def binary(path, functions, code):
    """Writes an executable file with this code."""
    frames, names = frames_of(functions, code), b'\0.shstrtab\0.eh_frame\0'
    names_at = FRAMES_AT + len(frames)
    sections_at = names_at + len(names) + 8 - (names_at + len(names)) % 8
    total = sections_at + 3 * 64
    text = bytearray(total)
    text[:64] = b'\x7fELF\2\1\1' + bytes(9) + struct.pack(
        '<HHIQQQIHHHHHH', 2, 62, 1, BASE + CODE_AT, 64, sections_at, 0, 64, 56, 1, 64, 3, 1)
    text[64:120] = struct.pack('<IIQQQQQQ', 1, 5, 0, BASE, BASE, total, total, 4096)
    text[CODE_AT:CODE_AT + len(code)] = code
    text[FRAMES_AT:names_at] = frames
    text[names_at:names_at + len(names)] = names
    text[sections_at + 64:] = struct.pack(
        '<IIQQQQIIQQ', 1, 3, 0, 0, names_at, len(names), 0, 0, 1, 0) + struct.pack(
        '<IIQQQQIIQQ', 11, 1, 2, BASE + FRAMES_AT, FRAMES_AT, len(frames), 0, 0, 8, 0)
    path.write_bytes(text)
    path.chmod(0o755)
    os.chown(path, UID, UID)
    return path


def test_instructions_that_are_run_for_each_function(nobody, theirs):
    """4,090,000,000 of them, in a file of 20 MB."""
    program = nobody.start(binary(theirs / 'spin', 1000000, SPIN))
    memory, seconds, out, _ = measure('profile', '-g', '--unwind', 'kernel', '-F', '99',
                                    '-p', program.pid, '-d', '1s')
    assert 'copied and unwound by attar' in out
    assert seconds < 2
    assert memory < 200 << 10  # KiB


def test_many_files(nobody, theirs):
    """64 files: the user is named."""
    path = binary(theirs / 'file0', 100000, RETURN)
    paths = [path]
    for i in range(1, 64):
        paths.append(theirs / f'file{i}')
        paths[i].write_bytes(path.read_bytes())
    program = nobody.start(compile_c(theirs / 'calls', CALLS, '-O1', '-w'), *paths,
                           stdout=subprocess.PIPE)
    assert program.stdout.readline() == 'ready\n'
    attar_profile = [ATTAR, 'profile', '-g', '--unwind', 'kernel', '-F', '499', '-d', '20s']
    with subprocess.Popen([workload('split7030'), '1000000'], stdout=subprocess.DEVNULL) as busy, \
            subprocess.Popen([*attar_profile, '-p', f'{program.pid},{busy.pid}'], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE) as attar:
        said = attar.stderr.readline()
        attar.send_signal(signal.SIGINT)
        out, _ = attar.communicate()
        busy.kill()
    assert ('reading the call frame information of the processes of the user with uid 65534 takes '
            'long: their stacks are copied') in said
    assert ' heavy' in out
