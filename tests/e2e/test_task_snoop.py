# SPDX-License-Identifier: MIT
"""attar execsnoop and exitsnoop: known programs and exits, scripted and live."""
import json
import os
import re
import subprocess
import sys
import time

import pytest

from command import ATTAR, ROOT, is_waiting, run, wait_until

MS = 10**6
TICK = 2 / os.sysconf('SC_CLK_TCK')  # seconds, rounded up


def parts(ended):
    """The lines as dictionaries, and the numbers of the table."""
    assert ended.returncode == 0, ended.stderr
    lines, counts = [], None
    for text in ended.stdout.splitlines():
        if not text.startswith('{"'):
            continue
        for s in json.loads(text)['sections']:
            names = [c['name'] for c in s['columns']]
            if 'time' in names:
                lines += [dict(zip(names, row)) for row in s['rows']]
            elif not s['name'].startswith('by '):
                counts = tuple(s['rows'][0])
    return lines, counts


@pytest.fixture(name='attar')
def fixture_attar(tmp_path):
    path = tmp_path / 'tasks.script'

    def call(profiler, script, *args):
        path.write_text('# attar script\n' + script)
        return parts(run(profiler, '--format', 'json', '--input', path, *args))
    return call


EXECS = '''event sched:sched_process_exec filename:string pid:pid_t old_pid:pid_t
event syscalls:sys_exit_execve ret:long
event syscalls:sys_exit_execveat ret:long
1.0 0 1/1 init fork 100/100
1.1 0 100/100 ls sched:sched_process_exec filename="/bin/my ls" pid=100 old_pid=100
1.2 0 100/100 ls syscalls:sys_exit_execve ret=0
1.3 0 200/200 sh syscalls:sys_exit_execve ret=-2
1.4 0 200/200 sh syscalls:sys_exit_execveat ret=-13
'''
EXITS = '''event sched:sched_process_fork parent_pid:pid_t child_pid:pid_t
event syscalls:sys_enter_exit_group error_code:u64
event syscalls:sys_enter_exit error_code:u64
event signal:signal_deliver sig:int sa_handler:u64
event signal:signal_generate sig:int pid:pid_t result:int
event sched:sched_process_exec filename:string pid:pid_t old_pid:pid_t
event sched:sched_process_exit pid:pid_t group_dead:u8
1.000000000 0 1/1 init fork 100/100
1.000000001 0 1/1 init sched:sched_process_fork child_pid=100
1.000100000 0 100/100 a fork 100/101
1.000200000 0 100/101 a syscalls:sys_enter_exit error_code=5
1.000300000 0 100/101 a sched:sched_process_exit pid=101
1.000400000 0 100/100 a syscalls:sys_enter_exit_group error_code=3
1.000500000 1 100/102 a signal:signal_deliver sig=9
1.000600000 1 100/102 a sched:sched_process_exit pid=102
1.002000001 0 100/100 a sched:sched_process_exit pid=100 group_dead=1
1.1 0 1/1 init signal:signal_generate sig=15 pid=200
1.2 0 200/200 b signal:signal_deliver sig=17
1.3 0 200/200 b signal:signal_deliver sig=10 sa_handler=0x1234
1.4 0 200/200 b signal:signal_deliver sig=11
1.5 0 200/200 b sched:sched_process_exit pid=200 group_dead=1
1.6 0 300/300 c syscalls:sys_enter_exit error_code=0
1.7 0 300/300 c sched:sched_process_exit pid=300 group_dead=1
1.80 0 1/1 init fork 400/400
1.81 0 400/400 d syscalls:sys_enter_exit error_code=7
1.82 0 1/1 init signal:signal_generate sig=1 pid=400
1.83 0 400/400 d signal:signal_deliver sig=9
1.84 0 400/400 d sched:sched_process_exit pid=400 group_dead=1
'''
# Three processes with threads execute a program. 500: a second thread calls exit(5) before, the
# third is killed; the program ends with 0. 600: the main thread is killed, and the second one takes
# its tid; the program ends with 4. 700: the program is killed.
EXECS_OF_THREADS = EXITS[:EXITS.index('1.000000000')] + '''1.00 0 1/1 init fork 500/500
1.01 0 500/500 e fork 500/501
1.02 0 500/500 e fork 500/502
1.03 0 500/501 e syscalls:sys_enter_exit error_code=5
1.04 0 500/501 e sched:sched_process_exit pid=501
1.05 0 500/502 e signal:signal_deliver sig=9
1.06 0 500/502 e sched:sched_process_exit pid=502
1.07 0 500/500 e sched:sched_process_exec filename="/bin/true" pid=500 old_pid=500
1.08 0 500/500 e syscalls:sys_enter_exit_group error_code=0
1.09 0 500/500 e sched:sched_process_exit pid=500 group_dead=1
1.10 0 1/1 init fork 600/600
1.11 0 600/600 f fork 600/601
1.12 0 600/600 f signal:signal_deliver sig=9
1.13 0 600/600 f sched:sched_process_exit pid=600
1.14 0 600/600 f sched:sched_process_exec filename="/bin/x" pid=600 old_pid=601
1.15 0 600/600 f syscalls:sys_enter_exit_group error_code=4
1.16 0 600/600 f sched:sched_process_exit pid=600 group_dead=1
1.20 0 1/1 init fork 700/700
1.21 0 700/700 g fork 700/701
1.22 0 700/701 g signal:signal_deliver sig=9
1.23 0 700/701 g sched:sched_process_exit pid=701
1.24 0 700/700 g sched:sched_process_exec filename="/bin/y" pid=700 old_pid=700
1.25 0 1/1 init signal:signal_generate sig=15 pid=700
1.26 0 700/700 g signal:signal_deliver sig=9
1.27 0 700/700 g sched:sched_process_exit pid=700 group_dead=1
'''
# As an older kernel, without group_dead. 600: a second thread executes a program, and takes the tid
# of the main thread, which is killed. 800: the main thread ends before the other one.
OF_OLDER_KERNELS = EXITS[:EXITS.index('1.000000000')].replace(' group_dead:u8', '') + '''\
1.10 0 1/1 init fork 600/600
1.10 0 1/1 init sched:sched_process_fork child_pid=600
1.11 0 600/600 f fork 600/601
1.11 0 600/600 f sched:sched_process_fork child_pid=601
1.12 0 600/600 f signal:signal_deliver sig=9
1.13 0 600/600 f sched:sched_process_exit pid=600
1.14 0 600/600 f sched:sched_process_exec filename="/bin/x" pid=600 old_pid=601
1.15 0 600/600 f syscalls:sys_enter_exit_group error_code=4
1.16 0 600/600 f sched:sched_process_exit pid=600
1.20 0 1/1 init fork 800/800
1.20 0 1/1 init sched:sched_process_fork child_pid=800
1.21 0 800/800 h sched:sched_process_exec filename="/bin/y" pid=800 old_pid=800
1.22 0 800/800 h fork 800/801
1.22 0 800/800 h sched:sched_process_fork child_pid=801
1.23 0 800/800 h syscalls:sys_enter_exit error_code=0
1.24 0 800/800 h sched:sched_process_exit pid=800
1.25 0 800/801 h syscalls:sys_enter_exit_group error_code=3
1.26 0 800/801 h sched:sched_process_exit pid=801
'''
# A second thread of process 600 executes a program, and takes the tid of the main thread, which is
# killed.
EXEC_OF_ANOTHER_THREAD = EXITS[:EXITS.index('1.000000000')] + '''\
1.10 0 1/1 init fork 600/600
1.100000001 0 1/1 init sched:sched_process_fork child_pid=600
1.11 0 600/600 f fork 600/601
1.110000001 0 600/600 f sched:sched_process_fork child_pid=601
1.13 0 600/600 f sched:sched_process_exit pid=600
1.14 0 600/600 f exec
1.14 0 600/600 f sched:sched_process_exec filename="/bin/x" pid=600 old_pid=601
1.15 0 600/600 f syscalls:sys_enter_exit_group error_code=4
1.160000001 0 600/600 f sched:sched_process_exit pid=600 group_dead=1
'''


