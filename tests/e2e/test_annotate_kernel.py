# SPDX-License-Identifier: MIT
"""
attar annotate of kernel functions: lines from a vmlinux or the file of a module, instructions from
a vmlinux or /proc/kcore.
"""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import guest
import scripts
from command import ATTAR

pytestmark = pytest.mark.usefixtures('root')

KERNEL = '[kernel.kallsyms]'
LINKED_AT = 0xffffffff92000000  # differs from the link address of any kernel, and must not matter
BYTES, LINES = 16, 2048         # of code in each line; lines of the function
EMPTY = ('dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=300000', 'status=none')
SAMPLING = ('-e', 'cpu-clock:k', '-F', '997')


def annotate(debug, *args):
    """The report of attar annotate in a mount namespace whose /usr/lib/debug is a folder."""
    if not Path('/usr/lib/debug').is_dir():
        pytest.skip('there is no /usr/lib/debug')
    done = subprocess.run(
        ['unshare', '-m', 'sh', '-c', 'mount --bind "$0" /usr/lib/debug && exec "$@"', debug,
         ATTAR, 'annotate', '--format', 'json', *SAMPLING, *map(str, args), '--', *EMPTY],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        env={k: v for k, v in os.environ.items() if k != 'DEBUGINFOD_URLS'})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def build_id():
    """The build ID of the running kernel: the note of type 3 of the owner GNU."""
    notes = Path('/sys/kernel/notes')
    found = re.search(rb'\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})',
                      notes.read_bytes() if notes.exists() else b'', re.S)
    if not found:
        pytest.skip('the kernel does not say its build ID')
    return found[1].hex()


def hottest(debug):
    """The function of vmlinux with most samples, its address, and the address of _stext."""
    names = scripts.rows(annotate(debug, '--top', 20), 'functions')
    name = next(row['symbol'] for row in names if row['dso'] == KERNEL)
    at = {}
    for line in Path('/proc/kallsyms').read_text().splitlines():
        address, _, symbol = line.split(None, 2)
        at.setdefault(symbol, int(address, 16))
    return name, at[name], at['_stext']


def make_vmlinux(folder, path, offset):
    """A file with the build ID of the kernel, and a function of known lines at an offset."""
    folder.mkdir(exist_ok=True)
    source = folder / 'kernel.c'
    body = ''.join(f'asm(".rept {BYTES}; nop; .endr"); /* line {i} */\n'
                   for i in range(2, LINES + 2))
    source.write_text('__attribute__((naked, section(".here"))) void code(void) {\n' + body + '}\n')
    script = folder / 'kernel.ld'
    script.write_text(f'''ENTRY(_stext)
SECTIONS {{
    . = {LINKED_AT:#x};
    .text : {{ _stext = .; . = {offset:#x}; *(.here) }}
    .note.gnu.build-id : {{ *(.note.gnu.build-id) }}
}}''')
    compiler = (os.environ.get('CC') or 'gcc').split()
    subprocess.run([*compiler, '-g', '-O2', '-mcmodel=kernel', '-fno-pie', '-no-pie', '-static',
                    '-nostdlib', f'-Wl,-T,{script},--build-id=0x{build_id()}', source, '-o', path],
                   check=True, capture_output=True)
    return source


def remarks(report):
    return ' '.join(report.get('remarks', []))


@pytest.mark.skipif(os.uname().machine != 'x86_64', reason='the file is one of x86-64')
def test_lines_of_a_vmlinux(tmp_path):
    """Each address has the line of its place in the function, wherever the kernel was loaded."""
    debug = tmp_path / 'debug'
    (debug / 'boot').mkdir(parents=True)
    name, start, stext = hottest(debug)
    source = make_vmlinux(tmp_path / 'work', debug / f'boot/vmlinux-{os.uname().release}',
                          start - stext)
    report = annotate(debug, name, '--instructions')
    [function] = scripts.rows(report, 'functions')
    rows = scripts.rows(report, f'lines of {name} in {source}')
    assert sum(row['samples'] for row in rows) == function['samples'] > 0
    assert all(row['source'].endswith(f'/* line {row["line"]} */') for row in rows)
    of_lines = {}
    for row in scripts.rows(report, f'instructions of {name}'):
        line = (row['address'] - start) // BYTES + 2
        assert row['line'] == f'kernel.c:{line}'
        of_lines[line] = of_lines.get(line, 0) + row['samples']
        if not Path('/proc/kcore').exists():
            assert row['instruction'] == 'nop'  # the code of the file
    assert of_lines == {row['line']: row['samples'] for row in rows}


