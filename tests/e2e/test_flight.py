# SPDX-License-Identifier: MIT
"""attar trace as a flight recorder: the newest events before a known one."""
import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command import ATTAR, is_sampling, is_waiting, run, wait_until

pytestmark = pytest.mark.usefixtures('root')

FIRST, MARKER, LAST = 10_000_000, 10_004_000, 10_005_000
SEEKS = f'syscalls:sys_enter_lseek/offset>={FIRST} && whence==0/'
# Seeks to FIRST, FIRST + 1 ... and waits at the marker until it may go on.
PROGRAM = f'''
import os, sys
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
zero, go = os.open('/dev/zero', os.O_RDONLY), int(sys.argv[1])
for i in range({FIRST}, {LAST} + 1):
    os.lseek(zero, i, 0)
    if i == {MARKER}:
        os.read(go, 1)
'''


def dumps_in(out):
    """
    Return the offsets in each complete dump, of which the last report of the run is one, and the
    remarks.
    """
    found, remarks = [[]], []
    text = out.read_text() if out.exists() else ''
    for line in text[:text.rfind('\n') + 1].splitlines():
        report = json.loads(line)
        remarks += report.get('remarks', [])
        for section in report['sections']:
            found[-1] += [row[-1]['offset'] for row in section['rows']]
        if report['notes']:
            found.append([])
    return [dump for dump in found[:-1] if dump], remarks


class Recorder:
    """attar trace with the program; go() lets it pass the marker."""

    def __init__(self, out, *args):
        self.out, self.remarks = out, []
        there, self.here = os.pipe()
        self.fd = there
        self.process = subprocess.Popen(
            [ATTAR, 'trace', '-q', '-e', SEEKS, '-m', '1', '-o', out, *args, '--', sys.executable,
             '-c', PROGRAM, str(there)], stdin=subprocess.DEVNULL, pass_fds=[there])
        os.close(there)

    def go(self):
        os.write(self.here, b'x')
        os.close(self.here)
        assert self.process.wait(60) == 0

    def dumps(self):
        found, self.remarks = dumps_in(self.out)
        return found


def wait_until_reads(parent, fd):
    """Wait until the child of the process reads from the descriptor; return its pid."""
    pids = []

    def is_waiting():
        with open(f'/proc/{parent}/task/{parent}/children', encoding='ascii') as text:
            pids[:] = text.read().split()
        if not pids:
            return False
        with open(f'/proc/{pids[0]}/syscall', encoding='ascii') as text:
            return text.read().split()[1:2] == [hex(fd)]  # read(fd)
    wait_until(is_waiting, 'the program waits')
    return int(pids[0])


def is_newest(offsets, last):
    """Whether these are consecutive, up to the last one, as many as a ring of 4 KiB holds."""
    assert offsets == list(range(last - len(offsets) + 1, last + 1))
    assert 20 <= len(offsets) <= 4096 // 48


def test_the_end_shows_the_newest_events(tmp_path):
    recorder = Recorder(tmp_path / 'out.json', '--overwrite')
    recorder.go()
    dumps = recorder.dumps()
    assert len(dumps) == 1
    is_newest(dumps[0], LAST)


def test_a_condition_shows_the_events_before_it(tmp_path):
    """
    The end shows nothing then, although other events follow. There is room for 1 MiB more than -m.
    """
    recorder = Recorder(tmp_path / 'out.json', '--dump-when', f'offset=={MARKER}')
    wait_until(recorder.dumps, 'a dump')
    recorder.go()
    assert recorder.dumps() == [list(range(FIRST, MARKER + 1))]
    assert not any('was not true' in remark for remark in recorder.remarks)


@pytest.mark.parametrize('when', ['offset==1', 'offset+1==2'], ids=['kernel', 'attar'])
def test_a_condition_that_is_never_true(tmp_path, when):
    recorder = Recorder(tmp_path / 'out.json', '--dump-when', when)
    recorder.go()
    assert not any(recorder.dumps())
    assert (f"the condition '{when}' of a dump was not true for any event: no events are shown"
            in recorder.remarks)


