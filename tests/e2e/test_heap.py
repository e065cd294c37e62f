# SPDX-License-Identifier: MIT
"""attar heap: what workloads/allocates allocates and keeps, by stack, exactly and by samples."""
import json
import math
import os
import shutil
import subprocess

import pytest

from command import ATTAR, BUILD, run, wait_until, workload
from scripts import report, rows

PROGRAM = workload('allocates')
EARLY = 12345
LIBRARY = BUILD / 'perfume/heap/libperfume-heap.so.1'


def frames(row):
    return [line.split()[1].partition('+')[0] if '+0x' in line else line.strip()
            for line in row['detail']]


def by_function(found):
    """The sums of the stacks that have a function, by its name."""
    sums = {}
    for row in rows(found, 'stacks'):
        for name in set(frames(row)):
            if name not in sums:
                sums[name] = dict(row)
                continue
            for key, value in row.items():
                if key not in ('detail', 'temporary'):
                    sums[name][key] += value
    return sums


def exact(mode, *options):
    found = report('heap', '--sample', '1', *options, '--', PROGRAM, mode)
    assert not found['notes']['lost']
    return found


def totals(found):
    return {row['state']: (row['objects'], row['bytes']) for row in rows(found, 'memory')}


def live(found, name):
    row = by_function(found)[name]
    return row['objects'], row['live']


def made(found, name):
    row = by_function(found)[name]
    return row['calls'], row['allocated']


# ---- each allocation ----

def test_leaks():
    """37 of 500 are not freed, and the whole table agrees."""
    found = exact('leaks')
    assert live(found, 'make') == (37, 37 * 64)
    assert made(found, 'make') == (500, 500 * 64)
    assert totals(found) == {'allocated': (501, 500 * 64 + EARLY), 'freed': (463, 463 * 64),
                             'live': (38, 37 * 64 + EARLY), 'at peak': (501, 500 * 64 + EARLY)}
    assert not found.get('remarks')


def test_before_main():
    """A constructor allocates; the stack goes through the dynamic linker."""
    found = exact('leaks')
    row = by_function(found)['early']
    assert (row['objects'], row['live'], row['calls']) == (1, EARLY, 1)
    assert frames(row)[:3] == ['malloc', 'early', 'begin']


def test_stack_is_complete():
    assert frames(by_function(exact('leaks'))['make']) == [
        'malloc', 'make', 'many', 'leaks', 'main', '__libc_start_call_main', '__libc_start_main',
        '_start']


def test_chain_of_realloc():
    """Each one frees the object before; one that fails keeps it."""
    found = exact('chain')
    assert live(found, 'grow') == (1, 100_000)
    assert made(found, 'grow') == (100, sum(range(1000, 100_001, 1000)))
    assert totals(found)['freed'] == (99, sum(range(1000, 100_000, 1000)))


def test_threads():
    found = exact('threads')
    assert live(found, 'in_thread') == (800, 800 * 48)
    assert made(found, 'in_thread') == (8000, 8000 * 48)


def test_fork():
    """The child has its own memory: what it frees of its parent's is still live there."""
    found = exact('fork')
    assert live(found, 'parent') == (10, 1000)
    assert live(found, 'child') == (3, 600)
    assert '2 processes ended with live memory' in str(found['remarks'])


def test_exec():
    """Frees the memory of the program; the next program is watched too."""
    found = exact('exec')
    assert live(found, 'before_exec') == (0, 0)
    assert made(found, 'before_exec') == (7, 3500)
    assert live(found, 'make') == (37, 37 * 64)
    assert live(found, 'early') == (1, EARLY) and made(found, 'early') == (2, 2 * EARLY)


def test_mappings_on_request():
    assert 'map' not in by_function(exact('maps'))
    found = exact('maps', '--mmap')
    assert live(found, 'map') == (2, 65536 + 32768)
    assert made(found, 'map') == (3, 3 * 65536)
    assert frames(by_function(found)['map'])[0] == 'mmap'


def test_peak():
    """What was live when most was live, and what is live now."""
    found = exact('peak')
    assert totals(found)['at peak'] == (11, 10_000_000 + EARLY)
    rows_ = by_function(found)
    assert (rows_['first']['at peak'], rows_['first']['live']) == (10_000_000, 0)
    assert (rows_['second']['at peak'], rows_['second']['live']) == (0, 4_000_000)
    assert rows_['early']['at peak'] == EARLY


def test_temporary():
    """Of 1,000 that are freed at once nearly all; of 1,000 that live for 50 ms none."""
    found = exact('soon', '--soon', '20ms')
    assert by_function(found)['quick']['temporary'] > 90
    assert by_function(found)['slow']['temporary'] == 0


def test_sizes():
    found = exact('known')
    sizes = {row['up to']: (row['calls'], row['allocated'], row['objects'], row['live'])
             for row in rows(found, 'sizes')}
    assert sizes == {128: (20000, 2_000_000, 20000, 2_000_000),
                     4096: (2000, 6_000_000, 2000, 6_000_000),
                     16384: (1, EARLY, 1, EARLY),
                     262144: (40, 8_000_000, 40, 8_000_000)}


