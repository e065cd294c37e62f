# SPDX-License-Identifier: MIT
"""ProcDataRead(): every source that this machine has, compared with the words of its file."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from command import BUILD, ROOT, compiler, wait_until
from faults import sanitized

ENUM = re.search(r'enum ProcSource \{(.*?)\}', (ROOT / 'kperf/proc_data_types.h').read_text(),
                 re.S)[1]
SOURCES = re.findall(r'\bPROC_\w+', ENUM)
FOLDERS = ('PROC_SYS_', 'PROC_PID_FD', 'PROC_PID_TASK_STAT')
# Lines of the file that are no entries.
HEADINGS = {
    'PROC_NET_DEV': r'^Inter-|^face ', 'PROC_SOFTIRQS': r'^CPU0', 'PROC_INTERRUPTS': r'^CPU0',
    'PROC_SLABINFO': r'^slabinfo|^#', 'PROC_NET_ARP': r'^IP address',
    'PROC_PID_LIMITS': r'^Limit ', 'PROC_PID_SMAPS_ROLLUP': r'^[0-9a-f]+-',
    'PROC_ZONEINFO': r'^per-node stats|^pagesets|^high_m|^boost|^promo|^cma ',
    'PROC_PID_IO': r'^$',
}


@pytest.fixture(scope='module', name='dump')
def fixture_dump(tmp_path_factory):
    """The program tests/e2e/proc_dump.c."""
    if sanitized():
        pytest.skip('the library needs the sanitizers of its program')
    program = tmp_path_factory.mktemp('proc') / 'proc_dump'
    subprocess.run([*compiler(), '-Wall', '-Werror', '-o', program, ROOT / 'tests/e2e/proc_dump.c',
                    f'-I{ROOT}/kperf', f'-L{BUILD}/kperf', '-lkperf', f'-Wl,-rpath,{BUILD}/kperf',
                    f'-Wl,-rpath-link,{BUILD}/src'], check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.stdin.close()


@pytest.fixture(scope='module', name='waiting')
def fixture_waiting():
    """A process with two threads and unusual variables, which does nothing."""
    code = 'import threading, sys; threading.Thread(target=sys.stdin.read).start(); print(flush=1)'
    with subprocess.Popen([sys.executable, '-c', code, 'a b', ''], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE,
                          env={'A': '1', 'ODD': os.fsdecode(b'\xff=\xfe x'), 'EMPTY': ''}) as child:
        child.stdout.readline()
        wait_until(lambda: all(Path(f'/proc/{child.pid}/task/{tid}/stat').read_text()
                               .rpartition(')')[2].split()[0] == 'S'
                               for tid in os.listdir(f'/proc/{child.pid}/task')), 'it waits')
        yield child.pid
        child.stdin.close()


def words(line):
    return ' '.join(line.split())


def settings(path):
    """The files of a folder of /proc/sys: 'PATH NAME VALUE'."""
    with os.scandir(path) as files:  # stays open, as in the library: file-nr counts it
        for file in files:
            if file.is_file() and file.stat().st_mode & 0o400:
                try:
                    with open(file, errors='surrogateescape') as opened:
                        yield f'{file.path} {file.name} {opened.readline()}'
                except OSError:
                    continue


def expected(source, path):
    """The lines of the file, as entries."""
    if source.startswith('PROC_SYS_'):
        return [words(line) for line in settings(path)]
    if source == 'PROC_PID_FD':
        return [str(len(os.listdir(path)))]
    if source == 'PROC_PID_TASK_STAT':
        return [words((task / 'stat').read_text()) for task in Path(path).iterdir()]
    text = os.fsdecode(Path(path).read_bytes())
    if source == 'PROC_PID_ENVIRON':
        return [words(line) for line in text.split('\0')[:-1]]
    if source == 'PROC_PID_CMDLINE':
        return [words(text.replace('\0', ' '))]
    lines = [words(line) for line in text.splitlines()]
    if source == 'PROC_INTERRUPTS':
        lines = [re.sub(r'^(\S+:)((?: \d+)+)(.*)', r'\1\3\2', line) for line in lines]
    if source == 'PROC_CPUINFO':
        lines = [words(line.replace(':', ' : ', 1)) for line in lines]
    if source == 'PROC_LOCKS':
        lines = [line.replace('-> ', '') for line in lines]
    return [line for line in lines if line and not re.search(HEADINGS.get(source, r'^$'), line)]


def dumped(dump, pid):
    """The lines of each source, its path, and the warning."""
    dump.stdin.write(b'%d\n' % pid)
    dump.stdin.flush()
    found, lines = {}, None
    for line in map(os.fsdecode, dump.stdout):
        first, _, more = line.rstrip('\n').partition(' ')
        if first == '#end':
            break
        if first == '#warning':
            warning = more
        elif first.startswith('#'):
            lines = []
            found[SOURCES[int(first[1:])]] = more, lines
        else:
            lines.append(words(line))
    return found, warning


def is_between(word, first, last):
    """A number may change meanwhile; any other word must be the same."""
    try:
        low, high = sorted((float(first), float(last)))
        return low <= float(word) <= high
    except ValueError:
        return word == first or word == last


def differences(before, lines, after):
    """Each line that differs from the file, which was read before and after, by its number."""
    if not len(before) == len(lines) == len(after):
        return {None: f'{len(before)}, then {len(lines)}, then {len(after)} lines'}
    found = {}
    for number, (first, line, last) in enumerate(zip(before, lines, after)):
        parts = [re.split('[ /=]', text) for text in (line, first, last)]
        if not len(parts[0]) == len(parts[1]) == len(parts[2]) \
                or not all(map(is_between, *parts)):
            found[number] = f'{first!r}, then {line!r}, then {last!r}'
    return found


def compare(dump, pid):
    """Return the differences of each source."""
    def of_file(source, path):
        lines = expected(source, path)
        return sorted(lines) if source.startswith(FOLDERS) else lines

    paths = {source: path for source, (path, _) in dumped(dump, pid)[0].items()}
    before = {source: of_file(source, path) for source, path in paths.items()}
    found = {source: sorted(lines) if source.startswith(FOLDERS) else lines
             for source, (_, lines) in dumped(dump, pid)[0].items()}
    return {source: differences(before[source], found[source], of_file(source, path))
            for source, path in paths.items()}


def still_wrong(wrong, again):
    """The lines that were wrong both times; all lines where their number was unknown."""
    if None in wrong or None in again:
        return again if None in wrong else wrong
    return {number: text for number, text in again.items() if number in wrong}


def test_every_source_has_the_words_of_its_file(dump, waiting):
    """Some numbers rise and fall: all are compared again until each line was correct once."""
    assert len(SOURCES) == 47
    wrong = compare(dump, waiting)
    absent = set(SOURCES) - wrong.keys()
    for _ in range(200):
        if not any(wrong.values()):
            break
        again = compare(dump, waiting)
        wrong = {source: lines and still_wrong(lines, again.get(source, {None: 'none'}))
                 for source, lines in wrong.items()}
    assert not any(wrong.values()), {source: lines for source, lines in wrong.items() if lines}
    for source in absent:
        name = source[len('PROC_'):].lower().replace('net_', 'net/')
        assert not os.path.exists(f'/proc/{name}'), source


def test_absent_sources_are_a_warning(dump):
    found, warning = dumped(dump, 1)
    absent = [source for source in SOURCES if source not in found]
    code, _, text = warning.partition(' ')
    assert (code == '0') == (not absent)
    assert not absent or (code == '1001' and ' is left out: No such file or directory' in text)


def test_the_system_alone(dump):
    found, _ = dumped(dump, 0)
    assert not [source for source in found if source.startswith('PROC_PID')]
    uptime = float(Path('/proc/uptime').read_text().split()[0])
    assert uptime - 60 < float(found['PROC_UPTIME'][1][0].split()[0]) <= uptime
