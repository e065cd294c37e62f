# SPDX-License-Identifier: MIT
"""attar cpu-util: the times in /proc/stat, of this machine and simulated ones."""
import ctypes
import json
import os
import re
import shlex
import sys
import threading

import pytest

from command import ATTAR, as_nobody, run

TICK_NS = 10**9 // os.sysconf('SC_CLK_TCK')
# Columns of the report, and what they are the sum of in /proc/stat (a minus: subtracted).
FIELDS = ['user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal', 'guest',
          'guest_nice']


def ticks(table):
    """The ticks of each mode by CPU."""
    names = [c['name'] for c in table['columns']]
    found = {}
    for values in table['rows']:
        row = dict(zip(names, values))
        time, cpu = row.pop('time'), row.pop('cpu', 'all')
        found[cpu] = {
            name: round(share * time / 100 / TICK_NS) for name, share in row.items()
            if share is not None and name != 'cycles'}
    return found


def report(ended):
    assert ended.returncode == 0, ended.stderr
    line = next(line for line in ended.stdout.splitlines() if line.startswith('{"'))
    return {s['name']: ticks(s) for s in json.loads(line)['sections']}


def modes(line):
    t = dict(zip(FIELDS, map(int, line.split()[1:])))
    return {'user': t['user'] + t['nice'] - t['guest'] - t['guest_nice'], 'system': t['system'],
            'irq': t['irq'], 'softirq': t['softirq'], 'guest': t['guest'] + t['guest_nice'],
            'steal': t['steal'], 'iowait': t['iowait'], 'idle': t['idle']}


def stat(text):
    return {int(line[3:].split()[0]): modes(line) for line in text.splitlines()
            if re.match(r'cpu\d', line)}


BURN = '''
import time
print(open("/proc/stat").read())
print("----")
end = time.process_time() + 0.3
while time.process_time() < end: pass
time.sleep(0.2)
print(open("/proc/stat").read())
'''


def test_equals_proc_stat(tmp_path):
    """The report covers more time than the command's reads, and less than the test's reads."""
    out = tmp_path / 'util.json'
    with open('/proc/stat', encoding='ascii') as file:
        first = stat(file.read())
        ended = run('cpu-util', '-o', out, '--', sys.executable, '-c', BURN)
        file.seek(0)
        last = stat(file.read())
    assert ended.returncode == 0, ended.stderr
    inner = [stat(text) for text in ended.stdout.split('----')]
    found = ticks(json.loads(out.read_text())['sections'][1])
    assert set(found) == set(first)
    for cpu, times in found.items():
        for mode, value in times.items():
            if mode in ('idle', 'iowait'):
                continue  # the kernel moves time between them afterwards
            assert inner[1][cpu][mode] - inner[0][cpu][mode] - 1 <= value
            assert value <= last[cpu][mode] - first[cpu][mode] + 1


# Two reads of another machine's /proc/stat. CPU 1 goes offline, CPU 3 comes online.
BEFORE = '''cpu  0 0 0 0 0 0 0 0 0 0
cpu0 100 10 50 1000 5 1 2 3 20 5
cpu1 100 10 50 1000 5 1 2 3 20 5
cpu2 100 10 50 1000 5 1 2 3 20 5
intr 1 2 3
'''
AFTER = '''cpu  0 0 0 0 0 0 0 0 0 0
cpu0 140 20 70 1020 6 2 4 7 30 8
cpu2 100 10 50 999 5 1 2 3 20 5
cpu3 100 10 50 1000 5 1 2 3 20 5
intr 1 2 3
'''
CPU0 = {'user': 37, 'system': 20, 'irq': 1, 'softirq': 2, 'guest': 13, 'steal': 4, 'iowait': 1,
        'idle': 20}


@pytest.fixture(name='machine')
def fixture_machine(tmp_path, root):
    """machine(...) runs attar where the command replaces BEFORE by AFTER in /proc/stat."""
    before, after = tmp_path / 'before', tmp_path / 'after'

    def call(*args):
        before.write_text(BEFORE)
        after.write_text(AFTER)
        words = [ATTAR, 'cpu-util', '--format', 'json', *args, '--', 'cp', after, before]
        shell = f'mount --bind {before} /proc/stat && exec {shlex.join(map(str, words))}'
        return run('-m', 'sh', '-c', shell, program='unshare')

    return call


def test_every_mode(machine):
    """An idle CPU has no shares; one that was not online all the time is left out."""
    assert report(machine()) == {'total': {'all': CPU0}, 'cpus': {0: CPU0, 2: {}}}


def test_cpus_are_selected(machine):
    assert report(machine('-C', '0,1')) == {'total': {'all': CPU0}, 'cpus': {0: CPU0}}


OLDER = BEFORE.replace(' 1000 5 ', ' 300 5 ')
CLOSED_BY_READER = 0x10  # IN_CLOSE_NOWRITE


class Pipe:
    """A named pipe in place of /proc/stat, which each read of attar takes one text from."""

    def __init__(self, path, *texts):
        self.path, self.texts, self.n_taken = path, texts, 0
        os.mkfifo(path)
        libc = ctypes.CDLL(None, use_errno=True)
        self.notes = libc.inotify_init1(os.O_CLOEXEC)
        assert libc.inotify_add_watch(self.notes, os.fsencode(path), CLOSED_BY_READER) > 0
        threading.Thread(target=self._write, daemon=True).start()

    def _write(self):
        for text in self.texts:
            self.path.write_text(text)
            os.read(self.notes, 4096)
            self.n_taken += 1


def test_begins_with_the_measurement(tmp_path, root):
    """Opening events takes time, which is not part of the report."""
    pipe = Pipe(tmp_path / 'stat', OLDER, BEFORE, AFTER)
    words = shlex.join([str(ATTAR), 'cpu-util', '--format', 'json', '--', 'true'])
    ended = run('-m', 'sh', '-c', f'mount --bind {pipe.path} /proc/stat && exec {words}',
                program='unshare')
    assert report(ended)['cpus'] == {0: CPU0, 2: {}}
    assert pipe.n_taken == 3


def test_needs_no_privileges(open_dir):
    attar = open_dir() / 'attar'
    ended = as_nobody(attar, 'cpu-util', '--format', 'json', '-d', '100ms')
    assert report(ended)['cpus']


@pytest.mark.parametrize('args, sentence', [(['-p', '1'], '--pids'), (['-C', 'x'], '--cpus')])
def test_refusals(args, sentence):
    ended = run('cpu-util', *args, '-d', '1ms')
    assert ended.returncode == 2, ended.stderr
    assert sentence in ended.stderr
