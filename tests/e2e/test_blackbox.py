# SPDX-License-Identifier: MIT
"""attar record --overwrite: the newest events in memory, written to a file when needed."""
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from command import ATTAR, is_waiting, run, wait_until
from scripts import rows_of

pytestmark = pytest.mark.usefixtures('root')

FIRST = 7_000_000_000_000_000
SEEKS = f'syscalls:sys_enter_lseek/offset>={FIRST} && whence==0/'
# Reads lines "COUNT [NAME]": a process of this name, the program itself without one, seeks to the
# next COUNT offsets; answers each with a line.
PROGRAM = f'''
import ctypes, os, sys
zero, at = os.open('/dev/zero', os.O_RDONLY), {FIRST}
for line in sys.stdin:
    count, *name = line.split()
    pid = os.fork() if name else 0
    if not pid:
        if name:
            ctypes.CDLL(None).prctl(15, name[0].encode(), 0, 0, 0)
        for i in range(at, at + int(count)):
            os.lseek(zero, i, 0)
        if name:
            os._exit(0)
    else:
        os.waitpid(pid, 0)
    at += int(count)
    print(at, flush=True)
'''


class Seeker:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, '-c', PROGRAM], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)

    def seek(self, count, name=''):
        """Return the offset after the last one."""
        self.process.stdin.write(f'{count} {name}\n')
        return int(self.process.stdout.readline())


@pytest.fixture
def seeker():
    it = Seeker()
    yield it
    it.process.kill()
    it.process.communicate()


class Box:
    def __init__(self, spawn, path, *args, events=SEEKS, prefix=()):
        self.path, self.errors = path, path.with_suffix('.err')
        with open(self.errors, 'w', encoding='utf-8') as errors:
            self.process = spawn(*prefix, ATTAR, 'record', '--overwrite', '-a', '-o', path,
                                 *(['-e', events] if events else []), *args,
                                 stdout=subprocess.PIPE, stderr=errors, text=True)
        wait_until(lambda: is_waiting(self.process), 'attar waits')

    def notes(self):
        """The reason, number of events and duration of each dump."""
        return [(reason, int(n), float(took)) for reason, n, took in re.findall(
            r'attar: (.+): (\d+) events in \S+, written in ([\d.]+) s',
            self.errors.read_text(encoding='utf-8'))]

    def dump(self):
        before = len(self.notes())
        self.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: len(self.notes()) > before, 'a file is written')
        return self.notes()[-1]

    def end(self):
        self.process.send_signal(signal.SIGINT)
        out = self.process.communicate(timeout=60)[0]
        assert self.process.returncode == 0, self.errors.read_text(encoding='utf-8')
        return out


def events_of(path, *args):
    """Each event of a recording: its time, name of the task, PID and offset."""
    done = run('trace', '-q', '--format', 'json', '--input', path, *args)
    assert done.returncode == 0, done.stderr
    return events_in(done.stdout)


def events_in(text):
    reports = [json.loads(line) for line in text.splitlines()]
    return [(row['time'], row['comm'], row['tid'], row['values']['offset'])
            for r in reports for s in r['sections'] if s['kind'] == 'events' for row in rows_of(s)]


def offsets_of(path, *args):
    return [event[-1] for event in events_of(path, *args)]


def test_a_file_on_request_and_at_the_end(tmp_path, spawn, seeker):
    """The former file is kept; both have all events so far."""
    path = tmp_path / 'box.data'
    box = Box(spawn, path)
    middle = seeker.seek(1000)
    reason, n, took = box.dump()
    assert (reason, n) == ('request', 1000) and took < 20
    assert offsets_of(path) == list(range(FIRST, middle))
    end = seeker.seek(500)
    assert 'in memory: 1500 events' not in box.end()
    assert box.notes()[-1][:2] == ('end', 1500)
    assert offsets_of(path) == list(range(FIRST, end))
    assert offsets_of(tmp_path / 'box.data.1') == list(range(FIRST, middle))