def test_nothing_before_the_condition_is_overwritten(tmp_path):
    """The program does not wait: 1,000 events follow while attar stops the rings."""
    recorder = Recorder(tmp_path / 'out.json', '--dump-when', f'offset=={MARKER + 1}')
    recorder.go()
    dump, = recorder.dumps()
    assert dump == list(range(FIRST, dump[-1] + 1)) and dump[-1] > MARKER


def test_conditions_during_a_dump_are_counted(tmp_path):
    """
    The condition is true for each of 20,000 events, which a ring has room for: each one is in a
    dump, or counted as one during a dump, except one that is written while the rings are stopped.
    """
    events = 20_000
    program = PROGRAM.replace(str(MARKER), '0').replace(str(LAST), str(FIRST + events - 1))
    out = tmp_path / 'out.json'
    done = run('trace', '-q', '-e', SEEKS, '-m', 1, '-o', out, '--dump-when', f'offset>={FIRST}',
               '--', sys.executable, '-c', program, '0')
    assert done.returncode == 0, done.stderr
    dumps, remarks = dumps_in(out)
    shown = [offset for dump in dumps for offset in dump]
    counts = [int(remark.rpartition(' ')[2]) for remark in remarks
              if 'while a dump was made, which the dumps may lack: ' in remark]
    assert shown == sorted(set(shown)) and len(counts) <= 1
    assert events - len(shown) - len(dumps) <= sum(counts) < events
    lost = json.loads(out.read_text().splitlines()[-1])['notes']['lost']
    told = [re.match(r'events lost while the ring buffers were stopped for a dump: (\d+);', it)
            for it in remarks]
    assert [int(it[1]) for it in told if it] == ([lost] if lost else [])
    assert 'buffers were full' not in done.stderr


@pytest.mark.parametrize('after', [0, 200_000], ids=['complete', 'overwritten'])
def test_what_was_overwritten_is_remarked(tmp_path, after):
    """attar is stopped while the condition becomes true and, perhaps, much more happens."""
    script = tmp_path / 'seek.py'
    script.write_text(PROGRAM + f'''
for i in range({after}):
    os.lseek(zero, {LAST} + 1 + i, 0)
os.read(go, 1)
''')
    before = '' if after else 'for i in range(200000): os.lseek(zero, 20000000 + i, 0)\n'
    script.write_text(script.read_text().replace(f'for i in range({FIRST}',
                                                 f'{before}for i in range({FIRST}'))
    there, here = os.pipe()
    out = tmp_path / 'out.json'
    with subprocess.Popen([ATTAR, 'trace', '-q', '-e', SEEKS, '-m', '1', '-o', out, '--dump-when',
                           f'offset=={MARKER + 1}', '--', sys.executable, script, str(there)],
                          stdin=subprocess.DEVNULL, pass_fds=[there]) as process:
        wait_until(lambda: is_sampling(process), 'rings')
        wait_until_reads(process.pid, there)
        process.send_signal(signal.SIGSTOP)
        os.write(here, b'x')
        wait_until(lambda: not select.select([there], [], [], 0)[0], 'the program goes on')
        wait_until_reads(process.pid, there)
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: out.exists() and '"remarks"' in out.read_text(), 'a dump')
        os.write(here, b'x')
        os.close(there)
        os.close(here)
    remarks = [remark for line in out.read_text().splitlines()
               for remark in json.loads(line).get('remarks', [])]
    complete = 'ms before the condition was true are complete'
    late = 'overwritten before attar could stop the ring buffers: '
    assert [late in r for r in remarks] == [bool(after)]
    assert [complete in r for r in remarks] == [not after]


