# SPDX-License-Identifier: MIT
"""Recordings and senders that claim any number of threads and mappings do not fill the memory."""
import json
import re

from command import run
from perf_data import Recording

MIB = 1 << 20


def analyse(path, *args):
    """The report of a recording, its remarks, and the bytes of memory that attar needed."""
    ended = run('top', '-q', '--format', 'json', '--input', path, *args)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    return report, '\n'.join(report['remarks']), report['notes']['self_rss']


def names(report):
    table = report['sections'][0]
    column = [c['name'] for c in table['columns']].index('comm')
    return {row[column] for row in table['rows']}


def write(path, steps):
    """A recording of these steps, which are functions that add records at a time."""
    recording = Recording()
    with open(path, 'wb') as to:
        for time, step in enumerate(steps, 1):
            step(recording, time * 1000)
            if time % 10000 == 0:
                recording.round()
            if len(recording.bytes) > 100000:
                to.write(recording.bytes)
                recording.bytes = b''
        recording.round()
        to.write(recording.bytes)
    return path


def comm(pid, tid, name):
    return lambda r, time: r.comm(time, name, pid=pid, tid=tid)


def sample(pid, tid):
    return lambda r, time: r.sample(time, pid=pid, tid=tid)


def mapping(pid, number):
    return lambda r, time: r.mmap(time, f'/bin/{number % 100}', number << 20, 4096, 0, pid=pid,
                                  tid=pid)


def test_any_number_of_processes(tmp_path):
    """One that is busy keeps its name; idle ones are forgotten, which the report says."""
    def steps():
        yield comm(1, 1, 'busy')
        for pid in range(1000, 501000):
            yield comm(pid, pid, 'x' * 200)
            if pid % 1000 == 0:
                yield sample(1, 1)
    report, remarks, memory = analyse(write(tmp_path / 'recording', steps()))
    forgotten = int(re.search(r'(\d+) idle threads were forgotten', remarks)[1])
    assert 500000 - (1 << 18) <= forgotten < 500000
    assert names(report) == {'busy'}
    assert memory < 250 * MIB


def test_any_number_of_mappings(tmp_path):
    """4 million: 80 processes with 50,000 each, for which attar reserves more."""
    def steps():
        for pid in range(1000, 1080):
            yield from (mapping(pid, number) for number in range(50000))
        yield comm(1, 1, 'last')
        yield sample(1, 1)
    report, remarks, memory = analyse(write(tmp_path / 'recording', steps()))
    assert re.search(r'\d+ idle threads were forgotten', remarks)
    assert names(report) == {'last'}
    assert memory < 300 * MIB


def test_100000_tasks_of_a_large_machine_are_complete(tmp_path):
    def steps():
        yield from (comm(pid, pid, f'task{pid}') for pid in range(1000, 101000))
        yield from (mapping(pid, 1) for pid in range(1000, 101000))
        yield from (sample(pid, pid) for pid in range(1000, 101000))
    path = write(tmp_path / 'recording', steps())
    done = run('trace', '-e', 'cpu-clock', '--format', 'csv', '--input', path)
    assert done.returncode == 0 and 'forgotten' not in done.stderr
    shown = re.findall(r'\btask(\d+)\b', done.stdout)
    assert sorted(map(int, shown)) == list(range(1000, 101000))
