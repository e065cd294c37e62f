# SPDX-License-Identifier: MIT
"""attar page-faults: programs that touch a known number of pages."""
import csv
import itertools
import json
import mmap
import re
import signal
import subprocess

import pytest

from command import ATTAR, is_waiting, run, wait_until, workload
from scripts import of_script, report, rows, stacks, wait_until_running

pytestmark = pytest.mark.usefixtures('root')

PAGE = mmap.PAGESIZE

# A program that touches 300 pages after a line of input.
TOUCHER = ['/usr/bin/python3', '-S', '-c', f'''import mmap, sys
area = mmap.mmap(-1, 300 * {PAGE}, mmap.MAP_PRIVATE)
area.madvise(mmap.MADV_NOHUGEPAGE)
print(flush=True)
sys.stdin.readline()
for i in range(300): area[i * {PAGE}] = 1
print(flush=True)
sys.stdin.readline()
''']


def test_a_thousand_anonymous_pages():
    found = report('page-faults', '--', workload('faults1000'), 1000)
    row = rows(found, 'page faults')[0]
    assert (row['comm'], row['mapping'], row['file']) == ('faults1000', 'anonymous', '')
    assert row['faults'] == 1000 + (row['to'] - row['from'] + 1 > 1000 * PAGE)
    assert row['to'] - row['from'] >= 999 * PAGE


def test_a_thousand_pages_of_a_file(tmp_path):
    path = tmp_path / 'mapped file'
    found = report('page-faults', '--', workload('faultsfile'), path, 1000)
    row, = [r for r in rows(found, 'page faults') if r['file'] == str(path)]
    assert (row['faults'], row['mapping']) == (1000, 'file')
    assert row['to'] - row['from'] == 999 * PAGE


def test_all_faults_have_a_mapping():
    """Each fault is in a mapping: the program, the C library, the stack and so on."""
    found = report('page-faults', '--', workload('faults1000'), 10)
    table = rows(found, 'page faults')
    assert {'anonymous', 'file', 'stack'} <= {r['mapping'] for r in table}
    assert not [r for r in table if r['mapping'] == 'unknown']
    assert any(r['file'].endswith('/libc.so.6') for r in table)
    assert sum(r['faults'] for r in table) == found['notes']['seen']


def test_stacks():
    """With the functions that called touch(), although samples have registers too."""
    found = report('page-faults', '-g', '--', workload('faults1000'), 500)
    touched = {path: n for path, n in stacks(found).items() if path[-1] == 'touch'}
    assert sum(touched.values()) == 500
    assert all(len(path) > 2 for path in touched), touched


def test_each_fault_with_registers():
    ended = run('page-faults', '--detail', '--format', 'csv', '--', workload('faults1000'), 100)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith('time,'))
    faults = [r for r in csv.DictReader(lines[head:]) if r['detail'] and ' touch+0x' in r['detail']]
    assert len(faults) == 100
    addresses = [int(r['address'], 16) for r in faults]
    assert [b - a for a, b in zip(addresses, addresses[1:])] == [PAGE] * 99
    for fault in faults:
        registers = dict(word.split('=') for word in fault['registers'].split())
        assert fault['address'] in registers.values()
        assert int(registers['sp'], 16) % 8 == 0


@pytest.mark.parametrize('option, has_user, has_kernel', [
    ('--exclude-kernel', True, False), ('--exclude-user', False, True),
    ('--no-kernel-callchain', True, False), ('--no-user-callchain', False, True),
    ('--kernel-callchain', True, True)])
def test_code_and_parts_of_stacks(option, has_user, has_kernel):
    """The kernel has faults, too, when it loads a program. 100 have callers of touch()."""
    ended = run('page-faults', '--detail', '-g', option, '--format', 'csv', '--',
                workload('faults1000'), 100)
    assert ended.returncode == 0, ended.stderr
    faults = csv.DictReader(itertools.dropwhile(lambda line: not line.startswith('time,'),
                                                ended.stdout.splitlines()))
    details = [r['detail'] for r in faults if r['detail']]
    assert sum(' touch+0x' in stack and ';' in stack for stack in details) == 100 * has_user
    assert any('[kernel.kallsyms]' in stack for stack in details) == has_kernel


def test_no_stack_is_cut_if_none_is_asked_for():
    """Registers give the function; the rest of the stack is not copied."""
    found = report('page-faults', '--detail', '--', workload('faults1000'), 100)
    assert found['notes']['seen'] >= 100
    assert not [r for r in found.get('remarks', []) if 'user stacks' in r]


