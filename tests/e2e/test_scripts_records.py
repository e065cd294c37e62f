# SPDX-License-Identifier: MIT
"""Profilers of single records on scripts: mappings, registers, and what the kernel reports."""
import json
import os
import platform
import struct

import pytest

from command import run
from scripts import of_script, rows

pytestmark = pytest.mark.quick

X86 = platform.machine() == 'x86_64'
STACK_POINTER = 7 if X86 else 31 # asm/perf_regs.h


def reports(script, profiler, *args):
    ended = run(profiler, '--format', 'json', '--input', script, *args)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def printed(found, name):
    """Return the rows of single events, which are before the last report."""
    return [row for part in found[:-1] for row in rows(part, name)]


# ---- page-faults ----

FAULTS = f'''# attar script
event minor-faults sampled stack registers={STACK_POINTER}
event major-faults sampled stack registers={STACK_POINTER}
0.5 0 7/7 sh mmap 0x400000 0x1000 0 r-xp /bin/sh
1.0 0 7/7 prog exec
1.1 0 7/7 prog mmap 0x400000 0x2000 0 r-xp /bin/prog
1.1 0 7/7 prog mmap 0x600000 0x4000 0x1000 rw-p /data/file
1.1 0 7/7 prog mmap 0x602000 0x1000 0 rw-p //anon
1.1 0 7/7 prog mmap 0x700000 0x1000 0 rw-s /dev/zero
2.000000001 0 7/7 prog minor-faults addr=0x400800 stack=0x400010,0x400020
2.000000002 0 7/7 prog major-faults addr=0x600000 stack=0x400030
2.000000003 1 7/8 worker major-faults addr=0x603fff stack=0x400030
2.000000004 0 7/7 prog minor-faults addr=0x602fff
2.000000005 0 7/7 prog minor-faults addr=0x700000
2.000000006 0 7/7 prog minor-faults addr=0x7fffffff0000 registers=0x7fffffff0040
2.000000007 0 7/7 prog minor-faults addr=0x10 registers=0x7fffffff0040
2.1 0 7/7 prog fork 9/9
2.2 0 9/9 prog minor-faults addr=0x603000
2.3 0 9/9 prog mmap 0x603000 0x1000 0 rw-p /other
2.4 0 9/9 prog minor-faults addr=0x603000
2.4 0 7/7 prog minor-faults addr=0x603000
'''


def test_faults_by_mapping(script):
    """A mapping replaces what it overlaps, an exec all; a child has those of its parent."""
    found = reports(script(FAULTS), 'page-faults')[-1]
    assert {(r['pid'], r['mapping'], r['file']): (r['faults'], r['major'], r['from'], r['to'])
            for r in rows(found, 'page faults')} == {
        (7, 'file', '/bin/prog'): (1, 0, 0x400800, 0x400800),
        (7, 'file', '/data/file'): (3, 2, 0x600000, 0x603fff),
        (7, 'anonymous', ''): (1, 0, 0x602fff, 0x602fff),
        (7, 'shared memory', ''): (1, 0, 0x700000, 0x700000),
        (7, 'stack', ''): (1, 0, 0x7fffffff0000, 0x7fffffff0000),
        (7, 'unknown', ''): (1, 0, 0x10, 0x10),
        (9, 'file', '/data/file'): (1, 0, 0x603000, 0x603000),
        (9, 'file', '/other'): (1, 0, 0x603000, 0x603000)}
    assert found['notes']['seen'] == 10


def test_each_fault(script):
    found = printed(reports(script(FAULTS), 'page-faults', '--detail', '-t', '7,8'), 'faults')
    assert [(r['time'], r['tid'], r['cpu'], r['fault'], r['address'], r['mapping'])
            for r in found[:3]] == [
        (2_000_000_001, 7, 0, 'minor', 0x400800, 'file'),
        (2_000_000_002, 7, 0, 'major', 0x600000, 'file'),
        (2_000_000_003, 8, 1, 'major', 0x603fff, 'file')]
    assert 'sp=0x7fffffff0040' in found[5]['registers'].split()
    assert len(found) == 8


def test_stacks_for_a_flame_graph(script, tmp_path):
    """Without -g, an output of stacks has them as well."""
    out = tmp_path / 'x.folded'
    assert run('page-faults', '--input', script(FAULTS), '-o', out).returncode == 0
    counts = [int(line.rpartition(' ')[2]) for line in out.read_text().splitlines()]
    assert sum(counts) == 10
    assert any(line.count(';') == 2 for line in out.read_text().splitlines())


