# SPDX-License-Identifier: MIT
"""What attar leaves behind in tracefs and among processes, if it is killed or watched."""
import os
import signal
import subprocess
from pathlib import Path

import pytest

import adversary
from command import ATTAR, run, wait_until

TRACEFS = Path('/sys/kernel/tracing')


@pytest.fixture
def program(nobody, tmp_path):
    """A program of the other user that calls a function again and again."""
    path = adversary.compile_c(tmp_path / 'place', '''
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void place(void) { __asm__ volatile(""); }
int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		place();
		usleep(1000);
	}
}
''')
    process = nobody.start(path, stdout=subprocess.PIPE)
    assert process.stdout.readline() == 'ready\n'
    process.path = path
    return process


def probes_of(pid):
    """Those of one attar, in whose group its PID is."""
    return [line for line in (TRACEFS / 'dynamic_events').read_text().splitlines()
            if f'_{pid}_' in line.split()[0]]


def children_of(pid):
    return [int(child) for child in
            Path(f'/proc/{pid}/task/{pid}/children').read_text(encoding='utf-8').split()]


@pytest.mark.parametrize('kind, argument', [('uprobe', '$arg1'), ('uretprobe', '$retval')])
def test_no_probe_is_left_after_sigkill(kind, argument, program):
    """The next run removes what a killed attar could not."""
    if not (TRACEFS / 'dynamic_events').exists():
        pytest.skip('this kernel has no dynamic events')
    event = f'{kind}:place@{program.path}//args="(a={argument})"/'
    with subprocess.Popen([ATTAR, 'trace', '-p', str(program.pid), '-e', event,
                           '--watermark', '1'], stdout=subprocess.PIPE, text=True) as attar:
        assert attar.stdout.readline()
        assert probes_of(attar.pid)
        attar.kill()
    assert run('trace', '-p', program.pid, '-e', event, '-N', 1, timeout=30).returncode == 0
    assert not probes_of(attar.pid)


def test_no_process_is_left_after_sigkill():
    """The child that reads memory of others ends with attar."""
    with subprocess.Popen([ATTAR, 'opensnoop', '-a'], stdout=subprocess.PIPE) as attar:
        wait_until(lambda: children_of(attar.pid), 'the child to start')  # this opens files
        found = children_of(attar.pid)
        attar.kill()
    wait_until(lambda: not any(Path(f'/proc/{pid}').exists() for pid in found),
               'the child to end')


@pytest.mark.parametrize('words', [
    ('stack', '-p', '{}'), ('overview', '-p', '{}', '-d', '1s'), ('offcpu', '-p', '{}', '-d', '1s'),
    ('profile', '-p', '{}', '-d', '1s'), ('task-state', '-a', '-d', '1s'),
    ('trace', '-p', '{}', '-e', 'uprobe:place@{path}', '-d', '1s')])
def test_stopped_processes_delay_nothing(words, program):
    """A process that its user has stopped, and that stays stopped."""
    program.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WNOWAIT)
    done = run(*[word.format(program.pid, path=program.path) for word in words], timeout=10)
    assert done.returncode == 0, done.stderr
    assert Path(f'/proc/{program.pid}/stat').read_text(encoding='utf-8').split()[2] == 'T'
    if words[0] == 'stack':
        assert 'waits for SIGCONT: it is stopped' in done.stdout
