# SPDX-License-Identifier: MIT
"""What threads wait for, and who can end the wait: known by construction."""
import contextlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import scripts
from command import ATTAR, has, run, wait_until, workload

LOCKS = ['mutex', 'checked', 'robust', 'pi', 'shared', 'read', 'wrwait']
FILES = ['pipe', 'kept', 'full', 'poll', 'select', 'unix', 'tcp', 'unaccepted']
CHILDREN = ['child', 'any']
WORDS = {
    'kept': r'data of pipe:\[\d+\], written by ',
    'pipe': r'data of pipe:\[\d+\], written by ', 'full': r'room in pipe:\[\d+\], read by ',
    'poll': r'data of pipe:\[\d+\], written by ', 'select': r'data of pipe:\[\d+\], written by ',
    'unix': 'data of a UNIX socket, written by ',
    'tcp': r'data of the connection with 127\.0\.0\.1:\d+, written by ',
    'unaccepted': r'data of the connection with 127\.0\.0\.1:\d+, written by ',
    'child': 'the end of ', 'any': 'the end of ', 'join': 'the end of ',
    'flock': r'the lock of file /tmp/whom\.\w+ \(deleted\), held by ',
    'fcntl': r'the lock of file /tmp/whom\.\w+ \(deleted\), held by ',
}
IDLE = {'sleep': 'a time to pass', 'accept': 'a client to connect',
        'epoll': 'an event of several files', 'read2': 'an event of several files',
        'signal': 'a signal', 'terminal': 'input of a terminal'}


@contextlib.contextmanager
def whom(kind, prefix=()):
    """The program, with its thread that waits, the other end and the address of the lock."""
    with subprocess.Popen([*prefix, workload('whom'), kind], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        try:
            waiter, other, address = program.stdout.readline().split()
            waiter, other = int(waiter), int(other)
            wait_until(lambda: kind == 'full' or state(waiter) in 'SD', 'the thread to wait')
            yield program, waiter, other, int(address, 16)
        finally:
            program.stdin.close()


def state(tid):
    with open(f'/proc/{tid}/stat', encoding='utf-8') as file:
        return file.read().rpartition(')')[2].split()[0]


def waits_of(tid):
    """The row of the thread."""
    done = run('stack', '-t', tid, '--json')
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)['sections'][0]
    row = table['rows'][0]
    return dict(zip([c['name'] for c in table['columns']], row))


@pytest.mark.parametrize('kind', LOCKS)
def test_holder_of_a_lock(kind):
    with whom(kind) as (_, waiter, other, address):
        row = waits_of(waiter)
        name = 'other end' if kind == 'shared' else 'holder'
        assert row['waits for'].endswith(f', held by {name} ({other})'), row
        assert row['other tid'] == other
        assert row['waits for'].startswith(f'the lock at {address:#x}, ')


def test_lock_that_readers_hold():
    """No thread is named: the lock counts its readers."""
    with whom('write') as (_, waiter, _, address):
        row = waits_of(waiter)
        assert row['waits for'] == f'the lock at {address:#x}'
        assert row['other pid'] is None and 'held' not in row['waits for']


@pytest.mark.parametrize('kind', FILES + CHILDREN + ['join', 'flock', 'fcntl'])
def test_other_end(kind):
    with whom(kind) as (_, waiter, other, _):
        row = waits_of(waiter)
        name = 'holder' if kind == 'join' else 'other end'
        assert re.match(WORDS[kind], row['waits for']), row
        assert f'{name} ({other})' in row['waits for'], row
        assert row['other pid'] == other and 'other process' not in row['waits for']


@pytest.mark.usefixtures('root')
def test_file_of_another_kind():
    """A device that is no pipe, socket or terminal has its path."""
    program = ('import os\nf = os.open("/dev/kmsg", os.O_RDONLY)\nos.lseek(f, 0, os.SEEK_END)\n'
               'print("ready", flush=True)\nwhile True: os.read(f, 8192)')
    with subprocess.Popen(['/usr/bin/python3', '-I', '-S', '-c', program],
                          stdout=subprocess.PIPE) as reader:
        try:
            reader.stdout.readline()
            wait_until(lambda: state(reader.pid) == 'S', 'the program to wait')
            assert waits_of(reader.pid)['waits for'] == 'data of /dev/kmsg'
        finally:
            reader.kill()


