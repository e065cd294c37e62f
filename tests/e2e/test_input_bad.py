# SPDX-License-Identifier: MIT
"""Truncated, damaged and invalid recordings: readable parts are read, the rest is reported."""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from command import ATTAR, run, wait_until, workload
from scripts import rows_of
from perf_data import CPU_CLOCK, PAGE_FAULTS, SAMPLE_CALLCHAIN, SAMPLE_TYPE, Recording

SAMPLES = 300


def trace(path, *args, **kwargs):
    return run('trace', '--format', 'json', '-e', 'cpu-clock', '--input', path, *args, **kwargs)


def read(ended):
    """Return the rows of single events, the remarks and the notes."""
    assert ended.returncode == 0, ended.stderr
    rows = []
    for line in ended.stdout.splitlines():
        report = json.loads(line)
        for section in report['sections']:
            rows += rows_of(section)
    return rows, report.get('remarks', []), report['notes']


def is_one_sentence(ended, path):
    """A failed run prints one line with the file and the reason; a long name is shortened."""
    return (ended.stdout == '' and ended.stderr.count('\n') == 1
            and str(path)[:60] in ended.stderr and ended.stderr.startswith('attar: '))


def small(order='<'):
    data = Recording(order)
    data.comm(0, 'first')
    for i in range(SAMPLES):
        data.sample(1000 + i, cpu=i % 2, tid=100 + i % 3)
        if i % 50 == 49:
            data.round()
    return data


def test_the_other_byte_order(tmp_path):
    ours, theirs = small('<').write(tmp_path / 'little'), small('>').write(tmp_path / 'big')
    assert ours.read_bytes() != theirs.read_bytes()
    rows, _, notes = read(trace(ours))
    assert len(rows) == SAMPLES == notes['seen']
    assert [r['time'] for r in rows] == list(range(1000, 1000 + SAMPLES))
    assert {r['comm'] for r in rows if r['tid'] == 100} == {'first'}
    assert read(trace(theirs))[0] == rows


def test_a_pipe_that_is_cut_anywhere(tmp_path):
    """All whole records before the cut are delivered."""
    data = small()
    whole, path = data.bytes, tmp_path / 'cut.data'
    rows = read(trace(small().write(tmp_path / 'whole')))[0]
    ends, at = [], 16
    while at < len(whole):
        kind, _, size = struct.unpack_from('<IHH', whole, at)
        at += size
        ends.append((at, kind == 9))
    generator = random.Random(23)
    offsets = {0, 1, 7, 8, 15, 16, 17, ends[0][0] - 1, ends[0][0], len(whole) - 1}
    offsets |= {generator.randrange(len(whole)) for _ in range(20)}
    for offset in sorted(offsets):
        path.write_bytes(whole[:offset])
        ended = trace(path)
        if offset < ends[0][0]:
            assert ended.returncode == 1 and is_one_sentence(ended, path), (offset, ended.stderr)
            continue
        found, remarks, _ = read(ended)
        assert found == rows[:sum(end <= offset for end, sample in ends if sample)], offset
        is_inside = offset not in [end for end, _ in ends]
        assert any(f'{path} is damaged: it ends at byte {offset} in the middle of a record' == r
                   for r in remarks) == is_inside, (offset, remarks)


def are_among(found, times):
    """Whether these are some of the times by another clock: the wall clock is at the end of the
    file.
    """
    known = set(times)
    return not found or any(first + found[-1] - found[0] in known and
                            {first + t - found[0] for t in found} <= known for first in times)


