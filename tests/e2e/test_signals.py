# SPDX-License-Identifier: MIT
"""Being told to end: once prints, twice aborts; nothing stays behind."""
import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from command import ATTAR, BUILD, Profile, cpu_seconds, is_sampling, run, wait_until, workload
from faults import sanitized


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


def in_status(pid, name, number):
    """Whether the signal is in that mask of /proc/PID/status."""
    mask = re.search(rf'^{name}:\s*(\w+)', Path(f'/proc/{pid}/status').read_text(), re.M)[1]
    return int(mask, 16) >> (number - 1) & 1


def send(process, number):
    """Sends the signal from this process, and waits until it was taken."""
    process.send_signal(number)
    wait_until(lambda: not in_status(process.pid, 'ShdPnd', number), 'the signal is taken')


def start_with_full_pipe(spawn):
    """A run that, told to end, waits for its reader."""
    busy = spawn(workload('split7030'), 1000000)
    process = start(spawn, '-F', 5000, '--each', '-p', busy.pid)
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    wait_until(lambda: held(process.stdout) >= 4096 - 200, 'the pipe is full')
    return process


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_repeated_signal_of_one_process_is_one_request(spawn, number):
    """timeout(1) signals its child and then the process group, which the child is in."""
    process = start_with_full_pipe(spawn)
    send(process, number)
    send(process, number)
    text, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert re.search(r'^[\d,]+ samples seen', text, re.M)


def test_signals_at_once_are_one_request(spawn):
    """Two signals of two processes wait for a stopped attar, which takes both when it goes on."""
    process = start_with_full_pipe(spawn)
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: Path(f'/proc/{process.pid}/stat').read_text().rpartition(')')[2].split()[0] == 'T', 'it stands')
    process.send_signal(signal.SIGINT)
    subprocess.run(['kill', '-TERM', str(process.pid)], check=True)
    process.send_signal(signal.SIGCONT)
    text, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert re.search(r'^[\d,]+ samples seen', text, re.M)


def test_timeout_leaves_a_report(spawn, tmp_path):
    """timeout(1) beside busy loops, ten times."""
    for _ in range(3):
        spawn(workload('split7030'), 1000000)
    for i in range(10):
        folded = tmp_path / f'{i}.folded'
        done = run('1', ATTAR, 'profile', '-F', 997, '-g', '-q', '--flame-graph', folded, program='timeout')
        assert done.returncode == 124, done.stderr
        assert folded.stat().st_size > 0


@pytest.mark.parametrize('second', ['another signal', 'another process'])
def test_twice_aborts(spawn, second):
    """The second one kills, also while the first is being obeyed: stdout is a pipe that nobody reads."""
    process = start_with_full_pipe(spawn)
    send(process, signal.SIGINT)
    time.sleep(0.6)  # what comes within half a second is the same request
    assert process.poll() is None
    if second == 'another signal':
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == -signal.SIGTERM
    else:
        subprocess.run(['kill', '-INT', str(process.pid)], check=True)
        assert process.wait(20) == -signal.SIGINT


def ignore(*numbers):
    """For a child: what a script has a command ignore that it starts with '&', or what nohup(1) does."""
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_background_of_a_script(spawn, number):
    """An inherited SIG_IGN of SIGINT is no wish to run for ever."""
    process = start(spawn, '-q', '--format', 'json', preexec_fn=ignore(signal.SIGINT, signal.SIGQUIT, signal.SIGTERM))
    process.send_signal(number)
    text, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert Profile(text).notes['lost'] == 0


def test_other_commands_in_the_background(spawn):
    process = spawn(ATTAR, 'user-events', '-d', '1h', preexec_fn=ignore(signal.SIGINT), stdout=subprocess.PIPE, text=True)
    wait_until(lambda: in_status(process.pid, 'SigCgt', signal.SIGINT), 'it counts')
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=20)
    assert process.returncode == 0 and text.startswith('user events\n')


def test_ignored_hangup_stays_ignored(spawn):
    begin = time.monotonic()
    process = start(spawn, '-d', '1s', preexec_fn=ignore(signal.SIGHUP))
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=20)
    assert process.returncode == 0 and time.monotonic() - begin > 1


def test_command_inherits_what_is_ignored_and_nothing_else(spawn):
    """As nohup(1) wants it for HUP; and SIGPIPE, which attar itself does not die of, is as ever."""
    process = spawn(ATTAR, 'profile', '-q', '--', 'grep', 'SigIgn', '/proc/self/status', stdout=subprocess.PIPE, text=True,
                    preexec_fn=ignore(signal.SIGHUP, signal.SIGINT))
    text, _ = process.communicate(timeout=10)
    ignored = [number for number in signal.valid_signals() if int(text.split()[1], 16) >> (number - 1) & 1]
    assert {signal.SIGHUP, signal.SIGINT} <= set(ignored) and not {signal.SIGPIPE, signal.SIGTERM} & set(ignored)


def test_signals_at_any_moment(spawn):
    """Twenty times, at moments spread over the whole life: a status of its own or death by the signal, no hang."""
    for i in range(20):
        process = spawn(ATTAR, 'profile', '-q', '-d', '5s', stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.003 * i)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode in (0, -signal.SIGINT), (i, process.returncode, errors)


def test_opening_shows_progress_and_can_be_stopped(spawn, tmp_path):
    """Each event takes 0.1 s a CPU to open: progress after a second, and an end long before all are open."""
    if sanitized():
        pytest.skip('calls are delayed by LD_PRELOAD, which does not go with a sanitizer')
    out = tmp_path / 'x.json'
    master, slave = pty.openpty()
    env = {**os.environ, 'TERM': 'xterm', 'LD_PRELOAD': str(BUILD / 'tests/faults/fault_kernel.so'), 'FAULT_DELAY': '100'}
    process = spawn(ATTAR, 'stat', '-e', ','.join(['page-faults'] * 2000), '-o', out, stderr=slave, env=env)
    os.close(slave)
    text = b''
    while b'opening events: ' not in text:
        text += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == -signal.SIGINT
    with contextlib.suppress(OSError):
        while part := os.read(master, 4096):
            text += part
    os.close(master)
    shown = re.search(rb'opening events: (\d+) of 2,000', text)
    assert shown and 0 < int(shown[1]) < 100
    assert re.search(rb'attar: .*stopped while .*open(ing|ed)', text)
    assert not out.exists()


def closers():
    """Processes that wait for tracepoints of an ended attar to be closed."""
    def name(path):
        with contextlib.suppress(OSError):
            return path.read_text().strip()
    return {path.parent.name for path in Path('/proc').glob('[0-9]*/comm') if name(path) == 'attar-closing'}


def test_many_tracepoints_are_closed_in_the_background(root, spawn):
    """The kernel takes some 30 ms to close each: the end of attar does not wait for it, and no process is left behind."""
    before = closers()
    process = spawn(ATTAR, 'stat', '-q', '-d', '1h', '-e', 'syscalls:sys_enter_[a-m]*')
    wait_until(lambda: len(list(Path(f'/proc/{process.pid}/fd').iterdir())) > 200, 'they are open')
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.wait(60)
    ended = time.monotonic()
    wait_until(lambda: closers() <= before, 'all are closed', 60)
    closed = time.monotonic()
    assert closed - begin < 2 or ended - begin < (closed - begin) / 2


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
