# SPDX-License-Identifier: MIT
"""attar annotate: a function whose lines take known shares, live and recorded."""
import ctypes.util
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import builds
import scripts
from command import ENOUGH, ROOT, run, share_is, wait_until, workload
from scripts import rows_of
from perf_data import CPU_CLOCK, PAGE_FAULTS, Recording

pytestmark = pytest.mark.usefixtures('root')
LOOP = {'x86_64': r'decq? |jne ', 'aarch64': r'subs |b\.ne '}
SOURCE = ROOT / 'tests/workloads/lines8020.c'


def line_of(mark):
    lines = SOURCE.read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if f'/* {mark} */' in line)


@pytest.fixture
def tables(tmp_path):
    """Run attar annotate: the rows of its tables by their names, and the remarks."""
    def annotate(*args):
        out = tmp_path / 'out.json'
        done = run('annotate', '-o', out, *args)
        assert done.returncode == 0, done.stderr
        report = json.loads(out.read_text())
        found = {s['name']: rows_of(s) for s in report['sections']}
        return found, ' '.join(report.get('remarks', []))
    return annotate


def check_lines(found):
    [name] = [n for n in found if n.startswith('lines of mix in ') and n.endswith('lines8020.c')]
    rows = {row['line']: row for row in found[name]}
    whole = sum(row['samples'] or 0 for row in found[name])
    assert whole > 300
    assert found['functions'][0]['symbol'] == 'mix'
    assert found['functions'][0]['samples'] == whole
    share_is(rows[line_of('long')]['samples'], whole, 0.8)
    share_is(rows[line_of('short')]['samples'], whole, 0.2)
    assert abs(rows[line_of('long')]['share'] - 100 * rows[line_of('long')]['samples'] / whole) < .1
    for number, row in rows.items():
        text = SOURCE.read_text().splitlines()[number - 1]
        assert row['source'] == text.expandtabs(8)


def test_lines_of_known_shares(tables):
    found, _ = tables('mix', '-F', '997', '-e', 'cpu-clock:u', '--', workload('lines8020'), '3000')
    check_lines(found)
    assert 'instructions of mix' not in found


def test_most_samples_without_a_name(tables, tmp_path):
    """A stripped program: the hottest function is none of those where the time is."""
    args = ['-F', '997', '-e', 'cpu-clock:u', '--']
    _, remarks = tables(*args, workload('lines8020'), '300')
    assert 'without a name' not in remarks
    program = tmp_path / 'stripped'
    subprocess.run(['strip', '-o', program, workload('lines8020')], check=True)
    found, remarks = tables(*args, program, '300')
    share = float(re.search(r'([\d.]+)% of the samples are in code without a name, more '
                            'than in the hottest function that has one', remarks)[1])
    assert 90 < share <= 100
    assert all(row['share'] <= 100.1 - share for row in found['functions'])
    done = run('annotate', *args, program, '300')
    assert re.search(r'throttled; 9[\d.]+% of samples in code without a name|throttled; 100.0% of',
                     done.stdout), done.stdout
    _, remarks = tables('mix', *args, program, '300')
    assert 'without a name' not in remarks


def test_hottest_function_of_a_recording(tables, tmp_path):
    data = tmp_path / 'x.data'
    ended = run('record', '-q', '-F', '997', '-e', 'cpu-clock:u', '-o', data, '--',
                workload('lines8020'), '3000')
    assert ended.returncode == 0, ended.stderr
    found, _ = tables('--input', data)
    check_lines(found)


def objdump(program, function):
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', f'--disassemble={function}',
                           program], capture_output=True, text=True, check=True).stdout
    return {int(m[1], 16): m[2] for m in re.finditer(r'^ +([0-9a-f]+):\t(\S+)', text, re.M)}


