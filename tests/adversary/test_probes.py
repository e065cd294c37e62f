# SPDX-License-Identifier: MIT
"""USDT probes in files of another user, who exchanges the files while attar reads them."""
import os
import subprocess
import time
from pathlib import Path

import pytest

from adversary import UID, directory
from command import ATTAR, run, wait_until

UPROBES = Path('/sys/kernel/tracing/uprobe_events')

# A program whose notes say that the event perfume:zzqtick is at a function, and that its counter is
# in a variable. It prints the variable when it gets a line.
PROGRAM = '''
#include <stdio.h>
volatile short canary[8] __attribute__((section(".probes"), used)) = {0x4141};
__attribute__((noinline, used)) void place(void) { __asm__ volatile("nop"); }
__asm__(".pushsection .note.stapsdt,\\"\\",\\"note\\"\\n"
        ".rept NOTES\\n"
        ".balign 4\\n.4byte 992f-991f, 994f-993f, 3\\n"
        "991: .asciz \\"stapsdt\\"\\n992: .balign 4\\n"
        "993: .8byte place, 0, canary\\n"
        ".asciz \\"perfume\\"\\n.asciz \\"zzqtick\\"\\n.asciz \\"\\"\\n"
        "994: .balign 4\\n"
        ".endr\\n.popsection\\n");
int main(void)
{
    char line[16];
    setbuf(stdout, NULL);
    puts("ready");
    while (fgets(line, sizeof(line), stdin)) { place(); printf("%x\\n", canary[0]); }
}
'''

# Puts a link to the other directory in the place of x, again and again.
EXCHANGE = '''
import ctypes, sys
libc = ctypes.CDLL(None)
print(flush=True)
while True:
    libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)
'''


def build(path, notes, owner=0):
    path.with_suffix('.c').write_text(PROGRAM.replace('NOTES', str(notes)))
    subprocess.run(['gcc', '-O1', '-no-pie', '-o', path,
                    path.with_suffix('.c')], check=True)
    os.chown(path, owner, owner)
    return path


@pytest.fixture
def uprobes():
    if not UPROBES.exists():
        pytest.skip('this kernel has no uprobes in tracefs')
    before = UPROBES.read_text()
    yield lambda: UPROBES.read_text() != before
    wait_until(lambda: UPROBES.read_text() == before, 'the probes are removed')


def trace(event, *words):
    return run('trace', '-q', '-a', '-e', event, '-d', '500ms', *words)


def probed_meanwhile(event, is_probed):
    with subprocess.Popen([ATTAR, 'trace', '-q', '-a', '-e', event, '-d', '1s'],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as attar:
        found = False
        while attar.poll() is None:
            found = found or is_probed()
            time.sleep(0.02)
    return found


@pytest.mark.exclusive
@pytest.mark.parametrize('owner, event, expected', [
    (0, 'user_events:zzqtick', True),
    (UID, 'user_events:zzqtick', False),
    (UID, 'user_events:zzqtick/transport=usdt/', True)])
def test_files_of_other_users_are_probed_on_request_only(
        owner, event, expected, tmp_path, nobody, uprobes):
    program = build(directory(tmp_path / 'theirs', 0o755, owner) / 'prog', 1, owner)
    victim = nobody.start(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert victim.stdout.readline() == 'ready\n'
    assert probed_meanwhile(event, uprobes) == expected


@pytest.mark.exclusive
def test_a_file_is_not_exchanged_between_reading_and_probing(tmp_path, nobody, uprobes):
    """Root's program has no such probe; the other user's directory sometimes leads to it."""
    root = directory(tmp_path / 'root', 0o755)
    victim = subprocess.Popen([build(root / 'prog', 0)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    assert victim.stdout.readline() == 'ready\n'
    evil = directory(tmp_path / 'evil', 0o755, UID)
    program = build(directory(evil / 'x', 0o755, UID) / 'prog', 2000, UID)
    mapped = nobody.start(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert mapped.stdout.readline() == 'ready\n'
    nobody.run('ln', '-s', root, evil / 'link')
    nobody.python(EXCHANGE, evil / 'x', evil / 'link')
    with subprocess.Popen([ATTAR, 'trace', '-q', '-a', '-e',
                           'user_events:zzqtick/transport=usdt/', '-d', '1s'],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as attar:
        begin = time.monotonic()
        while attar.poll() is None:
            assert time.monotonic() - begin < 30
            victim.stdin.write('x\n')
            victim.stdin.flush()
            assert victim.stdout.readline() == '4141\n'
            time.sleep(0.01)
    victim.stdin.close()
    assert victim.wait() == 0
