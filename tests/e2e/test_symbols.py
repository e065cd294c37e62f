# SPDX-License-Identifier: MIT
"""Names from files in other locations, changed files, and files with wrong contents."""
import os
import re
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest

from command import ENOUGH, Profile, comm_of, has, profile, run, share_is, wait_until, workload


@pytest.fixture
def hidden():
    if not Path(workload('hidden_link')).exists():
        pytest.skip('objcopy (package binutils) was missing at build time: no stripped workloads')


def build_id(path):
    """Return the build ID in the notes of an ELF file as hex."""
    text = subprocess.run(['readelf', '-n', path], capture_output=True, text=True).stdout
    return re.search(r'Build ID: ([0-9a-f]+)', text)[1]


def test_debug_file_next_to_the_program(hidden, tmp_path):
    for name in ('hidden_link', 'hidden.debug'):
        shutil.copy(workload(name), tmp_path)
    found = profile('--exclude-kernel', command=[tmp_path / 'hidden_link'])
    share_is(found.own('hidden_heavy'), found.samples, 0.7)
    share_is(found.own('hidden_light'), found.samples, 0.3)


def test_debug_file_by_build_id(hidden, root, tmp_path):
    shutil.copy(workload('hidden_id'), tmp_path)
    digits = build_id(workload('hidden_id'))
    folder = Path('/usr/lib/debug/.build-id') / digits[:2]
    debug = folder / f'{digits[2:]}.debug'
    made = [p for p in (folder, *folder.parents) if not p.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copy(workload('hidden.debug'), debug)
        found = profile('--exclude-kernel', command=[tmp_path / 'hidden_id'])
    finally:
        debug.unlink()
        for path in made:
            path.rmdir()
    share_is(found.own('hidden_heavy'), found.samples, 0.7)
    share_is(found.own('hidden_light'), found.samples, 0.3)


def test_stripped_without_debug_file_is_counted_as_unresolved(hidden, tmp_path):
    shutil.copy(workload('hidden_id'), tmp_path)
    found = profile('--exclude-kernel', command=[tmp_path / 'hidden_id'])
    assert found.notes['unresolved'] > 0.95
    assert found.own(dso='hidden_id') > 0.95 * found.samples


def cut(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:len(whole) // 2])


def noise(path):
    path.write_bytes(os.urandom(4096))


def fifo(path):
    path.unlink()
    os.mkfifo(path)


def sparse(path):
    path.unlink()
    with open(path, 'wb') as f:
        f.truncate(10 << 30)


def folder(path):
    path.unlink()
    path.mkdir()


def link_to_itself(path):
    path.unlink()
    path.symlink_to(path.name)


def empty(path):
    path.write_bytes(b'')


def another_program(path):
    shutil.copy(workload('chain5'), path)


CORRUPTIONS = [cut, noise, fifo, sparse, folder, link_to_itself, empty, another_program]


@pytest.mark.parametrize('corrupt', CORRUPTIONS, ids=lambda f: f.__name__)
def test_corrupt_debug_file_gives_no_names(hidden, tmp_path, corrupt):
    """No crash, no hang and no wrong name: the functions have no names."""
    for name in ('hidden_link', 'hidden.debug'):
        shutil.copy(workload(name), tmp_path)
    corrupt(tmp_path / 'hidden.debug')
    start = time.monotonic()
    found = profile('--exclude-kernel', command=[tmp_path / 'hidden_link', 1000], timeout=30)
    assert time.monotonic() - start < 10
    assert found.own(dso='hidden_link') > 0.95 * found.samples
    assert found.notes['self_rss'] < 64e6
    assert not found.pick('five')


@pytest.mark.parametrize('corrupt', CORRUPTIONS, ids=lambda f: f.__name__)
def test_replaced_program_keeps_its_names(tmp_path, spawn, corrupt):
    """The mapped file counts, not the one that is at the path now."""
    program = tmp_path / 'program'
    shutil.copy(workload('split7030'), program)
    process = spawn(program, 100000)
    os.rename(program, tmp_path / 'away')
    shutil.copy(tmp_path / 'away', program)
    (tmp_path / 'away').unlink()
    corrupt(program)
    found = profile('--exclude-kernel', '-p', process.pid, *ENOUGH, timeout=60)
    assert not found.pick('five')
    if found.pick('heavy'):
        share_is(found.own('heavy'), found.samples, 0.7, slack=0.01)
    else:
        assert found.notes['unresolved'] > 0.95


def test_deleted_program_keeps_its_names(tmp_path, spawn, root):
    program = tmp_path / 'program'
    shutil.copy(workload('split7030'), program)
    process = spawn(program, 100000)
    program.unlink()
    found = profile('--exclude-kernel', '-p', process.pid, *ENOUGH)
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.01)


# Offsets and sizes of the fields in the ELF header that locate the tables.
FIELDS = {'e_shoff': (40, 'Q'), 'e_shentsize': (58, 'H'), 'e_shnum': (60, 'H'),
          'e_shstrndx': (62, 'H')}


def corrupt_header(image, field, value):
    offset, kind = FIELDS[field]
    struct.pack_into('<' + kind, image, offset, value)


def corrupt_section(image, wanted_type, offset, value):
    """Write value at offset of every section header of that type."""
    start, = struct.unpack_from('<Q', image, 40)
    number, = struct.unpack_from('<H', image, 60)
    for i in range(number):
        header = start + 64 * i
        if struct.unpack_from('<I', image, header + 4)[0] == wanted_type:
            struct.pack_into('<Q', image, header + offset, value)


SYMTAB, STRTAB, DYNSYM, NOTE = 2, 3, 11, 7
LIES = {
    'section table beyond the end': lambda i: corrupt_header(i, 'e_shoff', 1 << 40),
    'section table wraps around': lambda i: corrupt_header(i, 'e_shoff', (1 << 64) - 64),
    'odd section table': lambda i: corrupt_header(i, 'e_shoff', 4097),
    'sections of size 0': lambda i: corrupt_header(i, 'e_shentsize', 0),
    '65279 sections': lambda i: corrupt_header(i, 'e_shnum', 0xfeff),
    'names of sections nowhere': lambda i: corrupt_header(i, 'e_shstrndx', 0xfff0),
    'huge symbol table': lambda i: corrupt_section(i, SYMTAB, 32, 1 << 62),
    'symbol table nowhere': lambda i: corrupt_section(i, SYMTAB, 24, (1 << 63) - 8),
    'symbols of size 0': lambda i: corrupt_section(i, SYMTAB, 56, 0),
    'symbols of size 3': lambda i: corrupt_section(i, SYMTAB, 56, 3),
    'huge string table': lambda i: corrupt_section(i, STRTAB, 32, 1 << 62),
    'empty string table': lambda i: corrupt_section(i, STRTAB, 32, 0),
    'huge note': lambda i: corrupt_section(i, NOTE, 32, 1 << 62),
    'dynamic symbols nowhere': lambda i: corrupt_section(i, DYNSYM, 24, 1 << 62),
}


@pytest.mark.parametrize('lie', LIES)
def test_wrong_section_headers_are_harmless(tmp_path, lie):
    """The kernel runs it, because it reads program headers only."""
    image = bytearray(Path(workload('split7030')).read_bytes())
    LIES[lie](image)
    program = tmp_path / 'liar'
    program.write_bytes(image)
    program.chmod(0o755)
    found = profile('--exclude-kernel', command=[program, 500], timeout=30)
    assert found.own(dso='liar') > 0.95 * found.samples
    assert found.notes['self_rss'] < 64e6


def test_program_truncated_after_its_segments(tmp_path):
    image = bytearray(Path(workload('split7030')).read_bytes())
    start, = struct.unpack_from('<Q', image, 32)
    number, = struct.unpack_from('<H', image, 56)
    ends = [sum(struct.unpack_from('<QQ', image, start + 56 * i + 8)[:1]) +
            struct.unpack_from('<Q', image, start + 56 * i + 32)[0] for i in range(number)
            if struct.unpack_from('<I', image, start + 56 * i)[0] == 1]
    program = tmp_path / 'cut'
    program.write_bytes(image[:max(ends)])
    program.chmod(0o755)
    found = profile('--exclude-kernel', command=[program, 500], timeout=30)
    assert found.own(dso='cut') > 0.95 * found.samples


def test_program_in_another_mount_namespace(tmp_path, root):
    """The file exists only in the mount namespace of the process."""
    if not has('unshare'):
        pytest.skip('unshare (package util-linux) is not installed')
    where = tmp_path / 'inside'
    where.mkdir()
    script = f'mount -t tmpfs none {where} && cp {workload("staticpie")} {where}/only_here && ' \
             f'{where}/only_here'
    found = profile('--exclude-kernel', command=['unshare', '-m', 'sh', '-c', script])
    assert not (where / 'only_here').exists()
    n = found.own(dso='only_here')
    share_is(found.own('heavy'), n, 0.7)
    share_is(found.own('light'), n, 0.3)


def test_running_process_in_another_mount_namespace(tmp_path, spawn, root):
    if not has('unshare'):
        pytest.skip('unshare (package util-linux) is not installed')
    where = tmp_path / 'inside'
    where.mkdir()
    script = (f'mount -t tmpfs none {where} && cp {workload("staticpie")} {where}/only_here && '
              f'exec {where}/only_here 100000')
    process = spawn('unshare', '-m', 'sh', '-c', script)
    wait_until(lambda: comm_of(process.pid) == 'only_here', 'it runs inside')
    found = profile('--exclude-kernel', '-p', process.pid, *ENOUGH)
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.01)


