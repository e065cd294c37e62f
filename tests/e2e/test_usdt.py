# SPDX-License-Identifier: MIT
"""USDT probes of <sys/sdt.h>: their arguments, semaphores and locations, compared with bpftrace."""
import json
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from command import ATTAR, is_waiting, run, wait_until, workload
from scripts import rows_of

pytestmark = pytest.mark.exclusive('events')

PROBES = Path('/sys/kernel/tracing/uprobe_events')
TYPES = 's32 arg1, u64 arg2, s32 arg3, u8 arg4, s16 arg5'


def orders(n):
    """The fields of shop:order, as tests/workloads/sdt.c states them."""
    rest = [f'arg2={1000000000000 + i} arg3=-7 arg4={200 + i} arg5={-300 - i}' for i in range(n)]
    return [f'arg1={number} {rest[i]}' for i in range(n) for number in (i, -1 - i)]


@pytest.fixture
def trace(root, sdt, tmp_path):
    """trace(event, words...) returns (event, fields without the address) of each row."""
    if not PROBES.exists():
        pytest.skip('this kernel has no uprobes')
    before = PROBES.read_text()

    def go(event, *words, status=0):
        out = tmp_path / 'out.json'
        done = run('trace', '-q', '-m', 1024, '-o', out, '-e', event, *words)
        assert done.returncode == status, done.stderr
        rows = []
        for line in out.read_text().splitlines():
            for section in json.loads(line)['sections']:
                rows += rows_of(section)
        return [(row['event'], re.sub(r'^\(\w+\) ?', '', row['fields'])) for row in rows], done

    yield go
    left = set(PROBES.read_text().splitlines()) - set(before.splitlines())
    assert not [line for line in left if 'workloads/' in line]


def check_all(rows, prefix, n):
    double, = struct.unpack('<Q', struct.pack('<d', 0.5))
    assert rows == [(f'{prefix}shop:order', fields) for fields in orders(n)] + [
        (f'{prefix}shop:total', f'arg1={double:#x} arg2=77'), (f'{prefix}shop:done', '')]


@pytest.mark.parametrize('program, file', [
    ('sdt', 'sdt'), ('sdt_fixed', 'sdt_fixed'), ('sdt_shared', 'libsdt_library.so')])
def test_every_argument_is_traced(trace, program, file):
    """In a position-independent program, in one at a fixed address, and in a shared library."""
    rows, done = trace(f'usdt:{workload(file)}:shop:*', '--', workload(program), 50)
    check_all(rows, f'usdt:{workload(file)}:', 50)
    assert done.stdout == 'enabled\n'


@pytest.mark.parametrize('event', ['usdt:shop:order', 'sdt_shop:order', 'usdt:"{sdt}":shop:order',
                                   'usdt:{sdt}:shop:order:u'])
def test_spellings_of_an_event(trace, sdt, event):
    event = event.replace('{sdt}', sdt)
    rows, _ = trace(event, '--', sdt, 3)
    assert [fields for _, fields in rows] == orders(3)
    assert {name for name, _ in rows} == {event}


def test_filters_use_arguments(trace, sdt):
    rows, done = trace('usdt:shop:order/arg1<0 && arg4>=203/', '--', sdt, 5)
    assert [fields.split()[0] for _, fields in rows] == ['arg1=-4', 'arg1=-5']
    assert done.stdout == 'disabled\n'


def test_probes_of_a_running_process(trace, sdt, spawn, tmp_path):
    """Another process of the same program is not traced, and its probe is not enabled."""
    go, out = tmp_path / 'go', tmp_path / 'out'
    with out.open('wb') as file:
        watched = spawn(sdt, 4, go, stdout=file)
    other = spawn(sdt, 4, go, stdout=subprocess.PIPE)
    report = tmp_path / 'report.json'
    attar = spawn(ATTAR, 'trace', '-q', '-o', report, '-p', watched.pid, '-e', 'usdt:shop:*')
    wait_until(lambda: semaphore(watched.pid, sdt), 'the probe is enabled')
    wait_until(lambda: is_waiting(attar), 'its events are enabled')
    go.touch()
    assert other.communicate(timeout=20)[0] == b'disabled\n'
    assert watched.wait(20) == 0 and attar.wait(20) == 0
    assert out.read_text() == 'enabled\n'
    sections = [json.loads(line)['sections'] for line in report.read_text().splitlines()]
    rows = [row for report in sections for section in report for row in section['rows']]
    assert [row for row in rows if watched.pid in row] == rows and len(rows) == 10


@pytest.mark.parametrize('words', [[], ['--no-children']], ids=['children', 'no-children'])
def test_probes_of_a_child(trace, sdt, spawn, tmp_path, words):
    """The process of -p is a shell; its child, which already runs, has the probes."""
    go = tmp_path / 'go'
    shell = spawn('sh', '-c', f'{sdt} 4 {go}; true', stdout=subprocess.DEVNULL)
    children = Path(f'/proc/{shell.pid}/task/{shell.pid}/children')
    wait_until(lambda: children.read_text() and
               Path(f'/proc/{children.read_text().split()[0]}/exe').resolve() == Path(sdt),
               'the child runs the program')
    report = tmp_path / 'report.json'
    attar = spawn(ATTAR, 'trace', '-q', '-o', report, '-p', shell.pid, *words, '-e', 'usdt:shop:*',
                  stderr=subprocess.PIPE, text=True)
    if words:
        assert attar.wait(20) == 2 and "no USDT probe 'shop:*'" in attar.stderr.read()
        return
    wait_until(lambda: is_waiting(attar), 'its events are enabled')
    go.touch()
    assert attar.wait(20) == 0
    sections = [json.loads(line)['sections'] for line in report.read_text().splitlines()]
    assert sum(len(section['rows']) for report in sections for section in report) == 10