@pytest.mark.parametrize('tool', ['perf', 'attar'])
def test_a_file_that_is_cut_anywhere(tmp_path, tool, root):
    """The names of tracepoints are at the end of the file: without them, events are unknown."""
    if tool == 'perf' and subprocess.run(['which', 'perf'], stdout=subprocess.DEVNULL).returncode:
        pytest.skip('perf is not installed')
    whole_path, path = tmp_path / 'whole.data', tmp_path / 'cut.data'
    command = ['-o', str(whole_path), '-F', '997', '-e', 'cpu-clock:u', '--',
               workload('split7030')]
    if tool == 'perf':
        subprocess.run(['perf', 'record', '-q', *command], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    else:
        assert run('record', '-q', *command).returncode == 0
    whole = whole_path.read_bytes()
    rows = read(trace(whole_path))[0]
    start, size = struct.unpack_from('<QQ', whole, 40)
    generator = random.Random(42)
    offsets = {0, 8, 16, 103, 104, start - 1, start, start + size - 1, start + size,
               len(whole) - 1}
    offsets |= {generator.randrange(len(whole)) for _ in range(12)}
    for offset in sorted(offsets):
        path.write_bytes(whole[:offset])
        ended = trace(path)
        if ended.returncode:
            assert ended.returncode in (1, 2), (offset, ended.stderr)
            assert is_one_sentence(ended, path), (offset, ended.stderr)
            continue
        found, remarks, _ = read(ended)
        assert are_among([r['time'] for r in found], [r['time'] for r in rows]), offset
        assert any(f'{path} is damaged' in r for r in remarks), (offset, remarks)


CALLS = 3000
CALLING = f"""
import os, sys
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
for i in range({CALLS}): os.getppid()
"""
TRACEPOINTS = 'raw_syscalls:sys_enter,raw_syscalls:sys_exit'


def record_calls(tool, path):
    """A recording of CALLS calls of getppid(2) with the names of its events behind its data."""
    # A ring holds all samples, however late its reader is.
    command = ['-m', '1024', '-o', str(path), '-e', TRACEPOINTS, '--',
               sys.executable, '-S', '-c', CALLING]
    if tool == 'perf':
        subprocess.run(['perf', 'record', '-q', *command], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    else:
        assert run('record', '-q', *command).returncode == 0
    whole = path.read_bytes()
    return whole, *struct.unpack_from('<QQ', whole, 40)


def samples_before(whole, start, end):
    """The number of whole samples of a file before a position."""
    at, n = start, 0
    while at + 8 <= end:
        kind, _, size = struct.unpack_from('<IHH', whole, at)
        at += size
        n += kind == 9 and at <= end
    return n


def times_of_samples(whole, start, end):
    """Return the offset and the value of the time of each sample."""
    attrs, = struct.unpack_from('<Q', whole, 24)
    kinds, = struct.unpack_from('<Q', whole, attrs + 24)
    behind = 8 * (1 + sum(bool(kinds & bit) for bit in (1 << 16, 1 << 0, 1 << 1)))
    at, found = start, []
    while at < end:
        kind, _, size = struct.unpack_from('<IHH', whole, at)
        if kind == 9:
            found.append((at + behind, *struct.unpack_from('<Q', whole, at + behind)))
        at += size
    return found


@pytest.mark.parametrize('bit', [31, 33, 40, 61])
@pytest.mark.parametrize('tenth', [0, 5, 9])
def test_a_time_that_is_too_late(root, tmp_path, bit, tenth):
    """As a flipped bit makes it. Other records keep their times and their order."""
    whole, start, size = record_calls('attar', tmp_path / 'whole.data')
    path = tmp_path / 'x.data'
    samples = times_of_samples(whole, start, start + size)
    at, time = samples[len(samples) * tenth // 10]
    other = bytearray(whole)
    struct.pack_into('<Q', other, at, time + (1 << bit))
    path.write_bytes(other)
    args = ['trace', '--format', 'json', '-e', 'raw_syscalls:sys_enter', '--input']
    rows, _, notes = read(run(*args, tmp_path / 'whole.data'))
    found, remarks, found_notes = read(run(*args, path))
    assert notes['seen'] == found_notes['seen']
    assert any('times of samples are later than its end' in remark for remark in remarks)
    times, expected = [r['time'] for r in found], [r['time'] for r in rows]
    assert times == sorted(times) and max(times) <= max(expected)
    assert len(set(expected) - set(times)) <= 1 and len(times) == len(expected)


def getppids(report):
    table = report['sections'][0]
    name, calls = ([c['name'] for c in table['columns']].index(n) for n in ('syscall', 'calls'))
    return sum(row[calls] for row in table['rows'] if row[name].startswith('getppid'))


@pytest.mark.parametrize('tool', ['perf', 'attar'])
def test_tracepoints_of_a_file_that_is_cut(tmp_path, tool, root):
    """Their formats are behind the data: all samples before the cut are read nevertheless."""
    if tool == 'perf' and not shutil.which('perf'):
        pytest.skip('perf is not installed')
    whole, start, size = record_calls(tool, tmp_path / 'whole.data')
    path, counts = tmp_path / 'cut.data', []
    # In the names of the process, in the samples, at the end of the data, in the features.
    for offset in (start + 400, start + size // 3, start + size - 1, start + size,
                   start + size + 200, start + size + (len(whole) - start - size) // 2):
        path.write_bytes(whole[:offset])
        ended = run('syscalls', '--format', 'json', '--input', path)
        assert ended.returncode == 0, (offset, ended.stderr)
        report = json.loads(ended.stdout)
        assert report['remarks'][0].startswith(f'{path} is damaged: it is truncated: it'), offset
        known = samples_before(whole, start, min(offset, start + size))
        assert report['notes']['seen'] == known, offset
        counts.append(getppids(report))
    assert counts == sorted(counts) and counts[0] == 0 < counts[1] < CALLS
    assert counts[2] in (CALLS - 1, CALLS) and counts[3:] == [CALLS] * 3
    listed = run('list', '--json', '--input', path)
    assert listed.returncode == 0, listed.stderr
    rows = json.loads(listed.stdout)['sections'][0]['rows']
    assert {row[0] for row in rows} == set(TRACEPOINTS.split(','))
    done = run('sql', '--format', 'csv', '--input', path, '--query',
               'SELECT count(*) AS n FROM sys_enter WHERE id = 110')
    assert done.stdout.split()[-1].endswith(f',{CALLS}'), done.stdout + done.stderr


def test_a_cut_file_of_another_kernel(tmp_path, root):
    """The numbers of its tracepoints mean nothing here, so no event has a name."""
    if not shutil.which('perf'):
        pytest.skip('perf is not installed')
    whole, start, size = record_calls('perf', tmp_path / 'whole.data')
    at = whole.index(b'[kernel.kallsyms]') - 16  # the length of the kernel's code
    path, other = tmp_path / 'cut.data', bytearray(whole[:start + size // 2])
    struct.pack_into('<Q', other, at, struct.unpack_from('<Q', other, at)[0] + 1)
    path.write_bytes(other)
    missing = start + size - len(other)
    for args in (['syscalls'], ['trace', '-e', 'raw_syscalls:sys_enter'], ['task-state']):
        ended = run(*args, '--input', path.name, cwd=tmp_path)  # errors shorten long paths
        assert ended.returncode in (1, 2) and ended.stdout == ''
        assert ended.stderr == (
            f'attar: {path.name} is damaged: it is truncated: it has {len(other)} bytes, of which '
            f'{len(other) - start} are data; {missing} bytes of data are missing; so the names '
            'and fields of its tracepoints, which follow the data, are unknown: copy the file '
            'again, or read it where it was recorded before that machine restarts\n')


def test_samples_with_an_id_of_no_event(tmp_path):
    data = Recording(events=((CPU_CLOCK, 7), (PAGE_FAULTS, 8)))
    for i in range(10):
        data.sample(1000 + i, number=[7, 8, 99][i % 3])
    rows, remarks, _ = read(trace(data.write(tmp_path / 'x.data')))
    assert [r['time'] for r in rows] == [1000, 1003, 1006, 1009]
    assert '3 records could not be parsed' in remarks


@pytest.mark.parametrize('size, sentence', [
    (0, 'has a size of 0 bytes, which is invalid: the rest cannot be read'),
    (4, 'has a size of 4 bytes, which is invalid: the rest cannot be read'),
])
def test_a_record_of_an_invalid_size(tmp_path, size, sentence):
    data = Recording()
    data.sample(1000)
    at = len(data.bytes)
    data.bytes += struct.pack('<IHH', 9, 0, size)
    data.sample(1001)
    rows, remarks, _ = read(trace(data.write(tmp_path / 'x.data')))
    assert [r['time'] for r in rows] == [1000]
    assert f'{tmp_path}/x.data is damaged: the record at byte {at} {sentence}' in remarks


@pytest.mark.parametrize('index', [0, 5, 9])
@pytest.mark.parametrize('chain', [None, [0x401000, 0x402000]], ids=['plain', 'chain'])
def test_a_sample_that_is_too_long(tmp_path, chain, index):
    """Its size, in which a bit is wrong, includes other samples."""
    data = Recording(events=())
    data.attr(CPU_CLOCK, 7, fields=SAMPLE_TYPE | (SAMPLE_CALLCHAIN if chain else 0))
    starts = []
    for i in range(12):
        starts.append(len(data.bytes))
        data.sample(1000 + i, chain=chain)
    size = starts[1] - starts[0]
    path = data.write(tmp_path / 'x.data')
    assert not any('damaged' in remark for remark in read(trace(path))[1])
    whole = bytearray(path.read_bytes())
    struct.pack_into('<H', whole, starts[index] + 6, 3 * size)
    path.write_bytes(whole)
    rows, remarks, _ = read(trace(path))
    assert [r['time'] for r in rows] == [
        1000 + i for i in range(12) if not index < i < index + 3]
    assert (f'{tmp_path}/x.data is damaged: a sample has {2 * size} bytes behind its fields, where '
            'other records may have been: these cannot be read') in remarks


def test_a_sample_that_is_too_short(tmp_path):
    data = Recording()
    data.sample(1000)
    data.record(9, struct.pack('<Q', 1))
    data.sample(1001)
    rows, remarks, _ = read(trace(data.write(tmp_path / 'x.data')))
    assert [r['time'] for r in rows] == [1000, 1001]
    assert '1 record could not be parsed' in remarks


def sparse(path, start=b''):
    with path.open('wb') as file:
        file.write(start)
        file.truncate(10 << 30)
    return path


def test_a_sparse_file_of_10_gb(tmp_path):
    path = sparse(tmp_path / 'x.data')
    ended = trace(path)
    assert ended.returncode == 1 and is_one_sentence(ended, path), ended.stderr
    assert 'is not a recording: it does not start with PERFILE2' in ended.stderr


def test_a_recording_that_is_continued_by_10_gb_of_zeros(tmp_path):
    """Zeros are not records: reading ends at the first one."""
    data = small()
    path = sparse(tmp_path / 'x.data', data.bytes)
    rows, remarks, _ = read(trace(path))
    assert len(rows) == SAMPLES
    assert (f'{path} is damaged: the record at byte {len(data.bytes)} has a size of 0 bytes, '
            'which is invalid: the rest cannot be read') in remarks


@pytest.mark.parametrize('content, sentence', [
    (b'', 'is empty: it is not a recording'),
    (b'x', 'is not a recording'),
    (b'hello\n' * 100, 'is not a recording: it does not start with PERFILE2, as perf.data does'),
    (struct.pack('<Q', 0x32454c4946524550), 'is not a recording'),
    (Recording(events=()).bytes, 'the recording has no events'),
], ids=['empty', 'a byte', 'text', 'half a header', 'no events'])
@pytest.mark.parametrize('kind', ['file', 'fifo'])
def test_what_is_not_a_recording(tmp_path, kind, content, sentence):
    path = tmp_path / 'x.data'
    if kind == 'fifo':
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(content,))
        writer.start()
        ended = trace(path)
        writer.join()
    else:
        path.write_bytes(content)
        ended = trace(path)
    assert ended.returncode == 1 and is_one_sentence(ended, path), ended.stderr
    assert sentence in ended.stderr


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_fifo_without_a_writer_can_be_interrupted(number, tmp_path, spawn):
    path = tmp_path / 'fifo'
    os.mkfifo(path)
    process = spawn(ATTAR, 'top', '--input', path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True)
    wait_until(lambda: any(fd.samefile(path) for fd in Path(f'/proc/{process.pid}/fd').iterdir()
                           if fd.exists()), 'the fifo is open')
    process.send_signal(number)
    assert 'interrupted' in process.communicate(timeout=10)[1]
    assert process.returncode == 1


def test_a_fifo_is_a_pipe(tmp_path):
    path = tmp_path / 'fifo'
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(small().bytes,))
    writer.start()
    rows, _, _ = read(trace(path))
    writer.join()
    assert len(rows) == SAMPLES


@pytest.mark.parametrize('path, sentence', [
    ('/tmp', '/tmp is a directory, not a recording'),
    ('/nowhere/x.data', 'cannot open /nowhere/x.data: No such file or directory'),
    ('/dev/null', "'/dev/null' is empty: it is not a recording"),
])
def test_what_cannot_be_opened(path, sentence):
    ended = trace(path)
    assert ended.returncode == 1, ended.stderr
    assert sentence in ended.stderr and ended.stderr.count('\n') == 1


def test_an_empty_name():
    ended = trace('')
    assert (ended.returncode, ended.stderr) == (2, 'attar: --input: the value is empty\n')


def test_a_file_without_permission(tmp_path, root):
    path = small().write(tmp_path / 'x.data')
    tmp_path.chmod(0o755)
    path.chmod(0)
    ended = trace(path, user='nobody')
    assert ended.returncode in (1, 3), ended.stderr
    assert is_one_sentence(ended, path) and ': Permission denied' in ended.stderr
