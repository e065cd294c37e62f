# SPDX-License-Identifier: MIT
"""
Shares of the time in which a spinning, a half-idle and a sleeping program run: within 2 % of what
the kernel counts in the same time.
"""
import bisect
import threading
import time
from pathlib import Path

import pytest

import lost_samples
from command import wait_until
from scripts import report, rows

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures('root')]


class Reader(threading.Thread):
    """The times of threads on a CPU, with the time at which they were read."""

    def __init__(self, tids):
        super().__init__()
        self.files = {tid: Path(f'/proc/{tid}/schedstat') for tid in tids}
        self.seen = {tid: [] for tid in tids}
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(0.003):
            self.read()
        self.read()

    def read(self):
        for tid, file in self.files.items():
            before = time.time_ns()
            ran = int(file.read_text().split()[0])
            self.seen[tid].append(((before + time.time_ns()) // 2, ran))

    def between(self, tid, begin, end):
        """Time on a CPU."""
        def at(moment):
            seen = self.seen[tid]
            i = bisect.bisect(seen, (moment,))
            assert 0 < i < len(seen)
            (t0, first), (t1, last) = seen[i - 1], seen[i]
            return first + (last - first) * (moment - t0) / (t1 - t0)

        return at(end) - at(begin)


def of_wall(found, tid):
    return sum(r['time'] * r['running'] / 100 for r in rows(found, 'threads') if r['tid'] == tid)


def of_task_state(found, tid):
    return sum(r['total'] for r in rows(found, 'task-state')
               if r['tid'] == tid and r['state'] == 'R')


def of_overview(found, tid):
    return sum(r['on CPU'] for r in rows(found, 'processes') if r['pid'] == tid)


@pytest.mark.parametrize('words, seen_of', [
    (['wall'], of_wall), (['task-state', '--perins'], of_task_state), (['overview'], of_overview)],
    ids=['wall', 'task-state', 'overview'])
def test_shares(words, seen_of):
    with lost_samples.programs() as tids:
        for _ in range(5):
            reader = Reader(tids)
            reader.start()
            wait_until(lambda: all(map(len, reader.seen.values())), 'the first reading')
            found = report(*words, '--rows', 0, '-m', 1024, '-p', ','.join(map(str, tids)),
                           '-d', '3s')
            reader.ended.set()
            reader.join()
            if not found['notes']['lost']:
                break
    if found['notes']['lost']:
        pytest.skip('the machine is too busy')
    end, length = found['time'], found['interval_ns']
    for tid in tids:
        ran = reader.between(tid, end - length, end)
        assert seen_of(found, tid) / length == pytest.approx(ran / length, abs=0.02), (
            tid, found['remarks'])
