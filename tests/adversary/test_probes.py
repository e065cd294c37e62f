# SPDX-License-Identifier: MIT
"""USDT probes in files of another user, who exchanges the files while attar reads them."""
import os
import re
import signal
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
        ".endr\\n"
        ".rept OTHERS\\n"
        ".4byte 8, 48, 3\\n.asciz \\"stapsdt\\"\\n.8byte place, 0, 0\\n"
        ".asciz \\"other\\"\\n.asciz \\"other12345\\"\\n.asciz \\"12345\\"\\n.byte 0\\n"
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


def build(path, notes, owner=0, place='place', others=0):
    """others: notes and symbols that take attar time to read."""
    text = PROGRAM.replace('NOTES', str(notes)).replace('place', place) \
        .replace('OTHERS', str(others))
    text += '__asm__("' + ''.join(f's{i}: ' for i in range(others)) + '");\n'
    path.with_suffix('.c').write_text(text)
    subprocess.run(['gcc', '-O1', '-no-pie', '-o', path,
                    path.with_suffix('.c')], check=True)
    os.chown(path, owner, owner)
    return path


@pytest.fixture
def uprobes():
    if not UPROBES.exists():
        pytest.skip('this kernel has no uprobes in tracefs')
    before = set(UPROBES.read_text().splitlines())

    def added():
        return set(UPROBES.read_text().splitlines()) - before
    yield lambda: bool(added())
    wait_until(lambda: not added(), 'the probes are removed')


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


@pytest.mark.exclusive('events')
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


@pytest.mark.exclusive('events')
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


