# SPDX-License-Identifier: MIT
"""Recordings of perf on other machines and kernels, compared with what perf script showed there."""
import collections
import json
import lzma
import re

import pytest

from command import ROOT, run

pytestmark = pytest.mark.quick

FOLDER = ROOT / 'tests/recordings'
NAMES = sorted(file.name.removesuffix('.data.xz') for file in FOLDER.glob('*.data.xz'))
S390X_GETPPID, S390X_OPENAT, S390X_CLOCK_NANOSLEEP = 64, 288, 262

Event = collections.namedtuple('Event', 'comm tid cpu time event fields stack')


def unpacked(folder, name):
    path = folder / f'{name}.data'
    path.write_bytes(lzma.decompress((FOLDER / f'{name}.data.xz').read_bytes()))
    return path


def reports(profiler, path, *args):
    ended = run(profiler, '--format', 'json', '--input', path, *args)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def rows(found, name):
    return [dict(zip((c['name'] for c in section['columns']), row)) for report in found
            for section in report['sections'] if section['name'] == name
            for row in section['rows']]


def frame(line):
    """Return the address, as perf script shows it, and the module, "kernel" for those of it."""
    address, module = re.match(r'\s*([0-9a-f]+) (?:\S+ )?\((.*)\)$', line).groups()
    return address, 'kernel' if re.match(r'\[(?!unknown)', module) else module


def script(name):
    return lzma.decompress((FOLDER / f'{name}.script.xz').read_bytes()).decode()


def of_perf(name):
    """Return the events in the text of perf script, each with the frames of its stack."""
    found = []
    for line in script(name).splitlines():
        if line.startswith('\t'):
            found[-1].stack.append(frame(line))
            continue
        m = re.match(r'\s*(\S.*?)\s+-?\d+/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(.*)$', line)
        if not m or m[6].startswith('PERF_RECORD_'):
            assert m or not line, line
            continue
        event, fields = re.match(r'(\S+): *(.*)$', m[6]).groups()
        one = re.search(r'\s+[0-9a-f]+ \(\S+\)$', fields)  # the address of an event without stack
        found.append(Event(m[1], int(m[2]), int(m[3]), int(m[4]) * 10**9 + int(m[5]), event,
                           fields[:one.start()] if one else fields,
                           [frame(one[0])] if one else []))
    return found


def of_attar(path):
    found = []
    for row in rows(reports('trace', path, '-g'), 'events'):
        stack = [frame(line) for line in row['detail']]
        found.append(Event(*(row[name] for name in Event._fields[:-1]), stack))
    return found


def in_files(name, stack):
    """Return the frames with offsets in their files, as attar shows them, and without cookies."""
    mapped = [(int(start, 16), int(size, 16), int(offset, 16), path)
              for start, size, offset, path in re.findall(
                  r'MMAP2 .*\[(0x\w+)\((0x\w+)\) @ (\w+) .*\]: r-xp (\S+)', script(name))]
    return [(f'{int(address, 16) - start + offset:x}', module) for address, module in stack
            for start, size, offset, path in mapped
            if module == path and 0 <= int(address, 16) - start < size]


def in_order(events):
    return sorted(events, key=lambda e: (e.time, e.tid, e.event))


@pytest.mark.parametrize('name', NAMES)
def test_events_are_those_of_perf_script(tmp_path, name):
    theirs, ours = in_order(of_perf(name)), in_order(of_attar(unpacked(tmp_path, name)))
    assert len(theirs) >= 7
    for a, b in zip(ours, theirs):
        unnamed = b.comm == f':{b.tid}'  # before its record, of which attar knows
        assert a._replace(fields='', stack=[]) == b._replace(
            fields='', stack=[], comm=a.comm if unnamed else b.comm)
    assert len(ours) == len(theirs)
    tracepoints = [(a, b) for a, b in zip(ours, theirs) if ':' in a.event]
    assert [a.fields for a, _ in tracepoints] == [b.fields for _, b in tracepoints]


@pytest.mark.parametrize('name', NAMES)
def test_stacks_are_those_of_perf_script(tmp_path, name):
    """
    On s390x, the kernel's part; and the innermost user function, which perf does not show if the
    call chain has no user part. On x86-64, also the user parts, which the kernel delivered later.
    """
    theirs, ours = in_order(of_perf(name)), in_order(of_attar(unpacked(tmp_path, name)))
    assert max(len(e.stack) for e in ours) >= (1 if name == 's390x-pipe' else 10)
    for a, b in zip(ours, theirs):
        kernel = [f for f in b.stack if f[1] == 'kernel']
        user = [f for f in b.stack if f[1] != 'kernel']
        assert a.stack[:len(kernel)] == kernel
        if name.startswith('x86'):
            assert a.stack[len(kernel):] == in_files(name, user)
        else:
            assert len(a.stack) == len(kernel) or (not kernel and len(a.stack) == 1)
            assert kernel or not user or a.stack == user[:1]


def test_foreign_registers_are_not_unwound(tmp_path):
    """Those of s390x, of which bit 32 is not the program counter, as on arm64, but the PSW mask."""
    found = reports('trace', unpacked(tmp_path, 's390x-dwarf'), '-g')
    text = json.dumps(found)
    assert 'user stacks without callers: 7, which were recorded on s390x' in text
    assert '[unknown] ([unknown])' not in text


@pytest.mark.parametrize('name', ['s390x-file', 's390x-pipe'])
def test_system_calls(tmp_path, name):
    """The calls of work.c, and the times of all calls; names of x86-64 would be wrong."""
    begun, totals = {}, collections.defaultdict(list)
    for e in in_order(of_perf(name)):
        if e.event == 'raw_syscalls:sys_enter':
            begun[e.tid] = e.time
        elif e.event == 'raw_syscalls:sys_exit' and e.tid in begun:
            number = int(e.fields.split()[1])
            totals[f'syscall_{number}({number})'].append(e.time - begun.pop(e.tid))
    found = {row['syscall']: row
             for row in rows(reports('syscalls', unpacked(tmp_path, name)), 'system calls')}
    assert {n: (r['calls'], r['total'], r['max']) for n, r in found.items()} == {
        n: (len(times), sum(times), max(times)) for n, times in totals.items()}
    of = {number: found[f'syscall_{number}({number})']
          for number in (S390X_GETPPID, S390X_OPENAT, S390X_CLOCK_NANOSLEEP)}
    assert (of[S390X_GETPPID]['calls'], of[S390X_GETPPID]['errors']) == (37 + 3, 0)
    assert (of[S390X_OPENAT]['calls'], of[S390X_OPENAT]['errors']) == (5, 5)
    assert of[S390X_CLOCK_NANOSLEEP]['calls'] == 10
    assert of[S390X_CLOCK_NANOSLEEP]['min'] >= 3_000_000


@pytest.mark.parametrize('name', ['s390x-file', 's390x-pipe'])
def test_fields_as_keys(tmp_path, name):
    theirs = collections.Counter(
        int(re.search(r'next_pid=(\d+)', e.fields)[1]) for e in of_perf(name)
        if e.event == 'sched:sched_switch')
    found = rows(reports('top', unpacked(tmp_path, name), '-e',
                         'sched:sched_switch//key=next_pid/'), 'top')
    assert {r['next_pid']: r['sched:sched_switch'] for r in found} == theirs


@pytest.mark.parametrize('name', ['s390x-zstd', 's390x-dwarf'])
def test_profile(tmp_path, name):
    found = rows(reports('profile', unpacked(tmp_path, name)), 'functions')
    assert sum(r['samples'] for r in found) == len(of_perf(name))
