# SPDX-License-Identifier: MIT
"""Files of another user are read by a process without rights, which may fail."""
import os
import re
import signal
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from adversary import UID, compile_c
from command import ATTAR, run, wait_until

pytestmark = pytest.mark.exclusive

# Runs in first() until SIGUSR1, then in second().
PROGRAM = r'''
#include <signal.h>
#include <stdio.h>
static volatile sig_atomic_t signals;
volatile unsigned long n;
static void on_signal(int number) { signals++; }
__attribute__((noinline)) void NAME_first(void) { while (!signals) n++; }
__attribute__((noinline)) void NAME_second(void) { for (;;) n++; }
int main(void)
{
    signal(SIGUSR1, on_signal);
    puts("ready");
    fflush(stdout);
    NAME_first();
    NAME_second();
}
'''


def program_of(path, owner, *words):
    return compile_c(path, PROGRAM.replace('NAME', path.name), '-O1', *words, owner=owner)


class Profile:
    """attar profile with intervals, whose output goes to a file."""

    def __init__(self, path, *programs, words=(), prefix=()):
        self.path = path
        pids = ','.join(str(program.pid) for program in programs)
        self.process = subprocess.Popen(
            [*prefix, ATTAR, 'profile', '-F', '499', '-i', '300ms', '-p', pids, *words],
            stdout=path.open('w'), stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def text(self):
        return self.path.read_text()

    def shows(self, *texts):
        wait_until(lambda: all(text in self.text() for text in texts), ' and '.join(texts))

    def end(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=20) == 0
        return self.text()

    def readers(self):
        """The readers of this attar: {user: pid}."""
        found = {}
        for pid in Path(f'/proc/{self.process.pid}/task/{self.process.pid}/children') \
                .read_text().split():
            words = Path(f'/proc/{pid}/cmdline').read_text().split('\0')
            if words[1:2] == ['--read-files']:
                found[words[2]] = int(pid)
        return found


def status(pid):
    lines = Path(f'/proc/{pid}/status').read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(':') for line in lines)}


def limits(pid):
    text = Path(f'/proc/{pid}/limits').read_text()
    return {name.strip(): most for name, most in
            re.findall(r'^(Max [\w ]+?)  +(\S+)', text, re.MULTILINE)}


def test_a_reader_that_attar_could_not_end_keeps_the_user(theirs, start, tmp_path):
    """In a container without CAP_KILL."""
    with Profile(tmp_path / 'out', start(program_of(theirs / 'prog', UID)),
                 prefix=('setpriv', '--bounding-set=-kill')) as profile:
        profile.shows('prog_first')
        reader = profile.readers()[str(UID)]
        assert set(status(reader)['Uid'].split()) == {'0'}
        assert int(status(reader)['CapPrm'], 16) == 0
        profile.end()
        wait_until(lambda: not Path(f'/proc/{reader}').exists(), 'the end of the reader')


