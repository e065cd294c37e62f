# SPDX-License-Identifier: MIT
"""Recordings of another kernel, boot or file: no names, and a remark instead of wrong names."""
import json
import os
import re
import struct
import subprocess
from pathlib import Path

import pytest

from command import perf, run, workload
from scripts import rows_of

pytestmark = pytest.mark.usefixtures('root', 'needs_perf')

KERNEL_TEXT = re.compile(rb'\[kernel\.kallsyms\]_s?text\0')


def perf_record(path, *args, command):
    subprocess.run(['perf', 'record', '-q', '-o', path, *args, '--', *command], check=True,
                   stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def attar_record(path, *args, command):
    run('record', '-q', '-o', path, *args, '--', *command)


def functions(path, *args, **kwargs):
    """Return the names of functions with their numbers of samples, and the remarks."""
    ended = run('profile', '--format', 'json', '--input', path, *args, **kwargs)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    table = next(s for s in report['sections'] if s['name'] == 'functions')
    rows = rows_of(table)
    return {(r['dso'], r['symbol']): r['samples'] for r in rows}, report.get('remarks', [])


def kernel_names(found):
    return {symbol for dso, symbol in found if dso == '[kernel.kallsyms]'
            and not re.fullmatch(r'(\[unknown\]|0x)?[0-9a-f]*', symbol or '')}


def kernel_build_id():
    notes = Path('/sys/kernel/notes').read_bytes()
    at = notes.index(b'\x14\0\0\0\x03\0\0\0GNU\0') + 12
    return notes[at:at + 20]


def replace(path, old, new):
    """Return a copy of the recording with other bytes."""
    whole = path.read_bytes()
    assert whole.count(old) >= 1
    copy = path.with_suffix('.changed')
    copy.write_bytes(whole.replace(old, new))
    return copy


@pytest.fixture(name='data', params=[perf_record, attar_record], scope='module')
def fixture_data(request, tmp_path_factory):
    path = tmp_path_factory.mktemp('names') / 'x.data'
    request.param(path, '-e', 'sched:sched_switch', '-g', command=['sleep', '0.01'])
    return path


def stacks(path):
    return functions(path, '-e', 'sched:sched_switch', '-g')


def test_names_of_this_kernel(data):
    found, remarks = stacks(data)
    assert 'schedule' in kernel_names(found)
    assert not any('no names' in r for r in remarks)


def test_another_kernel(data):
    known = kernel_build_id()
    other = replace(data, known, bytes(b ^ 0xff for b in known))
    found, remarks = stacks(other)
    assert not kernel_names(found)
    assert f'kernel addresses have no names: {other} was recorded by another kernel' in remarks


def test_another_boot(data):
    whole = bytearray(data.read_bytes())
    at = KERNEL_TEXT.search(whole).start() - 8
    address = int.from_bytes(whole[at:at + 8], 'little') + 0x200000
    whole[at:at + 8] = address.to_bytes(8, 'little')
    other = data.with_suffix('.boot')
    other.write_bytes(whole)
    found, remarks = stacks(other)
    assert not kernel_names(found)
    assert (f'kernel addresses have no names: {other} was recorded before this machine was booted'
            in remarks)


def test_without_kernel_build_id_by_release_and_host(tmp_path):
    path = tmp_path / 'x.data'
    perf_record(path, '-B', '-e', 'sched:sched_switch', '-g', command=['sleep', '0.01'])
    assert 'schedule' in kernel_names(stacks(path)[0])
    release = Path('/proc/sys/kernel/osrelease').read_text().strip().encode()
    other = replace(path, release + b'\0', release[:-1] + b'!\0')
    found, remarks = stacks(other)
    assert not kernel_names(found)
    assert any('was recorded by another kernel' in r for r in remarks)


def neighbours():
    """Return a kernel function, and the address and name of the one that follows it."""
    found = {}
    for line in Path('/proc/kallsyms').read_text().splitlines():
        address, kind, *name = line.split()
        if len(name) == 1:  # not of a module
            found.setdefault(int(address, 16), []).append((kind, name[0]))
    functions_at = sorted(found)
    for before, after in zip(functions_at, functions_at[1:]):
        both = found[before] + found[after]
        if len(both) == 2 and all(kind == 't' and name.isidentifier() for kind, name in both) \
                and after - before > 64:
            return both[0][1], after, both[1][1]
    raise AssertionError('no two functions follow each other')


def test_a_call_at_the_end_of_a_kernel_function(tmp_path):
    """A return address at the start of a function is that of a call in the one before."""
    path = tmp_path / 'x.data'
    attar_record(path, '-e', 'sched:sched_switch', '-g', command=['sleep', '0.01'])
    caller, address, next_one = neighbours()
    assert not {caller, next_one} & kernel_names(stacks(path)[0])
    whole = path.read_bytes()
    marker = struct.pack('<q', -128)  # PERF_CONTEXT_KERNEL; the sampled address and its caller
    assert whole.count(marker) >= 1
    at = whole.index(marker) + 16
    path.write_bytes(whole[:at] + struct.pack('<Q', address) + whole[at + 8:])
    names = kernel_names(stacks(path)[0])
    assert caller in names and next_one not in names


@pytest.mark.parametrize('recorder', [perf_record, attar_record])
def test_recording_without_a_header(tmp_path, recorder):
    """The identification of the kernel is at the end of the file; attar's also in front of data."""
    path = tmp_path / 'x.data'
    recorder(path, '-F', '997', '-e', 'cpu-clock', '-g', command=[workload('flood'), '300000'])
    whole = path.read_bytes()
    assert kernel_names(functions(path, '-g')[0])
    start, size = struct.unpack_from('<QQ', whole, 40)
    cut = tmp_path / 'cut.data'
    cut.write_bytes(whole[:start + size])
    found, remarks = functions(cut, '-g')
    assert bool(kernel_names(found)) == (recorder is attar_record)
    remark = f'kernel addresses have no names: {cut} does not say which kernel recorded it'
    assert (remark in '\n'.join(remarks)) == (recorder is perf_record)


@pytest.fixture(name='split', params=[perf_record, attar_record])
def fixture_split(request, tmp_path):
    """A recording of a program whose file may be replaced."""
    program = tmp_path / 'program'
    program.write_bytes(Path(workload('split7030')).read_bytes())
    program.chmod(0o755)
    path = tmp_path / 'x.data'
    request.param(path, '-F', '997', '-e', 'cpu-clock:u', command=[program])
    found, remarks = functions(path)
    assert found[str(program), 'heavy'] > found[str(program), 'light'] > 0
    assert not any('no names' in r for r in remarks)
    return path, program


def nodes(path, *args):
    """Return the build ID of each function in the call tree."""
    ended = run('profile', '-g', '--format', 'json', '--input', path, *args)
    assert ended.returncode == 0, ended.stderr
    tree = next(s for s in json.loads(ended.stdout)['sections'] if s['kind'] == 'tree')
    return {r['name']: r['build_id'] for r in rows_of(tree)}


def test_nodes_of_the_call_tree_have_build_ids(tmp_path):
    path = tmp_path / 'x.data'
    attar_record(path, '-e', 'sched:sched_switch', '-g', command=['sleep', '0.01'])
    assert nodes(path, '-e', 'sched:sched_switch')['schedule'] == kernel_build_id().hex()
    attar_record(path, '-F', '997', '-g', '-e', 'cpu-clock:u', command=[workload('split7030')])
    known = re.search(rf'([0-9a-f]+) {workload("split7030")}$',
                      perf('buildid-list', '-i', path), re.M)[1]
    found = nodes(path)
    assert found['heavy'] == found['main'] == known


def test_system_calls_of_another_architecture_have_numbers(tmp_path):
    path = tmp_path / 'x.data'
    perf_record(path, '-e', 'raw_syscalls:sys_enter', command=[workload('flood'), '100'])
    arch = os.uname().machine.encode() + b'\0'
    other = replace(path, arch, b's390x'.ljust(len(arch), b'\0'))
    args = ['top', '--format', 'json', '-e',
            "raw_syscalls:sys_enter/id==110/key=id/printkey='syscall_name(key)'/", '--input']
    for data, name in ((path, 'getppid'), (other, 'syscall_110')):
        ended = run(*args, data)
        assert ended.returncode == 0, ended.stderr
        assert f'["{name}",100' in ended.stdout, ended.stdout


def test_another_file(split):
    """Same device and inode, another build ID."""
    path, program = split
    known = bytes.fromhex(re.search(rf'([0-9a-f]+) {program}$', perf('buildid-list', '-i', path),
                                    re.M)[1])
    with open(program, 'r+b') as file:
        whole = file.read()
        assert whole.count(known) == 1
        file.seek(whole.index(known))
        file.write(bytes(b ^ 0xff for b in known))
    found, remarks = functions(path)
    assert not {symbol for _, symbol in found} & {'heavy', 'light', 'main'}
    assert any(re.match(rf'1 file is not the one that was recorded, such as {program}: the '
                        'functions have no names', r) for r in remarks), remarks


def test_absent_file(split):
    path, program = split
    program.unlink()
    found, remarks = functions(path)
    assert not {symbol for _, symbol in found} & {'heavy', 'light', 'main'}
    assert (f'1 file of {path} cannot be read, such as {program} (No such file or directory): the '
            'functions have no names; copy the binary to this path, or use attar record '
            '--portable') in remarks


@pytest.mark.parametrize('is_replaced', [False, True])
def test_file_in_the_cache_of_perf(split, tmp_path, is_replaced):
    """The names, lines and code of a program that is no longer at its path."""
    path, program = split
    before, _ = functions(path)
    cache = tmp_path / 'cache'
    perf('--buildid-dir', cache, 'buildid-cache', '--add', program)
    program.unlink()
    if is_replaced:
        program.write_bytes(Path(workload('nofp')).read_bytes())
    assert not {symbol for _, symbol in functions(path)[0]} & {'heavy', 'light', 'main'}
    env = os.environ | {'PERF_BUILDID_DIR': str(cache)}
    found, remarks = functions(path, env=env)
    assert found == before
    assert not any('no names' in r for r in remarks)
    ended = run('annotate', 'heavy', '--instructions', '--input', path, env=env)
    assert 'lines of heavy in ' in ended.stdout, ended.stdout
    assert 'cannot be read' not in ended.stderr, ended.stderr


def test_same_file_in_another_place(split):
    """The same build on another inode, as on another machine."""
    path, program = split
    before, _ = functions(path)
    program.rename(program.with_suffix('.old'))
    program.write_bytes(program.with_suffix('.old').read_bytes())
    found, remarks = functions(path)
    assert found == before
    assert not any('no names' in r for r in remarks)


@pytest.mark.parametrize('record', [perf_record, attar_record])
def test_two_files_of_a_path(tmp_path, record):
    """A program is replaced while it is recorded: the first file has no names of the second."""
    path, program = tmp_path / 'x.data', tmp_path / 'program'
    script = 'cp "$1" "$3" && "$3" 300; cp "$2" "$3.new" && mv "$3.new" "$3" && "$3" 100'
    record(path, '-F', '997', '-e', 'cpu-clock:u',
           command=['sh', '-c', script, 'sh', workload('nofp'), workload('split7030'), program])
    found, remarks = functions(path)
    second = {symbol: n for (module, symbol), n in found.items()
              if module == str(program) and symbol in ('heavy', 'light')}
    total = sum(n for (module, _), n in found.items() if module == str(program))
    assert second['heavy'] > second['light'] > 0
    assert sum(second.values()) < total / 2, found
    assert any(re.match(rf'1 file is not the one that was recorded, such as {program}: the '
                        'functions have no names', r) for r in remarks), remarks