def test_a_condition_that_attar_evaluates(tmp_path):
    """The kernel's filters cannot do arithmetic: lines wait in the buffer, and no event is missing.
    """
    recorder = Recorder(tmp_path / 'out.json', '--dump-when', f'offset+1=={MARKER + 1}')
    recorder.go()
    assert recorder.dumps() == [list(range(FIRST, MARKER + 1))]


def test_lines_that_wait_are_bounded(tmp_path):
    """A buffer of 1 MiB: the newest lines are whole, up to the one with the condition."""
    program = PROGRAM.replace(str(FIRST), '1').replace(str(MARKER), '0').replace(
        str(LAST), '100000')
    out = tmp_path / 'out.json'
    done = run('trace', '-q', '-e', 'syscalls:sys_enter_lseek/whence==0/', '-o', out, '-m', 4096,
               '--buffer', '1M', '--dump-when', 'offset*2==160000', '--', sys.executable, '-c',
               program, '0')
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in out.read_text().splitlines()]
    found = [row[-1]['offset'] for report in reports for s in report['sections']
             for row in s['rows']]
    assert found == list(range(80001 - len(found), 80001))
    assert 2048 <= len(found) <= 20000


def test_a_signal_shows_the_newest_events(tmp_path):
    recorder = Recorder(tmp_path / 'out.json', '--overwrite')
    wait_until(lambda: is_sampling(recorder.process), 'rings')
    wait_until_reads(recorder.process.pid, recorder.fd)
    recorder.process.send_signal(subprocess.signal.SIGUSR1)
    wait_until(recorder.dumps, 'a dump')
    is_newest(recorder.dumps()[0], MARKER)
    recorder.go()
    dumps = recorder.dumps()
    assert len(dumps) == 2
    is_newest(dumps[1], LAST)


def test_a_line_on_stdin_shows_the_newest_events(tmp_path):
    """It is attar's, not the program's, if attar has not started the program."""
    out, (there, here), (gate, opened) = tmp_path / 'out.json', os.pipe(), os.pipe()
    program = ['bash', '-c', f'read line <&{gate}; exec "$@"', 'bash', sys.executable, '-c',
               PROGRAM, str(there)]
    with subprocess.Popen(program, stdin=subprocess.DEVNULL, pass_fds=[there, gate]) as process, \
            subprocess.Popen([ATTAR, 'trace', '-q', '-e', SEEKS, '-m', '1', '-o', out,
                              '--overwrite', '-p', str(process.pid)], stdin=subprocess.PIPE,
                             text=True) as attar:
        wait_until(lambda: is_waiting(attar), 'its events are enabled')
        os.write(opened, b'\n')
        wait_until(lambda: Path(f'/proc/{process.pid}/syscall').read_text().split()[1:2] == [
            hex(there)], 'the program waits')  # read(there)
        attar.stdin.write('now\n')
        attar.stdin.flush()
        wait_until(lambda: dumps_in(out)[0], 'a dump')
        dumps, remarks = dumps_in(out)
        is_newest(dumps[0], MARKER)
        assert 'marker: now' in remarks
        os.write(here, b'x')
        assert (process.wait(60), attar.wait(60)) == (0, 0)
    is_newest(dumps_in(out)[0][1], LAST)
    for fd in there, here, gate, opened:
        os.close(fd)


@pytest.mark.quick
@pytest.mark.parametrize('args, sentence', [
    (('-e', SEEKS, '--dump-when', 'offst==1'), "no such field or variable 'offst': did you mean "
     "'offset'?"),
    (('-e', 'page-faults', '--dump-when', 'offset==1'), 'no event has fields'),
    (('-e', SEEKS, '--dump-when', 'offset=='), 'the condition'),
])
def test_refused_conditions(args, sentence):
    done = run('trace', *args, '--', 'true')
    assert done.returncode == 2
    assert sentence in done.stderr


