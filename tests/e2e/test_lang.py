# SPDX-License-Identifier: MIT
"""Functions of interpreted languages in attar stack, compared with what the program itself says."""
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from command import comm_of, cpu_seconds, run, wait_until, workload
from interpreted import interpreted as frames_of, repeated, stacks

PYTHON = '/usr/bin/python3'
pytestmark = [pytest.mark.usefixtures('root'), pytest.mark.skipif(
    not Path('/usr/bin/python3.11').exists(), reason='python3.11 is not installed')]

# Each function named block_* waits in a thread of its own for the pipe. The program prints the
# frames of all threads as it sees them itself, when all of them wait.
PROGRAM = r'''
import asyncio, ctypes, functools, json, os, re, sys, threading, time
r, w = os.pipe()

def block():
    os.read(r, 1)

class Holder:
    class Inner:
        @staticmethod
        def method(_=None):
            return block()
    @property
    def attribute(self):
        return (lambda: self.Inner.method())()

def block_attribute():
    Holder().attribute

def block_callbacks():
    return sorted([2, 1], key=lambda v: functools.reduce(
        lambda a, b: list(map(Holder.Inner.method, [a])),
        [1,
         2]))

def block_regular_expression():
    re.sub('a', lambda m: block() or '', 'bab')

def block_ctypes():
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
        lambda a, b: block() or 0)
    ctypes.CDLL(None).qsort(ctypes.create_string_buffer(b'ba'), 2, 1, compare)

def deep(n):
    if n:
        return deep(n - 1)
    block()

def block_recursion():
    deep(500)

def generator():
    yield from (block() for _ in range(2))

def block_generator():
    next(generator())

async def coroutine():
    await asyncio.sleep(0)
    block()

def block_coroutine():
    asyncio.run(coroutine())

def block_exception():
    try:
        raise ValueError
    except ValueError as error:
        try:
            error.x
        finally:
            block()

def block_class_body():
    class Body:
        value = block()

def block_with():
    class Manager:
        def __enter__(self): pass
        def __exit__(self, *args): block()
    with Manager():
        1 + 1

def block_string():
    exec('def f():\n' + '\n' * 70000 + '    pass; block()\nf()', {'block': block})

def block_long_line():
    exec('x = (' + '1,' * 300 + 'block(),\n' * 3 + ')', {'block': block})

names = {}
exec('def naïve(): block()\ndef 函数(): naïve()\ndef 𐌰𐌱(): 函数()\n',
     {'block': block, **globals()}, names)
exec(compile('def odd(): block()\n', 'ä 文件 \U0001f600.py', 'exec'), {'block': block}, names)

def block_names():
    names['𐌰𐌱'].__globals__.update(names)
    names['𐌰𐌱']()

def block_file():
    names['odd']()

def block_comprehension():
    return {i: [block() for _ in range(1)] for i in range(1)}

def block_decorated():
    @functools.lru_cache
    def cached(x):
        block()
    cached(1)

threads = [threading.Thread(target=f, daemon=True) for n, f in list(globals().items())
           if n.startswith('block_')]
for t in threads:
    t.start()

def waits(tid):
    with open(f'/proc/self/task/{tid}/syscall') as f:
        return f.read().split()[0] == READ

def frames(f):
    while f:
        yield f.f_code.co_qualname, f.f_code.co_filename, f.f_lineno
        f = f.f_back

READ = {'x86_64': '0', 'aarch64': '63'}[os.uname().machine]
while not all(waits(t.native_id) for t in threads):
    time.sleep(0.01)
if sys.argv[1:] == ['fork'] and os.fork():
    os.wait()
    os._exit(0)
seen = sys._current_frames()
print(json.dumps([os.getpid(), {t.native_id: list(frames(seen[t.ident])) for t in threads}]
                 if sys.argv[1:] != ['fork'] else [os.getpid(), {}]), flush=True)
os.read(0, 1)
'''


def interpreted(rows):
    return frames_of(rows, 'Python 3.11')


