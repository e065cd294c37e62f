# SPDX-License-Identifier: MIT
"""attar memleak: what workloads/heap keeps, by function and stack."""
import json
import subprocess

import pytest

from command import ATTAR, is_sampling, run, wait_until, workload
from scripts import report, rows, rows_of

pytestmark = pytest.mark.usefixtures('root')

# What the first comment of heap.c says: by the function of the program, calls and bytes kept.
KEPT = {('keep_malloc', 'malloc'): (10, 10_000), ('keep_calloc', 'calloc'): (2, 4_200),
        ('keep_realloc', 'realloc'): (8, 25_900), ('keep_aligned', 'aligned_alloc'): (1, 4_096),
        ('keep_aligned', 'posix_memalign'): (2, 4_096), ('keep_mmap', 'mmap'): (1, 65_536),
        ('keep_strdup', 'malloc'): (1, 11)}
# The address of one is in a variable, where a program that has ended does not have it any more.
KEPT_AT_END = KEPT | {('keep_aligned', 'posix_memalign'): (1, 2_048)}
ALIASES = {'memalign': 'aligned_alloc'}  # names of the same code in libc


def kept(found):
    sums = {}
    for leak in rows(found, 'leaks'):
        frames = [frame.split()[1].partition('+')[0] for frame in leak['detail']]
        by = [frame for frame in frames if frame.startswith('keep_')]
        if by:
            key = by[0], ALIASES.get(leak['event'], leak['event'])
            objects, size = sums.get(key, (0, 0))
            sums[key] = objects + leak['objects'], size + leak['bytes']
    return sums


@pytest.mark.parametrize('program', ['heap', 'heap_static'])
def test_command(program):
    """In libc, or in a program without libraries; one address is out of reach, as a note says."""
    found = report('memleak', '--', workload(program))
    assert kept(found) == KEPT_AT_END
    assert any('1 allocation by posix_memalign() is not counted' in remark
               for remark in found['remarks'])


def test_numbers_of_calls():
    """The rows, with realloc() as a free and an allocation, and 4 of keep_aligned()."""
    totals = {r['state']: r['objects'] for r in rows_of(next(
        s for s in report('memleak', '--', workload('heap'))['sections']
        if s['name'] == 'allocations'))}
    made = 100 + 20 + 5 + 5 + 3 + 4 + 5 + 3 + 1
    assert totals == {'allocated': made, 'freed': made - 24, 'leaked': 24}


def of_running(program, *options):
    with subprocess.Popen([workload(program), 'wait'], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as heap:
        with subprocess.Popen([ATTAR, 'memleak', *options, '--format', 'json', '-p',
                               str(heap.pid)], stdout=subprocess.PIPE, text=True) as attar:
            try:
                wait_until(lambda: is_sampling(attar), 'events are open')
                attar.send_signal(10)
                attar.stdout.readline()
                heap.stdin.write('go\n')
                heap.stdin.flush()
                assert heap.stdout.readline() == 'done\n'
                attar.send_signal(2)
                text = attar.communicate(timeout=60)[0]
            finally:
                attar.kill()
                heap.stdin.close()
    return json.loads(text.splitlines()[-1])


def test_running_process():
    """The address in a variable can be read while the program runs."""
    assert kept(of_running('heap')) == KEPT


def test_target_is_required():
    ended = run('memleak', '-d', '1ms')
    assert (ended.returncode, ended.stdout) == (2, '')
    assert ended.stderr == (
        'attar: allocations of programs are watched in a process or a command: give -p PID, or '
        '-- COMMAND\n')


def test_program_without_malloc(tmp_path):
    (tmp_path / 'a.c').write_text(
        'void _start(void) { for (;;) __asm__ volatile("" ::: "memory"); }')
    subprocess.run(['cc', '-nostdlib', '-static', '-o', tmp_path / 'a', tmp_path / 'a.c'],
                   check=True)
    with subprocess.Popen([tmp_path / 'a']) as bare:
        ended = run('memleak', '-p', str(bare.pid), '-d', '1ms')
        bare.kill()
    assert ended.returncode == 1 or ended.returncode == 2
    assert 'the watched program has no malloc()' in ended.stderr


def test_memory_of_a_program_ends_with_its_exec():
    """A shell allocates, then replaces itself."""
    found = report('memleak', '--', 'sh', '-c', f'exec {workload("heap")}')
    assert kept(found) == KEPT_AT_END
    assert not [leak for leak in rows(found, 'leaks') if '/sh)' in str(leak['detail'])
                or '/dash)' in str(leak['detail'])]


def test_heap_conflicts():
    ended = run('kmemleak', '--heap', '--alloc', 'kmem:kmalloc', '--free', 'kmem:kfree')
    assert ended.returncode == 2
    assert '--heap conflicts with --alloc and --free' in ended.stderr