def test_locks_of_several_files():
    """Each waiter has the holder of its own file."""
    with whom('flock') as first, whom('fcntl') as second, whom('flock') as third:
        for _, waiter, other, _ in (first, second, third):
            assert waits_of(waiter)['other pid'] == other


@pytest.mark.parametrize('kind', IDLE)
def test_waits_for_nobody(kind):
    with whom(kind) as (_, waiter, _, _):
        row = waits_of(waiter)
        assert row['waits for'] == IDLE[kind]
        assert row['other pid'] is None


@pytest.mark.parametrize('kind', ['condition', 'semaphore'])
def test_condition_has_no_holder(kind):
    """Nor is a semaphore a lock, whatever the memory beside it looks like."""
    with whom(kind) as (_, waiter, _, _):
        row = waits_of(waiter)
        assert row['waits for'].startswith('another thread to signal the condition at 0x')
        assert row['other pid'] is None


def test_datagrams():
    with whom('udp') as (_, waiter, *_):
        assert re.fullmatch(r'datagrams at port \d+', waits_of(waiter)['waits for'])


@pytest.mark.parametrize('kind, words', [('sleep', 'a time to pass'),
                                         ('timed', 'the lock at {:#x}, held by holder ({})')])
def test_calls_that_are_restarted(kind, words):
    """After SIGSTOP and SIGCONT, and when attar has copied the stack: restart_syscall(2)."""
    with whom(kind) as (program, waiter, other, address):
        os.kill(program.pid, signal.SIGSTOP)
        wait_until(lambda: state(waiter) == 'T', 'the program to stop')
        os.kill(program.pid, signal.SIGCONT)
        wait_until(lambda: state(waiter) == 'S', 'the thread to wait')
        for _ in range(2):
            assert waits_of(waiter)['waits for'] == words.format(address, other)
        if kind == 'sleep':
            found = scripts.report('wall', '-p', program.pid, '-d', '200ms')
            row, = [r for r in scripts.rows(found, 'threads') if r['tid'] == waiter]
            assert row['sleep'] == 100


def test_parent_of_vfork():
    """It does not stop for its stack to be copied; what it waits for is known."""
    with whom('vfork') as (program, waiter, _, _):
        done = run('stack', '-t', waiter)
        with open(f'/proc/{program.pid}/task/{waiter}/children', encoding='utf-8') as file:
            child = int(file.read().split()[-1])
        assert waits_of(waiter)['end'] == 'not copied'
        assert done.returncode == 0, done.stderr
        assert f'  waits for the end of waiter ({child})' in done.stdout
        assert '  ... no stack: ' in done.stdout
        os.kill(child, signal.SIGKILL)


def test_state_of_the_holder():
    with whom('shared') as (_, waiter, other, _):
        os.kill(other, signal.SIGSTOP)
        wait_until(lambda: state(other) == 'T', 'the holder to stop')
        assert waits_of(waiter)['waits for'].endswith(f'held by other end ({other}), '
                                                      'which is stopped')


def test_numbers_of_another_pid_namespace():
    """The owner's number in the lock is one of the namespace of the program."""
    with whom('mutex', prefix=['unshare', '--pid', '--fork', '--kill-child']) as (program, *_):
        child = int(open(f'/proc/{program.pid}/task/{program.pid}/children',
                         encoding='utf-8').read())
        rows = json.loads(run('stack', '-p', child, '--json').stdout)['sections'][0]
        names = [c['name'] for c in rows['columns']]
        threads = {row[names.index('comm')]: dict(zip(names, row)) for row in rows['rows']}
        assert threads['waiter']['other tid'] == threads['holder']['tid']


def children_of(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='utf-8') as file:
        return [int(child) for child in file.read().split()]


def test_child_of_another_pid_namespace():
    """The number in the call is another process in the namespace of attar."""
    with whom('child', prefix=['unshare', '--pid', '--fork', '--kill-child']) as (program, *_):
        parent = children_of(program.pid)[0]
        child, = children_of(parent)
        rows = json.loads(run('stack', '-p', parent, '--json').stdout)['sections'][0]
        names = [c['name'] for c in rows['columns']]
        others = {row[names.index('comm')]: row[names.index('other pid')] for row in rows['rows']}
        assert others['waiter'] == child


