# SPDX-License-Identifier: MIT
"""Names, notes and source lines of a program of another user, which root profiles."""
import os
import platform
import re
import shutil
import struct
import subprocess
import time

import pytest

from adversary import UID, compile_c, directory
from command import ATTAR, run

pytestmark = pytest.mark.exclusive

NAME_MAX = 512

# Code of a JIT compiler in an endless loop, whose frame pointers lead through 100 other functions.
JIT = r'''
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static uintptr_t frames[202];
int main(int argc, char **argv)
{
    unsigned char *code = mmap(NULL, 1 << 16, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t n = atoi(argv[1]);
    char path[64], *name = malloc(n + 1);
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    memset(name, 'n', n);
    name[n] = 0;
    for (int i = 0; i < 101; i++)
        fprintf(map, "%lx 100 %s%03d\n", (long)(code + 256 * i), name, i);
    fclose(map);
    memcpy(code, "\xeb\xfe", 2);
    for (int i = 0; i < 100; i++) {
        frames[2 * i] = (uintptr_t)&frames[2 * i + 2];
        frames[2 * i + 1] = (uintptr_t)code + 256 * (i + 1) + 16;
    }
    puts("ready");
    fflush(stdout);
    __asm__ volatile("mov %0, %%rbp; jmp *%1" :: "r"(frames), "r"(code));
}
'''

LOOP = r'''
#include <stdio.h>
volatile unsigned long n;
int main(void)
{
    puts("ready");
    fflush(stdout);
LINE
    for (;;) n++;
}
'''


@pytest.mark.skipif(platform.machine() != 'x86_64', reason='machine code of x86-64')
@pytest.mark.parametrize('size', [100, 509, 510, 16000])
def test_names_of_jit_code_are_cut(size, theirs, start, tmp_path):
    program = start(compile_c(theirs / 'jit', JIT, '-O1'), size)
    out = tmp_path / 'out.folded'
    # its chain of frames is outside the stack, where only the kernel follows it
    done = run('profile', '-q', '-g', '--unwind', 'fp', '-F', '199', '-d', '1s', '-p', program.pid,
               '-o', out)
    assert done.returncode == 0, done.stderr
    names = {name.removesuffix('_[j]') for line in out.read_text().splitlines()
             for name in line.rpartition(' ')[0].split(';') if name.startswith('nnn')}
    assert len(names) > 50  # the cut ones differ
    assert max(map(len, names)) == min(size + 3, NAME_MAX)
    assert out.stat().st_size < 1 << 20


def with_note_sections(path, n):
    """Appends 64 KiB of empty notes, and n sections that are these bytes."""
    data = bytearray(path.read_bytes())
    data += bytes(-len(data) % 64)
    note = len(data)
    data += struct.pack('<III', 0, 0, 99) * 5461 + bytes(4)
    table = len(data)
    data += bytes(64)
    data += struct.pack('<IIQQQQIIQQ', 0, 7, 0, 0, note, 65536, 0, 0, 4, 0) * n
    struct.pack_into('<Q', data, 40, table)
    struct.pack_into('<HHH', data, 58, 64, n + 1, 0)
    path.write_bytes(data)


def seconds_of_profile(program):
    began = time.monotonic()
    done = run('profile', '-q', '-F', '99', '-d', '500ms', '-p', program.pid, timeout=60)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - began


def test_many_sections_of_notes_delay_nothing(theirs, start):
    plain = compile_c(theirs / 'plain', LOOP.replace('LINE', ''), '-Wl,--build-id=none')
    bomb = theirs / 'bomb'
    shutil.copy(plain, bomb)
    with_note_sections(bomb, 65000)
    calm = seconds_of_profile(start(plain))
    assert seconds_of_profile(start(bomb)) < calm + 2


def annotate(program, tmp_path, *prefix):
    """Returns what attar has written about the program: its output, remarks and page."""
    page = tmp_path / 'page.html'
    words = ('annotate', '-F', '199', '-d', '500ms', '-p', program.pid, '-o')
    outputs = []
    for words_ in ((*words, page), words[:-1]):
        done = run(*prefix[1:], ATTAR, *words_, program=prefix[0]) if prefix else run(*words_)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout + done.stderr)
    return ''.join(outputs) + page.read_text()


def with_source(path, source):
    return compile_c(path, LOOP.replace('LINE', f'#line 1 "{source}"'), '-g', '-O1')


@pytest.mark.parametrize('mode, group, prefix', [
    (0o600, 0, ()), (0o640, 0, ()), (0o640, 1234, ('setpriv', '--groups', '1234'))])
def test_source_files_of_root_are_not_shown(
        mode, group, prefix, theirs, start, secret, tmp_path):
    secret.parent.chmod(0o755)
    secret.chmod(mode)
    os.chown(secret, 0, group)
    shown = annotate(start(with_source(theirs / 'prog', secret)), tmp_path, *prefix)
    assert 'root only' not in shown
    assert f'(uid {UID}) may not read it' in shown