@pytest.mark.parametrize('kind', ['file', 'link outside', 'link with dots', 'link inside'])
def test_links_do_not_leave_a_container(hidden, tmp_path, spawn, root, kind):
    """
    A link in the root of a process that names a file of the host: the process has no such file.
    """
    inside, outside = tmp_path / 'inside', tmp_path / 'outside'
    outside.mkdir()
    shutil.copy(workload('hidden.debug'), outside / 'hidden.debug')
    listed = subprocess.run(['ldd', workload('hidden_link')], capture_output=True, text=True,
                            check=True).stdout
    for library in re.findall(r'(?:=> |^\s*)(/\S+)', listed, re.M):
        copy = inside / library.lstrip('/')
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, copy)
    shutil.copy(workload('hidden_link'), inside / 'hidden_link')
    if not has('unshare'):
        pytest.skip('unshare (package util-linux) is not installed')
    debug = inside / 'hidden.debug'
    if kind == 'file':
        shutil.copy(workload('hidden.debug'), debug)
    elif kind == 'link inside':
        shutil.copy(workload('hidden.debug'), inside / 'real')
        debug.symlink_to('/real')
    else:
        debug.symlink_to(outside / 'hidden.debug' if kind == 'link outside'
                         else '../outside/hidden.debug')
    (inside / 'old').mkdir()
    process = spawn('unshare', '-m', 'sh', '-c',
                    f'mount --bind {inside} {inside} && cd {inside} && pivot_root . old && '
                    f'exec /old{shutil.which("chroot")} . /hidden_link 1000000')
    wait_until(lambda: comm_of(process.pid) == 'hidden_link', 'it runs inside')
    found = profile('--exclude-kernel', '-p', process.pid, *ENOUGH)
    if kind in ('file', 'link inside'):
        share_is(found.own('hidden_heavy'), found.samples, 0.7, slack=0.01)
    else:
        assert not found.pick('hidden_heavy') and found.notes['unresolved'] > 0.95