@pytest.mark.quick
def test_one_summary(tmp_path):
    """Two dumps, and the end of the run: as text, the number of all events is shown once."""
    script = tmp_path / 'x.script'
    script.write_text('# attar script\nevent a:b c:int\n' + ''.join(
        f'{i}.0 0 1/1 x a:b c={i}\n' for i in range(1, 10)))
    done = run('trace', '-e', 'a:b', '--dump-when', 'c==4||c==6', '--input', script)
    assert done.returncode == 0, done.stderr
    assert [line.partition(',')[0] for line in done.stdout.splitlines()
            if ' seen, ' in line] == ['9 samples seen']


@pytest.mark.quick
def test_recordings_are_not_overwritten(tmp_path):
    script = tmp_path / 'x.script'
    script.write_text('# attar script\nevent a:b c:int\n1.0 0 1/1 x a:b c=1\n')
    done = run('trace', '-e', 'a:b', '--overwrite', '--input', script)
    assert done.returncode == 2
    assert 'a recording has no rings that can be overwritten' in done.stderr


def test_a_condition_in_a_recording(tmp_path):
    """The events on all CPUs before each event with the condition; nothing after the last one."""
    script = tmp_path / 'x.script'
    script.write_text('# attar script\nevent a:b c:int\nevent a:d e:int\n' + ''.join(
        f'{i}.0 {i % 3} 1/1 x a:{"bd"[i % 2]} {"ce"[i % 2]}={i}\n' for i in range(1, 10)))
    done = run('trace', '--format', 'json', '-e', 'a:*', '--dump-when', 'c==4||c==6', '--input',
               script)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    found = [[list(row[-1].values())[-1] for s in report['sections'] for row in s['rows']]
             for report in reports]
    assert [dump for dump in found if dump] == [[1, 2, 3, 4], [5, 6]]
    done = run('trace', '-e', 'a:*', '--dump-when', 'c==5', '--input', script)
    assert "the condition 'c==5' of a dump was not true for any event" in done.stdout, done.stderr
    done = run('trace', '-e', 'a:*', '--dump-when', 'x==4', '--input', script)
    assert done.returncode == 2 and "no such field or variable 'x'" in done.stderr


# ---- other options of trace ----

def test_folded_stacks_of_events(tmp_path):
    """Each traced fault is in the folded stacks once."""
    folded, lines = tmp_path / 'x.folded', tmp_path / 'x.json'
    program = 'import mmap\nm = mmap.mmap(-1, 1 << 22)\nfor i in range(0, 1 << 22, 4096): m[i] = 1'
    done = run('trace', '-q', '-m', 2048, '-e', 'page-faults', '-g', '--flame-graph', folded,
               '-o', lines, '--', sys.executable, '-c', program)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in lines.read_text().splitlines()]
    traced = sum(len(s['rows']) for r in reports for s in r['sections'] if s['name'] == 'events')
    assert sum(int(line.split()[-1]) for line in folded.read_text().splitlines()) == traced >= 1000


def test_events_of_some_cpus(tmp_path):
    """cpus= restricts one event; the other one happens on all CPUs."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip('one CPU only')
    program = ('import os\n' + ''.join(
        f'os.sched_setaffinity(0, {{{cpu}}}); os.getppid()\n' for cpu in cpus))
    lines = tmp_path / 'x.json'
    done = run('trace', '-q', '-e', f'syscalls:sys_enter_getppid//cpus={cpus[1]}/,'
               'syscalls:sys_exit_getppid', '-o', lines, '--', sys.executable, '-c', program)
    assert done.returncode == 0, done.stderr
    rows = [row for line in lines.read_text().splitlines()
            for s in json.loads(line)['sections'] for row in s['rows']]
    assert [row[3] for row in rows if row[4].startswith('syscalls:sys_enter')] == [cpus[1]]
    assert sorted(row[3] for row in rows if row[4].startswith('syscalls:sys_exit')) == cpus
