# SPDX-License-Identifier: MIT
"""attar record --portable: recordings that read the same without the binaries."""
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from command import ATTAR, perf, run, share_is, wait_until, workload

pytestmark = pytest.mark.usefixtures('root')

FEATURES_AT, NAMES = 72, 255


@pytest.fixture(name='copy')
def fixture_copy(tmp_path):
    """Return a function that copies a workload to where it can be moved away."""
    def copy(name):
        path = tmp_path / name
        shutil.copy2(workload(name), path)
        return path
    return copy


def record(path, *args, portable=True, command=None):
    done = run('record', '-q', '-F', 997, '-o', path, *(['--portable'] if portable else []), *args,
               *(['--', *command] if command else []))
    assert done.returncode == 0, done.stderr
    return path


def report_of(done):
    assert done.returncode == 0, done.stderr
    return re.sub(r'attar itself: .*', '', done.stdout)


def report(*args):
    return report_of(run(*args))


def elsewhere(tmp_path, *args):
    """
    Run attar in a mount namespace in which its libraries and the names of the kernel are replaced
    by empty files, with copies of the libraries.
    """
    place = tmp_path / 'elsewhere'
    place.mkdir(exist_ok=True)
    needed = subprocess.run(['ldd', ATTAR], check=True, capture_output=True, text=True).stdout
    hidden = {Path('/proc/kallsyms')}
    for path in map(Path, re.findall(r'(/\S+) \(0x', needed)):
        shutil.copy2(path.resolve(), place / path.name)
        hidden.add(path.resolve())
    loader = re.search(r'/(ld-\S+) \(0x', needed)[1]
    # mount(8) needs the C library and the loader: the former is hidden last, the latter stays
    last = next(p for p in hidden if p.name == 'libc.so.6')
    first = [p for p in hidden - {last} if not p.name.startswith('ld-')]
    mounts = ''.join(f'mount --bind /dev/null {p} && ' for p in [*first, last])
    script = f'{mounts} exec {place / loader} --library-path {place} "$@"'
    return report_of(subprocess.run(['unshare', '-m', 'sh', '-c', script, 'sh', ATTAR,
                                     *map(str, args)],
                                    capture_output=True, text=True, timeout=60, check=False))


def without_names(path):
    """A copy whose header does not refer to the names, which are the last feature."""
    whole = bytearray(path.read_bytes())
    at = FEATURES_AT + NAMES // 8
    assert whole[at] >> NAMES % 8 & 1
    whole[at] &= ~(1 << NAMES % 8)
    other = path.with_suffix('.plain')
    other.write_bytes(whole)
    return other


@pytest.mark.parametrize('method', ['fp', 'dwarf'])
def test_reads_the_same_elsewhere(tmp_path, copy, method):
    program = copy('nofp')
    data = record(tmp_path / 'x.data', f'--call-graph={method}', command=[program, 300])
    args = ['profile', '-g', '--input', data]
    here = report(*args)
    assert 'work' in here
    if method == 'dwarf':
        assert 'msort_with_tmp' in here and '__libc_start_main' in here
    plain = report('profile', '-g', '--input', without_names(data))
    assert plain.replace('x.plain', 'x.data') == here
    program.unlink()
    assert elsewhere(tmp_path, *args) == here
    assert report(*args) == here


def test_lines_and_inlined_functions(tmp_path, copy):
    program = copy('inlines')
    data = record(tmp_path / 'x.data', '-g', command=[program, 300])
    commands = [['profile', '-g', '--input', data, *more]
                for more in ([], ['--inline'], ['--lines'], ['--inline', '--lines'])]
    commands.append(['trace', '-g', '--inline', '--lines', '--input', data])
    here = [report(*args) for args in commands]
    assert 'hot inlines.c:' in here[3]
    program.unlink()
    assert [elsewhere(tmp_path, *args) for args in commands] == here


def test_annotate_without_the_binary(tmp_path, copy):
    """
    Lines and names are stored; only instructions without samples need the binary, and so does root
    for the source, which the owner of the binary must be able to read.
    """
    program = copy('lines8020')
    data = record(tmp_path / 'x.data', '-e', 'cpu-clock:u', command=[program, 300])
    lines = re.compile(r' *([\d.]+)% +([1-9]\d*) +(\d+) .*TURN')
    here = lines.findall(report('annotate', '--input', data))
    assert len(here) == 2
    program.unlink()
    text = report('annotate', '--input', data)
    numbers = re.compile(r' *([\d.]+)% +([1-9]\d*) +(\d+) ')
    assert set(here) <= set(numbers.findall(text))
    assert ('the owner of' in text) == (os.geteuid() == 0)
    assert 'have no names' not in text and 'cannot be read' not in text