# ---- perf-PID.map: a file that any user may create in /tmp ----

def jit_with_map(spawn, corrupt):
    """A running jit workload whose map file was passed to corrupt(path, good text)."""
    process = spawn(workload('jit'), 1000000)
    path = Path(f'/tmp/perf-{process.pid}.map')
    wait_until(lambda: path.exists() and path.read_text().count('\n') == 2,
               'it has written its map')
    text = path.read_text()
    corrupt(path, text)
    try:
        return profile('--exclude-kernel', '-p', process.pid, *ENOUGH, timeout=60)
    finally:
        if path.is_symlink() or path.exists():
            path.unlink()


MAPS = {
    'unsorted': lambda p, t: p.write_text('\n'.join(reversed(t.splitlines())) + '\n'),
    'no newline at the end': lambda p, t: p.write_text(t.rstrip('\n')),
    'surrounded by garbage': lambda p, t: p.write_bytes(
        b'\0\xff\nzz\n\n1\n1 2\n' + t.encode() + b'\x80' * 100000),
    'at the end of the address space': lambda p, t: p.write_text(
        'ffffffffffffffff ffffffffffffffff x\n' + t),
}
BAD_MAPS = {
    'empty': lambda p, t: p.write_text(''),
    'fifo': lambda p, t: (p.unlink(), os.mkfifo(p)),
    'sparse 10 GB': lambda p, t: sparse(p),
    'of another owner': lambda p, t: os.chown(p, 12345, 12345),
    'link elsewhere': lambda p, t: (p.unlink(), p.symlink_to('/etc/passwd')),
}