def test_equal_to_a_recording_of_the_same_time(tmp_path, spawn, seeker):
    """Names and PIDs, also of processes that have ended."""
    box = Box(spawn, tmp_path / 'box.data', '--keep', '3s')
    whole = spawn(ATTAR, 'record', '-q', '-a', '-e', SEEKS, '-o', tmp_path / 'all.data')
    wait_until(lambda: is_waiting(whole), 'attar waits')
    end, dropped = time.monotonic() + 6, FIRST
    for i in range(1000):
        last = seeker.seek(100, f'child{i}' if i % 2 else '')
        if time.monotonic() > end:
            break
        time.sleep(0.1)
    box.dump()
    whole.send_signal(signal.SIGINT)
    assert whole.wait(60) == 0
    kept, expected = events_of(tmp_path / 'box.data'), events_of(tmp_path / 'all.data')
    expected = expected[-len(kept):]
    assert [event[1:] for event in kept] == [event[1:] for event in expected]
    assert kept[-1][-1] == last - 1
    assert all(abs(ours[0] - other[0]) < 1e8 for ours, other in zip(kept, expected))
    assert kept[0][-1] > dropped + 100 and kept[-1][0] - kept[0][0] < 8e9
    assert len({comm for _, comm, *_ in kept}) > 3
    box.end()


def test_names_that_precede_what_is_kept(tmp_path, spawn, seeker):
    """A process that got its name before the kept time and has ended in it, and its mappings."""
    go, there = os.pipe()
    old = subprocess.Popen([sys.executable, '-c', f"""
import ctypes, os
ctypes.CDLL(None).prctl(15, b'renamed', 0, 0, 0)
print(flush=True)
os.read({go}, 1)
os.lseek(os.open('/dev/zero', 0), {FIRST + 77_000_000}, 0)
"""], pass_fds=[go], stdout=subprocess.PIPE)
    box = Box(spawn, tmp_path / 'box.data', '--keep', '1s', '-g')
    old.stdout.readline()
    end = time.monotonic() + 4
    while time.monotonic() < end:
        seeker.seek(10)
        time.sleep(0.05)
    os.write(there, b'x')
    assert old.wait(60) == 0
    box.dump()
    kept = events_of(tmp_path / 'box.data')
    assert [e[1:] for e in kept if e[-1] == FIRST + 77_000_000] == [
        ('renamed', old.pid, FIRST + 77_000_000)]
    done = run('trace', '-g', '--input', tmp_path / 'box.data', '-e',
               'syscalls:sys_enter_lseek/comm=="renamed"/')
    assert 'libc.so.6' in done.stdout
    box.end()


def test_memory_is_limited(tmp_path, spawn, seeker):
    """The newest events are kept, without a gap."""
    box = Box(spawn, tmp_path / 'box.data', '--max-memory', '1M', '-m', '2048')
    last = seeker.seek(10)
    for _ in range(60):
        last = seeker.seek(5000)
    box.dump()
    out = box.end()
    kept = offsets_of(tmp_path / 'box.data')
    assert kept == list(range(last - len(kept), last)) and 5000 < len(kept) < 300_000
    size = float(re.search(r'in memory: .* in ([\d.]+) MiB', out)[1])
    assert 0.3 < size <= 1.2


def test_perf_reads_it(tmp_path, spawn, seeker, needs_perf):
    """Of several seconds: each is compressed separately."""
    box = Box(spawn, tmp_path / 'box.data')
    for _ in range(8):
        seeker.seek(50)
        time.sleep(0.5)
    box.end()
    done = subprocess.run(['perf', 'script', '-F', 'pid', '-i', tmp_path / 'box.data'],
                          capture_output=True, text=True)
    assert 'decompress' not in done.stderr
    assert done.stdout.split().count(str(seeker.process.pid)) == 400


