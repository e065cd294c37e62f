# SPDX-License-Identifier: CC0-1.0
"""The USDT probe of a static event, read by bpftrace and perf through uprobes of this kernel."""
import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.exclusive('events')

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get('ATTAR_BUILD', HERE.parents[1] / 'build')).resolve()
EMITTER = BUILD / 'perfume/tests/emitter'
PROBE = 'perfume:order_placed'
EVENTS = 20


def run(*command, **kwargs):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=120, **kwargs)


@pytest.fixture
def uprobes():
    if os.geteuid():
        pytest.skip('uprobes need root')
    if not Path('/sys/bus/event_source/devices/uprobe').exists():
        pytest.skip('this kernel has no uprobes')
    if not EMITTER.exists():
        pytest.skip(f'{EMITTER} is not built')


@pytest.fixture
def scratch():
    with tempfile.TemporaryDirectory(prefix='perfume-') as folder:
        yield Path(folder)


def build(folder, *compiler):
    """Build the emitter with the library's two source files, with the compiler of this build."""
    if not shutil.which(compiler[0]):
        pytest.skip(f'{compiler[0]} is not installed')
    program = folder / 'emitter'
    done = run(*compiler, '-I', HERE.parent, HERE / 'emitter.c', HERE.parent / 'perfume.c', '-o',
               program)
    assert done.returncode == 0, done.stderr
    return program


def watch(program):
    """Return the events of the emitter that bpftrace prints, and the emitter's own output."""
    if not shutil.which('bpftrace'):
        pytest.skip('bpftrace is not installed')
    script = (f'usdt:{program}:{PROBE} {{ printf("%d %lx %s %d %d %d\\n", '
              'arg0, arg1, str(arg2), (int32)arg3, *(uint32*)(arg4 + 4), arg5); } END { '
              'printf("done\\n"); }')
    tracer = subprocess.Popen(['bpftrace', '-e', script, '-c', f'{program} {EVENTS}'], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    out, err = tracer.communicate(timeout=120)
    if 'done' not in out:
        pytest.skip(f'bpftrace does not work: {err.strip()[-200:]}')
    lines = out.splitlines()
    return [line for line in lines if line.count(' ') == 5], [line for line in lines
                                                              if 'evaluated' in line]


def bits(number):
    return format(struct.unpack('Q', struct.pack('d', number))[0], 'x')


@pytest.mark.parametrize('compiler',
                         [('gcc', '-O2'), ('gcc', '-O0', '-fPIE'), ('gcc', '-O2', '-flto', '-w'),
                          ('clang', '-O2'), ('clang', '-O0')], ids=' '.join)
def test_bpftrace_sees_every_argument(uprobes, scratch, compiler):
    seen, said = watch(build(scratch, *compiler))
    assert seen == [f'{i} {bits(i + 0.5)} S{i} {-i} {i + 1} 2' for i in range(EVENTS)]
    assert said == [f'evaluated {EVENTS}']


def test_semaphore_is_raised_in_running_processes(uprobes, scratch):
    """
    The emitter waits for a listener; only the kernel's count of the semaphore can show it one.
    """
    if not shutil.which('bpftrace'):
        pytest.skip('bpftrace is not installed')
    program = build(scratch, 'gcc', '-O2')
    emitter = subprocess.Popen([program, str(EVENTS)], stdout=subprocess.PIPE, text=True)
    assert emitter.stdout.readline() == 'ready\n'
    done = run('bpftrace', '-e', f'usdt:{program}:{PROBE} {{ @n = count(); '
               f'if (arg0 == {EVENTS - 1}) {{ exit(); }} }}')
    if '@n' not in done.stdout:
        emitter.kill()
        pytest.skip(f'bpftrace does not work: {done.stderr.strip()[-200:]}')
    assert f'@n: {EVENTS}' in done.stdout
    assert emitter.communicate(timeout=60)[0] == f'evaluated {EVENTS}\n'


def test_perf_records_the_probe(uprobes, scratch):
    if not shutil.which('perf'):
        pytest.skip('perf (package linux-perf) is not installed')
    program = build(scratch, 'gcc', '-O2')
    event = f'sdt_{PROBE}'
    cache = ['perf', '--buildid-dir', scratch / 'cache']
    assert run(*cache, 'buildid-cache', '--add', program).returncode == 0
    made = run(*cache, 'probe', event)
    if made.returncode:
        pytest.skip(f'perf probe does not work: {made.stderr.strip()[-200:]}')
    try:
        data = scratch / 'perf.data'
        assert run('perf', 'record', '-q', '-o', data, '-e', event, '--', program,
                   EVENTS).returncode == 0
        lines = run('perf', 'script', '-i', data, '-F', 'event,trace').stdout.splitlines()
    finally:
        run('perf', 'probe', '-d', event)
    assert len(lines) == EVENTS
    for i, line in enumerate(lines):
        fields = dict(word.split('=') for word in line.split() if '=' in word)
        assert int(fields['arg1']) == i
        assert format(int(fields['arg2']), 'x') == bits(i + 0.5)
        assert int(fields['arg4']) == -i


def test_probe_has_at_most_twelve_arguments(scratch):
    source = scratch / 'wide.c'
    fields = ', '.join(f'(u32, f{i})' for i in range(20))
    source.write_text(f'#include "perfume.h"\nPERFUME_EVENT(wide, {fields})\n'
                      f'int main(int n, char **v) {{ return perfume_wide({", ".join(["n"] * 20)}); '
                      f'}}\n')
    program = scratch / 'wide'
    done = run('gcc', '-O2', '-I', HERE.parent, source, HERE.parent / 'perfume.c', '-o', program)
    assert done.returncode == 0, done.stderr
    notes = run('readelf', '--notes', program).stdout
    arguments = next(line for line in notes.splitlines() if 'Arguments:' in line and '@' in line)
    assert arguments.count('8@') == 12