def test_instructions(tables):
    """The addresses and mnemonics are those of objdump, the samples those of the lines."""
    if not ctypes.util.find_library('capstone'):
        pytest.skip('libcapstone is not installed')
    program = workload('lines8020')
    found, _ = tables('mix', '--instructions', '-F', '997', '-e', 'cpu-clock:u', '--', program,
                      '3000')
    rows = found['instructions of mix']
    if rows[0]['instruction'] is None:
        pytest.skip('attar is built without capstone')
    expected = objdump(program, 'mix')
    ours = {row['address']: row['instruction'].split()[0] for row in rows}
    for address, mnemonic in expected.items():
        # the padding after the function is not part of it; suffixes of sizes differ
        name = ours.get(address, mnemonic)
        assert name.startswith(mnemonic) or mnemonic.startswith(name)
    assert len(set(ours) & set(expected)) >= len(ours) - 1
    by_line = {}
    for row in rows:
        by_line[row['line']] = by_line.get(row['line'], 0) + row['samples']
    share_is(by_line[f'lines8020.c:{line_of("long")}'], found['functions'][0]['samples'], 0.8)


def test_text_and_page(tmp_path):
    page = tmp_path / 'mix.html'
    done = run('annotate', 'mix', '-F', '499', '-e', 'cpu-clock:u', '-o', page, '--',
               workload('lines8020'), '1000')
    assert done.returncode == 0, done.stderr
    assert '/* long */' in page.read_text()
    done = run('annotate', '-F', '499', '-e', 'cpu-clock:u', '--', workload('lines8020'), '1000')
    assert re.search(rf'^ *[6789]\d\.\d\d% +\S+ +{line_of("long")}  +for ', done.stdout, re.M)


def test_without_debug_information(tables, tmp_path):
    if not shutil.which('strip'):
        pytest.skip('strip is not installed')
    program = tmp_path / 'stripped'
    subprocess.run(['strip', '--strip-debug', '-o', program, workload('lines8020')], check=True)
    found, remarks = tables('-F', '499', '-e', 'cpu-clock:u', '--', program, '1000')
    assert sum(row['samples'] for row in found['instructions of mix']) > 50
    assert 'no debug information' in remarks


def test_code_with_a_perf_map(tables, spawn):
    """It has names only: the texts do not ask for a debug file or a binary."""
    process = spawn(workload('jit'), 1000000)
    names = Path(f'/tmp/perf-{process.pid}.map')
    wait_until(lambda: names.exists() and 'jit_light' in names.read_text(), 'the code has names')
    try:
        found, remarks = tables('jit_heavy', '-e', 'cpu-clock:u', '-p', process.pid, *ENOUGH)
    finally:
        names.unlink()
    assert found['functions'][0]['symbol'] == 'jit_heavy'
    assert f'the source lines of jit_heavy are unknown: {names} has no lines for it' in remarks
    assert ('the instructions of jit_heavy are unknown, and addresses of samples are shown '
            'instead: it is code of a JIT compiler, and no jitdump of the process has '
            'it') in remarks
    assert 'debug information' not in remarks and 'its file' not in remarks


def test_code_without_a_perf_map(tables, spawn):
    process = spawn(workload('jit'), 1000000)
    names = Path(f'/tmp/perf-{process.pid}.map')
    wait_until(lambda: names.exists() and 'jit_light' in names.read_text(), 'the code has names')
    names.unlink()
    found, remarks = tables('-e', 'cpu-clock:u', '-p', process.pid, *ENOUGH)
    assert re.search(r'(9\d|100)\.\d% of the samples are in code of a JIT compiler without names: '
                     'no /tmp/perf-PID.map or jitdump has them; ', remarks)