@pytest.mark.parametrize('before', [None, '1s'])
def test_a_condition_of_an_event(tmp_path, spawn, seeker, before):
    """A file after it, of the time before it; none at the end."""
    path = tmp_path / 'box.data'
    when = f'syscalls:sys_enter_lseek/offset=={FIRST + 3000}/'
    box = Box(spawn, path, '--dump-when', when, '--after', '1s',
              *(['--before', before] if before else []))
    seeker.seek(1000)
    time.sleep(4)
    seeker.seek(2000)
    assert not box.notes()
    seeker.seek(1000)
    wait_until(box.notes, 'a file is written')
    kept = offsets_of(path)
    assert kept == list(range(FIRST + (1000 if before else 0), FIRST + 4000))
    box.end()
    assert [note[:2] for note in box.notes()] == [(when, len(kept))]


def test_a_full_disk_does_not_end_it(tmp_path, spawn, seeker):
    """It goes on, and the next file has all events."""
    path = tmp_path / 'box.data'
    path.symlink_to('/dev/full')
    box = Box(spawn, path)
    assert not (tmp_path / 'box.data.1').exists()
    seeker.seek(10)
    box.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: 'No space left on device' in box.errors.read_text(), 'it fails')
    path.unlink()
    seeker.seek(10)
    assert box.dump()[1] == 20
    box.end()


def test_at_most(tmp_path, spawn, seeker):
    box = Box(spawn, tmp_path / 'box.data', '--dump-when',
              f'syscalls:sys_enter_lseek/offset>={FIRST} && offset%1000==0/', '--at-most', '2/h')
    for i in range(5):
        seeker.seek(1000)
        wait_until(lambda: len(box.notes()) == min(i + 1, 2), 'a file is written')
        time.sleep(0.5)
    assert 'files that --at-most has prevented: 3' in box.end()
    assert len(box.notes()) == 2


def test_a_condition_of_pressure(tmp_path, spawn, seeker):
    """Two loops on one CPU wait for each other for half of the time."""
    if not os.path.exists('/proc/pressure/cpu'):
        pytest.skip('the kernel does not measure pressure')
    box = Box(spawn, tmp_path / 'box.data', '--dump-when', 'psi:cpu some 100ms/2s')
    cpu = str(min(os.sched_getaffinity(0)))
    loops = [spawn('taskset', '-c', cpu, sys.executable, '-c', 'while True: pass')
             for _ in range(2)]
    wait_until(box.notes, 'a file is written')
    for loop in loops:
        loop.kill()
    assert box.notes()[0][0] == 'psi:cpu some 100ms/2s'
    box.end()


# Other boxes of this machine do not matter: the socket is in a directory of its own.
ALONE = ('unshare', '-m', 'sh', '-c',
         'mount -t tmpfs -o mode=700 none /run/attar && exec "$@"', 'sh')


@pytest.fixture
def alone(root):
    os.makedirs('/run/attar', mode=0o700, exist_ok=True)
    return ALONE


