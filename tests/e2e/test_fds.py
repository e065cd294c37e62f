# SPDX-License-Identifier: MIT
"""attar fds: a program with a known number of descriptors, and a known growth."""
import json
import signal
import subprocess

import pytest

from command import ATTAR, run, wait_until, is_sampling
from scripts import rows

pytestmark = pytest.mark.usefixtures('root')

PROGRAM = '''
import os, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))
kept = [os.open('/etc/hostname', os.O_RDONLY) for _ in range(100)]
kept += [socket.socket() for _ in range(30)] + [n for _ in range(5) for n in os.pipe()]
print('ready', flush=True)
sys.stdin.readline()
kept += [os.open('/etc/passwd', os.O_RDONLY) for _ in range(150)]
print('done', flush=True)
sys.stdin.readline()
'''


@pytest.fixture(name='program')
def fixture_program():
    with subprocess.Popen(['/usr/bin/python3', '-c', PROGRAM], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as program:
        assert program.stdout.readline() == 'ready\n'
        yield program
        program.stdin.close()


def say(program):
    program.stdin.write('\n')
    program.stdin.flush()


def test_limit_kinds_and_growth(program):
    """3 standard streams, 100 files, 30 sockets, 10 ends of pipes; then 150 files more."""
    with subprocess.Popen([ATTAR, 'fds', '-p', str(program.pid), '-d', '60s', '--format', 'json'],
                          stdout=subprocess.PIPE, text=True) as attar:
        wait_until(lambda: is_sampling(attar), 'events are open')
        attar.send_signal(signal.SIGUSR1)
        before, = rows(json.loads(attar.stdout.readline()), 'nearest to their limit')
        say(program)
        assert program.stdout.readline() == 'done\n'
        attar.send_signal(signal.SIGINT)
        after = json.loads(attar.communicate(timeout=60)[0].splitlines()[-1])
    assert (before['open'], before['limit'], before['growth']) == (143, 400, 0)
    assert before['used'] == pytest.approx(143 / 4)
    assert '30 sockets' in before['what'] and before['most often'] == '/etc/hostname (100)'
    row, = rows(after, 'growing')
    assert (row['pid'], row['open'], row['growth']) == (program.pid, 293, 150)
    assert row['used'] == pytest.approx(293 / 4) and row['per second'] > 0
    assert row['what'] == '250 files, 30 sockets, 12 pipes, 1 device'
    assert row['most often'] == '/etc/passwd (150)'


def test_the_system(program):
    """A third of the limit is more than others have; only the 20 nearest are shown."""
    ended = run('fds', '-d', '1ms', '--format', 'json')
    assert ended.returncode == 0, ended.stderr
    found = rows(json.loads(ended.stdout.splitlines()[-1]), 'nearest to their limit')
    own, = (r for r in found if r['pid'] == program.pid)
    assert own['open'] == 143 and len(found) <= 20
    assert [r['used'] for r in found] == sorted((r['used'] for r in found), reverse=True)