def test_faults_of_both_kinds(script):
    """A recording of page-faults does not tell minor faults from major ones."""
    text = FAULTS.replace('minor-faults', 'page-faults').replace('event major-faults', 'event a:b')
    lines = [line for line in text.splitlines() if 'major' not in line and 'a:b' not in line]
    found = reports(script('\n'.join(lines) + '\n'), 'page-faults')[-1]
    assert sum(r['faults'] for r in rows(found, 'page faults')) == 8
    assert not any(r['major'] for r in rows(found, 'page faults'))


def test_a_recording_without_faults(script):
    ended = run('page-faults', '--input', script('# attar script\nevent a:b\n1 0 1/1 x a:b\n'))
    assert ended.returncode == 1, ended.stderr
    assert "has no event 'page-faults'; it has a:b" in ended.stderr


def test_mappings_are_not_those_of_a_running_process(tmp_path):
    """The recording is of another process with the number of this one."""
    with open('/proc/self/maps') as maps:
        address = next(line.split('-')[0] for line in maps if '/' in line)
    found = of_script(tmp_path, f'''event minor-faults sampled
1.0 0 {os.getpid()}/{os.getpid()} a minor-faults addr=0x{address}
''', 'page-faults')
    row, = rows(found, 'page faults')
    assert (row['mapping'], row['file']) == ('unknown', '')


# ---- breakpoint ----

NOPS = b'\x90' * 16
MOVE = b'\x48\x89\x03'    # mov %rax, (%rbx)
ADD = b'\x48\x83\x03\x05' # addq $5, (%rbx)


@pytest.fixture(name='program')
def fixture_program(tmp_path):
    """A file with the header of a program, and these instructions at 0x1000."""
    head = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\x02\x01\x01', 2, 62, 1, 0, 0, 0, 0, 64, 0,
                       0, 0, 0, 0)
    path = tmp_path / 'program'
    path.write_bytes(head.ljust(0x1000, b'\0') + (NOPS + MOVE + ADD).ljust(0x1000, b'\x90'))
    return path


@pytest.mark.skipif(not X86, reason='values are known on x86-64 only')
@pytest.mark.parametrize('args, hits', [
    ([], [(1_000_000_001, 7, None, 42), (1_000_000_002, 8, 42, 47), (1_000_000_003, 9, None, None),
          (1_000_000_004, 7, 47, 1 << 40)]),
    (['--filter', 'data > 42 && old == 42'], [(1_000_000_002, 8, 42, 47)])])
def test_values_that_are_written(script, program, args, hits):
    """The threads of a process see the same value; that of another one is not known."""
    maps = f'mmap 0x400000 0x1000 0x1000 r-xp {program}'
    path = script(f'''# attar script
event 0x5000/8:w sampled stack registers=0,1
0.5 0 7/7 a {maps}
0.5 0 9/9 c {maps}
1.000000001 0 7/7 a 0x5000/8:w addr=0x5000 stack=0x400013 registers=42,0x5000
1.000000002 1 7/8 b 0x5000/8:w addr=0x5000 stack=0x400017 registers=0,0x5000
1.000000003 1 9/9 c 0x5000/8:w addr=0x5000 stack=0x400017 registers=0,0x5000
1.000000004 0 7/7 a 0x5000/8:w addr=0x5000 stack=0x400013 registers=0x10000000000,0x5000
''')
    found = reports(path, 'breakpoint', '0x5000/8:w', *args)
    assert [(h['time'], h['tid'], h['old'], h['new']) for h in printed(found, 'hits')] == hits
    assert [(r['address'], r['hits']) for r in rows(found[-1], 'breakpoints')] == [
        (0x5000, len(hits))]
    remarks = ' '.join(found[-1]['remarks'])
    assert 'the value after 1 hit is ' in remarks
    assert ('3 hits did not pass --filter' in remarks) == bool(args)


# ---- misc ----

MISC = '''# attar script
event cpu-clock
wall 1700000000
1.000000001 0 7/7 a cpu-clock
1.000000002 0 7/7 a ksymbol register 0xffffffffc0001000 0x80 bpf_prog_1234_test
1.000000003 1 7/8 b bpf load 23 0102030405060708
1.000000004 1 7/8 b cgroup 42 /a/b
1.000000005 1 7/8 b text-poke 0xffffffff81000000 0f1f440000 e8deadbeef
1.000000006 1 7/7 a mmap 0x400000 0x2000 0x1000 r-xs "/a file"
1.000000007 0 7/7 new exec
1.000000008 0 7/7 new bpf unload 23 0102030405060708
1.000000009 0 7/7 new ksymbol unregister 0xffffffffc0001000 0x80 bpf_prog_1234_test
'''