def beside(box, *args):
    return subprocess.run(['nsenter', '-m', '-t', str(box.process.pid), *map(str, args)],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_at_reads_the_box_of_this_machine(tmp_path, spawn, seeker, alone):
    """The same events as a file, and the commands that follow read it, too."""
    box = Box(spawn, tmp_path / 'box.data', prefix=alone)
    seeker.seek(100, 'before')
    time.sleep(1.1)
    at = datetime.datetime.now().strftime('%H:%M:%S.%f')
    seeker.seek(200, 'ended')
    done = beside(box, ATTAR, 'trace', '-q', '--format', 'json', '--at', at, '--for', '1h')
    assert done.returncode == 0, done.stderr
    events = events_in(done.stdout)
    assert [event[-1] for event in events] == list(range(FIRST + 100, FIRST + 300))
    assert {event[1] for event in events} == {'ended'}
    box.dump()
    in_file = events_of(tmp_path / 'box.data', '--at', at)
    assert [event[1:] for event in in_file] == [event[1:] for event in events]
    done = beside(box, ATTAR, 'trace', '--at', '2020-01-01 00:00:00', '--for', '1s')
    assert done.returncode == 2 and 'is outside of the black box, which has events' in done.stderr
    second = Box(spawn, tmp_path / 'second.data',
                 prefix=['nsenter', '-m', '-t', str(box.process.pid)])
    assert 'another black box of this user runs' in second.errors.read_text()
    second.end()
    box.process.kill()
    box.process.communicate()


def test_the_commands_after_next_read_the_box(tmp_path, spawn, alone):
    box = Box(spawn, tmp_path / 'box.data', events=None, prefix=alone)
    time.sleep(2)
    done = beside(box, ATTAR, 'overview', '--from=-1s', '--rows', '3')
    assert done.returncode == 0 and 'processes' in done.stdout, done.stderr
    assert '/proc/self' not in done.stdout + done.stderr
    for line in re.findall(r'next: attar (.*)', done.stdout):
        assert '--from' in line or '--input' not in line
    box.end()


def test_other_users_do_not_get_it(tmp_path, spawn, alone):
    """Also if they could reach the socket."""
    box = Box(spawn, tmp_path / 'box.data', prefix=alone)
    mode = beside(box, 'stat', '-c', '%a', '/run/attar', '/run/attar/box')
    assert mode.stdout.split() == ['700', '600']
    assert beside(box, 'chmod', '777', '/run/attar', '/run/attar/box').returncode == 0
    connect = """import os, socket
os.setresuid(65534, 65534, 65534)
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect('/run/attar/box')
print(s.recv(1), flush=True)"""
    assert beside(box, sys.executable, '-c', connect).stdout == "b''\n"
    root = connect.replace('os.setresuid(65534, 65534, 65534)', '')
    assert beside(box, sys.executable, '-c', root).stdout == "b'r'\n"
    box.end()


def test_no_box(alone):
    done = subprocess.run([*alone, ATTAR, 'trace', '-e', 'cpu-clock', '--at', '1'],
                          capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ''
    assert '--at requires --input, or a black box that runs' in done.stderr


def test_after_kill_nothing_remains(tmp_path, spawn, seeker):
    box = Box(spawn, tmp_path / 'box.data')
    seeker.seek(10)
    box.process.kill()
    box.process.communicate()
    assert not (tmp_path / 'box.data').exists()


@pytest.mark.parametrize('words, sentence', [
    ('--keep 1m', '--keep requires --overwrite, which keeps the newest events in memory'),
    ('--overwrite --before 1s', '--before requires --dump-when, the condition'),
    ('--overwrite --portable', '--overwrite conflicts with --portable'),
    ('--overwrite -o -', '--overwrite conflicts with --output -'),
    ('--overwrite --max-size 1M', '--overwrite conflicts with --max-size'),
    ('--overwrite --dump-when sched:sched_switch --at-most 6',
     "--at-most: '6' is not a rate: write a number and a unit, such as 6/h (s, m, h, d)"),
    ('--overwrite --dump-when sched:sched_switch --at-most 0/h', "'0/h' is not a rate"),
])
def test_bad_options(words, sentence):
    done = run('record', '-e', 'page-faults', *words.split())
    assert done.returncode == 2 and done.stdout == ''
    assert sentence in done.stderr and done.stderr.count('\n') == 1


@pytest.mark.parametrize('when, sentence', [
    ('psi:cpu any 1ms/1s', "'psi:cpu any 1ms/1s' is not a condition of pressure: write for example "
     'psi:cpu some 200ms/1s'),
    ('psi:cpu some 1ms', "'1ms' is not a time in a window"),
    ('psi:cpu some 2s/1s', "the kernel refuses 'some 2000000 1000000' (us): a window has"),
    ('psi:disk some 1ms/1s', 'cannot watch /proc/pressure/disk: No such file'),
    ('sched:no_such_event', 'no_such_event'),
])
def test_bad_conditions(tmp_path, when, sentence):
    done = run('record', '-e', 'page-faults', '--overwrite', '--dump-when', when,
               '-o', tmp_path / 'x', '-d', '1s')
    assert done.returncode in (1, 2) and done.stdout == ''
    assert f"--dump-when '{when}'" in done.stderr and sentence in done.stderr
