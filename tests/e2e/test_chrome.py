# SPDX-License-Identifier: MIT
"""Time lines as Chrome trace events: their format, known programs, and the Firefox Profiler."""
import json

import pytest

from command import run, run_delivered, workload
from firefox import load  # noqa: F401, a fixture
from test_nested_trace import DECLARED, EVENTS, TIMES
from test_wall import LARGE, SCRIPT

NS = 1000  # in a microsecond


def check_format(trace):
    """Check the format: required members, nested slices, pairs of b and e."""
    open_slices, asynchronous, names = {}, {}, {}
    for event in trace['traceEvents']:
        track = event['pid'], event['tid']
        assert isinstance(event['name'], str) and event['ph'] in 'MXibe'
        if event['ph'] == 'M':
            names.setdefault(event['name'], {})[track] = event['args']['name']
            continue
        assert track in names['thread_name']
        assert event['pid'] in {pid for pid, _ in names['process_name']}
        assert isinstance(event['ts'], (int, float)) and event['cat']
        begin = round(event['ts'] * NS)
        if event['ph'] == 'X':
            stack = open_slices.setdefault(track, [])
            while stack and stack[-1] <= begin:
                stack.pop()
            end = begin + round(event['dur'] * NS)
            assert begin <= end <= (stack[-1] if stack else end)
            stack.append(end)
        elif event['ph'] == 'i':
            assert event['s'] == 't'
        elif event['ph'] == 'b':
            asynchronous[event['cat'], event['id']] = begin
        else:
            assert begin >= asynchronous.pop((event['cat'], event['id']))
    assert not asynchronous
    return trace


def trace_of(path, *words):
    """Return the checked trace of a run."""
    done = run_delivered(words[0], '-q', '-o', path, *words[1:], output=path)
    assert done.returncode == 0, done.stderr
    return check_format(json.loads(path.read_text()))


def of_script(tmp_path, text, *words):
    script = tmp_path / 'test.script'
    script.write_text(text if text.startswith('#') else f'# attar script\n{text}')
    return trace_of(tmp_path / 'x.trace.json', *words, '--input', script)


def slices(trace, phase='X'):
    """Return (name, begin, duration) in ns, without a duration for events."""
    return [(e['name'], round(e['ts'] * NS), *([round(e['dur'] * NS)] if 'dur' in e else []))
            for e in trace['traceEvents'] if e['ph'] == phase]


@pytest.mark.quick
def test_nested_slices(tmp_path):
    """Times are relative to the first event, and exact."""
    trace = of_script(tmp_path, DECLARED + TIMES, 'nested-trace', *EVENTS)
    assert slices(trace) == [('a', 0, 100), ('b', 10, 10), ('c', 11, 3), ('b', 30, 4),
                             ('c', 40, 5)]
    assert trace['otherData']['startTime'] == '1000000000'


@pytest.mark.quick
def test_states(tmp_path):
    """Times that were divided among samples are one state."""
    ms = 1_000_000
    trace = of_script(tmp_path, SCRIPT, 'wall')
    assert slices(trace) == [
        ('running', 0, 30 * ms), ('blocked', 30 * ms, 20 * ms), ('ready', 50 * ms, 10 * ms),
        ('running', 60 * ms, 10 * ms), ('ready', 70 * ms, 10 * ms),
        ('running', 80 * ms, 10 * ms), ('running', 70 * ms, 10 * ms)]
    blocked = next(e for e in trace['traceEvents'] if e['name'] == 'blocked')
    assert blocked['args']['stack'].endswith(' < [blocked]')
    assert slices(of_script(tmp_path, SCRIPT, 'task-state', '-S')) == [
        ('sleeping', 30 * ms, 20 * ms)]


@pytest.mark.quick
def test_overlapping_pairs_are_asynchronous(tmp_path):
    """The second a > b begins within b > c and ends after it."""
    text = 'event f:a id:u32\nevent f:b id:u32\nevent f:c id:u32\n' + ''.join(
        f'1.{i} 0 7/7 w f:{event} id=1\n' for i, event in enumerate('abacb'))
    trace = of_script(tmp_path, text, 'multi-trace', '-e', 'f:a', '-e', 'f:b', '-e', 'f:c',
                      '-p', '7')
    assert slices(trace) == [('f:a > f:b', 0, 100_000_000), ('f:b > f:c', 100_000_000, 200_000_000)]
    assert slices(trace, 'b') == [('f:a > f:b', 200_000_000)]
    assert slices(trace, 'e') == [('f:a > f:b', 400_000_000)]