def test_code_of_a_jit_compiler(tmp_path, spawn):
    process = spawn(workload('jit'), 1000000)
    names = Path(f'/tmp/perf-{process.pid}.map')
    wait_until(lambda: names.exists() and 'jit_heavy' in names.read_text(), 'the code has names')
    data = record(tmp_path / 'x.data', '-g', '-p', process.pid, '-d', '1s')
    process.kill()
    process.wait()
    names.unlink()
    here = report('profile', '-g', '--input', data)
    assert 'jit_heavy' in here
    assert elsewhere(tmp_path, 'profile', '-g', '--input', data) == here


def test_kernel_functions_in_stacks_and_fields(tmp_path):
    data = record(tmp_path / 'x.data', '-g', '-e', 'kmem:kmalloc', '-e', 'sched:sched_switch',
                  command=['sleep', '0.01'])
    for args in (['profile', '-g', '-e', 'sched:sched_switch', '--input', data],
                 ['trace', '-e', 'kmem:kmalloc', '--input', data]):
        here = report(*args)
        assert re.search(r'schedule|call_site=\w+\+0x', here), here[:500]
        assert elsewhere(tmp_path, *args) == here


@pytest.mark.usefixtures('needs_perf')
def test_perf_reads_the_file(tmp_path):
    data = record(tmp_path / 'x.data', '-g', '-e', 'cpu-clock:u', command=[workload('split7030')])
    found = perf('report', '-i', data, '--stdio', '-g', 'none')
    assert 'heavy' in found and 'light' in found
    assert perf('script', '-i', data).count('cpu-clock:u') > 100


def test_rotated_files_have_names_too(tmp_path):
    data = record(tmp_path / 'x.data', '-e', 'raw_syscalls:sys_enter', '-g', '--max-size', '256K',
                  '--rotate', 2, command=[workload('flood'), 30000])
    for full in (data.with_name('x.data.1'), data.with_name('x.data.2')):
        args = ['profile', '-g', '-e', 'raw_syscalls:sys_enter', '--input', full]
        here = report(*args)
        assert 'syscall' in here
        assert elsewhere(tmp_path, *args) == here


def test_a_pipe_is_refused():
    done = run('record', '--portable', '-o', '-', '--', 'true')
    assert done.returncode == 2
    assert '--portable: names are added to a finished file' in done.stderr


def names_of(data):
    """The offset and size of the names, and where the header refers to them."""
    whole = data.read_bytes()
    start, size = struct.unpack_from('<QQ', whole, 40)
    bits = sum(bin(b).count('1') for b in whole[FEATURES_AT:FEATURES_AT + 32])
    entry = start + size + 16 * (bits - 1)
    return *struct.unpack_from('<QQ', whole, entry), entry