def test_records_of_each_kind(script):
    found = reports(script(MISC), 'misc')
    assert [(r['time'] - 1_700_000_001_000_000_000, r['tid'], r['cpu'], r['record'],
             r['fields'].partition(' (')[0].split(' old=')[0])
            for r in printed(found, 'records')] == [
        (1, 7, 0, 'comm', 'rename pid=7 tid=7 comm=a'),
        (2, 7, 0, 'ksymbol',
         'register addr=0xffffffffc0001000 len=128 name=bpf_prog_1234_test'),
        (3, 8, 1, 'comm', 'rename pid=7 tid=8 comm=b'),
        (3, 8, 1, 'bpf', 'load id=23 tag=0102030405060708'),
        (4, 8, 1, 'cgroup', 'id=42 path=/a/b'),
        (5, 8, 1, 'text-poke', 'addr=0xffffffff81000000'),
        (6, 7, 1, 'mmap', 'pid=7 addr=0x400000 len=0x2000 pgoff=0x1000 prot=r-x /a file'),
        (7, 7, 0, 'comm', 'exec pid=7 tid=7 comm=new'),
        (8, 7, 0, 'bpf', 'unload id=23 tag=0102030405060708'),
        (9, 7, 0, 'ksymbol',
         'unregister addr=0xffffffffc0001000 len=128 name=bpf_prog_1234_test')]
    poke, = [r['fields'] for r in printed(found, 'records') if r['record'] == 'text-poke']
    assert poke.endswith(' old=0f1f440000 new=e8deadbeef')
    assert rows(found[-1], 'records') == [{'record': name, 'count': n} for name, n in (
        ('ksymbol', 2), ('bpf', 2), ('cgroup', 1), ('text-poke', 1), ('comm', 3), ('mmap', 1))]


@pytest.mark.parametrize('wanted, n', [('bpf', 2), ('cgroup,mmap', 2), ('comm', 3)])
def test_chosen_records(script, wanted, n):
    found = reports(script(MISC), 'misc', '--records', wanted)
    assert {r['record'] for r in printed(found, 'records')} == set(wanted.split(','))
    assert len(printed(found, 'records')) == n


def test_records_by_interval(script):
    """The time of a recording is that of its samples."""
    text = '# attar script\nevent cpu-clock\n' + ''.join(
        f'{i / 10 + 1} 0 1/1 x cpu-clock\n{i / 10 + 1} 0 1/1 x cgroup {i} /x\n' for i in range(10))
    found = reports(script(text), 'misc', '--records', 'cgroup', '-q', '-i', '500ms')
    assert [rows(part, 'records')[0]['count'] for part in found
            if 'count' in [c['name'] for c in part['sections'][0]['columns']]] == [5, 5]


@pytest.mark.parametrize('n', [2000, 2041, 2042, 2043, 2044, 2050, 20000])
def test_long_code_is_cut(script, n):
    """The line has 4 KiB."""
    path = script(f"""# attar script
event cpu-clock
1 0 1/1 x text-poke 0x10 {'90' * n} cc
""")
    row, = printed(reports(path, 'misc', '--records', 'text-poke'), 'records')
    assert row['fields'].startswith('addr=0x10 ') or row['fields'].startswith('addr=0x10(')
    assert len(row['fields']) < 4096
    assert row['fields'].endswith(' new=cc') == (n < 2040)


@pytest.mark.parametrize('line, sentence', [
    ('mmap 1 2 3 r-xp', 'the syntax is: mmap ADDRESS LENGTH OFFSET PROTECTION FILE'),
    ('mmap x 2 3 r-xp /x', 'an address, a length or an ID is not a number'),
    ('mmap 1 2 3 rx /x', 'the protection is like that in /proc/PID/maps: r-xp'),
    ('ksymbol add 1 2 x', 'ksymbol is followed by register or unregister'),
    ('bpf load 1 0102', 'a tag has 16 hexadecimal digits'),
    ('bpf load 1 010', 'bytes are pairs of hexadecimal digits'),
    ('cgroup x /y', 'an address, a length or an ID is not a number'),
    ('text-poke 1 0z 00', 'bytes are pairs of hexadecimal digits')])
def test_invalid_records(script, line, sentence):
    path = script(f'# attar script\nevent cpu-clock\n1 0 1/1 x {line}\n')
    ended = run('misc', '--input', path)
    assert (ended.returncode, ended.stdout) == (1, '')
    assert f'{path}, line 3: {sentence}' in ended.stderr


@pytest.mark.parametrize('registers', ['registers=', 'registers=x', 'registers=3,2',
                                       'registers=2,2', 'registers=64', 'registers=-1'])
def test_invalid_registers(script, registers):
    path = script(f'# attar script\nevent x sampled {registers}\n1 0 1/1 x x\n')
    ended = run('trace', '--input', path)
    if registers == 'registers=': # none
        assert ended.returncode == 0
        return
    assert ended.returncode == 1
    assert 'line 2: the syntax is registers=N,N..., numbers below 64 that increase' in ended.stderr
