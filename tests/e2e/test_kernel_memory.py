# SPDX-License-Identifier: MIT
"""attar kcore on a dump with known contents; attar misc with a known BPF program and mappings."""
import csv
import json
import os
import signal
import struct
import subprocess
from pathlib import Path

import pytest

import bpf_program
import guest
from command import ATTAR, is_waiting, run, wait_until
from perf_data import Recording
from scripts import rows, wait_until_running

BASE = 0xffff888000000000
VALUES = [0x1122334455667788, 2, 3, 0xfffffffffffffffe]


@pytest.fixture(name='dump')
def fixture_dump(tmp_path):
    """An ELF core file with one segment: four values, then a text."""
    data = struct.pack('<4Q', *VALUES) + b'Linux version 1\n\0'
    head = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\x02\x01\x01', 4, 62, 1, 0, 64, 0, 0, 64, 56,
                       1, 0, 0, 0)
    segment = struct.pack('<IIQQQQQQ', 1, 6, 120, BASE, 0, len(data), len(data), 1)
    path = tmp_path / 'core'
    path.write_bytes(head + segment + data)
    return path


def kcore(*args):
    ended = run('kcore', '--json', *args)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)['sections'][0]['rows']


@pytest.mark.quick
def test_values_of_each_size(dump):
    assert kcore('--file', dump, hex(BASE), 4) == [
        [BASE + 8 * i, v, v] for i, v in enumerate(VALUES)]
    assert [r[1] for r in kcore('--file', dump, '-1', hex(BASE), 3)] == [0x88, 0x77, 0x66]
    assert [r[1] for r in kcore('--file', dump, '-2', hex(BASE), 2)] == [0x7788, 0x5566]
    assert [r[1] for r in kcore('--file', dump, '-4', hex(BASE + 8), 1)] == [2]


@pytest.mark.quick
def test_text(dump):
    assert kcore('--file', dump, '--string', hex(BASE + 32)) == [[BASE + 32, 'Linux version 1\n']]
    assert kcore('--file', dump, '--string', hex(BASE + 32), 5) == [[BASE + 32, 'Linux']]


@pytest.mark.usefixtures('root')
def test_symbols(tmp_path):
    """The values of the dump are addresses of functions."""
    symbols = [line.split() for line in Path('/proc/kallsyms').read_text().splitlines()]
    at = {s[2]: int(s[0], 16) for s in symbols}
    data = struct.pack('<2Q', at['schedule'] + 4, 5)
    head = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\x02\x01\x01', 4, 62, 1, 0, 64, 0, 0, 64, 56,
                       1, 0, 0, 0)
    segment = struct.pack('<IIQQQQQQ', 1, 6, 120, at['schedule'], 0, len(data), len(data), 1)
    (tmp_path / 'core').write_bytes(head + segment + data)
    rows = kcore('--file', tmp_path / 'core', '--symbols', 'schedule', 2)
    assert [r[3] for r in rows] == ['schedule+0x4', None]


@pytest.mark.parametrize('args, status, sentence', [
    ([], 2, 'kcore requires an address: '),
    (['0x1', 'x'], 2, "the number of values must be 1 to "),
    (['0x1', '--nope'], 2, 'no such option --nope'),
    (['--file', '/nonexistent', '0x1'], 1, 'cannot read /nonexistent'),
])
def test_refusals(args, status, sentence):
    ended = run('kcore', *args)
    assert sentence in ended.stderr
    assert ended.returncode in (status, 2)


def test_unreadable_address(dump):
    ended = run('kcore', '--file', dump, '0x1000')
    assert ended.returncode == 1
    assert 'address 0x1000 is not in the memory of the kernel' in ended.stderr
    ended = run('kcore', '--file', dump, hex(BASE + 48), 2)
    assert ended.returncode == 1


def test_a_kernel_without_kcore():
    if Path('/proc/kcore').exists():
        pytest.skip('this kernel has /proc/kcore')
    ended = run('kcore', 'jiffies')
    assert ended.returncode == 4
    assert '/proc/kcore does not exist: the kernel lacks' in ended.stderr


@pytest.mark.guest('debian')
def test_jiffies_of_a_kernel():
    """
    Read twice: it grows with the time between, by CONFIG_HZ (250) in a second. Again if not: where
    the host is busy, the CPU of the guest that counts jiffies can be late.
    """
    for _ in range(5):
        lines, is_right = jiffies_in_guest()
        if is_right:
            break
    assert is_right, lines