def test_signal_handler():
    """The stack goes on in what the signal has interrupted."""
    found = exact('signal')
    assert live(found, 'handler') == (5, 5 * 333)
    assert 'main' in frames(by_function(found)['handler'])


def test_growth():
    """Between reports, a stack grows by what the program has allocated meanwhile."""
    with subprocess.Popen([ATTAR, 'heap', '--sample', '1', '--format', 'json', '-i', '10m', '--',
                           PROGRAM, 'grows'], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as attar:
        found = []
        for _ in range(3):
            attar.stdin.write('more\n')
            attar.stdin.flush()
            while attar.stderr.readline() != 'done\n':  # of the program
                assert attar.poll() is None
            attar.send_signal(10)
            found.append(json.loads(attar.stdout.readline()))
        attar.stdin.close()
        last = json.loads(attar.stdout.readline())
        assert attar.wait(60) == 0
    grown = [by_function(r)['step'] for r in found]
    assert [row['live'] for row in grown] == [10_000, 20_000, 30_000]
    assert [row['growth'] for row in grown] == [10_000] * 3
    assert by_function(found[2])['early']['growth'] == 0
    assert by_function(last)['step']['live'] == 30_000  # when it ended


def test_tree():
    ended = run('heap', '--sample', '1', '--format', 'folded', '--', PROGRAM, 'leaks')
    weights = dict(line.rsplit(' ', 1) for line in ended.stdout.splitlines())
    assert int(next(n for path, n in weights.items() if ';make;malloc' in path)) == 37 * 64


@pytest.mark.skipif(not shutil.which('valgrind'), reason='no valgrind')
def test_as_valgrind(tmp_path):
    """The number of calls and bytes of another program."""
    command = ['sort', '-n', '/etc/services']
    plain = {**os.environ, 'LC_ALL': 'C'}
    ended = subprocess.run(['valgrind', '--leak-check=no', *command], capture_output=True,
                           text=True, check=True, env=plain)
    words = ended.stderr.replace(',', '').split()
    path = tmp_path / 'report.json'
    watched = run('heap', '--sample', '1', '-o', path, '--', *command, env=plain)
    assert watched.returncode == 0, watched.stderr
    assert totals(json.loads(path.read_text().splitlines()[-1]))['allocated'] == (
        int(words[words.index('allocs') - 1]), int(words[words.index('allocated') - 2]))


# ---- samples ----

RUNS = 30


def test_estimates_are_unbiased():
    """The mean of 30 runs is within three standard errors; 95 % of the intervals hold the truth."""
    truth = {'small': 2_000_000, 'medium': 6_000_000, 'large': 8_000_000}
    sums = dict.fromkeys(truth, 0)
    inside = n = 0
    interval = 65536
    for _ in range(RUNS):
        found = report('heap', '--sample', interval, '--', PROGRAM, 'known')
        assert 'estimates' in str(found['remarks'])
        by = by_function(found)
        for name, value in truth.items():
            row = by.get(name, {'live': 0, '+/-': 0})
            sums[name] += row['live']
            inside += abs(row['live'] - value) <= row['+/-']
            n += 1
    for (name, value), size in zip(truth.items(), (100, 3000, 200_000)):
        p = 1 - math.exp(-size / interval)
        deviation = math.sqrt(value * size * (1 - p) / p / RUNS)
        assert abs(sums[name] / RUNS - value) <= 3 * deviation + 1, name
    assert inside / n > 0.85


# ---- programs ----

@pytest.mark.parametrize('command', [
    ['python3', '-c', 'import json, threading; print(json.dumps([1] * 1000)[:4])'],
    ['sh', '-c', 'echo one | sort | tr o O'],
    ['node', '-e', 'console.log([1, 2].map(x => x * 2).join())']], ids=lambda c: c[0])
def test_programs_run_unchanged(command, tmp_path):
    if not shutil.which(command[0]):
        pytest.skip(f'no {command[0]}')
    plain = subprocess.run(command, capture_output=True, text=True, check=False)
    for sample in '1', '4K':
        ended = run('heap', '--sample', sample, '-o', tmp_path / 'out.json', '--', *command)
        assert ended.stdout.startswith(plain.stdout), ended.stderr
        assert ended.returncode == plain.returncode


def test_compiler_runs_unchanged(tmp_path):
    """gcc, with its children."""
    (tmp_path / 'a.c').write_text('int main(void) { return 0; }\n')
    command = ['gcc', '-c', tmp_path / 'a.c', '-o']
    subprocess.run([*command, tmp_path / 'plain.o'], check=True)
    found = report('heap', '--', *command, tmp_path / 'watched.o')
    assert (tmp_path / 'plain.o').read_bytes() == (tmp_path / 'watched.o').read_bytes()
    assert any('/cc1)' in str(row['detail']) for row in rows(found, 'stacks'))


def test_exit_status():
    assert run('heap', '--', 'sh', '-c', 'exit 3').returncode == 3


# ---- processes that run already ----

def more(process, times):
    for _ in range(times):
        process.stdin.write('more\n')
        process.stdin.flush()
        assert process.stdout.readline() == 'done\n'


def listens(attar):
    return f'(pid {attar.pid})' in run('user-events', 'heap_alloc').stdout


def test_running_process():
    """Only what it allocates while attar watches, also if it was watched before."""
    with subprocess.Popen([PROGRAM, 'grows'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, env={
                              **os.environ, 'PERFUME_HEAP_SAMPLE': '1',
                              'LD_PRELOAD': str(LIBRARY)}) as process:
        more(process, 2)
        for times in 1, 3:
            with subprocess.Popen([ATTAR, 'heap', '-p', str(process.pid), '--format', 'json'],
                                  stdout=subprocess.PIPE, text=True) as attar:
                wait_until(lambda: listens(attar), 'attar listens')
                more(process, times)
                attar.send_signal(2)
                found = json.loads(attar.communicate(timeout=60)[0].splitlines()[-1])
            assert live(found, 'step') == (times * 10, times * 10_000)
            assert 'early' not in by_function(found)
            assert 'not known' in str(found['remarks'])
        process.stdin.close()


# ---- refusals ----

def test_target_is_required():
    ended = run('heap', '-d', '1ms')
    assert ended.returncode == 2
    assert 'give -- COMMAND, or -p PID' in ended.stderr


def test_process_without_the_library():
    with subprocess.Popen(['sleep', '60']) as other:
        ended = run('heap', '-p', other.pid, '-d', '1ms')
        other.kill()
    assert ended.returncode == 4
    assert f'process {other.pid} was not started with libperfume-heap.so.1' in ended.stderr
    assert f'attar memleak -p {other.pid}' in ended.stderr


def test_static_program_is_refused():
    ended = run('heap', '--', workload('heap_static'))
    assert ended.returncode == 4 and ended.stdout == ''
    assert 'statically linked' in ended.stderr


@pytest.mark.usefixtures('root')
def test_set_user_id_program_is_refused(tmp_path):
    program = tmp_path / 'program'
    shutil.copy(PROGRAM, program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    ended = run('heap', '--', program)
    assert ended.returncode == 4
    assert 'does not preload a library' in ended.stderr


def test_own_malloc_is_reported(tmp_path):
    """A program with a malloc() of its own is not seen, as a remark says."""
    (tmp_path / 'a.c').write_text('''
        #include <stddef.h>
        static char pool[1 << 20];
        static size_t used;
        void *malloc(size_t n) { used += (n + 31) & ~15ul; return pool + used - n; }
        void free(void *p) { (void)p; }
        int main(void) { return !malloc(10); }''')
    subprocess.run(['cc', '-fno-builtin', '-rdynamic', '-o', tmp_path / 'a', tmp_path / 'a.c'],
                   check=True)
    found = report('heap', '--sample', '1', '--', tmp_path / 'a')
    assert '1 process has a malloc() of its own' in str(found['remarks'])


def test_other_library(tmp_path):
    copy = tmp_path / 'copy.so'
    shutil.copy(LIBRARY, copy)
    found = report('heap', '--sample', '1', '--library', copy, '--', PROGRAM, 'leaks')
    assert live(found, 'make') == (37, 37 * 64)
    ended = run('heap', '--library', tmp_path / 'none.so', '--', PROGRAM)
    assert ended.returncode == 1 and 'is not a file' in ended.stderr
    (tmp_path / 'a b').mkdir()
    shutil.copy(LIBRARY, tmp_path / 'a b/copy.so')
    ended = run('heap', '--library', tmp_path / 'a b/copy.so', '--', PROGRAM)
    assert ended.returncode == 2 and 'has a space or a colon' in ended.stderr


def test_preloads_of_others_remain(tmp_path):
    (tmp_path / 'a.c').write_text('int attar_other = 1;')
    subprocess.run(['cc', '-shared', '-o', tmp_path / 'a.so', tmp_path / 'a.c'], check=True)
    ended = run('heap', '-o', tmp_path / 'x.json', '--', 'sh', '-c', 'echo $LD_PRELOAD',
                env={**os.environ, 'LD_PRELOAD': str(tmp_path / 'a.so')})
    paths = ended.stdout.splitlines()[0].split(':')
    assert os.path.basename(paths[0]).startswith('libperfume-heap.so')
    assert paths[1] == str(tmp_path / 'a.so')


def test_library_without_attar():
    """A program that is started with the library runs as without it."""
    ended = subprocess.run([PROGRAM, 'threads'], check=True, capture_output=True, env={
        **os.environ, 'LD_PRELOAD': str(LIBRARY)})
    assert ended.stdout == ended.stderr == b''