def race(attar, tmp_path, nobody, notes, events, in_process=False):
    """
    Runs attar with events of evil/x/prog, while the other user exchanges evil/x with a link to a
    directory of root. The same probe there would change what root's program prints.
    """
    root = directory(tmp_path / 'root', 0o755)
    victim = subprocess.Popen([build(root / 'prog', 0, place='other')], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    assert victim.stdout.readline() == 'ready\n'
    evil = directory(tmp_path / 'evil', 0o755, UID)
    program = build(directory(evil / 'x', 0o755, UID) / 'prog', notes, UID, others=20000)
    pid = ()
    if in_process:
        mapped = nobody.start(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert mapped.stdout.readline() == 'ready\n'
        pid = ('-p', mapped.pid)
    symbols = subprocess.run(['nm', program], check=True, capture_output=True, text=True).stdout
    segment = subprocess.run(['readelf', '-lW', program], check=True, capture_output=True,
                             text=True).stdout
    canary = next(int(line.split()[0], 16) for line in symbols.splitlines()
                  if line.endswith(' canary'))
    offset = next(canary - int(words[2], 16) + int(words[1], 16)
                  for words in map(str.split, segment.splitlines())
                  if words[:1] == ['LOAD'] and
                  int(words[2], 16) <= canary < int(words[2], 16) + int(words[4], 16))
    nobody.run('ln', '-s', root, evil / 'link')
    nobody.python(EXCHANGE, evil / 'x', evil / 'link')
    probed = 0
    for _ in range(30):
        with subprocess.Popen(
                [ATTAR, *attar, *map(str, pid), '-e',
                 events.format(file=program, canary=hex(offset)), '-d', '60ms'],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run_:
            while run_.poll() is None:
                victim.stdin.write('x\n')
                victim.stdin.flush()
                assert victim.stdout.readline() == '4141\n'
                time.sleep(0.01)
            probed += run_.returncode == 0
    victim.stdin.close()
    assert victim.wait() == 0
    return probed


@pytest.mark.exclusive('events')
@pytest.mark.parametrize('event', ['uprobe', 'uretprobe'])
def test_a_uprobe_is_placed_in_the_file_with_its_function(event, tmp_path, nobody):
    """By the PMU: the kernel reads the path when the event is opened, long after attar."""
    assert race(('stat', '-a'), tmp_path, nobody, 1, event + ':place@{file}({canary})')


@pytest.mark.exclusive('events')
def test_a_uprobe_of_tracefs_is_placed_in_the_file_with_its_function(
        tmp_path, nobody, uprobes):
    assert race(('trace', '-q', '-a'), tmp_path, nobody, 1,
                'uprobe:place@{file}({canary})//args="(a=$arg1)"/')


@pytest.mark.exclusive('events')
@pytest.mark.parametrize('event, in_process', [
    ('usdt:{file}:perfume:zzqtick', False), ('usdt:perfume:zzqtick', True)])
def test_usdt_probes_are_placed_in_the_file_with_their_notes(
        event, in_process, tmp_path, nobody, uprobes):
    words = ('trace', '-q') if in_process else ('trace', '-q', '-a')
    assert race(words, tmp_path, nobody, 4, event, in_process)


@pytest.mark.exclusive('events')
@pytest.mark.parametrize('changed', ['file', 'directory', 'owner', 'sticky', None])
def test_permanent_tracepoints_only_where_nobody_else_can_change_the_path(
        changed, tmp_path, uprobes):
    folder = directory(tmp_path / 'a', 0o1777 if changed in ('sticky', None) else 0o755)
    inner = directory(folder / 'b', 0o777 if changed == 'directory' else 0o755,
                      UID if changed == 'sticky' else 0)
    program = build(inner / 'prog', 1)
    if changed == 'file':
        program.chmod(0o775)
    if changed == 'owner':
        os.chown(program, UID, -1)
    added = run('usdt', 'add', f'perfume:zzqtick@{program}')
    run('usdt', 'del', 'perfume:zzqtick')
    if changed is None:
        assert added.returncode == 0, added.stderr
        return
    assert added.returncode == 3, added.stderr
    wrong = {'directory': inner, 'sticky': inner}.get(changed, program)
    assert f'other users can change {str(wrong)[:60]}' in added.stderr  # cut at 80 bytes
    assert len(str(wrong)) > 80 or f'{wrong} (' in added.stderr


def in_container(path, program):
    """The program at the path of another mount namespace, where the file is another one."""
    return ['unshare', '-m', 'sh', '-c', f'cp {program} {program.parent}/copy.$$ &&'
            f' mount --bind {program.parent}/copy.$$ {path} && exec {path}']


@pytest.mark.exclusive('events')
@pytest.mark.parametrize('event', ['usdt:perfume:zzqtick', 'user_events:zzqtick/transport=usdt/'])
def test_probes_are_placed_in_the_file_of_the_container(event, tmp_path, uprobes):
    """The file of the host at the same path is not probed: its code is at other offsets."""
    folder = directory(tmp_path / 'host', 0o755)
    inner = build(directory(tmp_path / 'image', 0o755) / 'prog', 1, others=7000)
    path = build(folder / 'prog', 1, place='other')
    host = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    container = subprocess.Popen(in_container(path, inner), stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
    try:
        assert host.stdout.readline() == container.stdout.readline() == 'ready\n'
        attar = subprocess.Popen([ATTAR, 'trace', '-q', '-e', event, '-p', str(container.pid),
                                  '-o', tmp_path / 'out.txt'])

        def answer(program):
            program.stdin.write('x\n')
            program.stdin.flush()
            return program.stdout.readline()
        try:
            # the counter of the probe is one more while attar runs
            wait_until(lambda: answer(container) == '4142\n', 'a probe in the container')

            def has_events():
                assert answer(host) == '4141\n' and answer(container) == '4142\n'
                return (tmp_path / 'out.txt').read_text().count('zzqtick') >= 10
            wait_until(has_events, 'events')
        finally:
            attar.send_signal(signal.SIGINT)
            attar.wait(30)
        assert answer(container) == '4141\n'
    finally:
        for program in (host, container):
            program.kill()
            program.wait()


@pytest.mark.exclusive('events')
def test_names_of_probes_have_no_addresses_of_attar(tmp_path, uprobes):
    """tracefs can be readable by others."""
    program = build(directory(tmp_path / 'prog', 0o755) / 'prog', 1)
    events = [word for name in ('place', 'main')
              for word in ('-e', f'uprobe:{name}@{program}//args="(a=$arg1)"/')]
    attar = subprocess.Popen([ATTAR, 'trace', '-q', '-a', *events, '-o', tmp_path / 'out.txt'])
    try:
        wait_until(uprobes, 'probes')
        wait_until(lambda: UPROBES.read_text().count('attar_') >= 2, 'both probes')
        lines = UPROBES.read_text().splitlines()
        maps = Path(f'/proc/{attar.pid}/maps').read_text().splitlines()
        ranges = [tuple(int(end, 16) for end in line.split()[0].split('-')) for line in maps]
    finally:
        attar.send_signal(signal.SIGINT)
        attar.wait(30)
    names = [line.split()[0] for line in lines if 'attar_' in line]
    assert len(names) >= 2
    for number in re.findall('[0-9a-f]{6,}', ' '.join(names)):
        assert not any(first <= int(number, 16) < last for first, last in ranges), names
