# SPDX-License-Identifier: MIT
"""Memory that another user shares with attar as libperfume does, forged to delay or fill it."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from command import ATTAR, wait_until, workload

pytestmark = [pytest.mark.exclusive,
              pytest.mark.skipif(os.path.exists('/sys/kernel/tracing/user_events_data'),
                                 reason='this kernel has user_events')]


@pytest.fixture
def hostile(nobody, shared):
    """hostile(mode, n) starts hostile_area as the other user, and waits until it is ready."""
    program = shared / 'hostile_area'
    shutil.copy(workload('hostile_area'), program)

    def start(*words):
        process = nobody.start(program, *words, stdout=subprocess.PIPE,
                               start_new_session=True)
        assert process.stdout.readline() == 'ready\n'
        return process
    return start


class Trace:
    """attar trace as root, with its time in s and its memory in MiB."""

    def __init__(self, *args):
        self.began, self.mib = time.monotonic(), 0
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [ATTAR, 'trace', '-a', '-e', 'user_events:e2e_*/transport=shm/', *map(str, args)],
            stdout=self.out, stderr=self.err)

    def end(self, seconds=30):
        try:
            wait_until(self.has_ended, 'attar has ended', seconds)
        finally:
            if self.process.returncode is None:
                self.process.kill()
        return self

    def count(self, text):
        """Return how often the text is in what attar has written so far."""
        return sum(os.pread(file.fileno(), 1 << 24, 0).decode().count(text)
                   for file in (self.out, self.err))

    def report(self):
        """The last report, with --format json."""
        return json.loads(os.pread(self.out.fileno(), 1 << 24, 0).splitlines()[-1])

    def has_ended(self):
        """Its peak of memory is read meanwhile: ru_maxrss begins with the peak of this
        process."""
        with open(f'/proc/{self.process.pid}/status', encoding='ascii') as status:
            peak = re.search(r'^VmHWM:\s*(\d+) kB', status.read(), re.M)
        self.mib = int(peak[1]) / 1024 if peak else self.mib
        if self.process.poll() is None:
            return False
        self.seconds = time.monotonic() - self.began
        return True


# Connects to the socket at which programs register, in four processes.
CONNECT = '''
import os, signal, socket, sys
signal.signal(signal.SIGALRM, signal.SIG_DFL)
print('begins', flush=True)
for _ in range(3):
    if not os.fork():
        break
signal.alarm(60)
while True:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    s.connect_ex(chr(0) + sys.argv[1])
    s.close()
'''


@pytest.fixture
def calm():
    """What attar takes without an attack."""
    return Trace('-d', '1s').end()


def test_a_ring_that_never_ends_delays_nothing(hostile, calm):
    hostile('busy')
    attack = Trace('-d', '1s').end()
    assert attack.process.returncode == 0 and attack.seconds < calm.seconds + 1


def test_a_ring_that_never_ends_does_not_block_signals(hostile, calm):
    hostile('busy')
    attack = Trace()
    time.sleep(0.5)  # the attack lasts until the program is killed
    sent = time.monotonic()
    attack.process.send_signal(signal.SIGINT)
    attack.end()
    assert attack.process.returncode == 0 and time.monotonic() - sent < 1


def test_areas_without_memory_cost_none(hostile, calm):
    hostile('sparse', 64)
    attack = Trace('-d', '1s').end()
    assert attack.process.returncode == 0 and attack.seconds < calm.seconds + 1
    assert attack.mib < calm.mib + 32


def test_one_user_does_not_take_all_places(hostile, calm):
    """The events of a program of root are seen, and the remark names the other user."""
    hostile('events', 9)
    emit = subprocess.Popen([workload('emit'), 'forever'], stdout=subprocess.DEVNULL,
                            env=dict(os.environ, PERFUME_RING='1'))
    attack = Trace('-d', '60s')
    try:
        wait_until(lambda: attack.count(' user_events:e2e_tick ') >= 20, 'events of root are seen')
        wait_until(lambda: attack.count('most of them of the user with uid 65534'), 'the remark')
    finally:
        emit.kill()
        emit.wait()
        attack.process.send_signal(signal.SIGINT)
    attack.end()


def traced_with_a_program_of_root(hostile, mode):
    """Run attar beside the attack and a program of root; return its report."""
    hostile(mode)
    emit = subprocess.Popen([workload('emit'), 'forever'], stdout=subprocess.DEVNULL)
    try:
        attack = Trace('-d', '2s', '--format', 'json').end()
    finally:
        emit.kill()
        emit.wait()
    assert attack.process.returncode == 0
    assert attack.count('e2e_tick') >= 2
    return attack


@pytest.mark.parametrize('mode', ['skip', 'lost'])
def test_losses_that_are_not_possible_are_not_counted(hostile, mode):
    attack = traced_with_a_program_of_root(hostile, mode)
    report = attack.report()
    assert report['notes']['lost'] == 0
    assert not any('lost' in remark for remark in report.get('remarks', []))
    assert attack.count('of the user with uid 65534 has invalid contents') == 1


def test_losses_of_a_user_are_not_those_of_another(hostile):
    attack = traced_with_a_program_of_root(hostile, 'loses')
    report = attack.report()
    assert report['notes']['lost'] == 0
    remark, = (r for r in report['remarks'] if 'lost' in r)
    assert 'of the user with uid 65534 ' in remark
    assert 1000 <= int(re.search(r'lost (\d+) events', remark)[1]) <= 2200000


def test_losses_of_the_only_user_are_counted(hostile):
    hostile('loses')
    attack = Trace('-d', '2s', '--format', 'json').end()
    assert 1000 <= attack.report()['notes']['lost'] <= 2200000


def test_locks_that_are_never_released_delay_nothing(hostile, calm):
    hostile('locked', 1500)
    attack = Trace('-d', '2s').end()
    assert attack.process.returncode == 0 and attack.seconds < calm.seconds + 1 + 1


def test_pages_that_never_arrive_delay_nothing(hostile, calm, silent):
    """A second for all programs of the user, however many."""
    hostile('silent', 30, silent)
    attack = Trace('-d', '2s').end()
    assert attack.process.returncode == 0 and attack.seconds < calm.seconds + 1 + 1 + 1


def test_events_that_are_disabled_again_and_again_delay_nothing(hostile, calm):
    hostile('relock', 500)
    attack = Trace('-d', '4s').end()
    assert attack.process.returncode == 0 and attack.seconds < calm.seconds + 3 + 0.8


def cpu_time(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as stat:
        return sum(map(int, stat.read().rsplit(')', 1)[1].split()[11:13])) / 100


def listeners():
    with open('/proc/net/unix', encoding='ascii') as sockets:
        return re.findall(r' 00010000 .*@(perfume-\w+)', sockets.read())


def test_connections_without_a_program_cost_little(nobody):
    """A program of root that starts meanwhile is found."""
    before = set(listeners())
    attack = Trace('-d', '60s')
    wait_until(lambda: set(listeners()) - before, 'the socket of attar')
    name, = set(listeners()) - before
    crowd = nobody.start(sys.executable, '-c', CONNECT, name, stdout=subprocess.PIPE,
                         start_new_session=True)
    crowd.stdout.readline()
    try:
        used, begin = cpu_time(attack.process.pid), time.monotonic()
        time.sleep(3)  # the attack goes on
        share = (cpu_time(attack.process.pid) - used) / (time.monotonic() - begin)
        emit = subprocess.Popen([workload('emit'), 'forever'], stdout=subprocess.DEVNULL,
                                env=dict(os.environ, PERFUME_RING='1'))
        wait_until(lambda: attack.count(' user_events:e2e_tick ') >= 20, 'events of root are seen')
        emit.kill()
        emit.wait()
    finally:
        os.killpg(crowd.pid, signal.SIGKILL)
        attack.process.send_signal(signal.SIGINT)
    attack.end()
    assert share < 0.06


def test_many_descriptors_delay_nothing(hostile, calm):
    hostile('descriptors', 20)
    attack = Trace('-d', '1s').end()
    assert attack.process.returncode == 0 and attack.seconds < calm.seconds + 1