def creates_threads(n, main_thread=500):
    """A process whose other threads end and leave nothing: 1 ns after their FORK records."""
    lines = [f'1.0 0 1/1 init fork {main_thread}/{main_thread}',
             f'1.000000001 0 1/1 init sched:sched_process_fork child_pid={main_thread}']
    for i in range(n):
        task, tid = f'0 {main_thread}/{main_thread} e', main_thread + 1 + i
        lines += [f'2.{i:06} {task} fork {main_thread}/{tid}',
                  f'2.{i:06}001 {task} sched:sched_process_fork child_pid={tid}',
                  f'2.{i:06}002 0 {main_thread}/{tid} e sched:sched_process_exit pid={tid}',
                  f'2.{i:06}003 0 {main_thread}/{tid} e exit']
    lines += [f'3.000000001 0 {main_thread}/{main_thread} e sched:sched_process_exit '
              f'pid={main_thread} group_dead=1\n']
    return EXITS[:EXITS.index('1.000000000')] + '\n'.join(lines)


@pytest.mark.quick
class TestScripts:
    def test_execs(self, attar):
        lines, counts = attar('execsnoop', EXECS)
        assert [(r['comm'], r['pid'], r['ppid'], r['result'], r['file'], r['arguments'])
                for r in lines] == [('ls', 100, 1, 'ok', '/bin/my ls', '[unknown]')]
        assert counts == (1, None)  # the two that failed are not watched

    def test_failed_execs(self, attar):
        lines, counts = attar('execsnoop', EXECS, '-x', '-n', 's?')
        assert [(r['comm'], r['pid'], r['result']) for r in lines] == [
            ('sh', 200, 'ENOENT'), ('sh', 200, 'EACCES')]
        assert counts == (2, 2)

    def test_exits(self, attar):
        """The first cause of an exit counts, and a signal is the one that was sent."""
        lines, counts = attar('exitsnoop', EXITS)
        assert [(r['comm'], r['pid'], r['tid'], r['age'], r['exit']) for r in lines] == [
            ('a', 100, 100, 2 * MS, '3'), ('b', 200, 200, None, 'SIGSEGV'),
            ('c', 300, 300, None, '0'), ('d', 400, 400, 40 * MS, 'SIGHUP')]
        assert lines[0]['ppid'] == 1
        assert counts == (4, 3)

    def test_exec_of_a_process_with_threads(self, attar):
        """The SIGKILL of the other threads is not the end of the process."""
        lines, counts = attar('exitsnoop', EXECS_OF_THREADS)
        assert [(r['comm'], r['pid'], r['exit']) for r in lines] == [
            ('e', 500, '0'), ('f', 600, '4'), ('g', 700, 'SIGTERM')]
        assert counts == (3, 2)
        lines, counts = attar('exitsnoop', EXECS_OF_THREADS, '-x')
        assert [r['comm'] for r in lines] == ['f', 'g']
        assert counts == (3, 2)  # also the one that is not printed

    def test_last_thread_of_kernels_that_do_not_tell_it(self, attar):
        lines, counts = attar('exitsnoop', OF_OLDER_KERNELS)
        assert [(r['comm'], r['tid'], r['age'], r['exit']) for r in lines] == [
            ('f', 600, 60 * MS, '4'), ('h', 801, 60 * MS, '3')]
        assert counts == (2, 2)

    def test_age_of_a_process_that_another_thread_continues(self, attar):
        """That of the process, which does not begin again, with each way to count threads."""
        for script in EXEC_OF_ANOTHER_THREAD, EXEC_OF_ANOTHER_THREAD.replace(
                ' group_dead:u8', '').replace(' group_dead=1', ''):
            lines, counts = attar('exitsnoop', script)
            assert [(r['tid'], r['age'], r['exit']) for r in lines] == [(600, 60 * MS, '4')]
            assert counts == (1, 1)
        lines, counts = attar('exitsnoop', EXEC_OF_ANOTHER_THREAD, '--threads')
        assert [(r['tid'], r['age'], r['exit']) for r in lines] == [
            (600, 30 * MS - 1, None), (600, 60 * MS, '4')]
        assert counts == (2, 1)

    @pytest.mark.parametrize('words', [[], ['--threads']], ids=['processes', 'threads'])
    def test_age_of_a_process_with_many_threads(self, attar, words):
        """It is not evicted by the starts of 70,000 threads, which its end would not need."""
        lines, counts = attar('exitsnoop', creates_threads(70000), *words)
        assert (lines[-1]['pid'], lines[-1]['tid'], lines[-1]['age']) == (500, 500, 2000 * MS)
        assert counts == (70001 if words else 1, 0)

    def test_exits_of_older_kernels(self, attar):
        """Of processes that are older than the measurement, the main thread counts as the last."""
        lines, counts = attar('exitsnoop', EXITS.replace(' group_dead:u8', '')
                              .replace(' group_dead=1', ''))
        assert [(r['comm'], r['tid'], r['exit']) for r in lines] == [
            ('a', 100, '3'), ('b', 200, 'SIGSEGV'), ('c', 300, '0'), ('d', 400, 'SIGHUP')]
        assert counts == (4, 3)

    def test_threads_and_selections(self, attar):
        lines, _ = attar('exitsnoop', EXITS, '--threads', '-p', '100')
        assert [(r['tid'], r['exit']) for r in lines] == [(101, None), (102, None), (100, '3')]
        lines, counts = attar('exitsnoop', EXITS, '-x', '-n', 'c,d')
        assert [r['comm'] for r in lines] == ['d']
        assert counts == (2, 1)


