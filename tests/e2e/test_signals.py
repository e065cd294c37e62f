# SPDX-License-Identifier: MIT
"""Being told to end: once prints, twice aborts; nothing stays behind."""
import fcntl
import re
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from command import ATTAR, Profile, cpu_seconds, is_sampling, run, wait_until, workload


def start(spawn, *args, **kwargs):
    kwargs = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True, **kwargs}
    process = spawn(ATTAR, 'profile', *args, **kwargs)
    wait_until(lambda: is_sampling(process), 'it samples')
    return process


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_once_prints_the_report(spawn, number):
    busy = spawn(workload('split7030'), 1000000)
    process = start(spawn, '-q', '-p', busy.pid, '--format', 'json')
    before = cpu_seconds(busy.pid)
    wait_until(lambda: cpu_seconds(busy.pid) > before + 0.3, 'there is something to report')
    process.send_signal(number)
    text, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert Profile(text).own('heavy') > 50


def held(pipe):
    """How many bytes wait in it to be read."""
    return struct.unpack('i', fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def catches(pid, number):
    caught = re.search(r'^SigCgt:\s*(\w+)', Path(f'/proc/{pid}/status').read_text(), re.M)[1]
    return int(caught, 16) >> (number - 1) & 1


def test_twice_aborts(spawn):
    """The second one kills, also while the first is being obeyed: stdout is a pipe that nobody reads."""
    busy = spawn(workload('split7030'), 1000000)
    process = start(spawn, '-F', 5000, '--each', '-p', busy.pid)
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    wait_until(lambda: held(process.stdout) >= 4096 - 200, 'the pipe is full')
    process.send_signal(signal.SIGINT)
    # Two that come before the first is taken are one.
    wait_until(lambda: not catches(process.pid, signal.SIGINT), 'the first one is taken')
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == -signal.SIGINT


def test_ignored_hangup_stays_ignored(spawn):
    begin = time.monotonic()
    process = start(spawn, '-d', '1s', preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=20)
    assert process.returncode == 0 and time.monotonic() - begin > 1


def test_command_inherits_what_is_ignored_and_nothing_else(spawn):
    """As nohup(1) wants it for HUP; and SIGPIPE, which attar itself does not die of, is as ever."""
    process = spawn(ATTAR, 'profile', '-q', '--', 'grep', 'SigIgn', '/proc/self/status', stdout=subprocess.PIPE, text=True,
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    text, _ = process.communicate(timeout=10)
    ignored = int(text.split()[1], 16)
    assert ignored & 1 << (signal.SIGHUP - 1) and not ignored & 1 << (signal.SIGPIPE - 1)


def test_signals_at_any_moment(spawn):
    """Twenty times, at moments spread over the whole life: a status of its own or death by the signal, no hang."""
    for i in range(20):
        process = spawn(ATTAR, 'profile', '-q', '-d', '5s', stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.003 * i)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode in (0, -signal.SIGINT), (i, process.returncode, errors)


def test_command_gets_its_end_too(spawn):
    """Ctrl-C in a terminal reaches both; SIGTERM to attar alone must not leave the command behind."""
    process = start(spawn, '-q', '--', workload('split7030'), 1000000)
    children = Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()
    assert len(children) == 1
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    wait_until(lambda: not Path(f'/proc/{children[0]}').exists(), 'the command is gone')


def test_duration_ends_the_command():
    """-d bounds the run whatever the command would like."""
    begin = time.monotonic()
    assert run('profile', '-q', '-d', '500ms', '--', 'sleep', 60).returncode >= 0
    assert time.monotonic() - begin < 30


def test_killed_command_is_reported():
    """A command that dies by a signal: its status as a shell gives it."""
    done = run('profile', '-q', '--', 'sh', '-c', 'kill -SEGV $$')
    assert done.returncode == 128 + signal.SIGSEGV, done.stderr


def test_a_command_where_sigchld_is_ignored():
    """As a parent may leave it: the end of the command and its status are noticed all the same."""
    done = run('stat', '-e', 'page-faults', '--', 'sh', '-c', 'exit 7', timeout=30,
               preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 7, done.stderr