def test_source_files_of_the_owner_are_shown(theirs, start, tmp_path):
    folder = directory(tmp_path / 'private', 0o700, UID)
    (folder / 'own.c').write_text('the text of the line\n')
    os.chown(folder / 'own.c', UID, UID)
    (folder / 'own.c').chmod(0o600)
    shown = annotate(start(with_source(theirs / 'prog', folder / 'own.c')), tmp_path)
    assert 'the text of the line' in shown
    assert 'cannot read' not in shown


@pytest.mark.parametrize('kind', ['fifo', 'link', 'device'])
def test_only_regular_files_are_source_files(kind, theirs, start, nobody, tmp_path):
    name = theirs / 'name.c'
    (theirs / 'target.c').write_text('the text of the line\n')
    if kind == 'fifo':
        nobody.run('mkfifo', name)
    elif kind == 'link':
        nobody.run('ln', '-s', theirs / 'target.c', name)
    else:
        name = '/dev/null'
    shown = annotate(start(with_source(theirs / 'prog', name)), tmp_path)
    assert 'it is not a regular file' in shown
    assert 'the text of the line' not in shown


def test_source_files_are_those_of_the_mount_namespace(tmp_path, start):
    folder = directory(tmp_path / 'folder', 0o755)
    (folder / 'name.c').write_text('text of the host\n')
    program = with_source(tmp_path / 'prog', folder / 'name.c')
    os.chown(program, 0, 0)
    process = subprocess.Popen(
        ['unshare', '-m', 'sh', '-c', f'mount -t tmpfs none {folder} &&'
         f' echo text of the container >{folder}/name.c && exec {program}'],
        stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == 'ready\n'
        shown = annotate(process, tmp_path)
    finally:
        process.kill()
        process.wait()
    assert 'text of the container' in shown
    assert 'text of the host' not in shown


def record_of(program, path, owner):
    """A recording of a program, which belongs to another user."""
    done = run('record', '-q', '-F', '499', '-d', '300ms', '-p', program.pid, '-o', path)
    assert done.returncode == 0, done.stderr
    os.chown(path, owner, owner)
    return path


def annotate_input(path, page):
    done = run('annotate', '--input', path, '-o', page)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr + page.read_text()


@pytest.mark.parametrize('owner, mode, is_shown', [
    (UID, 0o600, False), (0, 0o602, False), (0, 0o600, True)])
def test_a_recording_shows_only_what_its_owner_could_read(
        owner, mode, is_shown, start, secret, tmp_path):
    """The program belongs to root, as in an image of a container, but anybody may have made it."""
    path = with_source(tmp_path / 'prog', secret)
    os.chown(path, 0, 0)
    path.chmod(0o755)
    program = start(path)
    data = record_of(program, tmp_path / 'x.data', owner)
    data.chmod(mode)
    shown = annotate_input(data, tmp_path / 'page.html')
    assert ('root only' in shown) == is_shown
    assert ('may not read it' in shown) == (not is_shown)


def test_a_recording_of_one_user_and_a_program_of_another(start, theirs, secret, tmp_path):
    secret.parent.chmod(0o755)
    secret.chmod(0o644)
    program = start(with_source(theirs / 'prog', secret))
    shown = annotate_input(record_of(program, tmp_path / 'x.data', 1234), tmp_path / 'page.html')
    assert 'root only' not in shown
    assert re.search(rf'the recording belongs to uid 1234, and /tmp\S+ to uid {UID}', shown)


# A loop in a function of a chosen name.
NAMED = r'''
#include <stdio.h>
volatile unsigned long n;
void spin(void) __asm__("NAME");
__attribute__((noinline)) void spin(void) { for (;;) n++; }
int main(void)
{
    puts("ready");
    fflush(stdout);
    spin();
}
'''


@pytest.mark.parametrize('name, plain', [
    ('f' * 3000 + 'end', 'f' * 3000 + 'end'),
    ('_ZN' + 3 * ('200' + 'n' * 200) + '3endEv', 3 * ('n' * 200 + '::') + 'end')], ids=['C', 'C++'])
def test_long_names_of_symbol_tables_are_cut(name, plain, start, tmp_path):
    """The end of the name is kept: it is the function behind the arguments of templates."""
    program = start(compile_c(tmp_path / 'prog', NAMED.replace('NAME', name), '-O1'))
    done = run('profile', '-g', '-F', '499', '-d', '500ms', '-p', program.pid, '--format', 'json')
    found = {word for word in re.findall(r'"([^"]*)"', done.stdout) if word.startswith(plain[:200])}
    assert len(found) == 1, done.stderr
    text, = found
    assert len(text) == NAME_MAX and text.endswith(plain[-200:])
    assert re.fullmatch(r'.*#[0-9a-f]{16}#.*', text)