@pytest.mark.parametrize('words', [(), ('--keep-rights',)])
def test_readers_have_no_rights(words, theirs, start, tmp_path):
    programs = (start(program_of(theirs / 'prog', UID)),
                start(program_of(tmp_path / 'own', 0), user=0))
    with Profile(tmp_path / 'out', *programs, words=words) as profile:
        profile.shows('prog_first', 'own_first')
        readers = profile.readers()
        assert set(readers) == {str(UID), 'own'}
        for pid in readers.values():
            has = status(pid)
            assert has['Seccomp'] == '2' and has['NoNewPrivs'] == '1'
            for name in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb'):
                assert int(has[name], 16) == 0, name
            if words:
                assert int(has['CapBnd'], 16) == 0
            assert min(map(int, has['Uid'].split())) >= 0x7fff0000
            assert set(has['Gid'].split()) == {'65534'} and not has['Groups']
            most = limits(pid)
            assert most['Max address space'] == str(1 << 30)
            assert most['Max processes'] == most['Max file size'] == '0'
            assert most['Max core file size'] == '0'
            files = [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')]
            assert sum(name.startswith('socket:') for name in files) == 1
            names = {word.split('=')[0]
                     for word in Path(f'/proc/{pid}/environ').read_text().split('\0')}
            assert names <= {'', 'ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'}
        assert len({status(pid)['Uid'] for pid in readers.values()}) == 2
        profile.process.kill()
        profile.process.wait()
        wait_until(lambda: not any(Path(f'/proc/{pid}').exists() for pid in readers.values()),
                   'the readers end')


def fail(profile, program, how):
    """The reader of the other user's files fails while it looks up a function."""
    reader = profile.readers()[str(UID)]
    os.kill(reader, signal.SIGSTOP)
    program.send_signal(signal.SIGUSR1)
    if how == signal.SIGKILL:
        wait_until(lambda: 'packet' in Path(f'/proc/{profile.process.pid}/wchan').read_text(),
                   'attar waits for the reader')
        os.kill(reader, how)


@pytest.mark.parametrize('how, reason', [
    (signal.SIGKILL, 'the process that read it has crashed'),
    (signal.SIGSTOP, 'reading it takes too long')])
def test_a_failure_costs_names(how, reason, theirs, start, tmp_path):
    hostile = program_of(theirs / 'hostile', UID)
    other = program_of(theirs / 'other', UID)
    honest = program_of(tmp_path / 'honest', 0)
    programs = [start(hostile), start(other), start(honest, user=0)]
    with Profile(tmp_path / 'out', *programs) as profile:
        profile.shows('hostile_first', 'other_first', 'honest_first')
        fail(profile, programs[0], how)
        profile.shows(f'[unreadable: {hostile}]')
        for program in programs[1:]:
            program.send_signal(signal.SIGUSR1)
        profile.shows('other_second', 'honest_second')
        text = profile.end()
    assert 'hostile_second' not in text
    assert f'1 file could not be read, such as {hostile} ({reason})' in text
    assert text.count('[unreadable: ') == text.count(f'[unreadable: {hostile}]')


def test_an_idle_reader_can_be_killed(theirs, start, tmp_path):
    program = start(program_of(theirs / 'prog', UID))
    with Profile(tmp_path / 'out', program) as profile:
        profile.shows('prog_first')
        os.kill(profile.readers()[str(UID)], signal.SIGKILL)
        program.send_signal(signal.SIGUSR1)
        profile.shows('prog_second')
        assert 'unreadable' not in profile.end()


def with_large_section(path, size):
    """Says that .debug_info is compressed, and has this many bytes."""
    data = bytearray(path.read_bytes())
    table, count, names = *struct.unpack_from('<Q', data, 40), *struct.unpack_from('<HH', data, 60)
    strings = struct.unpack_from('<Q', data, table + 64 * names + 24)[0]
    for at in range(table, table + 64 * count, 64):
        name, = struct.unpack_from('<I', data, at)
        if data[strings + name:].startswith(b'.debug_info\0'):
            begin, n = struct.unpack_from('<QQ', data, at + 24)
            head = struct.pack('<IIQQ', 1, 0, size, 1)
            whole = bytes(data[begin:begin + n]) + bytes(16 << 20)
            packed = head + zlib.compress(whole)
            struct.pack_into('<QQ', data, at + 24, len(data), len(packed))
            struct.pack_into('<Q', data, at + 8, 0x800)
            data += packed
            break
    path.write_bytes(data)


def test_memory_of_a_reader_is_limited(theirs, start, tmp_path):
    path = program_of(theirs / 'large', UID, '-g')
    with_large_section(path, (1 << 30) - 1)
    program, honest = start(path), start(program_of(tmp_path / 'honest', 0, '-g'), user=0)
    done = run('profile', '-g', '--lines', '-F', '499', '-d', '1s', '-p',
               f'{program.pid},{honest.pid}')
    assert done.returncode == 0, done.stderr
    text = done.stdout + done.stderr
    assert f'such as {path} (reading it takes too much memory)' in text
    assert 'honest.c:' in text


def test_no_reader_without_names():
    """Programs that need no names of files start no other process."""
    for words in (['--version'], ['stat', '--', 'true']):
        trace = subprocess.run(['strace', '-f', '-e', 'trace=execve', ATTAR, *words],
                               capture_output=True, text=True, check=False)
        assert '--read-files' not in trace.stderr
