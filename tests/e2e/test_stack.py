# SPDX-License-Identifier: MIT
"""attar stack: stacks of running threads, which are known or compared with eu-stack's."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import scripts
from command import ATTAR, cpu_seconds, run, wait_until, workload
from faults import environment

NAMES = {
    'waiting': ['pause', 'rest', 'main'],
    'reader': ['read', 'wait_for_byte', 'reader'],
    'spinner': ['spin', 'turn_wheel', 'spinner'],
}
HANDLER = ['disturb', 'handler']


def are_at_rest(pid):
    """Whether all threads but the spinner sleep."""
    return all(re.search(r'^(Name:\tspinner$|State:\tS)', s, re.M) for s in states(pid))


@pytest.fixture
def waiting():
    """The program, when all its threads have reached their final functions."""
    with subprocess.Popen([workload('waiting')], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == 'ready\n'
        wait_until(lambda: are_at_rest(program.pid), 'the threads to sleep')
        yield program
        program.stdin.close()


def stacks(*args):
    """The threads of the text: (tid, name, functions, last line)."""
    done = run('stack', *args)
    assert done.returncode == 0, done.stderr
    threads = []
    for block in done.stdout.split('\n\n'):
        head, *lines = block.strip().split('\n')
        found = re.fullmatch(r'thread (\d+) (.*)', head)
        frames = [re.match(r'  #\d+ +([^+ ]+)', line) for line in lines]
        threads.append((int(found[1]), found[2], [f[1] for f in frames if f], lines[-1]))
    return threads


def states(pid):
    return [(task / 'status').read_text() for task in Path(f'/proc/{pid}/task').iterdir()]


def test_code_without_a_name(tmp_path):
    """It has the place in its module, as in profiles."""
    source, program = tmp_path / 'nameless.s', tmp_path / 'nameless'
    source.write_text('.text\n.globl _start\n_start: .fill 16, 1, 0x90\n.Lloop: jmp .Lloop\n')
    subprocess.run(['cc', '-nostdlib', '-static', '-o', program, source], check=True)
    subprocess.run(['strip', program], check=True)
    offset = int(re.search(r'\.text +PROGBITS +\w+ (\w+)', subprocess.run(
        ['readelf', '-SW', program], check=True, capture_output=True, text=True).stdout)[1], 16)
    with subprocess.Popen([program]) as process:
        wait_until(lambda: cpu_seconds(process.pid) > 0, 'it loops')
        done = run('stack', '-p', process.pid)
        process.kill()
    assert f'  #0   nameless+{offset + 16:#x} ({program})\n' in done.stdout, done.stdout


def test_known_stacks(waiting):
    threads = stacks('-p', waiting.pid, '--bytes', '4M')
    assert len(threads) == 6
    assert [tid for tid, *_ in threads] == sorted(map(int, os.listdir(f'/proc/{waiting.pid}/task')))
    found = {}
    for _, name, frames, _ in threads:
        found.setdefault(name, frames)
    for name, frames in NAMES.items():
        assert found[name][:3] == frames
    at = found['handler'].index('on_signal')
    assert found['handler'][at - 1] == 'pause'
    after = found['handler'][at + 1:]
    assert 'restore' in after[0] or 'sigreturn' in after[0]
    assert after[after.index('disturb'):][:2] == HANDLER
    assert found['diver'].count('descend') == 5001
    assert found['diver'][5002] == 'diver'
    # they continue: nothing is stopped or traced
    for state in states(waiting.pid):
        assert re.search(r'^TracerPid:\t0$', state, re.M)
        assert not re.search(r'^State:\t[tT]', state, re.M)


def test_deeper_than_copied(waiting):
    threads = stacks('-p', waiting.pid, '--bytes', '64K')
    diver = next(t for t in threads if t[1] == 'diver')
    assert 'deeper' in diver[3]
    assert 100 < diver[2].count('descend') < 5001


def test_one_thread_and_json(waiting):
    tid = next(t[0] for t in stacks('-p', waiting.pid) if t[1] == 'reader')
    done = run('stack', '-t', tid, '--json', '--lines')
    assert done.returncode == 0, done.stderr
    sections = {s['name']: s for s in json.loads(done.stdout)['sections']}
    rows = {name: [dict(zip([c['name'] for c in s['columns']], row)) for row in s['rows']]
            for name, s in sections.items()}
    [thread] = rows['threads']
    assert (thread['tid'], thread['comm'], thread['end']) == (tid, 'reader', 'complete')
    assert thread['frames'] == len(rows['frames'])
    names = [frame['symbol'] for frame in rows['frames']]
    assert names[:3] == NAMES['reader']
    line = rows['frames'][1]['line']
    source = Path(rows['frames'][1]['file']).read_text().splitlines()
    assert 'read(nothing[0]' in source[line - 1]


def turns(tid):
    """How often the thread was on a CPU."""
    return re.findall(r'_ctxt_switches:\t(\d+)', Path(f'/proc/{tid}/status').read_text())


def test_thread_that_sleeps_is_not_disturbed(waiting):
    """A call that fails with EINTR after a stop goes on; the wait begins where it did."""
    tids = {name: tid for tid, name, *_ in stacks('-p', waiting.pid)}
    before = turns(tids['reader'])
    done = run('stack', '-p', waiting.pid, '--json')
    threads = json.loads(done.stdout)['sections'][0]
    stopped = {row[1]: row[4] for row in threads['rows']}
    assert threads['columns'][4]['name'] == 'stopped'
    assert turns(tids['reader']) == before
    assert stopped['reader'] == 0 and stopped['spinner'] > 0


@pytest.mark.usefixtures('root')
def test_kernel_part(waiting):
    tid = next(t[0] for t in stacks('-p', waiting.pid) if t[1] == 'reader')
    [(_, _, frames, _)] = stacks('-t', tid, '-k')
    assert 'pipe_read' in frames[0]
    assert frames[frames.index('read'):][:3] == NAMES['reader']


def test_as_eu_stack(waiting):
    """Every frame of a sleeping thread is that of eu-stack: same function."""
    if not shutil.which('eu-stack'):
        pytest.skip('eu-stack is not installed')
    theirs, current = {}, None
    text = subprocess.run(['eu-stack', '-n', '0', '-p', str(waiting.pid)], capture_output=True,
                          text=True, check=True, timeout=60).stdout
    for line in text.splitlines():
        if found := re.match(r'TID (\d+):', line):
            current = theirs.setdefault(int(found[1]), [])
        elif found := re.match(r'#\d+ +0x[0-9a-f]+(?: - 1)? +([^@ ]+)', line):
            current.append(found[1])
    same = {'raise': 'gsignal', '__clone3': 'clone3'}  # two symbols of one address
    compared = 0
    for tid, name, frames, _ in stacks('-p', waiting.pid, '--bytes', '4M'):
        if name == 'spinner':
            continue  # it may be in spin() or in turn_wheel()
        assert frames == [same.get(f, f) for f in theirs[tid]]
        compared += len(frames)
    assert compared > 5000


def test_offsets_are_those_of_return_addresses(waiting):
    """As eu-stack and perf show them; the name is that of the call, one byte before."""
    if not shutil.which('eu-stack'):
        pytest.skip('eu-stack is not installed')
    program = workload('waiting')
    starts = {f[2]: int(f[0], 16) for f in map(str.split, subprocess.check_output(
        ['nm', program], text=True).splitlines()) if len(f) == 3}
    maps = Path(f'/proc/{waiting.pid}/maps').read_text().splitlines()
    base = int(next(line for line in maps if line.endswith(program)).split('-')[0], 16)
    text = subprocess.run(['eu-stack', '-n', '0', '-p', str(waiting.pid)], capture_output=True,
                          text=True, check=True, timeout=60).stdout
    theirs = [(found[2], int(found[1], 16) - base - starts[found[2]]) for found in
              re.finditer(r'^#\d+ +0x([0-9a-f]+)(?: - 1)? +(\w+)$', text, re.M)
              if found[2] in starts]
    done = run('stack', '-p', waiting.pid, '--bytes', '4M')
    ours = [(found[1], int(found[2], 16)) for found in
            re.finditer(r'^  #\d+ +(\w+)\+0x([0-9a-f]+) \((.*)\)$', done.stdout, re.M)
            if found[3] == program]
    moving = ('spin', 'turn_wheel')
    ours, theirs = ([frame for frame in frames if frame[0] not in moving]
                    for frames in (ours, theirs))
    assert len(ours) > 5000 and ours == theirs


def test_stopped_process(waiting):
    """A process that a signal has stopped stays stopped."""
    waiting.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, waiting.pid, os.WSTOPPED | os.WNOWAIT)
    assert stacks('-p', waiting.pid)[0][2][:3] == NAMES['waiting']
    assert all(re.search(r'^State:\tT', s, re.M) for s in states(waiting.pid))
    waiting.send_signal(signal.SIGCONT)


def test_killed_while_a_thread_is_stopped(waiting):
    """The kernel detaches from the thread, which continues."""
    threads = len(states(waiting.pid))
    with subprocess.Popen([ATTAR, 'stack', '-p', str(waiting.pid)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env=environment('calls', hold=1)) as attar:
        stopped = os.waitid(os.P_PID, attar.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert stopped.si_code == os.CLD_STOPPED
        held = [s for s in states(waiting.pid) if f'TracerPid:\t{attar.pid}\n' in s]
        assert len(held) == 1 and re.search(r'^State:\tt', held[0], re.M)
        attar.kill()
    for state in states(waiting.pid):
        assert re.search(r'^TracerPid:\t0$', state, re.M)
        assert not re.search(r'^State:\t[tT]', state, re.M)
    assert len(stacks('-p', waiting.pid)) == threads
    waiting.stdin.close()
    assert waiting.wait(30) == 0


# The first one runs, without the lock of the interpreter: one that sleeps is not stopped.
TWO_THREADS = '''
import hashlib, sys, threading
threading.Thread(target=sys.stdin.readline).start()
print('ready', flush=True)
hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)
'''


@pytest.mark.parametrize('options', [[], ['--kernel'], ['--json']], ids=['text', 'kernel', 'json'])
def test_thread_that_exits_meanwhile(spawn, root, options):
    """The second one ends while attar is held in the first: nothing is shown of it."""
    program = spawn('python3', '-c', TWO_THREADS, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    tasks = Path(f'/proc/{program.pid}/task')
    assert program.stdout.readline() == b'ready\n'
    attar = spawn(ATTAR, 'stack', '-p', program.pid, *options, stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE, env=environment('calls', hold=1))
    stopped = os.waitid(os.P_PID, attar.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert stopped.si_code == os.CLD_STOPPED
    assert len(os.listdir(tasks)) == 2
    program.stdin.write(b'\n')
    program.stdin.flush()
    wait_until(lambda: len(os.listdir(tasks)) == 1, 'one thread has ended')
    attar.send_signal(signal.SIGCONT)
    stdout, stderr = attar.communicate(timeout=30)
    assert (attar.returncode, stderr) == (0, b'')
    if options == ['--json']:
        tables = {s['name']: s['rows'] for s in json.loads(stdout)['sections']}
        assert [row[0] for row in tables['threads']] == [program.pid]
        assert {row[0] for row in tables['frames']} == {program.pid}
    else:
        headers = [line for line in stdout.decode().splitlines() if line.startswith('thread ')]
        assert headers == [f'thread {program.pid} python3']


def test_exited_process():
    """For a zombie, the message does not claim that permission is missing."""
    with subprocess.Popen(['true']) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        done = run('stack', '-p', process.pid)
    assert done.returncode == 1
    assert f'process {process.pid} has exited' in done.stderr


@pytest.mark.usefixtures('root')
def test_kernel_thread():
    kthreadd = int(subprocess.check_output(['pgrep', '-x', 'kthreadd']))
    done = run('stack', '-p', kthreadd)
    assert (done.returncode, done.stdout) == (4, '')
    assert done.stderr == (
        f'attar: thread {kthreadd} is a kernel thread, which has no user stack: root can read its '
        f'kernel stack in /proc/{kthreadd}/stack\n')


@pytest.mark.parametrize('args', [(), ('--inline',)])
def test_json_without_lines(waiting, args):
    before = time.time_ns()
    report = json.loads(run('stack', '-p', waiting.pid, '--json', *args).stdout)
    assert before <= report['time'] <= time.time_ns()
    frames = next(s for s in report['sections'] if s['name'] == 'frames')
    names = [c['name'] for c in frames['columns']]
    rows = [dict(zip(names, row)) for row in frames['rows']]
    assert rows and {(r['file'], r['line'], r['column']) for r in rows} == {(None, None, None)}


@pytest.mark.parametrize('args, status, text', [
    ((), 2, 'stack requires a process or thread: attar stack -p PID|-t TID'),
    (('-p', '0'), 2, '-p: 0 is not between 1 and 2147483647'),
    (('-p', 'x'), 2, "-p: 'x' is not a number"),
    (('-p',), 2, '-p needs a value: -p PID'),
    (('-p', '1', '--bytes', '2G'), 2, '--bytes: 2G is not between 1 and 1073741824'),
    (('--fast',), 2, 'no such option --fast'),
    (('1',), 2, "unexpected argument '1': attar stack -p 1"),
    (('-k', '123', '--json'), 2, "unexpected argument '123': attar stack -p 123"),
    (('-p', '2147483647'), 1, 'no such process'),
])
def test_bad_input(args, status, text):
    done = run('stack', *args)
    assert (done.returncode, done.stdout) == (status, '')
    assert text in done.stderr and done.stderr.count('\n') == 1


def test_traced_by_another(waiting):
    """A thread that a debugger traces: the message names the debugger."""
    if not shutil.which('gdb'):
        pytest.skip('gdb is not installed')
    with subprocess.Popen(['gdb', '-q', '-nx', '-p', str(waiting.pid)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as gdb:
        gdb.stdin.write('echo attached\\n\n')
        gdb.stdin.flush()
        while 'attached' not in (line := gdb.stdout.readline()):
            assert line
        done = run('stack', '-p', waiting.pid)
        gdb.kill()
    assert done.returncode == 3
    assert f'process {gdb.pid}, such as a debugger, traces it' in done.stderr


def frames_of(pid, name):
    """The frames of the thread with that name, from the JSON report, and how its stack ends."""
    report = json.loads(run('stack', '-p', pid, '--json').stdout)
    thread = next(t for t in scripts.rows(report, 'threads') if t['comm'] == name)
    return [f for f in scripts.rows(report, 'frames') if f['tid'] == thread['tid']], thread['end']


@pytest.mark.parametrize('name, address', [('null', 0), ('wild', 0x1000)])
def test_call_of_an_address_without_code(name, address):
    with subprocess.Popen([workload('badcalls')], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        assert program.stdout.readline() == 'ready\n'
        wait_until(lambda: are_at_rest(program.pid), 'the threads to sleep')
        found, end = frames_of(program.pid, name)
        text = run('stack', '-p', program.pid).stdout
        program.stdin.close()
    names = [f['symbol'] for f in found]
    at = names.index('on_signal') + 2
    assert names[at:at + 4] == [None, 'call', 'caller', name] and end == 'complete'
    assert [f['address'] for f in found if f['address'] is not None] == [address]
    assert f'  #{at}   [unknown] {address:#x} ([unknown])\n' in text
    code = subprocess.check_output(['objdump', '-d', '--no-show-raw-insn', workload('badcalls')],
                                   text=True).partition('<call>:\n')[2].partition('\n\n')[0]
    starts = [int(line.partition(':')[0], 16) for line in code.splitlines()]
    call = next(i for i, line in enumerate(code.splitlines()) if re.search(r'call +\*|blr', line))
    assert found[at + 1]['offset'] == starts[call + 1] - starts[0]


def test_address_of_code_without_a_name(tmp_path):
    """It is that of the code in the process, also of a caller: a copied function."""
    source = tmp_path / 'copied.c'
    source.write_text('''
        #include <stdio.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <unistd.h>
        __attribute__((noinline)) static void calls(void (*f)(void)) {
            volatile char room[32]; room[0] = 1; f(); room[1] = room[0];
        }
        static void stop(void) { char end; while (read(0, &end, 1) > 0); }
        int main(void) {
            void *code = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            memcpy(code, (void *)calls, 256);
            printf("%p\\n", code);
            fflush(stdout);
            ((void (*)(void (*)(void)))code)(stop);
        }''')
    subprocess.run(['cc', '-O1', '-fno-omit-frame-pointer', '-fno-optimize-sibling-calls',
                    '-fno-stack-protector', '-o', tmp_path / 'copied', source], check=True)
    with subprocess.Popen([tmp_path / 'copied'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        code = int(program.stdout.readline(), 16)
        wait_until(lambda: are_at_rest(program.pid), 'it sleeps')
        found, _ = frames_of(program.pid, 'copied')
        [frame] = [f for f in found if f['dso'] == '[anon]']
        text = run('stack', '-p', program.pid).stdout
        asked = run('symbols', '-p', program.pid, hex(frame['address'])).stdout
    assert frame['symbol'] is None and code < frame['address'] < code + 256
    assert f'[unknown] {frame["address"]:#x} ([anon])\n' in text
    assert asked == f'{frame["address"]:#x} [unknown] ([anon])\n'
    assert found[found.index(frame) + 1]['symbol'] == 'main'


def test_handlers_with_a_stack_of_their_own():
    """The stack goes on to the interrupted code, also if that has overflowed its own."""
    with subprocess.Popen([workload('otherstack')], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        assert program.stdout.readline() == 'ready\n'
        wait_until(lambda: are_at_rest(program.pid), 'the threads to sleep')
        raised, raised_end = frames_of(program.pid, 'raised')
        overflow, overflow_end = frames_of(program.pid, 'overflow')
        program.stdin.close()
    assert (raised_end, overflow_end) == ('complete', 'complete')
    names = [f['symbol'] for f in raised]
    assert names[:2] == ['pause', 'on_signal']
    assert names[names.index('disturb'):][:2] == ['disturb', 'raised']
    names = [f['symbol'] for f in overflow]
    depth = names.count('descend')
    assert (128 - 16) // 6 <= depth <= 128 // 5
    assert names[:2] + names[3:3 + depth + 1] == (
        ['pause', 'on_signal'] + depth * ['descend'] + ['overflow'])