def semaphore(pid, file):
    """The semaphore of shop:total in a process."""
    listed = run('list', '--json', '-v', f'usdt:{file}:shop:total')
    offset = json.loads(listed.stdout)['sections'][0]['rows'][0][2]
    for line in Path(f'/proc/{pid}/maps').read_text().splitlines():
        span, access, start, _, _, *path = line.split(None, 5)
        low, high = (int(number, 16) for number in span.split('-'))
        place = offset - int(start, 16)
        if path == [str(file)] and 'w' in access and 0 <= place < high - low:
            with open(f'/proc/{pid}/mem', 'rb') as memory:
                memory.seek(low + place)
                return int.from_bytes(memory.read(2), 'little')
    raise AssertionError('the semaphore is not mapped')


def test_locations_are_counted_as_one_event(trace, sdt, tmp_path):
    out = tmp_path / 'out.json'
    done = run('stat', '-q', '-o', out, '-e', f'usdt:{sdt}:shop:order', '--', sdt, 1000)
    assert done.returncode == 0, done.stderr
    counts = json.loads(out.read_text())['sections'][0]
    column = [c['name'] for c in counts['columns']].index('value')
    assert [row[column] for row in counts['rows']] == [2000]


def test_arguments_agree_with_bpftrace(trace, sdt):
    if not shutil.which('bpftrace'):
        pytest.skip('bpftrace is not installed')
    script = (f'usdt:{sdt}:shop:order {{ printf("arg1=%d arg2=%lu arg3=%d arg4=%d arg5=%d\\n", '
              '(int32)arg0, arg1, (int32)arg2, arg3, (int16)arg4); }')
    done = subprocess.run(['bpftrace', '-e', script, '-c', f'{sdt} 20'], capture_output=True,
                          text=True, timeout=60)
    theirs = re.findall(r'^arg1=.*', done.stdout, re.M)
    if not theirs:
        pytest.skip(f'bpftrace does not work here: {done.stderr.strip()[-200:]}')
    rows, _ = trace(f'usdt:{sdt}:shop:order', '--', sdt, 20)
    assert [fields for _, fields in rows] == theirs


def test_probes_of_a_file_are_listed(sdt):
    done = run('list', '--json', f'usdt:{sdt}')
    section, = json.loads(done.stdout)['sections']
    assert section['rows'] == [
        [f'usdt:{sdt}:shop:done', 1, 'yes', ''], [f'usdt:{sdt}:shop:order', 2, 'yes', TYPES],
        [f'usdt:{sdt}:shop:total', 1, 'yes', 'x64 arg1, s32 arg2']]
    assert run('list', '--names', f'usdt:{sdt}:shop:[dt]*').stdout.split() == [
        f'usdt:{sdt}:shop:done', f'usdt:{sdt}:shop:total']


def test_listed_locations_agree_with_readelf(sdt):
    if not shutil.which('readelf'):
        pytest.skip('readelf is not installed')
    notes = subprocess.run(['readelf', '-n', sdt], capture_output=True, text=True,
                           check=True).stdout
    theirs = re.findall(r'Name: (\w+)\n.*Location: (\w+),.*\n\s*Arguments: *(.*)', notes)
    section, = json.loads(run('list', '-v', '--json', f'usdt:{sdt}').stdout)['sections']
    ours = [(row[0].rsplit(':')[-1], row[1], row[4]) for row in section['rows']]
    # Code has the same offset in the file as its address in a small program.
    assert sorted(ours) == sorted((name, int(at, 16), text.strip()) for name, at, text in theirs)


@pytest.mark.parametrize('words, status, message', [
    (['list', 'usdt:/bin/sh'], 1, 'has no USDT probes'),
    (['list', 'usdt:/etc/passwd'], 2, '/etc/passwd is not an ELF file'),
    (['usdt', 'list', '/etc/passwd'], 2, '/etc/passwd is not an ELF file'),
    (['stat', '-e', 'usdt:/etc/passwd:a:b', '--', 'true'], 2, '/etc/passwd is not an ELF file'),
    (['list', 'usdt:/no/such/file'], 1, 'cannot probe /no/such/file: No such file or directory'),
    (['list', 'usdt:'], 2, 'the syntax is usdt:FILE[:PROVIDER[:NAME]]'),
    (['trace', '-a', '-e', 'usdt:shop:order'], 2,
     "'shop:order' requires a file (usdt:FILE:PROVIDER:NAME), a command or -p PID"),
    (['trace', '-e', 'usdt:shop'], 2, 'the syntax is usdt:FILE:PROVIDER:NAME or'),
    (['trace', '-e', 'usdt:"/bin/sh', '--', 'true'], 2, 'missing closing "'),
    (['trace', '-e', 'usdt:shop:order', '--', 'true'], 2,
     "no USDT probe 'shop:order' in 1 file of the command (its libraries are not searched)"),
    (['stat', '-e', 'usdt:/bin/sh:a:b', '--', 'true'], 2, " has no USDT probe 'a:b'"),
])
def test_missing_probes_are_reported(words, status, message):
    done = run(*words)
    assert message in done.stderr
    assert done.returncode == status