OWN_PIPE = '''
import os, sys, threading, time
ends = os.pipe()
if sys.argv[1] == 'threads':
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print('ready', flush=True)
os.read(ends[0], 1)
'''


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', ['alone', 'threads'])
def test_pipe_of_the_own_process(kind):
    """Another thread may write; without one, nobody can."""
    with subprocess.Popen(['/usr/bin/python3', '-I', '-S', '-c', OWN_PIPE, kind],
                          stdout=subprocess.PIPE) as program:
        try:
            program.stdout.readline()
            wait_until(lambda: state(program.pid) == 'S', 'the program to read')
            rows, _ = open_waits('offcpu', '-p', program.pid, '-d', '100ms')
        finally:
            program.kill()
    row = rows[program.pid]
    assert row['waits for'].endswith(f'written by python3 ({program.pid})')
    assert ('deadlock' in row['in the end']) == (kind == 'alone'), row


RUNTIMES = {
    'python3': (['/usr/bin/python3', '-I', '-S'], 'x.py', '''
import sys, threading
sys.setswitchinterval(1000)
def spin():
    while True: pass
for _ in range(3): threading.Thread(target=spin, daemon=True).start()
spin()
'''),
    'ruby': (['ruby'], 'x.rb', '3.times { Thread.new { loop {} } }\nloop {}\n'),
    'java': (['java', '-Xint'], 'X.java', '''
public class X {
    public static void main(String[] args) {
        Object lock = new Object();
        synchronized (lock) {
            for (int i = 0; i < 3; i++)
                new Thread(() -> { synchronized (lock) { } }, "blocked").start();
            for (long n = 0; ; n++) { }
        }
    }
}
'''),
}


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('runtime', RUNTIMES)
def test_threads_of_a_runtime_wait_for_another_one(runtime, tmp_path):
    """For the global lock of the interpreter, or a monitor, while the holder runs."""
    command, name, text = RUNTIMES[runtime]
    if not has(command[0]):
        pytest.skip(f'{command[0]} is not installed')
    (tmp_path / name).write_text(text)
    with subprocess.Popen([*command, tmp_path / name], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as program:
        def found():
            rows, _ = open_waits('task-state', '-p', program.pid, '-d', '100ms')
            waits = ' '.join(row['waits for'] for row in rows.values())
            runs = re.search(r'signal the condition at 0x\w+, while \S.*? \((\d+)\)'
                             r'( and \d other threads?)? runs?\b', waits)
            return runs and os.path.exists(f'/proc/{program.pid}/task/{runs[1]}')
        try:
            wait_until(found, 'threads that wait while another one runs')
        finally:
            program.kill()


@contextlib.contextmanager
def silent_mount(directory):
    """A FUSE file system whose server answers no read."""
    directory.mkdir()
    with subprocess.Popen(['/usr/bin/python3', Path(__file__).with_name('silent_fuse.py'),
                           directory, str(os.geteuid())], stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout.readline(), 'the file system is not mounted'
            yield server
        finally:
            server.kill()
            server.wait()
            subprocess.run(['umount', '-l', directory], check=False)


@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not os.path.exists('/dev/fuse'), reason='the kernel has no FUSE')
def test_servers_of_file_systems(tmp_path):
    """Each of two readers waits for the server of its own file system, which waits for requests."""
    with contextlib.ExitStack() as stack:
        mounts = [(tmp_path / name, stack.enter_context(silent_mount(tmp_path / name)))
                  for name in ('one', 'two')]
        readers = [stack.enter_context(subprocess.Popen(['cat', path / 'file'],
                                                        stderr=subprocess.DEVNULL))
                   for path, _ in mounts]
        stack.callback(lambda: [server.kill() for _, server in mounts])
        for (path, server), reader in zip(mounts, readers):
            wchan = Path(f'/proc/{reader.pid}/wchan')
            wait_until(lambda: 'request_wait' in wchan.read_text(), 'the program to read')
            row = waits_of(reader.pid)
            server_of = f'the file system {path} (fuse), served by python3 '
            assert row['waits for'].startswith(server_of), row
            with open(f'/proc/{server.pid}/fdinfo/3', encoding='utf-8') as file:
                if 'fuse_connection' in file.read():
                    assert row['waits for'] == f'{server_of}({server.pid})'
            assert waits_of(server.pid)['waits for'].startswith('a request to the file system')
        rows, _ = open_waits('offcpu', '-a', '-d', '100ms')
        assert rows[readers[0].pid]['waits for'].startswith(f'the file system {tmp_path}/one')


# ---- profilers: waits that have not ended ----

OPEN = 'waits that have not ended'
WATCHED = 500_000_000
HAS_STARTS = os.path.exists('/proc/self/sched')


def open_waits(*args):
    """The rows of the table by thread, and the report."""
    done = run(*args, '--format', 'json')
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    rows = {}
    for section in report['sections']:
        if section['name'] == OPEN:
            names = [c['name'] for c in section['columns']]
            rows = {row[names.index('tid')]: dict(zip(names, row)) for row in section['rows']}
    return rows, report


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', ['locks', 'offcpu', 'task-state', 'wall'])
def test_wait_that_outlasts_the_watch(profiler):
    """It began before and does not end: its row has a bound, the holder and what that waits for."""
    with whom('shared') as (program, waiter, other, _):
        rows, report = open_waits(profiler, '-p', program.pid, '-d', '500ms')
    assert_shared(rows, waiter, other)
    assert_remark(report)


def assert_shared(rows, waiter, other):
    row = rows[waiter]
    assert row['comm'] == 'waiter' and row['threads'] == 1
    assert row['at least'] >= WATCHED
    assert row['waits for'].endswith(f'held by other end ({other})')
    assert row['in the end'] == f'other end ({other}) waits for a signal'


def assert_remark(report):
    """The length is a bound where the kernel does not say when the wait began."""
    assert HAS_STARTS or has_bounds(report), report


def has_bounds(report):
    """On a busy machine, a CPU may not say in time by how much its clock is behind."""
    return any('began before the measurement' in r for r in report.get('remarks', []))


SLEEPER = '''
import os, sys, time
if sys.argv[1] != 'any':
    os.sched_setaffinity(0, [int(sys.argv[1])])
print(time.monotonic_ns(), flush=True)
time.sleep(100)
'''


@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not HAS_STARTS, reason='the kernel has no /proc/TID/sched')
@pytest.mark.parametrize('prefix', [[], ['unshare', '--pid', '--fork', '--kill-child']])
@pytest.mark.parametrize('cpu', ['any', *sorted(os.sched_getaffinity(0))[:4]])
def test_start_of_a_wait_before_the_watch(cpu, prefix):
    """As the program knows it, but for what interrupts and the hypervisor took."""
    with subprocess.Popen([*prefix, '/usr/bin/python3', '-I', '-S', '-c', SLEEPER, str(cpu)],
                          stdout=subprocess.PIPE) as program:
        try:
            began = int(program.stdout.readline())
            pid = children_of(program.pid)[0] if prefix else program.pid
            wait_until(lambda: state(pid) == 'S', 'the program to sleep')
            asleep = time.monotonic_ns()
            wait_until(lambda: time.monotonic_ns() > began + 1_000_000_000, 'a second to pass')
            for _ in range(5):
                before = time.monotonic_ns()
                rows, report = open_waits('task-state', '-p', pid, '-d', '100ms')
                after = time.monotonic_ns()
                if not has_bounds(report):
                    break
        finally:
            program.kill()
    length = rows[pid]['at least']
    assert (before + 100_000_000 - asleep) * 0.98 < length < after - began, report
    assert not has_bounds(report)


