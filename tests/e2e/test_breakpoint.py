# SPDX-License-Identifier: MIT
"""attar breakpoint: a program whose writes are known."""
import csv
import json
import os
import re
import signal
import subprocess

import pytest

import guest
from command import ATTAR, run, workload
from scripts import lines_of_csv, report, rows, wait_until_running

pytestmark = pytest.mark.usefixtures('root')
hits_wanted = pytest.mark.usefixtures('needs_breakpoints')

X86 = os.uname().machine == 'x86_64'


def watch(*args, style='csv', count=1000, profiler='breakpoint'):
    """Run the program under attar; return what attar printed."""
    with subprocess.Popen([workload('writes1000'), str(count)], stdin=subprocess.PIPE,
                          text=True) as target:
        with subprocess.Popen([ATTAR, profiler, *map(str, args), '-p', str(target.pid), '-m',
                               '512', '--format', style], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            wait_until_running(process)
            target.stdin.write('\n')
            target.stdin.flush()
            target.wait()
            process.send_signal(signal.SIGINT)
            text, errors = process.communicate()
    assert process.returncode == 0, errors
    return text


def hits(text):
    return [r for r in csv.DictReader(lines_of_csv(text)) if r['breakpoint']]


def number(text):
    return int(text) if text else None


@hits_wanted
@pytest.mark.skipif(not X86, reason='values are known on x86-64 only')
def test_each_value_is_right():
    found = hits(watch('counter/8:w'))
    assert [number(h['new']) for h in found] == [*range(1, 1001), *range(1005, 1055, 5)]
    assert [number(h['old']) for h in found] == [None, *range(1, 1001), *range(1005, 1050, 5)]
    assert all(' store+0x' in h['detail'] for h in found[:1000])


@hits_wanted
@pytest.mark.skipif(not X86, reason='instructions of arm64 are aligned')
def test_code_at_any_address():
    """The second instruction of store(), at an address that is no multiple of 8."""
    code = subprocess.run(['objdump', '-d', '--no-show-raw-insn', '--disassemble=store',
                           workload('writes1000')], capture_output=True, text=True,
                          check=True).stdout
    start, second = [int(a, 16) for a in re.findall(r'^ +(\w+):\t', code, re.M)[:2]]
    assert second % 8
    place = f'store+{second - start}:x'
    assert len(hits(watch(place))) == 1000


@hits_wanted
@pytest.mark.skipif(not X86, reason='values are known on x86-64 only')
def test_two_breakpoints_of_other_sizes():
    found = hits(watch('small/2', 'counter/8:w', count=3))
    assert [number(h['new']) for h in found if h['breakpoint'] == 'small/2'] == [7, 6, 5]
    assert len(found) == 3 + 10 + 3


@hits_wanted
@pytest.mark.skipif(not X86, reason='values are known on x86-64 only')
def test_filter_on_data():
    found = hits(watch('counter/8', '--filter', 'data > 100 && old <= 100 || data == 5'))
    assert [number(h['new']) for h in found] == [5, 101]


@hits_wanted
@pytest.mark.skipif(not X86, reason='values are known on x86-64 only')
def test_hits_are_events_of_others():
    event = 'breakpoint/"counter/8:w" --filter "data > 100 && data <= 123"/key=_tid/'
    found = json.loads(watch('-e', event, profiler='top', style='json').splitlines()[-1])
    table = next(s for s in found['sections'] if s['name'] == 'top')
    assert [row[1] for row in table['rows']] == [23]


@hits_wanted
def test_hits_are_counted():
    found = json.loads(watch('counter/8:w', style='json').splitlines()[-1])
    table = next(s for s in found['sections'] if s['name'] == 'breakpoints')
    assert table['rows'][0][0] == 'counter/8:w' and table['rows'][0][2] == 1010


PLACE = 0x500000000  # above the heap, which begins at random in the first GiB
MAPS = f'''
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_size_t]
libc.mmap.restype = ctypes.c_void_p
assert libc.mmap({PLACE}, 4096, 3, 0x100022, -1, 0) == {PLACE}  # MAP_FIXED_NOREPLACE
'''


def build(path, variables):
    """Compile a program with known addresses, which does nothing."""
    subprocess.run(['gcc', '-fno-pie', '-no-pie', '-x', 'c', '-o', path, '-'], check=True,
                   input=f'{variables} int main(void) {{ return 0; }}', text=True)
    return path


@hits_wanted
@pytest.mark.parametrize('place', ['counter/1:w', 'counter/2:w', 'counter/4:w', 'counter+1/1:w',
                                   'counter+4/4:w'])
def test_parts_of_a_variable_are_written_with_it(place):
    """The CPU compares ranges of addresses, and all writes are of 8 bytes."""
    found = json.loads(watch(place, style='json', count=100).splitlines()[-1])
    assert [row['hits'] for row in rows(found, 'breakpoints')] == [110]


@hits_wanted
@pytest.mark.skipif(not X86, reason='instructions are decoded on x86-64 only')
def test_reads_and_writes_are_told_apart():
    """Each of the ten additions reads the old value, and writes the new one."""
    text = watch('counter/8:rw', count=100)
    found = hits(text)
    writes = [h for h in found if h['access'] == 'write']
    assert [number(h['new']) for h in writes] == [*range(1, 101), *range(105, 155, 5)]
    assert [number(h['old']) for h in writes] == [None, *range(1, 101), *range(105, 150, 5)]
    reads = [h for h in found if h['access'] != 'write']
    assert {h['access'] for h in reads} <= {'read'}
    assert all(h['old'] == h['new'] for h in reads)
    assert {h['access'] for h in hits(watch('counter/8:w', count=3))} == {'write'}
    assert {h['access'] for h in hits(watch('store:x', count=3))} == {'execution'}


WITHOUT_ASLR = 0x555555554000  # where Linux loads programs for x86-64 then


def record_writes(tool, tmp_path):
    """Record the writes to counter and small; return the file and the addresses."""
    program, data, places = workload('writes1000'), tmp_path / 'x.data', []
    symbols = subprocess.run(['nm', program], capture_output=True, text=True, check=True).stdout
    for name, size in (('counter', 8), ('small', 2)):
        offset = int(re.search(rf'^(\w+) B {name}$', symbols, re.M)[1], 16)
        places.append(f'{WITHOUT_ASLR + offset:#x}/{size}:w')
    ended = subprocess.run([*tool, '-e', ','.join(f'mem:{p}' for p in places), '-o', data, '--',
                            'setarch', '-R', program, '100'], input='\n', text=True,
                           capture_output=True)
    assert ended.returncode == 0, ended.stderr
    return data, places


@hits_wanted
@pytest.mark.skipif(not X86, reason='values are known on x86-64 only')
@pytest.mark.parametrize('tool', [[str(ATTAR), 'record'], ['perf', 'record', '-q', '--intr-regs'],
                                  ['perf', 'record', '-q']], ids=['attar', 'perf', 'without'])
def test_recorded_values(tool, tmp_path, needs_perf):
    """
    Of each breakpoint its own hits; without registers, the reason is named. Others write to the
    addresses while the program is loaded.
    """
    data, [counter, small] = record_writes(tool, tmp_path)
    ended = run('breakpoint', counter, small, '--input', data, '--format', 'csv')
    assert ended.returncode == 0, ended.stderr
    found = [h for h in hits(ended.stdout) if '/writes1000)' in h['detail']]
    of_counter = [number(h['new']) for h in found if h['breakpoint'] == counter]
    of_small = [number(h['new']) for h in found if h['breakpoint'] == small]
    text = run('breakpoint', counter, small, '--input', data).stdout
    if tool[-1] == '-q':
        assert (of_counter, of_small) == ([None] * 110, [None] * 3)
        assert re.search(r"the value after \d+ hits is unknown: the recording has no registers; "
                         "record with 'attar record', or 'perf record --intr-regs'", text)
    else:
        assert of_counter == [*range(1, 101), *range(105, 155, 5)]
        assert of_small == [7, 6, 5]
        assert 'the recording has no registers' not in text


@hits_wanted
def test_reads_are_hits_too():
    """Of data that is written and read: the program reads `counter` only when it adds to it."""
    found = json.loads(watch('counter/8:rw', style='json', count=100).splitlines()[-1])
    assert 110 <= rows(found, 'breakpoints')[0]['hits'] <= 120


@hits_wanted
def test_execution_and_stacks(tmp_path):
    folded = tmp_path / 'break.folded'
    found = json.loads(watch('store:x', '-g', '--flame-graph', folded, style='json',
                             count=50).splitlines()[-1])
    assert sum(int(line.split()[-1]) for line in folded.read_text().splitlines()
               if line.split()[0].endswith(';store')) == 50
    table = next(s for s in found['sections'] if s['name'] == 'breakpoints')
    assert table['rows'][0][2] == 50
    tree = next(s for s in found['sections'] if s['name'] == 'stacks')
    assert 'store' in {row[2] for row in tree['rows']}


@hits_wanted
@pytest.mark.parametrize('option, hits', [('--exclude-user', 0), ('--exclude-kernel', 60)])
def test_code_that_writes(option, hits):
    found = json.loads(watch('counter/8:w', option, style='json', count=50).splitlines()[-1])
    assert rows(found, 'breakpoints')[0]['hits'] == hits


@hits_wanted
@pytest.mark.parametrize('option, n', [('--user-callchain', 15), ('--no-user-callchain', 0)])
def test_parts_of_stacks(option, n):
    """The code that writes is shown with and without its callers."""
    found = hits(watch('counter/8:w', '-g', option, count=5))
    assert sum(';' in h['detail'] for h in found) == n
    assert all(' store+0x' in h['detail'] for h in found[:5])


@pytest.mark.parametrize('args, sentence', [
    ([], 'breakpoint needs an address: '),
    (['0x1234/3'], 'the length must be 1, 2, 4 or 8 bytes'),
    (['0x1235/4'], 'is not a multiple of 4 bytes'),
    (['0x0'], "'0x0': nothing is at address 0"),
    (['0x1234:rx'], 'either for execution (x) or for data'),
    (['nosuchvariable'], "neither true nor the kernel has a symbol 'nosuchvariable'"),
    (['0x10000', '--filter', 'value > 1'], "no such field or variable 'value'"),
])
def test_refusals(args, sentence):
    ended = run('breakpoint', *args, '--', 'true')
    assert ended.returncode in (1, 2), ended.stderr
    assert sentence in ended.stderr


def test_more_breakpoints_than_the_cpu_has():
    """x86-64 has 4, arm64 up to 16."""
    with subprocess.Popen([workload('writes1000')], stdin=subprocess.PIPE) as target:
        ended = run('breakpoint', *[f'counter+{i * 8}/8' for i in range(20)], '-p', target.pid,
                    '-d', 1)
        target.stdin.close()
    assert ended.returncode != 0
    assert 'all are in use' in ended.stderr


def test_an_unmapped_address():
    with subprocess.Popen([workload('writes1000')], stdin=subprocess.PIPE) as target:
        ended = run('breakpoint', '0x1000/8', '-p', target.pid, '-d', 1)
        target.stdin.close()
    assert ended.returncode == 1
    assert f'address 0x1000 is not mapped in process {target.pid}' in ended.stderr


@pytest.mark.parametrize('args', [['-d', '100ms'], ['--', 'true']], ids=['system', 'command'])
def test_an_address_that_no_process_maps(args):
    """Some process may map it during the run, so this is no error at the start."""
    found = report('breakpoint', '0x1000/8', *args)
    assert 'no hits of 0x1000/8: no process was seen that has mapped it' in found['remarks']
    assert [row['hits'] for row in rows(found, 'breakpoints')] == [0]


@pytest.mark.parametrize('place', ['small+2@{}', 'small@{}+2', 'small+1@{}+1'])
def test_offsets_behind_a_symbol_of_a_file(place):
    program = workload('writes1000')
    with subprocess.Popen([program], stdin=subprocess.PIPE) as target:
        found = report('breakpoint', place.format(program) + '/2', 'small/2', '-p', target.pid,
                       '-d', '1ms')
        target.stdin.close()
    behind, first = (row['address'] for row in rows(found, 'breakpoints'))
    assert behind == first + 2


def test_a_file_whose_name_ends_like_an_offset(tmp_path):
    """Both files exist: the offset is part of the name."""
    other = tmp_path / 'x+8'
    build(tmp_path / 'x', 'long first = 1;')
    build(other, 'long second = 1;')
    for place, is_there in (('second', True), ('first', False)):
        ended = run('breakpoint', f'{place}@{other}/8', '-d', '1ms')
        assert (ended.returncode == 0) == is_there, ended.stderr


def test_what_is_behind_a_program_is_not_mapped(tmp_path):
    """
    Another process has mapped the address, but not the command; the program's own data are mapped,
    and are not written.
    """
    program = build(tmp_path / 'x', 'long place = 1;')
    symbols = subprocess.run(['nm', program], capture_output=True, text=True, check=True).stdout
    place = int(re.search(r'^(\w+) D place$', symbols, re.M)[1], 16)
    away = PLACE - place
    code = MAPS + "print('mapped', flush=True); input()"
    with subprocess.Popen(['/usr/bin/python3', '-S', '-c', code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        words = [f'{PLACE:#x}/8', f'place+{away}@{program}/8', f'place@{program}+{away}/8']
        found = report('breakpoint', *words, f'place+0@{program}/8', '--', program)
        other.communicate(b'\n')
    assert [row['hits'] for row in rows(found, 'breakpoints')] == [0] * 4
    said = [remark for remark in found['remarks'] if remark.startswith('no hits of')]
    assert said == [f'no hits of {word}: no process was seen that has mapped it' for word in words]


@hits_wanted
def test_an_address_that_the_command_maps():
    """Written three times, and not at all: then there are no hits, and no remark either."""
    for writes in (3, 0):
        code = MAPS + f'for i in range({writes}): ctypes.c_long.from_address({PLACE}).value = 7\n'
        found = report('breakpoint', f'{PLACE:#x}/8', '--', '/usr/bin/python3', '-S', '-c', code)
        assert [row['hits'] for row in rows(found, 'breakpoints')] == [writes]
        assert not [r for r in found.get('remarks', []) if 'mapped' in r]


# ---- the kernel ----

MODULE = '/sys/module/writes/parameters/count'


@pytest.mark.guest('debian')
def test_values_of_a_variable_of_the_kernel(tmp_path):
    """The code is that of a module, read from /proc/kcore."""
    module = guest.output_of('module', 'writes')
    ended = guest.run('debian', 'sh', '-c', f'''[ -e {MODULE} ] || insmod {module}
        {ATTAR} breakpoint attar_written/8 -a -m 512 -q -o {tmp_path}/x.json -- \\
            sh -c "echo 1000 >{MODULE}"
        {ATTAR} breakpoint 0xffff0000deadbee8/8 -a -d 100ms''', cwd=guest.ROOT)
    assert ended.returncode == 1
    assert 'address 0xffff0000deadbee8 is not mapped in the kernel' in ended.stderr
    reports = [json.loads(line) for line in (tmp_path / 'x.json').read_text().splitlines()]
    found = [row for r in reports for s in r['sections'] if s['name'] == 'hits'
             for row in rows(r, 'hits')]
    assert [hit['new'] for hit in found] == [*range(1, 1001), *range(1005, 1055, 5)]
    assert [hit['old'] for hit in found] == [None, *range(1, 1001), *range(1005, 1050, 5)]
    assert 'remarks' not in reports[-1]
