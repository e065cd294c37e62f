# SPDX-License-Identifier: MIT
"""Code of JIT compilers: jit-PID.dump, live and recorded, and the files of Node.js."""
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from command import ENOUGH, has, profile, run, share_is, wait_until, workload
from faults import sanitized

LINES = {'dump_heavy heavy.js:17': 0.7, 'dump_light light.js:23': 0.3}

JS = """
function attarInner(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) % 7; return s; }
function attarOuter(n) { let t = 0; for (let i = 0; i < 200; i++) t += attarInner(n); return t; }
let x = 0;
for (let i = 0; i < 25; i++) x += attarOuter(20000);
console.log(x);
"""


def is_named(found):
    share_is(found.own('dump_heavy'), found.samples, 0.7, slack=0.02)
    share_is(found.own('dump_light'), found.samples, 0.3, slack=0.02)


def test_names_and_lines_live(tmp_path):
    found = profile('--exclude-kernel', command=[workload('jitdump')], cwd=tmp_path)
    is_named(found)
    assert all(re.fullmatch(rf'{tmp_path}/jit-\d+\.dump', f['dso'])
               for f in found.pick(re.compile('dump_.*')))


@pytest.mark.parametrize('bias', [0, 64])
def test_lines_live(tmp_path, bias):
    """V8 adds the 64 bytes of an ELF header to the addresses of lines."""
    found = profile('--exclude-kernel', '--lines', command=[workload('jitdump'), 5000, bias],
                    cwd=tmp_path)
    for name, share in LINES.items():
        share_is(found.own(name), found.samples, share, slack=0.02)


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('portable', [False, True])
def test_names_and_lines_recorded(tmp_path, portable):
    data = tmp_path / 'x.data'
    done = run('record', '-q', '-F', 997, '-g', '-e', 'cpu-clock:u', '-o', data,
               *(['--portable'] if portable else []), '--', workload('jitdump'), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    if portable:
        next(tmp_path.glob('jit-*.dump')).unlink()
    found = profile('--lines', '--input', data)
    for name, share in LINES.items():
        share_is(found.own(name), found.samples, share, slack=0.02)


def test_a_running_process(tmp_path, spawn, root):
    """attar starts after the file was mapped."""
    process = spawn(workload('jitdump'), 1000000, cwd=tmp_path)
    wait_until(lambda: [p for p in tmp_path.glob('jit-*.dump') if p.stat().st_size > 300],
               'it has written its file')
    is_named(profile('--exclude-kernel', '-p', process.pid, *ENOUGH))


def huge(size):
    """The size of the third record, which is the second one with lines."""
    def corrupt(whole):
        at = 40
        for _ in range(2):
            at += struct.unpack_from('<I', whole, at + 4)[0]
        return whole[:at + 4] + struct.pack('<I', size) + whole[at + 8:]
    return corrupt


DAMAGED = {
    'empty': lambda b: b'',
    'other magic': lambda b: b'DTiJ' + b[4:],
    'no records': lambda b: b[:40],
    'header of 4 GB': lambda b: b[:8] + b'\xff\xff\xff\xff' + b[12:],
    'header of 0 bytes': lambda b: b[:8] + bytes(4) + b[12:],
    'code at the end of memory': lambda b: b.replace(struct.pack('<Q', 64), b'\xff' * 8),
}
HALF = {
    'cut in a record': lambda b: b[:len(b) // 2],
    'record of 0 bytes': huge(0),
    'record of 4 GB': huge(0xffffffff),
}


def replaced(spawn, tmp_path, change):
    process = spawn(workload('jitdump'), 1000000, cwd=tmp_path)
    wait_until(lambda: [p for p in tmp_path.glob('jit-*.dump') if p.stat().st_size > 300],
               'it has written its file')
    path = next(tmp_path.glob('jit-*.dump'))
    path.write_bytes(change(path.read_bytes()))
    return profile('--exclude-kernel', '--lines', '-p', process.pid, *ENOUGH)


@pytest.mark.parametrize('kind', DAMAGED)
def test_damaged_files(spawn, root, tmp_path, kind):
    found = replaced(spawn, tmp_path, DAMAGED[kind])
    assert not found.pick('dump_heavy') and not found.pick('dump_light')
    assert sanitized() or found.notes['self_rss'] < 64e6


@pytest.mark.parametrize('kind', HALF)
def test_names_before_the_damage(spawn, root, tmp_path, kind):
    found = replaced(spawn, tmp_path, HALF[kind])
    share_is(found.own('dump_heavy heavy.js:17'), found.samples, 0.7, slack=0.02)
    assert not found.pick(re.compile('dump_light.*'))


def test_a_file_of_another_owner(spawn, root, tmp_path):
    process = spawn(workload('jitdump'), 1000000, cwd=tmp_path)
    wait_until(lambda: list(tmp_path.glob('jit-*.dump')), 'it has written its file')
    shutil.chown(next(tmp_path.glob('jit-*.dump')), 12345, 12345)
    assert not profile('--exclude-kernel', '-p', process.pid, *ENOUGH).pick('dump_heavy')


# ---- Node.js ----

def node(tmp_path, option):
    if not has('node'):
        pytest.skip('node is not installed (package nodejs)')
    script = tmp_path / 'x.js'
    script.write_text(JS)
    done = subprocess.run(['node', '--v8-options'], capture_output=True, text=True, check=True)
    if f'{option} ' not in done.stdout:
        pytest.skip(f'this build of node has no {option}')
    return script


@pytest.mark.parametrize('option', ['--perf-prof', '--perf-basic-prof'])
def test_functions_of_node(tmp_path, root, option):
    """They are called as the files say: /tmp/perf-PID.map, or jit-PID.dump."""
    script = node(tmp_path, option)
    found = profile('--exclude-kernel', command=['node', option, script], cwd=tmp_path)
    inner = [f for f in found.functions  # the compiler may inline the one in the other
             if re.search('attarInner|attarOuter', f['symbol']) and f['samples']]
    assert sum(f['samples'] for f in inner) > 0.3 * found.samples
    if option == '--perf-prof':
        assert all(re.fullmatch(rf'{tmp_path}/jit-\d+\.dump', f['dso']) for f in inner)
        whole = Path(inner[0]['dso']).read_bytes()
        assert all(f['symbol'].encode() + b'\0' in whole for f in inner)
        return
    assert all(re.fullmatch(r'/tmp/perf-\d+\.map', f['dso']) for f in inner)
    path = Path(inner[0]['dso'])
    named = {line.split(' ', 2)[2] for line in path.read_text(errors='replace').splitlines()}
    path.unlink()
    shown = {f['symbol'] for f in found.functions if f['dso'] == str(path)}
    assert shown - {'[unknown]'} <= named