@pytest.fixture(name='program')
def fixture_program(tmp_path):
    script = tmp_path / 'program.py'
    script.write_text(PROGRAM)
    with subprocess.Popen([PYTHON, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.kill()


def test_python_frames_are_those_of_the_program(program):
    pid, expected = program
    found = stacks(pid)
    assert len(expected) == 16
    for tid, frames in expected.items():
        rows = found[int(tid)]
        assert interpreted(rows) == frames
        assert not [row for row in rows if row['symbol'] == '_PyEval_EvalFrameDefault']
        assert rows[0]['symbol'] == 'read' and rows[-1]['symbol'] in ('clone3', 'clone')


def test_native_code_between_python_frames(program):
    """qsort() of the C library is between the caller and the function that it calls."""
    pid, expected = program
    tid, = (tid for tid, frames in expected.items()
            if any(name == 'block_ctypes.<locals>.<lambda>' for name, *_ in frames))
    names = [row['symbol'] for row in stacks(pid)[int(tid)]]
    order = [names.index(name) for name in (
        'read', 'block', 'block_ctypes.<locals>.<lambda>', 'ffi_call', 'block_ctypes',
        'Thread.run')]
    assert order == sorted(order), names


def test_text_leaves_out_frames_of_the_interpreter(program):
    pid, expected = program
    done = run('stack', '-p', pid)
    assert done.returncode == 0 and 'Python' not in done.stderr
    assert '_PyEval_EvalFrameDefault' not in done.stdout and 'bin/python3' not in done.stdout
    assert "native frames of Python 3.11 are not shown: " in done.stdout.splitlines()[-1]
    assert done.stdout.count('#0   read+') == len(expected) + 1


def test_native_frames(program):
    pid, _ = program
    rows = [row for rows in stacks(pid, '--native').values() for row in rows]
    assert not interpreted(rows)
    assert [row for row in rows if row['symbol'] == '_PyEval_EvalFrameDefault']


def test_thread_that_runs():
    """Its frames are read while it is stopped."""
    code = 'def outer():\n while True: inner()\ndef inner():\n for _ in range(9): pass\nouter()\n'
    with subprocess.Popen([PYTHON, '-c', code]) as process:
        try:
            wait_until(lambda: ['outer', '<string>', 2] in interpreted(
                stacks(process.pid)[process.pid]), 'it runs')
            for _ in range(20):
                frames = interpreted(stacks(process.pid)[process.pid])
                assert frames[-2:] == [['outer', '<string>', 2], ['<module>', '<string>', 5]]
                assert frames[:-2] in ([], [['inner', '<string>', 3]], [['inner', '<string>', 4]])
        finally:
            process.kill()


HOT = '''
def heavy():
    for _ in range(70000): pass
def light():
    for _ in range(30000): pass
def caller():
    while True:
        heavy(); light()
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
print(1, flush=True)
caller()
'''


def test_repeated_stacks(tmp_path):
    """A loop of known shares: 70 and 30 %."""
    script = tmp_path / 'hot.py'
    script.write_text(HOT)
    with subprocess.Popen([PYTHON, script], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            report, functions = repeated(process.pid, '--repeat', 500, '--every', '3ms')
            both = [functions[f'{name} (hot.py)']['samples'] for name in ('heavy', 'light')]
            n = sum(both)
            assert n > 100
            assert abs(both[0] / n - 0.7) < 4.5 * (0.7 * 0.3 / n) ** 0.5
            assert functions['caller (hot.py)']['total'] == pytest.approx(100, abs=2)
            assert 'Event.wait (threading.py)' not in functions
            assert f'threads were looked at 500 times' in report['remarks'][0]
            _, functions = repeated(process.pid, '--repeat', 30, '--waiting')
            assert functions['Event.wait (threading.py)']['total'] == pytest.approx(50, abs=1)
            _, functions = repeated(process.pid, '--repeat', 30, '--native')
            assert '_PyEval_EvalFrameDefault' in functions
        finally:
            process.kill()


def test_repeated_stacks_of_a_native_program():
    with subprocess.Popen([workload('split7030'), '4000']) as process:
        try:
            wait_until(lambda: comm_of(process.pid) == 'split7030', 'it runs')
            _, functions = repeated(process.pid, '--repeat', 200, '--every', '5ms')
        finally:
            process.kill()
    heavy, light = functions['heavy']['samples'], functions['light']['samples']
    assert abs(heavy / (heavy + light) - 0.7) < 4.5 * (0.7 * 0.3 / (heavy + light)) ** 0.5


def test_process_that_exits_while_its_stacks_are_counted():
    with subprocess.Popen([PYTHON, '-c', 'for i in range(3 * 10 ** 7): pass']) as process:
        wait_until(lambda: cpu_seconds(process.pid) > 0.05, 'it runs')
        _, functions = repeated(process.pid, '--repeat', 100000)
    assert '<module> (<string>)' in functions


@pytest.mark.parametrize('options, error', [
    (['--every', '5ms'], '--every is for repeated stacks; add --repeat 100'),
    (['--waiting'], '--waiting is for repeated stacks; add --repeat 100'),
    (['--repeat', '0'], None), (['--repeat', '9', '--every', '1us'], None)])
def test_wrong_options_of_repeated_stacks(options, error):
    done = run('stack', '-p', 1, *options)
    assert done.returncode == 2 and done.stdout == ''
    assert not error or error in ' '.join(done.stderr.replace(':', ';').split())


def test_process_in_another_pid_namespace(tmp_path):
    """The runtime has the number of the thread there."""
    code = 'import os\ndef inside(): os.read(0, 1)\nprint(1, flush=True)\ninside()\n'
    with subprocess.Popen(['unshare', '--pid', '--fork', '--kill-child', PYTHON, '-c', code],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b'1\n'
        pid = int(Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text())
        wait_until(lambda: [f[0] for f in interpreted(stacks(pid)[pid])] ==
                   ['inside', '<module>'], 'it waits')
        process.stdin.close()


def test_deleted_interpreter(tmp_path):
    copy = tmp_path / 'python3.11'
    shutil.copy('/usr/bin/python3.11', copy)
    code = 'import os\nprint(1, flush=True)\nos.read(0, 1)\n'
    with subprocess.Popen([copy, '-c', code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b'1\n'
        copy.unlink()
        assert interpreted(stacks(process.pid)[process.pid]) == [['<module>', '<string>', 3]]
        process.stdin.close()


def test_unknown_version(tmp_path):
    """A program with the variables of another version: a sentence, and native frames."""
    source, program = tmp_path / 'x.c', tmp_path / 'python3.99'
    source.write_text('''#include <unistd.h>
        unsigned long Py_Version = 0x036300f0; char _PyRuntime[64], PyCode_Type[64];
        int main(void) { char c; write(1, "x", 1); return (int)read(0, &c, 1); }''')
    subprocess.run(['cc', '-rdynamic', '-o', program, source], check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.read(1) == b'x'
        done = run('stack', '-p', process.pid)
        process.stdin.close()
    assert done.stderr == \
        'attar: functions of this Python 3.99 are not shown: only Python 3.8 to 3.13 is known\n'
    assert done.returncode == 0 and 'main' in done.stdout


def test_hostile_runtime(tmp_path):
    """Lists without an end, and objects at addresses that cannot be read."""
    source, program = tmp_path / 'x.c', tmp_path / 'python3.11'
    source.write_text('''#include <unistd.h>
        unsigned long Py_Version = 0x030b00f0;
        void *_PyRuntime[4096], *PyCode_Type[64];
        int main(void)
        {
            for (int i = 0; i < 4096; i++)
                _PyRuntime[i] = _PyRuntime + i % 7;
            _PyRuntime[20] = (void *)(long)getpid();
            char c;
            write(1, "x", 1);
            return (int)read(0, &c, 1);
        }''')
    subprocess.run(['cc', '-rdynamic', '-o', program, source], check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.read(1) == b'x'
        done = run('stack', '-p', process.pid, timeout=10)
        process.stdin.close()
    assert done.returncode == 0 and 'main' in done.stdout