def jiffies_in_guest():
    """Return what was printed, and whether the numbers of jiffies are right."""
    ended = guest.run('debian', 'sh', '-ec', f'''
        cut -d" " -f1 /proc/uptime
        {ATTAR} kcore --json jiffies
        cut -d" " -f1 /proc/uptime
        sleep 2
        cut -d" " -f1 /proc/uptime
        {ATTAR} kcore --json jiffies
        cut -d" " -f1 /proc/uptime
        {ATTAR} kcore --json --string linux_banner
        cat /proc/version
        {ATTAR} kcore 0x1000 && exit 1
        {ATTAR} kcore 0xffff0000deadbee8 && exit 1
        true''')
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    (_, first, _), (_, second, _), (_, banner) = [
        json.loads(lines[i])['sections'][0]['rows'][0] for i in (1, 4, 6)]
    uptimes = [float(lines[i]) for i in (0, 2, 3, 5)]
    least, most = uptimes[2] - uptimes[1], uptimes[3] - uptimes[0]
    assert banner.strip() == lines[7]
    assert ended.stderr.count('is not in the memory of the kernel') == 2
    return lines, 250 * least - 10 <= second - first <= 250 * most + 10


def misc(action, *args):
    """Return the records that attar misc prints while the action runs."""
    with subprocess.Popen([ATTAR, 'misc', '--format', 'csv', *args], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True) as process:
        first = wait_until_running(process)
        action()
        process.send_signal(signal.SIGINT)
        text = first + process.communicate()[0]
    kinds = ('ksymbol', 'bpf', 'comm', 'mmap', 'cgroup', 'text-poke')
    return [{'record': r[3], 'fields': r[4]} for r in csv.reader(text.splitlines())
            if len(r) == 5 and r[3] in kinds]


@pytest.mark.usefixtures('root')
def test_bpf_programs_are_loaded_beside_several_runs(spawn, tmp_path):
    """The kernel writes a wrong size to the records of all events but the first."""
    if bpf_program.load() < 0:
        pytest.skip('no BPF programs here')
    outputs = [tmp_path / f'{i}.json' for i in range(4)]
    runs = [spawn(ATTAR, 'cpudist', '-a', '-q', '-i', '200ms', '-o', out) for out in outputs]
    for process in runs:
        wait_until(lambda p=process: is_waiting(p), 'its events are enabled')
    for _ in range(10):
        os.close(bpf_program.load())
    loaded = [len(out.read_text().splitlines()) for out in outputs]
    for out, before in zip(outputs, loaded):
        wait_until(lambda o=out, n=before: len(o.read_text().splitlines()) > n + 3, 'it goes on')
    for process in runs:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    for out in outputs:
        text = out.read_text()
        assert 'could not be parsed' not in text
        reports = [json.loads(line) for line in text.splitlines()]
        assert all(0 < report['interval_ns'] < 10**10 for report in reports)
        assert all(report['notes']['lost'] == 0 for report in reports)


@pytest.mark.usefixtures('root')
def test_a_bpf_program_appears():
    fd = bpf_program.load()
    if fd < 0:
        pytest.skip(f'no BPF programs here: {os.strerror(-fd)}')
    os.close(fd)
    records = misc(lambda: os.close(bpf_program.load()), '--records', 'bpf,ksymbol')
    # other programs can be loaded and removed meanwhile
    loads = [r['fields'] for r in records
             if r['record'] == 'bpf' and r['fields'].startswith('load ')]
    assert loads
    number = loads[0].split()[1]
    assert int(number.removeprefix('id=')) > 0
    if Path('/proc/sys/net/core/bpf_jit_enable').read_text().strip() != '0':
        names = [r['fields'] for r in records if r['record'] == 'ksymbol']
        assert any(t.startswith('register ') and t.endswith('_attar_test') for t in names)


def test_new_control_groups(cgroup):
    """Of the hierarchy that perf_event is in: the unified one, unless v1 has it."""
    child = cgroup / 'a child'
    try:
        records = misc(child.mkdir, '--records', 'cgroup')
    finally:
        child.rmdir()
    paths = [r['fields'].split(' path=')[1] for r in records]
    assert [p.rpartition('/')[2] for p in paths if p.endswith('/a child')] == ['a child']


def test_no_new_control_group(cgroup):
    """The hierarchy is named if its records are asked for, and there are none."""
    def remarks(*args):
        found = json.loads(run('misc', '--format', 'json', *args, '--', 'true').stdout
                           .splitlines()[-1])
        return [r for r in found.get('remarks', []) if 'control group' in r]

    remark, = remarks('--records', 'cgroup')
    hierarchy = remark.partition(' created in ')[2].partition(' (cgroup v')[0]
    assert hierarchy in map(str, cgroup.parents) and os.path.ismount(hierarchy)
    assert not remarks() and not remarks('--records', 'comm')


