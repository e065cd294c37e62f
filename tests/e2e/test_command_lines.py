# SPDX-License-Identifier: MIT
"""
Command lines in perf-prof's syntax run with attar under its name. command_lines.txt has them, and
what each prints, or the reason why it cannot run. Those that watch the system without a time limit
are ended by --duration. Lines that need another kernel run in its guest.
"""
import os
import re
import subprocess
from pathlib import Path

import pytest

import guest
from command import ATTAR, BUILD, run_delivered, workload

ENDS_BY_ITSELF = re.compile(r'^perf-prof (-h|list|usdt|kcore)\b| help( |$)| -h$| --help$'
                            r'|^perf-prof (?!python).* -- \S')
# How much was lost is not a remark.
LOSS = re.compile(r'attar: \d+ events were seen, \d+ lost(, \d+ missing: .*)?\n')
WORKLOADS = f'{BUILD}/tests/workloads'


class Line:
    """A command line of the table and what the table says about it."""

    def __init__(self, text):
        self.text = text
        self.shows, self.writes, self.refused, self.because = None, None, None, None
        self.needs = self.needs_message = self.guest = self.after = None
        self.files = {}

    def note(self, word, rest):
        assert word in (
            'shows', 'writes', 'needs', 'in', 'after', 'refused', 'because', 'has'), word
        if word == 'has':
            name, _, contents = rest.partition(': ')
            self.files[name] = contents
        elif word == 'needs':
            self.needs, _, self.needs_message = rest.partition(': ')
        elif word == 'in':
            self.guest = rest
        else:
            setattr(self, word, rest)

    def command(self):
        """The line for a shell in the folder of the link."""
        if ENDS_BY_ITSELF.search(self.text):
            return f'./{self.text}'
        return re.sub(r'^(perf-prof \S+)', r'./\1 --duration 200ms', self.text)


def read_table():
    lines = []
    for text in (Path(__file__).parent / 'command_lines.txt').read_text().splitlines():
        if text.startswith('    '):
            word, _, rest = text.strip().partition(' ')
            lines[-1].note(word.rstrip(':'), rest)
        elif text.startswith('perf-prof '):
            lines.append(Line(text))
        else:
            assert not text or text.startswith(('#', '==')), text
    return lines


TABLE = read_table()


@pytest.fixture(scope='module')
def activity():
    """
    Processes start, sleep, allocate, fault and migrate all the time: some with the usual priority,
    and some before all other programs, even those of workloads/slow.c, which leave nothing of both
    CPUs to others for longer than a run.
    """
    shell = ['sh', '-c', 'while :; do sleep 0.01; taskset -c 0 true; taskset -c 1 true; done']
    with subprocess.Popen(shell) as usual, subprocess.Popen(['chrt', '-f', '2', *shell]) as first:
        yield
        usual.kill()
        first.kill()


@pytest.fixture(scope='module')
def environment():
    """What lines name: a process that sleeps for 5 ms each time, a disk, and programs."""
    disk = next((f'/dev/{path.name}' for path in Path('/sys/block').iterdir()
                 if not path.name.startswith(('loop', 'ram', 'zram'))), '/dev/none')
    with subprocess.Popen([workload('sleeps'), '100000', '5']) as sleeper:
        yield {**os.environ, 'PID': str(sleeper.pid), 'DISK': disk, 'WORKLOADS': WORKLOADS,
               'PYTHONPATH': f'{BUILD}/python', 'ATTAR_PYTHON': '/usr/bin/python3'}
        sleeper.kill()


def check_refusal(line, ended):
    assert ended.returncode != 0
    assert re.search(line.refused, ended.stderr), ended.stderr


def check_result(line, ended, folder):
    assert ended.returncode == 0, ended.stderr
    asked = ' -v' in line.text or '--usage-self' in line.text
    assert LOSS.sub('', ended.stderr) == '' or asked
    if line.shows:
        assert re.search(line.shows, ended.stdout), ended.stdout + ended.stderr
    if line.writes:
        assert (folder / line.writes).stat().st_size


@pytest.mark.usefixtures('root', 'activity')
@pytest.mark.parametrize('line', [line for line in TABLE if not line.guest],
                         ids=lambda line: line.text)
def test_runs(request, tmp_path, environment, line):
    if 'task-state' in line.text:
        request.getfixturevalue('busy_cpus')
    (tmp_path / 'perf-prof').symlink_to(ATTAR)
    for name, contents in line.files.items():
        (tmp_path / name).write_text(contents + '\n')
    ended = run_delivered('-c', line.command(), program='sh', cwd=tmp_path, env=environment)
    if line.refused:
        check_refusal(line, ended)
    elif ended.returncode and line.needs:
        assert re.search(line.needs_message, ended.stderr), ended.stderr
        pytest.skip(f'needs {line.needs}: {ended.stderr.strip()}')
    else:
        check_result(line, ended, tmp_path)


@pytest.mark.parametrize('line', [
    pytest.param(line, id=line.text, marks=pytest.mark.guest(line.guest))
    for line in TABLE if line.guest])
def test_runs_in_a_guest(tmp_path, line):
    """The same answer, from the kernel that can give it."""
    script = (f'WORKLOADS={WORKLOADS}; $WORKLOADS/sleeps 100000 5 & PID=$!; {line.after or ":"}; '
              f'cd {tmp_path}; {line.command()}')
    (tmp_path / 'perf-prof').symlink_to(ATTAR)
    check_result(line, guest.run(line.guest, 'sh', '-c', script, cwd=guest.ROOT),
                 tmp_path)


def test_every_line_has_an_expectation():
    assert len({line.text for line in TABLE}) == len(TABLE)
    for line in TABLE:
        assert line.shows or line.writes or line.refused or line.needs, line.text
        assert bool(line.refused) == bool(line.because), line.text


def test_every_profiler_of_perf_prof_has_a_line():
    profilers = set("""
        profile cpu-util oncpu hrtimer irq-off watchdog page-faults breakpoint task-state rundelay
        sched-migrate multi-trace syscalls nested-trace kmemprof kvm-exit bpf:kvm_exit blktrace stat
        hrcount percpu-stat top num-dist sql python trace event-care expr kmemleak hwstat llcstat
        tlbstat ldlat-loads ldlat-stores split-lock usdt kcore kvmmmu misc list""".split())
    assert profilers <= {line.text.split()[1] for line in TABLE}