@pytest.mark.quick
def test_keys_are_tracks(tmp_path):
    text = '''event f:a id:u32 name:char[8]
event f:b id:u32 name:char[8]
1.1 0 7/7 w f:a id=1 name="x"
1.2 0 7/7 w f:a id=2 name="y"
1.3 0 7/7 w f:b id=1 name="x"
1.4 0 7/7 w f:b id=2 name="y"
'''
    trace = of_script(tmp_path, text, 'multi-trace', '-e', 'f:a', '-e', 'f:b', '-k', 'id')
    assert [e['args']['name'] for e in trace['traceEvents'] if e['name'] == 'thread_name'] == [
        'id 1', 'id 2']
    assert [duration for *_, duration in slices(trace)] == [200_000_000, 200_000_000]


@pytest.mark.quick
def test_events_and_limit(tmp_path):
    text = 'event f:a id:u32\n' + ''.join(f'1.{i} 0 7/7 w f:a id={i}\n' for i in range(5))
    trace = of_script(tmp_path, text, 'trace', '-e', 'f:a')
    assert [(e['ts'], e['args']['detail']) for e in trace['traceEvents'] if e['ph'] == 'i'] == [
        (i * 100_000, f'id={i}') for i in range(5)]
    trace = of_script(tmp_path, text, 'trace', '-e', 'f:a', '--spans', '2')
    assert [at for _, at in slices(trace, 'i')] == [0, 100_000_000]
    assert 'first 2 pairs, states and events; 3 later ones are left out' \
        in trace['otherData']['remarks']


@pytest.mark.usefixtures('root', 'busy_cpus')
def test_ten_sleeps(load, tmp_path):  # noqa: F811
    """10 sleeps of about 20 ms, one after the other, also in the Firefox Profiler."""
    path = tmp_path / 'x.trace.json'
    trace = trace_of(path, 'task-state', *LARGE, '--', workload('sleeps'), 10, 20)
    sleeps = [(begin, duration) for name, begin, duration in slices(trace)
              if name == 'sleeping' and duration >= 10_000_000]
    assert len(sleeps) == 10
    assert all(begin + duration <= after for (begin, duration), (after, _) in
               zip(sleeps, sleeps[1:]))
    load(path)
    theirs = [duration for _, duration in load.markers('sleeping') if duration >= 10]
    assert theirs == pytest.approx([duration / 1e6 for _, duration in sleeps])


@pytest.mark.usefixtures('root')
def test_nested_functions(tmp_path):
    """There are as many nested slices (see check_format()) as calls."""
    program = workload('nested')
    events = [word for f in ('outer', 'middle', 'inner') for word in (
        '-e', f'uprobe:{f}@"{program}"//alias={f}/,uretprobe:{f}@"{program}"')]
    found = slices(trace_of(tmp_path / 'x.trace.json', 'nested-trace', *LARGE, *events, '--',
                            program, 2))
    call = ['middle', 'inner', 'inner']
    assert [name for name, *_ in found] == ['outer', *call, *call, *call, 'inner'] * 2


@pytest.mark.quick
def test_profilers_without_times(tmp_path):
    done = run('stat', '-o', 'x.trace.json', '-d', '1', cwd=tmp_path)
    assert done.returncode == 2
    assert "needs time lines, which 'attar stat'" in done.stderr
    names = set(done.stderr.strip().partition('use one of ')[2].split(', '))
    assert names >= {'kvm-exit', 'multi-trace', 'nested-trace', 'runqlat', 'syscalls', 'task-state',
                     'trace', 'wall'}
    assert not names & {'stat', 'profile', 'runqlen'}
    done = run('stat', '--time-lines', '-d', '1')
    assert done.returncode == 2 and 'profile,' in done.stderr  # which has the times of samples
    assert not list(tmp_path.iterdir())
