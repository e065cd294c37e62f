# SPDX-License-Identifier: MIT
"""attar's memory does not grow with the number of processes that start and exit."""
import json
import os
import subprocess
from pathlib import Path

import pytest

from command import ATTAR, Profile, compiler, is_waiting, run, wait_until, workload

pytestmark = pytest.mark.exclusive


def resident(pid):
    """Return the anonymous memory of the process in bytes."""
    lines = Path(f'/proc/{pid}/status').read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith('RssAnon:'))


def open_files(pid):
    return len(os.listdir(f'/proc/{pid}/fd'))


def run_storm(storm, n):
    storm.stdin.write(f'{n}\n')
    storm.stdin.flush()
    assert storm.stdout.readline() == f'{n} done\n'


def wait_for_reports(path, n):
    """attar has handled all events from before the call when it has written n more reports."""
    last = path.read_bytes().count(b'\n') + n
    wait_until(lambda: path.read_bytes().count(b'\n') >= last, f'{n} more reports')


def test_memory_does_not_grow_with_process_names(spawn, tmp_path):
    """4,000 processes with different names fill the tables of exited threads; 4,000 more follow."""
    if any('sanitize' in word for word in compiler()):
        pytest.skip('a sanitizer keeps freed memory')
    out = tmp_path / 'out.json'
    storm = spawn(workload('namestorm'), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    attar = spawn(ATTAR, 'profile', '-q', '-g', '-F', 997, '-i', '100ms', '-p', storm.pid, '-o',
                  out)
    wait_until(lambda: is_waiting(attar), 'its events are enabled')
    run_storm(storm, 4000)
    wait_for_reports(out, 3)
    before = resident(attar.pid), open_files(attar.pid)
    run_storm(storm, 4000)
    wait_for_reports(out, 3)
    after = resident(attar.pid), open_files(attar.pid)
    storm.stdin.close()
    assert attar.wait(30) == 0
    assert after[0] < before[0] + (1 << 20), (before, after)
    assert after[1] <= before[1] + 4, (before, after)
    reports = [Profile(line) for line in out.read_text().splitlines()]
    assert sum(report.samples for report in reports) == \
        sum(report.notes['seen'] for report in reports) > 0
    # The program that walks stacks needs the types of the kernel and the tables of the binaries.
    assert reports[-1].notes['self_rss'] < 48 << 20


THREADS = 10000
COME_AND_GO = f'''
import threading
for i in range({THREADS}):
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
'''


def test_10000_threads_that_come_and_go(root, tmp_path):
    """Each exit is seen once, with another tid, in bounded memory."""
    out = tmp_path / 'x.json'
    done = run('trace', '-q', '-m', 1024, '-e', 'sched:sched_process_exit', '-o', out, '--',
               '/usr/bin/python3', '-S', '-c', COME_AND_GO)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in out.read_text().splitlines()]
    exits = [row[2] for part in found for section in part['sections'] for row in section['rows']]
    notes = found[-1]['notes']
    assert (len(exits), len(set(exits)), notes['lost']) == (THREADS + 1, THREADS + 1, 0)
    assert notes['self_rss'] < 32 << 20 or any('sanitize' in word for word in compiler())
