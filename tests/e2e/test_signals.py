# SPDX-License-Identifier: MIT
"""Requests to end: the first prints the report, the second aborts; nothing is left behind."""
import contextlib
import fcntl
import json
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
from scripts import rows_of
from faults import sanitized


def start(spawn, *args, **kwargs):
    kwargs = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True, **kwargs}
    process = spawn(ATTAR, 'profile', *args, **kwargs)
    wait_until(lambda: is_sampling(process), 'it samples')
    return process


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_first_signal_prints_the_report(spawn, number):
    busy = spawn(workload('split7030'), 1000000)
    process = start(spawn, '-q', '-p', busy.pid, '--format', 'json')
    before = cpu_seconds(busy.pid)
    wait_until(lambda: cpu_seconds(busy.pid) > before + 0.3, 'there is something to report')
    process.send_signal(number)
    text, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert Profile(text).own('heavy') > 50


def held(pipe):
    """Return the number of bytes that can be read from it."""
    return struct.unpack('i', fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def in_status(pid, name, number):
    """Return whether the signal is in that mask of /proc/PID/status."""
    mask = re.search(rf'^{name}:\s*(\w+)', Path(f'/proc/{pid}/status').read_text(), re.M)[1]
    return int(mask, 16) >> (number - 1) & 1


def send(process, number):
    """Send the signal from this process, and wait until it was received."""
    process.send_signal(number)
    wait_until(lambda: not in_status(process.pid, 'ShdPnd', number), 'the signal is taken')


def start_with_full_pipe(spawn):
    """Start a run that, when asked to end, waits for its reader."""
    busy = spawn(workload('split7030'), 1000000)
    process = start(spawn, '-F', 5000, '--print-samples', '-p', busy.pid)
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    wait_until(lambda: held(process.stdout) >= 4096 - 200, 'the pipe is full')
    return process


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_repeated_signal_of_one_process_counts_as_one(spawn, number):
    """timeout(1) signals its child and then the process group, which includes the child."""
    process = start_with_full_pipe(spawn)
    send(process, number)
    send(process, number)
    text, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert re.search(r'^[\d,]+ samples seen', text, re.M)


def test_two_signals_within_half_a_second_count_as_one(spawn):
    """
    Two signals of two processes wait for a stopped attar, which receives both when it continues.
    """
    process = start_with_full_pipe(spawn)
    process.send_signal(signal.SIGSTOP)
    stat = Path(f'/proc/{process.pid}/stat')
    wait_until(lambda: stat.read_text().rpartition(')')[2].split()[0] == 'T', 'it is stopped')
    process.send_signal(signal.SIGINT)
    subprocess.run(['kill', '-TERM', str(process.pid)], check=True)
    process.send_signal(signal.SIGCONT)
    text, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert re.search(r'^[\d,]+ samples seen', text, re.M)


def test_timeout_prints_a_report(spawn, tmp_path):
    """timeout(1) with busy loops in the background, ten times."""
    for _ in range(3):
        spawn(workload('split7030'), 1000000)
    for i in range(10):
        folded = tmp_path / f'{i}.folded'
        done = run('1', ATTAR, 'profile', '-F', 997, '-g', '-q', '--flame-graph', folded,
                   program='timeout')
        assert done.returncode == 124, done.stderr
        assert folded.stat().st_size > 0


@pytest.mark.parametrize('second', ['another signal', 'another process'])
def test_second_signal_aborts(spawn, second):
    """The second one kills attar also while it handles the first: nobody reads its stdout."""
    process = start_with_full_pipe(spawn)
    send(process, signal.SIGINT)
    time.sleep(0.6)  # signals within half a second are the same request
    assert process.poll() is None
    if second == 'another signal':
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == -signal.SIGTERM
    else:
        subprocess.run(['kill', '-INT', str(process.pid)], check=True)
        assert process.wait(20) == -signal.SIGINT


def ignore(*numbers):
    """For a child: the dispositions that a script's '&' or nohup(1) sets."""
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_a_background_job(spawn, number):
    """An inherited SIG_IGN of SIGINT does not make attar run forever."""
    process = start(spawn, '-q', '--format', 'json',
                    preexec_fn=ignore(signal.SIGINT, signal.SIGQUIT, signal.SIGTERM))
    process.send_signal(number)
    text, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert Profile(text).notes['lost'] == 0


def test_signal_ends_other_commands_in_the_background(spawn):
    process = spawn(ATTAR, 'user-events', '-d', '1h', preexec_fn=ignore(signal.SIGINT),
                    stdout=subprocess.PIPE, text=True)
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


def test_command_inherits_only_ignored_signals(spawn):
    """SIGHUP stays ignored as nohup(1) requires; SIGPIPE, which attar ignores, has its default."""
    process = spawn(ATTAR, 'profile', '-q', '--', 'grep', 'SigIgn', '/proc/self/status',
                    stdout=subprocess.PIPE, text=True,
                    preexec_fn=ignore(signal.SIGHUP, signal.SIGINT))
    text, _ = process.communicate(timeout=10)
    ignored = [number for number in signal.valid_signals()
               if int(text.split()[1], 16) >> (number - 1) & 1]
    assert {signal.SIGHUP, signal.SIGINT} <= set(ignored) and not {signal.SIGPIPE,
                                                                   signal.SIGTERM} & set(ignored)


def test_signal_at_any_time_ends_attar(spawn):
    """At twenty moments of a run: a status of attar or death by the signal, no hang."""
    for i in range(20):
        process = spawn(ATTAR, 'profile', '-q', '-d', '5s', stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE, text=True)
        time.sleep(0.003 * i)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode in (0, -signal.SIGINT), (i, process.returncode, errors)


def test_opening_shows_progress_and_can_be_interrupted(spawn, tmp_path):
    """
    Each event takes 0.1 s per CPU to open: progress after a second, and a stop before all are open.
    """
    if sanitized():
        pytest.skip('calls are delayed by LD_PRELOAD, which does not work with sanitizers')
    out = tmp_path / 'x.json'
    master, slave = pty.openpty()
    env = {**os.environ, 'TERM': 'xterm', 'LD_PRELOAD': str(BUILD / 'tests/faults/fault_kernel.so'),
           'FAULT_DELAY': '100'}
    process = spawn(ATTAR, 'stat', '-e', ','.join(['page-faults'] * 2000), '-o', out, stderr=slave,
                    env=env)
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
    assert re.search(rb'attar: interrupted by SIGINT: stopped while .*open(ing|ed)', text)
    assert not out.exists()


def test_stopped_while_tracepoints_are_looked_up(root, spawn):
    """That is not an error in the names of the events: they are not mentioned."""
    process = spawn(ATTAR, 'stat', '-e', ','.join(['syscalls:*'] * 100), stderr=subprocess.PIPE,
                    text=True)
    wait_until(lambda: in_status(process.pid, 'SigCgt', signal.SIGINT), 'it handles signals')
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert errors == 'attar: interrupted by SIGINT: stopped while looking up tracepoints\n'


def closers():
    """Return the processes that wait for the tracepoints of a finished attar to be closed."""
    def name(path):
        with contextlib.suppress(OSError):
            return path.read_bytes().strip()
    return {path.parent.name for path in Path('/proc').glob('[0-9]*/comm')
            if name(path) == b'attar-closing'}


def test_tracepoints_are_closed_in_the_background(root, spawn):
    """
    The kernel takes about 30 ms to close each: attar does not wait for it, and no process stays.
    """
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


def test_sigterm_ends_the_command_too(spawn):
    """Ctrl-C in a terminal reaches both; SIGTERM to attar alone must end the command too."""
    process = start(spawn, '-q', '--', workload('split7030'), 1000000)
    children = Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()
    assert len(children) == 1
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    wait_until(lambda: not Path(f'/proc/{children[0]}').exists(), 'the command has exited')


def test_duration_ends_the_command():
    """-d limits the run, whatever the command does."""
    begin = time.monotonic()
    assert run('profile', '-q', '-d', '500ms', '--', 'sleep', 60).returncode >= 0
    assert time.monotonic() - begin < 30


def test_killed_command_is_reported():
    """A command that is killed by a signal: its status as in a shell."""
    done = run('profile', '-q', '--', 'sh', '-c', 'kill -SEGV $$')
    assert done.returncode == 128 + signal.SIGSEGV, done.stderr


def test_command_exit_is_noticed_with_sigchld_ignored():
    """As a parent may leave it: the command's exit and status are still detected."""
    done = run('stat', '-e', 'page-faults', '--', 'sh', '-c', 'exit 7', timeout=30,
               preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 7, done.stderr


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('receiver', ['attar', 'group'])
def test_interrupted_command_is_reported_in_full(spawn, tmp_path, number, receiver):
    """
    The table of the command is printed, and the status is that of the signal, whether the command
    receives it, too (as from a terminal), or not.
    """
    out, ready = tmp_path / 'x.json', tmp_path / 'ready'
    process = spawn(ATTAR, 'stat', '-q', '-e', 'page-faults,context-switches', '-o', out, '--',
                    'sh', '-c', f': >{ready}; exec sleep 100', start_new_session=True)
    wait_until(ready.exists, 'the command runs')
    if receiver == 'group':
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    assert process.wait(20) == 128 + number
    report = json.loads(out.read_text())
    tables = {s['name']: rows_of(s) for s in report['sections']}
    assert {row['event']: row['quality'] for row in tables['counts']} == {
        'page-faults': 'exact', 'context-switches': 'exact'}
    assert tables['counts'][0]['value'] > 0
    assert len(tables['command']) == 1 and tables['command'][0]['runs'] == 1
    assert tables['command'][0]['elapsed'] > 0


def test_duration_reports_the_times_of_the_command():
    done = run('stat', '-e', 'page-faults', '-d', '200ms', '--', 'sleep', 100)
    assert done.returncode == 0
    assert re.search(r'^command\nelapsed +user +system +runs\n', done.stdout, re.M)
