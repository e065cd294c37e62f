# SPDX-License-Identifier: MIT
"""attar execsnoop and exitsnoop: known programs and exits, scripted and live."""
import json
import os
import re
import subprocess
import sys
import time

import pytest

from command import ATTAR, ROOT, is_sampling, run, wait_until

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
            else:
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


@pytest.mark.quick
class TestScripts:
    def test_execs(self, attar):
        lines, counts = attar('execsnoop', EXECS)
        assert [(r['comm'], r['pid'], r['ppid'], r['result'], r['file'], r['arguments'])
                for r in lines] == [('ls', 100, 1, 'ok', '/bin/my ls', None)]
        assert counts == (1, 0)

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

    def test_threads_and_selections(self, attar):
        lines, _ = attar('exitsnoop', EXITS, '--threads', '-p', '100')
        assert [(r['tid'], r['exit']) for r in lines] == [(101, None), (102, None), (100, '3')]
        lines, counts = attar('exitsnoop', EXITS, '-x', '-n', 'c,d')
        assert [r['comm'] for r in lines] == ['d']
        assert counts == (1, 1)


KPROBES = '/sys/kernel/tracing/kprobe_events'  # with them, the kernel copies arguments
CHILDREN = 20
PROGRAM = f'''
import os, signal, threading, time
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
if os.fork() == 0:
    threading.Thread(target=time.sleep, args=(60,)).start()
    os._exit(77)
os.wait()
'''


@pytest.mark.usefixtures('root')
class TestLive:
    def test_arguments_that_were_read_later_are_marked(self, tmp_path):
        """The last program waits for the line with its arguments, which are in /proc until then."""
        out, lock = tmp_path / 'x.json', tmp_path / 'fifo'
        os.mkfifo(lock)
        attar = subprocess.Popen([ATTAR, 'execsnoop', '-q', '-n', 'cat', '--format', 'json', '--',
                                  'cat', lock], stdout=subprocess.PIPE, text=True)
        try:
            line = attar.stdout.readline()
            lock.write_text('')
            attar.communicate(timeout=60)
        finally:
            attar.kill()
            attar.wait()
        row, = parts(subprocess.CompletedProcess([], 0, line, ''))[0]
        assert row['arguments'] == str(lock)
        assert row['late'] == ('' if os.path.exists(KPROBES) else '?')

    def test_remarks_on_arguments_that_were_not_copied(self):
        """Each line has exact arguments, or is counted as late or as without arguments."""
        ended = run('execsnoop', '--format', 'json', '--', 'sh', '-c',
                    '/bin/true a; /bin/true b; :')
        found = parts(ended)[0]
        remarks = json.loads(ended.stdout.splitlines()[-1]).get('remarks', [])
        counted = sum(int(r.split()[0]) for r in remarks if 'kernel of x86-64 with kprobes' in r)
        assert len(found) == 3
        assert counted == sum(r['late'] == '?' or r['arguments'] is None for r in found)
        assert counted == (0 if os.path.exists(KPROBES) else 3)

    def test_children(self):
        lines, counts = parts(run('exitsnoop', '--format', 'json', '--', sys.executable, '-c',
                                  PROGRAM))
        exits = [r['exit'] for r in lines]
        assert exits[:CHILDREN] == [str(i % 4) for i in range(CHILDREN)]
        assert exits[CHILDREN:] == ['SIGTERM', 'SIGKILL', 'SIGSEGV', '77', '0']
        assert all(r['age'] > 0 for r in lines)
        assert counts == (CHILDREN + 5, CHILDREN * 3 // 4 + 4)

    def test_recording_of_the_manual(self, tmp_path):
        """The events that docs/profilers/exitsnoop.md names are enough."""
        page = (ROOT / 'docs/profilers/exitsnoop.md').read_text()
        command = re.search(r'^    attar (record (?:.|\n {8})*)', page, re.M)[1]
        data = tmp_path / 'x.data'
        recorded = run(*command.replace('\\\n', ' ').split(), '-m', 1024, '-o', data, '--',
                       sys.executable, '-c', PROGRAM)
        assert recorded.returncode == 0, recorded.stderr
        lines, _ = parts(run('exitsnoop', '--format', 'json', '--input', data))
        exits = [r['exit'] for r in lines if r['comm'].startswith('python')]
        assert exits == [*(str(i % 4) for i in range(CHILDREN)), 'SIGTERM', 'SIGKILL', 'SIGSEGV',
                         '77', '0']

    def test_age_of_a_process_that_is_older_than_the_run(self):
        """Its start is in /proc, to a tick."""
        before = time.monotonic()
        old = subprocess.Popen(['cat'], stdin=subprocess.PIPE)
        after = time.monotonic()
        attar = subprocess.Popen([ATTAR, 'exitsnoop', '--format', 'json', '-p', str(old.pid)],
                                 stdout=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: is_sampling(attar), 'its rings are mapped')
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