@pytest.mark.guest('debian')
def test_changed_code(tmp_path):
    """
    The kernel skips the statistics of the scheduler by jump instructions. It changes these when the
    statistics are switched on, and changes them back when they are switched off.
    """
    switch = '/proc/sys/kernel/sched_schedstats'
    ended = guest.run('debian', 'sh', '-c', f'''
        {ATTAR} misc --records text-poke -q -o {tmp_path}/x.json -- \\
            sh -c "echo 1 >{switch}; echo 0 >{switch}"''')
    assert ended.returncode == 0, ended.stderr
    reports = [json.loads(line) for line in (tmp_path / 'x.json').read_text().splitlines()]
    pokes = {}
    for text in (row[4] for r in reports[:-1] for s in r['sections'] for row in s['rows']):
        fields = dict(word.split('=', 1) for word in text.split() if '=' in word)
        pokes.setdefault(fields['addr'], []).append((fields['old'], fields['new']))
    assert len(pokes) > 10
    for change, back in pokes.values():
        nop, jump = sorted(change, key=lambda code: code[:2] in ('eb', 'e9'))
        assert nop in ('6690', '0f1f440000') and jump[:2] in ('eb', 'e9')
        assert back == change[::-1]
    assert reports[-1]['sections'][-1]['rows'] == [['text-poke', 2 * len(pokes)]]


@pytest.mark.usefixtures('root')
def test_names_and_mappings(tmp_path):
    path = tmp_path / 'mapped file'
    path.write_bytes(b'x' * 8192)
    code = f'''import mmap
open('/proc/self/comm', 'w').write('renamed')
file = open({str(path)!r}, 'r+b')
mapped = mmap.mmap(file.fileno(), 8192)
'''
    records = misc(lambda: subprocess.run(['/usr/bin/python3', '-S', '-c', code], check=True),
                   '--records', 'comm,mmap')
    names = [r['fields'].split('comm=')[1] for r in records if r['record'] == 'comm'
             and r['fields'].startswith('rename')]
    assert names.count('renamed') == 1
    maps = [r['fields'] for r in records if str(path) in r['fields']]
    assert len(maps) == 1 and ' len=0x2000 pgoff=0x0 prot=rw- ' in maps[0]


def misc_of(recording, path, *args):
    """Return the lines and the report of a recording."""
    ended = run('misc', '--format', 'json', *args, '--input', recording.write(path))
    assert ended.returncode == 0, ended.stderr
    *parts, found = [json.loads(line) for line in ended.stdout.splitlines()]
    return [r['fields'] for part in parts for r in rows(part, 'records')], found


def test_what_existed_when_a_recording_began(tmp_path):
    """Its records have no time, and are not changes: two names and a mapping."""
    recording = Recording()
    recording.comm(0, 'old')
    recording.comm(0, 'older', pid=99, tid=99)
    recording.record(10, struct.pack('<IIQQQIIQQII', 100, 100, 0x400000, 0x2000, 0, 0, 0, 0, 0, 5,
                                     2) + b'/old\0\0\0\0' + recording.trailer(0, 0, 0, 7, 0))
    recording.sample(1_000_000_001)
    recording.comm(1_000_000_002, 'new')
    recording.comm(0, 'late', pid=98, tid=98) # as perf record --tail-synthesize writes them
    lines, found = misc_of(recording, tmp_path / 'x.data')
    assert lines == ['rename pid=100 tid=100 comm=new']
    counts = {r['record']: r['count'] for r in rows(found, 'records')}
    assert (counts['comm'], counts['mmap']) == (1, 0)
    assert ('not shown: 4 records of what existed when the recording began, such as names of '
            'processes') in found['remarks']


def test_records_without_times(tmp_path):
    """A recording without sample_id_all: what follows the first sample may be a change."""
    recording = Recording()
    recording.comm(0, 'old')
    recording.sample(1_000_000_001)
    recording.comm(0, 'new')
    lines, found = misc_of(recording, tmp_path / 'x.data', '--records', 'comm')
    assert lines == ['rename pid=100 tid=100 comm=new']
    assert rows(found, 'records') == [{'record': 'comm', 'count': 1}]


@pytest.mark.usefixtures('root')
def test_unknown_records():
    ended = run('misc', '--records', 'bpf,foo', '-d', '1')
    assert ended.returncode == 2
    assert "'foo' is not one of ksymbol" in ended.stderr