@pytest.mark.parametrize('events', ['page-faults', 'minor-faults', 'minor-faults,major-faults'])
def test_a_recording(events, tmp_path):
    """It has each fault, its address, and the mappings of data."""
    path = tmp_path / 'x.data'
    ended = run('record', '-q', '-e', events, '-o', path, '--', workload('faults1000'), 1000)
    assert ended.returncode == 0, ended.stderr
    found = rows(report('page-faults', '--input', path), 'page faults')
    row = found[0]
    assert (row['comm'], row['mapping'], row['file']) == ('faults1000', 'anonymous', '')
    assert row['faults'] == 1000 + (row['to'] - row['from'] + 1 > 1000 * PAGE)
    assert any(r['mapping'] == 'file' and r['file'].endswith('/faults1000') for r in found)


def test_a_recording_of_a_running_process(tmp_path):
    """The file has the mappings that existed at its start."""
    path = tmp_path / 'x.data'
    with subprocess.Popen(TOUCHER, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as target:
        target.stdout.readline()
        with subprocess.Popen([ATTAR, 'record', '-q', '-e', 'page-faults', '-o', path, '-p',
                               str(target.pid)], stdin=subprocess.DEVNULL) as process:
            wait_until(lambda: is_waiting(process), 'it records')
            target.stdin.write('\n')
            target.stdin.flush()
            target.stdout.readline()
            process.send_signal(signal.SIGINT)
        target.communicate('\n')
    found = rows(report('page-faults', '--input', path), 'page faults')
    assert max(r['faults'] for r in found
               if r['mapping'] in ('anonymous', 'shared memory')) >= 300


@pytest.mark.parametrize('option', [['-e', 'page-faults', '-F', '100'],
                                    ['-e', 'page-faults/freq=100/']], ids=['option', 'attribute'])
def test_recorded_by_frequency(option, tmp_path):
    path = tmp_path / 'x.data'
    ended = run('record', '-q', *option, '-o', path, '--', workload('faults1000'), 1000)
    assert ended.returncode == 0, ended.stderr
    assert report('page-faults', '--input', path)['notes']['seen'] < 500


def test_a_running_process():
    """Its mappings are read from /proc."""
    with subprocess.Popen(TOUCHER, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as target:
        target.stdout.readline()
        with subprocess.Popen([ATTAR, 'page-faults', '-p', str(target.pid), '--format', 'json'],
                              stdout=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL) as process:
            wait_until_running(process)
            target.stdin.write('\n')
            target.stdin.flush()
            target.stdout.readline()
            process.send_signal(signal.SIGINT)
            text = process.communicate()[0]
        target.stdin.write('\n')
        target.stdin.flush()
    found = json.loads(text.splitlines()[-1])
    assert max(r['faults'] for r in rows(found, 'page faults')
               if r['mapping'] in ('anonymous', 'shared memory')) >= 300


def test_a_running_process_that_ends_with_its_faults(spawn):
    """Its mappings are read when attar begins: they are gone when it reads the faults."""
    process = spawn('/usr/bin/python3', '-S', '-c', f'''import mmap, os, sys
area = mmap.mmap(-1, 300 * {PAGE}, mmap.MAP_PRIVATE)
area.madvise(mmap.MADV_NOHUGEPAGE)
print(flush=True)
sys.stdin.readline()
for i in range(300): area[i * {PAGE}] = 1
os._exit(0)
''', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    watcher = spawn(ATTAR, 'page-faults', '--format', 'json', '-p', process.pid,
                    stdout=subprocess.PIPE)
    wait_until(lambda: is_waiting(watcher), 'attar watches it')
    process.stdin.write(b'\n')
    process.stdin.flush()
    found = json.loads(watcher.communicate(timeout=60)[0].splitlines()[-1])
    table = rows(found, 'page faults')
    assert table[0]['mapping'] == 'anonymous' and table[0]['faults'] >= 300, table


@pytest.mark.parametrize('recorded', [False, True], ids=['live', 'recorded'])
def test_programs_of_one_process(recorded, tmp_path):
    """The shell executes the program: each has its own rows and its own address space."""
    path = tmp_path / 'x.data'
    command = ['--', 'sh', '-c', f'exec {workload("faults1000")} 200']
    if recorded:
        ended = run('record', '-q', '-e', 'page-faults', '-o', path, *command)
        assert ended.returncode == 0, ended.stderr
        command = ['--input', path]
    table = rows(report('page-faults', *command), 'page faults')
    assert len({r['pid'] for r in table}) == 1
    libraries = {r['comm']: r for r in table if r['file'].endswith('/libc.so.6')}
    assert set(libraries) == {'sh', 'faults1000'}
    assert all(r['to'] - r['from'] < 1 << 24 for r in libraries.values()), libraries
    assert max(r['faults'] for r in table if r['comm'] == 'sh') < 200


def watching(spawn, pid, *args):
    """Start a profiler of a process; return it when its events are enabled."""
    process = spawn(ATTAR, *args, '-p', pid, '--format', 'json', stdout=subprocess.PIPE, text=True)
    wait_until_running(process)
    return process


def last_notes(process):
    found = json.loads(process.communicate()[0].splitlines()[-1])
    left_out = [re.match(r'(\d+) samples? (?:is|are) left out: another program', remark)
                for remark in found.get('remarks', [])]
    return found['notes'], sum(int(m[1]) for m in left_out if m)


@pytest.mark.parametrize('first, has_all', [(['top', '-e', 'page-faults'], True),
                                            (['page-faults'], False)], ids=['one event', 'several'])
def test_two_programs_that_sample_the_same_faults(spawn, first, has_all):
    """
    Kernels since about 6.2 give the samples of the first one the id of the second one's event. They
    belong to the only software event of the first one; if it has several, it says what it leaves
    out.
    """
    target = spawn(*TOUCHER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    profilers = [watching(spawn, target.pid, *args) for args in (first, ['page-faults'])]
    target.stdin.write('\n')
    target.stdin.flush()
    target.stdout.readline()
    target.communicate('\n')
    (notes, left_out), (all_notes, _) = map(last_notes, profilers)
    assert all_notes['seen'] >= 300
    assert notes['seen'] + left_out == all_notes['seen']
    assert left_out == 0 or not has_all


@pytest.mark.parametrize('how, remark', [
    ('freq=500', "'page-faults' was sampled by frequency: its counts are estimates from the "
                 'periods of the samples; period=1 counts each event'),
    ('period=10', "'page-faults': each sample counts as 10 events, its period"),
    ('period=1', None),
])
def test_samples_of_a_recording_that_stand_for_several_faults(tmp_path, how, remark):
    """The faults are those that the samples stand for, with a remark."""
    path = tmp_path / 'perf.data'
    done = run('record', '-o', path, '-e', f'page-faults/{how}/', '--', workload('faults1000'),
               1000)
    assert done.returncode == 0, done.stderr
    query = 'SELECT count(*) AS n, sum(period) AS events FROM page_faults'
    sql = report('sql', '-e', 'page-faults', '--input', path, '--query', query)
    sampled, = (r for s in sql['sections'] for r in rows(sql, s['name']))
    expected = sampled['n'] * 10 if how == 'period=10' else sampled['events']
    assert expected > 900 or how == 'freq=500'
    found = report('page-faults', '-g', '--input', path)
    assert sum(row['faults'] for row in rows(found, 'page faults')) == expected
    assert sum(stacks(found).values()) == expected
    assert remark in found.get('remarks', [None])


def test_a_recording_without_addresses(tmp_path):
    """As of perf record without -d: nothing is in the place of the addresses."""
    text = 'event page-faults\n1.0 0 7/7 one page-faults\n1.1 0 7/7 one page-faults\n' \
        '1.2 0 8/8 two page-faults\n'
    found = of_script(tmp_path, text, 'page-faults')
    assert [(r['comm'], r['pid'], r['faults'], r['mapping'], r['from'], r['to'], r['file'])
            for r in rows(found, 'page faults')] == [
        ('one', 7, 2, '', None, None, ''), ('two', 8, 1, '', None, None, '')]
    assert ('the recording has no addresses of 3 samples, so their mappings are unknown: record '
            'with attar record, or perf record -d') in found['remarks']
    done = run('page-faults', '--detail', '--format', 'csv', '--input', tmp_path / 'test.script')
    fault = next(csv.DictReader(done.stdout.splitlines()[:2]))
    assert (fault['fault'], fault['address'], fault['mapping']) == ('minor', '', '')


def test_processes_with_the_same_pid(tmp_path):
    """Neither executes a program: only their starts tell them apart."""
    text = 'event page-faults\n' + ''.join(
        f'{i}.0 0 1/1 {name} fork 7/7\n' + f'{i}.1 0 7/7 {name} page-faults\n' * n +
        f'{i}.2 0 7/7 {name} exit\n' for i, (name, n) in enumerate((('one', 3), ('two', 2)), 1))
    found = of_script(tmp_path, text, 'page-faults')
    assert [(r['comm'], r['pid'], r['faults']) for r in rows(found, 'page faults')] == [
        ('one', 7, 3), ('two', 7, 2)]