RECORDED = ['sched:sched_switch', 'sched:sched_wakeup', 'sched:sched_wakeup_new',
            'sched:sched_waking', 'syscalls:sys_enter_futex', 'syscalls:sys_exit_futex',
            'cpu-clock']


@pytest.fixture(name='recorded', scope='module',
                params=[('process', []), ('system', []), ('process', ['-z']), ('pipe', [])],
                ids=['process', 'system', 'compressed', 'pipe'])
def fixture_recorded(request, tmp_path_factory):
    """A recording of a wait that outlasts it: its file, waiter, other end, process, time, kind."""
    kind, options = request.param
    path = tmp_path_factory.mktemp('recorded') / 'x.data'
    with whom('shared') as (program, waiter, other, _):
        asleep = time.monotonic_ns()
        selected = ['-a'] if kind == 'system' else ['-p', program.pid]
        for _ in range(5):
            warnings = record(path, '-d', '500ms', *selected, *options, is_pipe=kind == 'pipe')
            warnings += run('task-state', '--input', path).stdout
            if 'were not read' not in warnings and 'cannot be read' not in warnings:
                break
        else:
            pytest.skip('other programs of this machine take the time to read their waits')
        return path, waiter, other, program.pid, time.monotonic_ns() - asleep, kind


def record(path, *args, is_pipe=False):
    with open(path, 'wb') as file:
        done = run('record', '-q', '-g', '-e', ','.join(RECORDED), *args, '-o',
                   '-' if is_pipe else path, stdout=file, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', ['locks', 'offcpu', 'task-state', 'wall'])
def test_wait_in_a_recording(profiler, recorded):
    """As live, of the process that was recorded or is selected, after it has gone."""
    path, waiter, other, pid, length, _ = recorded
    rows, report = open_waits(profiler, '--input', path, '-p', pid)
    assert_shared(rows, waiter, other)
    assert rows[waiter]['at least'] <= length
    assert_remark(report)


@pytest.mark.usefixtures('root')
def test_waits_of_a_recorded_system(recorded):
    """Without -p, a recording of a process shows its idle threads, one of the system does not."""
    path, waiter, other, *_, kind = recorded
    rows, _ = open_waits('offcpu', '--input', path)
    assert_shared(rows, waiter, other)
    assert (other in rows) == (kind != 'system'), rows
    rows, _ = open_waits('offcpu', '--input', path, '-p', os.getpid(), '--no-children')
    assert waiter not in rows


@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not has('perf'), reason='perf is not installed')
def test_perf_reads_a_recording_with_waits(recorded):
    path, *_, kind = recorded
    with open(path, 'rb') as file:
        done = subprocess.run(['perf', 'script', '-i', '-' if kind == 'pipe' else path],
                              stdin=file, capture_output=True, check=False)
    assert done.returncode == 0 and b'Error' not in done.stderr, done.stderr


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', ['locks', 'offcpu', 'task-state'])
def test_wait_that_begins_in_the_watch(profiler):
    """Its length is known from its start, if the kernel delivered the event."""
    read, write = os.pipe()
    with subprocess.Popen([ATTAR, profiler, '-d', '1s', '--format', 'json', '--',
                           workload('whom'), 'shared'], stdin=read, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as attar:
        out, err = attar.communicate()
    os.close(read)
    os.close(write)
    assert attar.returncode == 0, err
    waiter = int(re.search(r'^(\d+) \d+ 0x', out + err, re.M)[1])
    report = json.loads(out.splitlines()[-1])
    section, = [s for s in report['sections'] if s['name'] == OPEN]
    row, = [r for r in section['rows'] if r[1] == waiter]
    length = report['interval_ns']
    if row[3] is None:
        assert report['notes']['lost'] or report['notes']['missing'], report
    else:
        assert length - 500_000_000 < row[3] < length, report
    assert not any('began before' in remark for remark in report.get('remarks', []))


@pytest.mark.usefixtures('root')
def test_threads_that_wait_for_the_same_are_one_row():
    with whom('shared') as (program, *_), whom('sleep') as (sleeper, *_):
        rows, _ = open_waits('offcpu', '-p', f'{program.pid},{sleeper.pid}', '-d', '100ms')
        main = [r for r in rows.values() if r['comm'] == 'whom']
        assert sum(r['threads'] for r in main) == 2, rows


@pytest.mark.usefixtures('root')
def test_system_shows_no_thread_that_waits_for_work():
    """Nor one that waits for a child: shells do."""
    with whom('sleep') as (_, sleeper, *_), whom('shared') as (_, waiter, *_), \
            whom('child') as (_, parent, *_):
        rows, report = open_waits('offcpu', '-a', '-d', '100ms')
    assert waiter in rows and sleeper not in rows and parent not in rows, report
    assert not any(r['waits for'] in IDLE.values() for r in rows.values())
    assert any('wait for other programs or for their children' in r for r in report['remarks'])


@pytest.mark.usefixtures('root')
def test_holder_that_was_killed():
    """A lock between processes that is not robust stays locked for ever."""
    with whom('shared') as (program, waiter, other, _):
        os.kill(other, signal.SIGKILL)
        wait_until(lambda: state(other) == 'Z', 'the holder to end')
        rows, _ = open_waits('locks', '-p', program.pid, '-d', '100ms')
    assert rows[waiter]['waits for'].endswith(f'({other}), which has exited')
    assert rows[waiter]['in the end'] == ''


@pytest.mark.usefixtures('root')
def test_intervals_have_the_wait_each():
    with whom('shared') as (program, waiter, *_):
        done = run('locks', '-p', program.pid, '-i', '200ms', '-d', '600ms', '--format', 'json')
    lengths = [row[3] for line in done.stdout.splitlines() for s in json.loads(line)['sections']
               if s['name'] == OPEN for row in s['rows'] if row[1] == waiter]
    assert len(lengths) >= 3
    for i, length in enumerate(lengths[:3]):
        assert length >= 200_000_000 * (i + 1) - 50_000_000, lengths


# ---- overview ----


def findings(*args):
    """The findings of the report, with their values by name."""
    found = scripts.report('overview', *args)
    return [{**row, **row['values']} for row in scripts.rows(found, 'findings')], found


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('selection', ['process', 'system'])
def test_overview_names_who_holds_threads_up(selection):
    """First of all findings; the next command shows the thread and the holder."""
    with whom('shared') as (program, waiter, other, _):
        os.kill(other, signal.SIGSTOP)
        wait_until(lambda: state(other) == 'T', 'the holder to stop')
        selected = ['-p', program.pid] if selection == 'process' else ['-a']
        for _ in range(5):
            found, report = findings('-d', '1200ms', *selected)
            if not any('were not read' in r for r in report.get('remarks', [])):
                break
        first = found[0]
        assert first['finding'] == 'stuck', report
        if selection == 'system' and not first['evidence'].startswith('waiter '):
            pytest.skip(f'on this machine, {first["evidence"]}')
        assert first['evidence'].startswith(f'waiter ({waiter}) has waited for ')
        assert first['evidence'].endswith(f'held by other end ({other}), which is stopped')
        assert first['command'] == f'attar stack -p {program.pid}'
        done = run(*first['command'].split()[1:])
    assert f'held by other end ({other}), which is stopped\n' in done.stdout


@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not HAS_STARTS, reason='the kernel has no /proc/TID/sched')
def test_overview_of_a_recording(tmp_path):
    """A wait of more than a second is found in a recording of less."""
    path = tmp_path / 'x.data'
    with whom('shared') as (program, waiter, other, _):
        began = time.monotonic_ns()
        wait_until(lambda: time.monotonic_ns() > began + 1_000_000_000, 'a second to pass')
        for _ in range(5):
            warnings = record(path, '-a', '-d', '200ms')
            found, report = findings('--input', path, '-p', program.pid)
            warnings += str(report.get('remarks'))
            if 'were not read' not in warnings and 'cannot be read' not in warnings:
                break
        else:
            pytest.skip('other programs of this machine take the time to read their waits')
    stuck = [f for f in found if f['finding'] == 'stuck']
    assert stuck, report
    assert re.match(rf'waiter \({waiter}\) has waited for \d\.\d s for the lock at \w+, held by '
                    rf'other end \({other}\)', stuck[0]['evidence'])
    assert not stuck[0].get('command')


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', ['pipe', 'tcp'])
def test_peer_of_the_system_that_is_stopped(kind):
    """Waits for data are common, but not for data of a process that is stopped."""
    with whom(kind) as (_, waiter, other, _):
        os.kill(other, signal.SIGSTOP)
        wait_until(lambda: state(other) == 'T', 'the other end to stop')
        for _ in range(5):
            rows, report = open_waits('offcpu', '-a', '-d', '100ms')
            if not any('were not read' in r for r in report.get('remarks', [])):
                break
    assert rows[waiter]['waits for'].endswith(f'({other}), which is stopped'), report


@pytest.mark.usefixtures('root')
def test_overview_names_a_deadlock():
    with whom('deadlock') as (program, waiter, holder, address):
        found, report = findings('-p', program.pid, '-d', '1200ms')
    first = found[0]
    assert first['finding'] == 'stuck' and first['evidence'].endswith(': a deadlock'), report
    assert found[0]['value'] == 2, 'threads'
    assert f'({holder})' in first['evidence'] and f'({waiter})' in first['evidence']
    assert f'{address:#x}' in first['evidence']


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', ['sleep', 'accept', 'epoll', 'child', 'pipe', 'condition',
                                  'semaphore'])
def test_overview_of_programs_that_are_not_stuck(kind):
    with whom(kind) as (program, *_):
        found, report = findings('-p', program.pid, '-d', '1200ms')
    assert 'stuck' not in [f['finding'] for f in found], report
