# SPDX-License-Identifier: MIT
"""A process whose main thread has exited (pthread_exit(3)): /proc/PID is that of a zombie."""
import os
import signal
import subprocess
from pathlib import Path

import pytest

from command import ATTAR, run, wait_until, workload
from scripts import report, rows


@pytest.fixture
def leaderless():
    with subprocess.Popen([workload('leaderless')], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == f'{process.pid}\n'
        status = Path(f'/proc/{process.pid}/status')
        wait_until(lambda: 'State:\tZ' in status.read_text(), 'the main thread has exited')
        assert Path(f'/proc/{process.pid}/maps').read_text() == ''
        yield process
        process.stdin.close()


def worker(process):
    return next(t for t in map(int, os.listdir(f'/proc/{process.pid}/task')) if t != process.pid)


def check_busy(functions):
    busy = sum(f['self'] for f in functions if f['symbol'] == 'busy')
    assert busy > 0.9 * sum(f['self'] for f in functions) > 0


def test_profile_of_process(leaderless):
    found = report('profile', '-e', 'cpu-clock', '-p', leaderless.pid, '-d', '500ms')
    assert found['interval_ns'] >= 5e8
    check_busy(rows(found, 'functions'))


def test_profile_of_thread(leaderless):
    check_busy(rows(report('profile', '-e', 'cpu-clock', '-t', worker(leaderless), '-d', '300ms'),
                    'functions'))


def test_recording(leaderless, tmp_path):
    done = run('record', '-e', 'cpu-clock', '-p', leaderless.pid, '-d', '300ms', '-o',
               tmp_path / 'x.data')
    assert done.returncode == 0, done.stderr
    check_busy(rows(report('profile', '--input', tmp_path / 'x.data'), 'functions'))


def test_counts(leaderless):
    found = report('stat', '-e', 'task-clock', '-p', leaderless.pid, '-d', '300ms')
    assert found['interval_ns'] >= 3e8 and rows(found, 'counts')[0]['value'] > 0


@pytest.mark.parametrize('profiler', ['profile', 'oncpu'])
def test_ends_with_the_last_thread(leaderless, profiler):
    """Also profilers that watch all tasks to select those of the process."""
    with subprocess.Popen([ATTAR, profiler, '-p', str(leaderless.pid)], stdout=subprocess.PIPE,
                          text=True) as attar:
        with pytest.raises(subprocess.TimeoutExpired):
            attar.wait(1)
        leaderless.send_signal(signal.SIGKILL)
        attar.communicate(timeout=30)
        assert attar.returncode == 0


def test_stack_and_symbols(leaderless):
    [line] = [line for line in run('stack', '-p', leaderless.pid).stdout.splitlines()
              if ' worker+' in line]
    assert str(workload('leaderless')) in line
    maps = Path(f'/proc/{leaderless.pid}/task/{worker(leaderless)}/maps').read_text()
    base = int(maps.partition('-')[0], 16)
    nm = subprocess.check_output(['nm', workload('leaderless')], text=True)
    offset = next(int(n.split()[0], 16) for n in nm.splitlines() if n.endswith(' busy'))
    done = run('symbols', '-p', leaderless.pid, hex(base + offset))
    assert 'busy' in done.stdout, done


def test_page_faults(leaderless):
    found = report('page-faults', '-p', leaderless.pid, '-d', '300ms')
    assert {(r['comm'], r['mapping'], r['file']) for r in rows(found, 'page faults')} == {
        ('leaderless', 'file', str(workload('leaderless')))}


def test_breakpoint(leaderless):
    """An address that no thread writes to: the process has mapped it."""
    maps = Path(f'/proc/{leaderless.pid}/task/{worker(leaderless)}/maps').read_text()
    found = report('breakpoint', '0x' + maps.partition('-')[0] + '/8:w', '-p', leaderless.pid,
                   '-d', '300ms')
    assert not any('has mapped it' in remark for remark in found.get('remarks', []))