def test_malformed_names(tmp_path):
    """Each of the first numbers of the names is too large, and the names are truncated anywhere."""
    data = record(tmp_path / 'x.data', '--call-graph=dwarf,512', command=[workload('nofp'), 20])
    offset, size, entry = names_of(data)
    whole = data.read_bytes()
    assert whole[offset:offset + 8] == b'atrnames'
    changed = tmp_path / 'changed.data'
    for at in [*range(8, 24, 4), *range(size - 64, size, 16)]:
        changed.write_bytes(whole[:offset + at] + b'\xf1\xff\xff\xff' + whole[offset + at + 4:])
        done = run('profile', '-g', '--input', changed)
        assert done.returncode == 0, done.stderr
        if at < 24:
            assert 'its names of functions are malformed' in done.stdout
    for length in range(12, size, size // 40):
        changed.write_bytes(whole[:entry + 8] + struct.pack('<Q', length) + whole[entry + 16:])
        done = run('profile', '-g', '--input', changed)
        assert done.returncode == 0, done.stderr
        assert 'its names of functions are malformed' in done.stdout


# runs a copy of a program from memory
FROM_MEMORY = """
import os, sys
memory = os.memfd_create('in memory')
os.write(memory, open(sys.argv[1], 'rb').read())
os.execv(f'/proc/self/fd/{memory}', sys.argv[1:])
"""


def test_name_of_a_program_in_memory(tmp_path):
    """After its end, the file in memory is not taken for the code of a JIT compiler."""
    command = [sys.executable, '-c', FROM_MEMORY, workload('split7030'), 300]
    live = report('profile', '-F', 997, '--', *command)
    data = record(tmp_path / 'x.data', portable=False, command=command)
    recorded = report('profile', '--input', data)
    assert re.search(r'/memfd:in memory\s+heavy', live)
    assert re.search(r'/memfd:in memory\s+memfd:in memory\+0x', recorded)
    assert '[anon]' not in recorded


def stored_as_live(tmp_path, command, module):
    """Record a program that leaves no file behind: the names are those that a live run shows."""
    shown = re.compile(re.escape(module) + r'\s+(\w+)')
    live = report('profile', '-F', 997, '--', *command)
    data = tmp_path / 'x.data'
    done = run('record', '-F', 997, '-o', data, '--portable', '--', *command)
    assert done.returncode == 0, done.stderr
    assert module not in done.stderr
    assert {'heavy', 'light'} <= set(shown.findall(live))
    assert {'heavy', 'light'} <= set(shown.findall(elsewhere(tmp_path, 'profile', '--input', data)))


def test_stores_a_program_in_memory(tmp_path):
    stored_as_live(tmp_path, [sys.executable, '-c', FROM_MEMORY, workload('split7030'), 300],
                   '/memfd:in memory')


def test_stores_a_deleted_program(tmp_path):
    program = tmp_path / 'program'
    script = 'cp "$1" "$2" && exec 3<"$2" && rm "$2" && exec /proc/self/fd/3 300'
    command = ['sh', '-c', script, 'sh', workload('split7030'), program]
    stored_as_live(tmp_path, command, program.name)


@pytest.mark.parametrize('method', ['fp', 'dwarf'])
def test_stores_both_files_of_a_path(tmp_path, method):
    """A program is replaced by another one while it is recorded."""
    program = tmp_path / 'program'
    script = 'cp "$1" "$3" && "$3" 300; cp "$2" "$3.new" && mv "$3.new" "$3" && "$3" 400'
    data = record(tmp_path / 'x.data', '-e', 'cpu-clock:u', f'--call-graph={method}', command=[
        'sh', '-c', script, 'sh', workload('nofp'), workload('split7030'), program])
    text = elsewhere(tmp_path, 'profile', '-g', '--input', data)
    counts = {name: int(n.replace(',', '')) for n, name in
              re.findall(rf'% +([\d,]+) .* {program} +(heavy|light|work)$', text, re.M)}
    assert 'not the one' not in text
    share_is(counts['heavy'], counts['heavy'] + counts['light'], 0.7)
    assert counts['work'] > counts['heavy'], text


def test_stores_a_program_in_another_root(tmp_path):
    root = tmp_path / 'root'
    script = 'mkdir "$2" && cp "$1" "$2"/inside && chroot "$2" /inside 300; rm -r "$2"'
    stored_as_live(tmp_path, ['sh', '-c', script, 'sh', workload('staticpie'), root], '/inside')


def test_stores_names_of_jit_code_that_are_deleted(tmp_path):
    """The program removes them when it ends."""
    data = record(tmp_path / 'x.data', command=[workload('jit')])
    assert 'jit_heavy' in report('profile', '--input', data)


def test_says_what_has_no_names(tmp_path, spawn):
    process = spawn(workload('jit'), 1000000)
    names = Path(f'/tmp/perf-{process.pid}.map')
    wait_until(lambda: names.exists() and 'jit_heavy' in names.read_text(), 'the code has names')
    names.unlink()
    data = tmp_path / 'x.data'
    done = run('record', '-F', 997, '-o', data, '--portable', '-p', process.pid, '-d', '0.3s')
    assert done.returncode == 0
    assert (f'{data} has no names of JIT code of process {process.pid} '
            f'(no /tmp/perf-{process.pid}.map)' in done.stderr)


def test_says_which_file_has_no_names(tmp_path):
    """A program that ends before the rings are read, which a busy machine delays."""
    root, data = tmp_path / 'root', tmp_path / 'x.data'
    script = 'mkdir "$2" && cp "$1" "$2"/inside && chroot "$2" /inside 8; rm -r "$2"'
    command = ['sh', '-c', script, 'sh', workload('staticpie'), root]
    said = f'{data} has no names of /inside (not found after its process has exited)'
    assert any(said in run('record', '-F', 4000, '-o', data, '--portable', '--', *command).stderr
               for _ in range(20))
