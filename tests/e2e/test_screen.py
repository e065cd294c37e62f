# SPDX-License-Identifier: MIT
"""attar top on a terminal: reports replace each other, and keys sort them."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from command import ATTAR, wait_until, workload

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason='needs root')

HOME = '\033[H'


class Screen:
    """A process on a terminal of 24 lines of 80 columns."""

    def __init__(self, *args, lines=24, columns=80):
        self.terminal, inner = pty.openpty()
        self.inner = inner
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))
        os.set_blocking(self.terminal, False)
        self.text = ''
        self.process = subprocess.Popen(
            [ATTAR, *map(str, args)], stdin=inner, stdout=inner, stderr=subprocess.PIPE,
            start_new_session=True, env={**os.environ, 'TERM': 'xterm', 'NO_COLOR': '1'},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def read(self):
        try:
            self.text += os.read(self.terminal, 1 << 20).decode()
        except BlockingIOError:
            pass
        return self.text

    def reports(self):
        """Return the complete reports so far, each as a list of lines."""
        found = re.findall(r'\033\[H(.*?)\033\[J', self.read(), re.S)
        return [report.replace('\033[K', '').replace('\r', '').split('\n') for report in found]

    def wait(self, good):
        """Wait for a report that is as expected."""
        def latest():
            return next((r for r in reversed(self.reports()) if good(r)), None)
        wait_until(lambda: latest() is not None, 'an expected report')
        return latest()

    def press(self, keys):
        self.text = ''
        os.write(self.terminal, keys.encode())

    def is_canonical(self):
        return bool(termios.tcgetattr(self.inner)[3] & termios.ICANON)

    def end(self):
        self.process.stderr.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.terminal)
        os.close(self.inner)


@pytest.fixture
def screen():
    screen = Screen('top', '-e', 'sched:sched_switch', '-i', '200ms')
    yield screen
    screen.end()


def column(report, name):
    """Return the cells of a column of the table in a report; they have no spaces."""
    head = next(i for i, line in enumerate(report) if name in line.split())
    i = report[head].split().index(name)
    return [line.split()[i] for line in report[head + 1:report.index('', head)]
            if not line.startswith('(')]


def is_sorted(values, reverse=False):
    return len(values) > 1 and values == sorted(values, reverse=reverse)


def test_reports_replace_each_other(screen):
    wait_until(lambda: len(screen.reports()) >= 3, 'three reports')
    for report in screen.reports():
        assert len(report) <= 24 and report[0].startswith('top, ')
    assert screen.text.replace('\r', '').startswith(HOME)
    assert 'top, ' not in re.sub(r'\033\[H.*?\033\[J', '', screen.text, flags=re.S).split(HOME)[0]


def test_keys_sort(screen):
    screen.wait(lambda r: any('tid' in line.split() for line in r))
    assert not screen.is_canonical()
    report = screen.reports()[-1]
    names = next(line for line in report if 'tid' in line.split()).split()
    digit = names.index('tid') + 1

    def tids(report):
        return list(map(int, column(report, 'tid')))
    screen.press(str(digit))
    screen.wait(lambda r: is_sorted(tids(r), reverse=True))
    screen.press(str(digit))
    screen.wait(lambda r: is_sorted(tids(r)))
    screen.press('>' * (digit == 1) + '<' * (digit > 1) + ('<' if digit == 1 else '>'))
    screen.wait(lambda r: is_sorted(tids(r), reverse=True))


def test_q_quits_and_restores_the_terminal(screen):
    screen.wait(lambda r: True)
    assert not screen.is_canonical()
    screen.press('q')
    assert screen.process.wait(30) == 0
    assert screen.is_canonical()


def test_interrupt_restores_the_terminal(screen):
    screen.wait(lambda r: True)
    screen.press('\x03')
    assert screen.process.wait(30) == 0
    assert screen.is_canonical()


def text_of(*args, columns):
    """Return what attar prints on a terminal of that many columns."""
    one = Screen(*args, columns=columns)
    wait_until(lambda: one.read() is not None and one.process.poll() is not None, 'its end')
    text = one.read().replace('\r', '')
    one.end()
    return text


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('columns', [20, 30])
@pytest.mark.parametrize('args, names', [
    (['stat', '-e', 'page-faults,context-switches'], ['value', 'event']),
    (['task-state'], ['state', 'total']),
    (['syscalls', '--perins'], ['tid', 'syscall', 'calls'])])
def test_narrow_tables_keep_the_key_and_a_number(args, names, columns):
    text = text_of(*args, '--', 'true', columns=columns)
    heading = next(line for line in text.splitlines() if line.split()[:1] == names[:1])
    assert all(name in heading or f'{name[:5]}…' in heading for name in names), text
    assert 'hidden)' in text


LINES = {
    'execsnoop': ['pid', 'file'],
    'exitsnoop': ['pid', 'exit'],
    'opensnoop': ['PATH', 'duration'],
    'signals': ['SIGNAL'],
    'trace -e sched:sched_process_exec': ['event', 'fields'],
    'task-state --than 1ns': ['state', 'duration'],
    'syscalls --only-than 1ns --print-beyond': ['duration', 'syscall'],
    'offcpu --than 1ns': ['comm', 'blocked'],
}


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('columns', [20, 30, 40])
@pytest.mark.parametrize('command', LINES)
def test_narrow_lines_keep_what_they_are_about(command, columns):
    text = text_of(*command.split(), '--', 'sh', '-c', '/bin/true; kill -CONT $$', columns=columns)
    heading, = re.findall(r'^\(\d columns? hidden:\s([^)]*)\)\n(.*)\n', text, re.M)[:1]
    assert all(name in heading[1].split() for name in LINES[command]), text
    assert not set(heading[0].replace('\n', ' ').split(', ')) & set(LINES[command])
    assert all(len(line) <= columns for line in text.splitlines()), text


def test_all_lines_have_a_main_column():
    """Profilers declare it; the lines of snoop and of stat --line have columns of their user."""
    source = Path(__file__).parents[2] / 'src'
    users = {path: path.read_text() for folder in ('profilers', 'run')
             for path in (source / folder).rglob('*.c')}
    users = {path: text for path, text in users.items()
             if re.search(r'attar_run_lines\(run, "', text)}
    assert len(users) > 20
    missing = [path.name for path, text in users.items()
               if 'attar_section_main(' not in text and 'kvm_exit_line_columns' not in text]
    assert not missing


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('columns', [20, 28, 30, 40])
def test_counts_under_a_long_name_are_whole(columns):
    text = text_of('top', '-e', 'syscalls:sys_enter_getppid', '--', workload('flood'), 5678,
                   columns=columns)
    assert re.search(r'^ *\d+  +5,678(  |$)', text, re.M), text
    assert re.search(r'^ *tid +\S*tppid(  comm)?$', text, re.M), text


@pytest.mark.usefixtures('root')
def test_shares_of_the_overview_are_whole():
    text = text_of('overview', '-d', '300ms', columns=20)
    table = re.search(r'^time spent +share\n((?:.+\n)+?)\(', text, re.M)
    assert table, text
    assert all(re.fullmatch(r'\S.*? +([\d.]+%|-)', line) for line in table[1].splitlines()), text


@pytest.mark.usefixtures('root')
def test_commands_of_findings_are_whole():
    """And their evidence is wrapped at words."""
    command = [workload('split7030'), '300', *['a long argument'] * 8]
    text = text_of('overview', '--', *command, columns=80)
    shown = text.replace('\n', '')
    assert ' '.join(f"'{word}'" if ' ' in word else word for word in command) in shown, text
    assert '(runs the command again): attar ' in shown
    assert '…' not in text[:text.index('time spent')], text


@pytest.mark.parametrize('columns', [50, 60, 72])
def test_names_of_events_differ_on_narrow_terminals(columns):
    names = [f'syscalls:sys_{way}_{call}' for way in ('enter', 'exit')
             for call in ('mkdir', 'mkdirat', 'mknod', 'mknodat')] + ['page-faults']
    text = text_of('stat', '-e', ','.join(names), '--', 'true', columns=columns)
    shown = re.findall(r'^ *[\d,]+  +(\S*[a-z]{4}\S*)', text.partition('\nevent')[0], re.M)
    assert len(shown) == len(set(shown)) == len(names), text
    assert all(name.endswith(cell.lstrip('…')) for name, cell in zip(names, shown)), text


def test_events_keep_their_names_on_narrow_terminals():
    """The numbers of the thread and the CPU are hidden instead."""
    text = text_of('trace', '-e', 'syscalls:sys_enter_getppid,syscalls:sys_exit_getppid', '--',
                   workload('flood'), 2, columns=50)
    assert re.findall(r'(ter|xit)_getppid ', text) == ['ter', 'xit'] * 2, text
    assert ' cpu ' not in text


def test_plain_without_terminal():
    done = subprocess.run([ATTAR, 'top', '-e', 'sched:sched_switch', '-i', '100ms', '-d', '300ms'],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and 'tid' in done.stdout and '\033' not in done.stdout


def test_small_screen():
    screen = Screen('top', '-e', 'sched:sched_switch', '-i', '100ms', lines=5)
    try:
        wait_until(lambda: len(screen.reports()) >= 2, 'two reports')
        assert all(len(report) <= 5 for report in screen.reports())
    finally:
        screen.end()