CHILDREN = 20
NAME = f'ends{os.getpid()}'
PROGRAM = f'''
import os, signal, sys, threading, time
open("/proc/self/comm", "w").write("{NAME}")
for i in range({CHILDREN}):
    if os.fork() == 0: os._exit(i % 4)
    os.wait()
for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
    ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(ready[1], b"x")
        while True: signal.pause()
    os.read(ready[0], 1)
    os.kill(pid, number)
    os.wait()
def begin(function, argument):
    threading.Thread(target=function, args=(argument,)).start()
def execute(status):
    code = f"import os; open('/proc/self/comm', 'w').write('{NAME}'); os._exit({{status}})"
    os.execl(sys.executable, sys.executable, "-Ic", code)
for status in (77, 0):
    if os.fork() == 0:
        begin(time.sleep, 60)
        os._exit(status)
    os.wait()
if os.fork() == 0:
    begin(time.sleep, 60)
    execute(0)
os.wait()
if os.fork() == 0:
    begin(execute, 66)
    time.sleep(60)
os.wait()
'''
THE_OTHERS = ['SIGTERM', 'SIGKILL', 'SIGSEGV', '77', '0', '0', '66', '0']


@pytest.mark.usefixtures('root')
class TestLive:
    def test_arguments_of_a_program_that_runs(self, tmp_path):
        """It waits for the line with its arguments, which are in /proc until then."""
        lock = tmp_path / 'fifo'
        os.mkfifo(lock)
        attar = subprocess.Popen([ATTAR, 'execsnoop', '-q', '-n', 'cat', '--format', 'json', '--',
                                  'cat', '', lock], stdout=subprocess.PIPE, text=True)
        try:
            line = attar.stdout.readline()
            lock.write_text('')
            attar.communicate(timeout=60)
        finally:
            attar.kill()
            attar.wait()
        row, = parts(subprocess.CompletedProcess([], 0, line, ''))[0]
        assert row['arguments'] == f' {lock}'

    def test_arguments_are_right_or_unknown(self):
        """Programs of one name that end at once, and one that executes another of the same name."""
        ended = run('execsnoop', '--format', 'json', '--', 'sh', '-c',
                    'for i in $(seq 100); do /bin/true a$i "" b; done; '
                    'exec sh -c "exec sh -c : x" y')
        found = parts(ended)[0]
        remarks = json.loads(ended.stdout.splitlines()[-1]).get('remarks', [])
        names = [r['arguments'] for r in found if r['comm'] == 'true']
        assert len(names) == 100
        assert all(n in (f'a{i + 1}  b', '[unknown]') for i, n in enumerate(names))
        shells = [r['arguments'] for r in found if r['comm'] == 'sh'][1:]
        assert all(a in (b, '[unknown]') for a, b in zip(shells, ['-c exec sh -c : x y', '-c : x'],
                                                         strict=True))
        unknown = sum(r['arguments'] == '[unknown]' for r in found)
        said = [int(r.split()[3]) for r in remarks if r.startswith('the arguments of ')]
        assert said == ([unknown] if unknown else [])
        assert unknown < 60  # of programs that live for a millisecond

    @pytest.mark.parametrize('first_line', ['#!/bin/sh', '#!/bin/sh -e'])
    def test_arguments_of_a_script(self, first_line, tmp_path):
        """Without those that the kernel adds for its interpreter."""
        script = tmp_path / 'scr.sh'
        script.write_text(f'{first_line}\n:\n')
        script.chmod(0o755)
        ended = run('execsnoop', '-n', 'scr.sh', '--format', 'json', '--', 'sh', '-c',
                    'cd "$1"; ./scr.sh; ./scr.sh p1; ./scr.sh ./scr.sh "" p2; "$1"/scr.sh "$1/scr"',
                    'sh', tmp_path)
        found = parts(ended)[0]
        assert [r['file'] for r in found] == 3 * ['./scr.sh'] + [str(script)]
        expected = ['', 'p1', './scr.sh  p2', f'{tmp_path}/scr']
        assert all(r['arguments'] in (wanted, '[unknown]')
                   for r, wanted in zip(found, expected, strict=True)), found

    def test_arguments_of_a_program_that_is_its_own_argument(self):
        """It is no script: the first argument is its name."""
        true = os.path.realpath('/bin/true')
        for name in ('true', true):
            ended = run('execsnoop', '-n', 'true', '--format', 'json', '--', sys.executable, '-c',
                        f'import os; os.execv({true!r}, [{name!r}, {true!r}, "p1"])')
            row, = parts(ended)[0]
            assert row['arguments'] in (f'{true} p1', '[unknown]')

    def test_long_arguments_are_cut(self):
        ended = run('execsnoop', '-n', 'true', '--in-kernel', 'no', '--format', 'json', '--',
                    '/bin/true', 'x' * 3000, 'y')
        row, = parts(ended)[0]
        text = row['arguments']
        assert text == '[unknown]' or (text.strip('x') == '...' and 1000 < len(text) < 1024)

    def test_children(self):
        lines, counts = parts(run('exitsnoop', '--format', 'json', '--', sys.executable, '-c',
                                  PROGRAM))
        exits = [r['exit'] for r in lines]
        assert exits[:CHILDREN] == [str(i % 4) for i in range(CHILDREN)]
        assert exits[CHILDREN:] == THE_OTHERS
        assert all(r['age'] > 0 for r in lines)
        assert counts == (CHILDREN + 8, CHILDREN * 3 // 4 + 5)

    def test_recording_of_the_manual(self, tmp_path):
        """The events that docs/profilers/exitsnoop.md names are enough."""
        page = (ROOT / 'docs/profilers/exitsnoop.md').read_text()
        command = re.search(r'^    attar (record (?:.|\n {8})*)', page, re.M)[1]
        data = tmp_path / 'x.data'
        recorded = run(*command.replace('\\\n', ' ').split(), '-m', 1024, '-o', data, '--',
                       sys.executable, '-c', PROGRAM)
        assert recorded.returncode == 0, recorded.stderr
        lines, _ = parts(run('exitsnoop', '--format', 'json', '--input', data))
        exits = [r['exit'] for r in lines if r['comm'] == NAME]
        assert exits == [*(str(i % 4) for i in range(CHILDREN)), *THE_OTHERS]

    def test_age_of_a_process_that_is_older_than_the_run(self):
        """Its start is in /proc, to a tick."""
        before = time.monotonic()
        old = subprocess.Popen(['cat'], stdin=subprocess.PIPE)
        after = time.monotonic()
        attar = subprocess.Popen([ATTAR, 'exitsnoop', '--format', 'json', '-p', str(old.pid)],
                                 stdout=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: is_waiting(attar), 'its events are enabled')
            wait_until(lambda: time.monotonic() > after + 0.2, 'it is older than some ticks')
            least = time.monotonic() - after
            old.stdin.close()
            out, _ = attar.communicate(timeout=60)
        finally:
            for process in (old, attar):
                process.kill()
                process.wait()
        most = time.monotonic() - before
        lines, _ = parts(subprocess.CompletedProcess([], attar.returncode, out, ''))
        assert [r['comm'] for r in lines] == ['cat']
        assert (least - TICK) * 1000 * MS <= lines[0]['age'] <= (most + TICK) * 1000 * MS