@pytest.mark.skipif(os.uname().machine != 'x86_64', reason='the file is one of x86-64')
def test_vmlinux_of_another_kernel(tmp_path, monkeypatch):
    """A file of the right name with another build ID is not used, and the remarks say so."""
    release = os.uname().release
    if Path(f'/lib/modules/{release}/build/vmlinux').exists() or list(
            Path('/boot').glob('vmlinux-*')):
        pytest.skip('there is a vmlinux of this kernel')
    debug = tmp_path / 'debug'
    (debug / 'boot').mkdir(parents=True)
    name, start, stext = hottest(debug)
    monkeypatch.setitem(globals(), 'build_id', lambda: '12' * 20)
    make_vmlinux(tmp_path / 'work', debug / f'boot/vmlinux-{release}', start - stext)
    report = annotate(debug, name)
    said = remarks(report)
    assert f'the source lines of {name} are unknown: no vmlinux' in said
    assert f'/usr/lib/debug/boot/vmlinux-{release}' in said
    assert all(row['line'] is None for row in scripts.rows(report, f'instructions of {name}'))
    if not Path('/proc/kcore').exists():
        assert (f'the instructions of {name} are unknown, and addresses of samples are shown '
                'instead: /proc/kcore cannot be read') in said


@pytest.mark.guest('x86')
def test_instructions_of_the_running_kernel(tmp_path):
    """They are those that objdump finds in /proc/kcore."""
    if not shutil.which('objdump'):
        pytest.skip('objdump is not installed')
    out = tmp_path / 'out'
    out.mkdir()
    ended = guest.run('x86', 'sh', '-c', f'''
        {ATTAR} annotate -o {out}/report.json {' '.join(SAMPLING)} -- {' '.join(EMPTY)} &&
        {guest.PYTHON} -c 'import json; s = json.load(open("{out}/report.json"))["sections"]
rows = next(t for t in s if t["name"].startswith("instructions of"))["rows"]
print(hex(rows[0][2]), hex(rows[-1][2] + 1))' >{out}/range &&
        read -r from to <{out}/range &&
        objdump -d --no-show-raw-insn --start-address=$from --stop-address=$to /proc/kcore \\
            >{out}/objdump''')
    assert ended.returncode == 0, ended.stdout + ended.stderr
    report = json.loads((out / 'report.json').read_text())
    [function] = scripts.rows(report, 'functions')
    rows = scripts.rows(report, f'instructions of {function["symbol"]}')
    if rows[0]['instruction'] is None:
        pytest.skip('attar is built without capstone, or it is not installed')
    assert function['dso'] == KERNEL and 'no vmlinux with debug information' in remarks(report)
    assert sum(row['samples'] for row in rows) == function['samples'] > 0
    theirs = {int(m[1], 16): m[2] for m in re.finditer(
        r'^ *([0-9a-f]+):\t(\S+)', (out / 'objdump').read_text(), re.M)}
    ours = {row['address']: row['instruction'].split()[0] for row in rows}
    assert set(ours) == set(theirs)
    ours.pop(rows[-1]['address'])  # padding, cut at the next function
    for address, name in ours.items():  # suffixes of sizes differ
        assert name.startswith(theirs[address]) or theirs[address].startswith(name), hex(address)


MODULE = Path(guest.VM / 'modules/turns.c')


def line_of(comment):
    lines = MODULE.read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if comment in line)


@pytest.mark.guest('debian')
def test_lines_of_a_module(tmp_path):
    """The time of a module is in its hot line, inlined at the hot call."""
    module = guest.output_of('module', 'turns')
    out = tmp_path / 'out'
    out.mkdir()
    take = "sh -c 'echo 1000 >/sys/module/turns/parameters/ms'"
    ended = guest.run('debian', 'sh', '-c', f'''
        mkdir -p /tmp/debug/lib/modules/$(uname -r)/extra &&
        cp {module} /tmp/debug/lib/modules/$(uname -r)/extra &&
        mount --bind /tmp/debug /usr/lib/debug && insmod {module} &&
        {ATTAR} profile --inline --lines {' '.join(SAMPLING)} -o {out}/profile.json -- {take} &&
        {ATTAR} annotate spend {' '.join(SAMPLING)} -o {out}/annotate.json -- {take} &&
        rmmod turns''', cwd=guest.ROOT)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    functions = scripts.rows(json.loads((out / 'profile.json').read_text()), 'functions')
    hot = f'once turns.c:{line_of("the hot line")} (inlined)'
    of_module = {row['symbol']: row['samples'] for row in functions if row['dso'] == '[turns]'}
    assert of_module[hot] > 0.7 * sum(of_module.values()) > 7
    report = json.loads((out / 'annotate.json').read_text())
    files = [s['name'] for s in report['sections'] if s['name'].startswith('lines of spend in ')]
    lines = {(file.rsplit('/')[-1], row['line']): row['samples'] or 0
             for file in files for row in scripts.rows(report, file)}
    [function] = scripts.rows(report, 'functions')
    assert lines['turns.c', line_of('the hot line')] > 0.7 * function['samples'] > 7
    assert sum(lines.values()) == function['samples'] and 'are unknown' not in remarks(report)