@pytest.mark.parametrize('kind', MAPS)
def test_perf_map_names_jit_code(spawn, root, kind):
    found = jit_with_map(spawn, MAPS[kind])
    share_is(found.own('jit_heavy'), found.samples, 0.7, slack=0.02)


@pytest.mark.parametrize('kind', BAD_MAPS)
def test_untrusted_perf_map_is_ignored(spawn, root, kind):
    found = jit_with_map(spawn, BAD_MAPS[kind])
    assert not found.pick('jit_heavy')
    assert found.notes['self_rss'] < 64e6


def test_code_that_is_not_in_the_map(spawn, root):
    """Nothing says that it belongs to the compiler that wrote the map."""
    found = jit_with_map(spawn, lambda p, t: p.write_text(
        next(line for line in t.splitlines() if 'jit_heavy' in line) + '\n'))
    dsos = {f['symbol']: f['dso'] for f in found.functions if f['comm'] == 'jit'}
    assert re.fullmatch(r'/tmp/perf-\d+\.map', dsos['jit_heavy'])
    assert dsos['[unknown]'] == '[anon]'


def has_map_note(found):
    return any(re.fullmatch(r'(9\d|100)\.\d% of the samples are in code of a JIT compiler without '
                            'names: no /tmp/perf-PID.map or jitdump of the process was found; .*',
                            r) for r in found.remarks)


def test_jit_code_without_a_map_is_noted(spawn, root):
    assert has_map_note(jit_with_map(spawn, lambda p, _: p.unlink()))
    assert not has_map_note(jit_with_map(spawn, lambda p, _: None))


def test_jit_code_without_a_map_is_noted_of_a_recording(tmp_path, root):
    """The workload removes its map when it ends."""
    for words, is_noted in ([], True), (['--portable'], False):
        data = tmp_path / 'x.data'
        done = run('record', '-q', '-F', 997, '-e', 'cpu-clock:u', *words, '-o', data, '--',
                   workload('jit'))
        assert done.returncode == 0, done.stderr
        assert has_map_note(profile('--input', data)) == is_noted


# ---- hostile names ----

def test_long_name_is_shown():
    """Its start and its end, with a hash of all of it between them."""
    found = profile('--exclude-kernel', command=[workload('longname')])
    names = {f['symbol'] for f in found.functions if f['symbol'].startswith('name_')}
    assert len(names) == 1
    shown = names.pop()
    assert len(shown) == 512 and re.fullmatch(r'name_x{200,}#[0-9a-f]{16}#x{200,}', shown)


def test_hostile_names_are_escaped_everywhere(hidden, tmp_path):
    files = {kind: tmp_path / f'x.{kind}' for kind in ('json', 'csv', 'folded', 'html')}
    outputs = [w for f in files.values() for w in ('-o', f)]
    done = run('profile', '-g', '--exclude-kernel', *outputs, '--', workload('hostile'))
    assert done.returncode == 0
    for name, text in [('stdout', done.stdout), ('stderr', done.stderr),
                       *((k, f.read_text(encoding='utf-8', errors='surrogateescape')) for k,
                         f in files.items())]:
        bad = [c for c in text if (ord(c) < 32 and c not in '\n\t') or ord(c) == 127
               or 0xd800 <= ord(c) < 0xe000]
        assert not bad, f'{name} has {bad[:5]}'
    assert '</script>"\'' not in files['html'].read_text()
    found = Profile(files['json'].read_text())
    assert found.own(re.compile(r'a;b</script>.*')) > 0.95 * found.samples
    for line in files['folded'].read_text().splitlines():
        assert re.fullmatch(r'.* \d+', line)
        assert len(line.split(';')) <= 8, 'a ; in a name split a frame'