@pytest.mark.parametrize('name', ['dump_heavy', 'dump_light'])
def test_instructions_of_a_jitdump(tables, tmp_path, name):
    """dump_light was moved to where it runs. Both turn in a loop of two instructions."""
    if not ctypes.util.find_library('capstone'):
        pytest.skip('libcapstone is not installed')
    data = tmp_path / 'x.data'
    done = run('record', '-q', '-F', 997, '-e', 'cpu-clock:u', '-o', data, '--',
               workload('jitdump'), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found, remarks = tables(name, '--instructions', '--input', data)
    rows = found[f'instructions of {name}']
    loop = [row for row in rows if re.match(LOOP[os.uname().machine], row['instruction'] or '')]
    assert len(loop) == 2, rows
    assert sum(row['samples'] for row in loop) > 0.9 * found['functions'][0]['samples'] > 30
    assert 'addresses of samples' not in remarks


@pytest.mark.parametrize('is_newer', [False, True])
def test_a_source_file_that_is_newer_than_the_program(tables, tmp_path, is_newer):
    source, program = tmp_path / 'x.c', tmp_path / 'x'
    source.write_text('int main(void)\n{\n\tfor (volatile long i = 0; i < 300000000; i++)\n'
                      '\t\t;\n\treturn 0;\n}\n')
    assert builds.run(*builds.cached('gcc'), '-g', '-o', program, source).returncode == 0
    built = program.stat().st_mtime_ns
    os.utime(source, ns=(built, built + 1 if is_newer else built))
    _, remarks = tables('main', '-F', '199', '-e', 'cpu-clock:u', '--', program)
    said = (f'the source file {source} is newer than {program}: if lines were added or '
            'removed, the shares are shown at the wrong lines (rebuild the program)')
    assert (said in remarks) == is_newer


def test_a_function_and_the_hottest_ones():
    done = run('annotate', 'mix', '--top', '3', '--', workload('lines8020'), '100')
    assert done.returncode == 2
    assert "--top shows the hottest functions, but 'mix' names one" in done.stderr
    assert 'leave out --top, or the function' in done.stderr


def test_unknown_symbol(tables):
    found, remarks = tables('nonsense', '-e', 'cpu-clock:u', '--', workload('lines8020'), '100')
    assert found == {'functions': []}
    assert ("no sample is in a function 'nonsense': it did not run while samples were taken, or "
            "no function has this name ('attar profile' lists those with samples)") in remarks
    assert 'did you mean' not in remarks


def test_a_part_of_a_name(tables):
    found, remarks = tables('mi', '-e', 'cpu-clock:u', '--', workload('lines8020'), '300')
    assert found == {'functions': []}
    assert "no sample is in a function 'mi'; did you mean 'mix'?" in remarks


def test_an_inlined_function(tables):
    """All samples are in the function that it was inlined into."""
    found, remarks = tables('hot', '-e', 'cpu-clock:u', '--', workload('inlines'), '300')
    assert found == {'functions': []}
    assert "no sample is in a function 'hot': it was inlined into 'work'" in remarks


def code_of(program, function):
    """The address of a function, and of the code segment: address, size and offset in the file."""
    names = subprocess.run(['nm', program], capture_output=True, text=True, check=True).stdout
    address = int(re.search(rf'^(\S+) . {function}$', names, re.M)[1], 16)
    segments = subprocess.run(['readelf', '-lW', program], capture_output=True, text=True,
                              check=True).stdout
    [found] = re.findall(r'LOAD +(0x\S+) (0x\S+) 0x\S+ (0x\S+) 0x\S+ R E', segments)
    offset, start, size = (int(number, 16) for number in found)
    return address, (start, size, offset)


@pytest.mark.parametrize('event, freq, unit, weights', [
    (PAGE_FAULTS, 997, 'events', [30, 12]),
    (PAGE_FAULTS, 0, 'samples', [2, 1]),
    (CPU_CLOCK, 997, 'samples', [2, 1]),
])
def test_samples_are_weighed_as_by_profile(tmp_path, event, freq, unit, weights):
    """With a frequency, the weight of a sample is its period, unless the event is a clock."""
    if not shutil.which('nm'):
        pytest.skip('nm is not installed')
    address, segment = code_of(workload('lines8020'), 'mix')
    data = Recording(events=())
    data.attr(event, 7, freq=freq)
    data.comm(1, 'task')
    data.mmap(2, workload('lines8020'), *segment)
    for time, (offset, period) in enumerate([(0, 10), (4, 12), (0, 20)]):
        data.sample(3 + time, ip=address + offset, period=period)
    path = data.write(tmp_path / 'x.data')
    found = scripts.report('annotate', '--instructions', '--input', path)
    [function] = scripts.rows(found, 'functions')
    assert function[unit] == sum(weights) and function['symbol'] == 'mix'
    rows = scripts.rows(found, 'instructions of mix')
    assert [row[unit] for row in rows if row[unit]] == weights
    name = {PAGE_FAULTS: 'page-faults', CPU_CLOCK: 'cpu-clock'}[event]
    for chosen in [], ['-e', name]:
        [same] = scripts.rows(scripts.report('profile', *chosen, '--input', path), 'functions')
        assert same[unit] == sum(weights) and same['symbol'] == 'mix'
