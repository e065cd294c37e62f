# SPDX-License-Identifier: MIT
"""Profiles for the Firefox Profiler, as its own command line program reads them."""
import gzip
import json
import os
import re

from command import profile, run, share_is, workload
from firefox import load  # noqa: F401, a fixture
from test_source_lines import line_of
from test_wall import RENAMED, SCRIPT


F = 997  # Hz, of profile()


def cpu_times(load):
    """Return {name of a thread: its time on a CPU in ms}, as the program shows it."""
    rows = re.findall(r'^[* ] t-\d+ +(\S+) +\S+ +\d+ +([\d.,]+)(ms|s|μs) ',
                      load.ask('thread', 'list'), re.M)
    return {name: float(n) * {'μs': 1e-3, 'ms': 1, 's': 1e3}[unit] for name, n, unit in rows}


def of_samples(thread, name):
    """A column of a thread's samples, without those that only complete its time on a CPU."""
    samples = thread['samples']
    return [value for value, stack in zip(samples[name], samples['stack']) if stack is not None]


def functions(text):
    """Return {function: (self, total)}."""
    rows = re.findall(r'^ *f-\d+\. (?:.*!)?(.*) - self: ([\d.,]+)m?s? \(.*total: ([\d.,]+)',
                      text, re.M)
    return {name: (float(own.replace(',', '')), float(total.replace(',', '')))
            for name, own, total in rows}


def test_equals_the_table(load, tmp_path):
    path = tmp_path / 'x.json.gz'
    found = profile('--exclude-kernel', '-o', path, command=[workload('split7030')])
    load(path)
    theirs = functions(load.ask('thread', 'functions', '--limit', '0'))
    assert theirs['heavy'][0] == found.own('heavy')
    assert theirs['light'][0] == found.own('light')
    share_is(theirs['heavy'][0], found.samples, 0.7)
    cpu, = cpu_times(load).values()
    assert abs(cpu - found.samples * 1000 / F) < 1
    main, = found.pick('main')
    assert round(theirs['main'][1]) == round(main['total'] * found.samples / 100)


def test_threads_and_times(load, tmp_path):
    """Weights are times; each task is a thread, whose samples have the times of its states."""
    script, path = tmp_path / 'test.script', tmp_path / 'x.json.gz'
    script.write_text(SCRIPT)
    done = run('wall', '-q', '-o', path, '--input', script)
    assert done.returncode == 0, done.stderr
    threads = json.loads(gzip.decompress(path.read_bytes()))['threads']
    assert sorted((t['name'], t['pid'], t['tid'], sum(t['samples']['weight'])) for t in threads) \
        == [('worker', '100', 100, 90), ('worker', '100', 101, 10)]
    assert all(t['samples']['weightType'] == 'tracing-ms' for t in threads)
    times = {t['tid']: list(zip(of_samples(t, 'time'), of_samples(t, 'weight'))) for t in threads}
    # At the end of each state: the time that it was running.
    deltas = {t['tid']: list(zip(t['samples']['time'], t['samples']['threadCPUDelta']))
              for t in threads}
    ms = 1000000
    assert deltas == {
        100: [(0, None), (10, 10 * ms), (30, 20 * ms), (50, 0), (60, 0), (70, 10 * ms), (80, 0),
              (90, 10 * ms)], 101: [(70, None), (80, 10 * ms)]}
    assert times == {100: [(0, 10), (10, 20), (30, 20), (50, 10), (60, 10), (70, 10), (80, 10)],
                     101: [(70, 10)]}
    load(path)
    totals = [functions(load.ask('thread', 'functions', '--limit', '0', '--include-idle',
                                 '--thread', f't-{i}')) for i in range(2)]
    states = {name: sum(found.get(name, (0, 0))[1] for found in totals)
              for name in ('[running]', '[waiting for a CPU]', '[blocked]')}
    assert states == {'[running]': 60, '[waiting for a CPU]': 20, '[blocked]': 20}


def test_thread_that_changes_its_name(tmp_path):
    """One thread has the samples and the markers of all its names, as after exec(2)."""
    script, path = tmp_path / 'test.script', tmp_path / 'x.json.gz'
    script.write_text(RENAMED)
    assert run('wall', '-q', '-o', path, '--input', script).returncode == 0
    thread, = json.loads(gzip.decompress(path.read_bytes()))['threads']
    assert (thread['name'], thread['pid'], thread['tid']) == ('other', '100', 100)
    samples, markers = thread['samples'], thread['markers']
    assert samples['time'] == sorted(samples['time']) and sum(samples['weight']) == 70
    assert markers['length'] and sum(
        end - start for start, end in zip(markers['startTime'], markers['endTime'])) == 70
    names = thread['stringArray']
    roots = {names[thread['funcTable']['name'][thread['frameTable']['func'][frame]]]
             for frame, up in zip(thread['stackTable']['frame'], thread['stackTable']['prefix'])
             if up is None}
    assert roots == {'sh', 'program', 'other'}


def test_states_are_markers(load, tmp_path):
    script, path = tmp_path / 'test.script', tmp_path / 'x.json.gz'
    script.write_text(SCRIPT)
    assert run('wall', '-q', '-o', path, '--input', script).returncode == 0
    load(path)
    assert [marker for name in ('running', 'blocked', 'ready')
            for marker in load.markers(name)] == [
        (0, 30), (60, 10), (80, 10), (30, 20), (50, 10), (70, 10)]


def test_events_are_markers(load, tmp_path):
    """Also without stacks. Events beyond --spans are only in the samples."""
    script, path = tmp_path / 'test.script', tmp_path / 'x.json.gz'
    script.write_text('# attar script\nevent f:a stack id:u32\n' + ''.join(
        f'1.{i} 0 7/7 w f:a stack=0xa1 id={i}\n' for i in range(5)))
    assert run('trace', '-q', '-e', 'f:a', '-o', path, '--input', script).returncode == 0
    load(path)
    text = load.ask('thread', 'markers', '--list')
    assert re.findall(r'f:a id=(\d)', text) == list('01234')
    assert run('trace', '-q', '-g', '-e', 'f:a', '-o', path, '--input', script, '--spans',
               '2').returncode == 0
    thread, = json.loads(gzip.decompress(path.read_bytes()))['threads']
    assert thread['markers']['length'] == 2
    assert list(zip(thread['samples']['time'], thread['samples']['weight'])) == [
        (0, 1), (100, 1), (400, 3)]


def test_times_of_samples(tmp_path):
    """Samples of a program that computes all the time are about a period apart."""
    path = tmp_path / 'x.json.gz'
    found = profile('--exclude-kernel', '-o', path, command=[workload('split7030')])
    threads = json.loads(gzip.decompress(path.read_bytes()))['threads']
    assert sum(len(of_samples(t, 'time')) for t in threads) == found.samples
    assert all(t['samples']['time'] == sorted(t['samples']['time']) for t in threads)
    times = max((t['samples']['time'] for t in threads), key=len)
    assert len(set(times)) == len(times)


def test_each_thread_has_its_samples(tmp_path):
    """Of one process: the thread "three" has three times the samples of "one"."""
    path = tmp_path / 'x.json.gz'
    found = profile('--exclude-kernel', '-o', path, command=[workload('threads2')])
    threads = {t['name']: t for t in json.loads(gzip.decompress(path.read_bytes()))['threads']
               if t['samples']['length'] > 10}
    assert set(threads) == {'one', 'three'}
    assert len({t['pid'] for t in threads.values()}) == 1
    counts = {name: sum(t['samples']['weight']) for name, t in threads.items()}
    assert found.samples - 20 < sum(counts.values()) <= found.samples
    share_is(counts['three'], sum(counts.values()), 0.75)
    for t in threads.values():
        times = t['samples']['time']
        assert times == sorted(times) and times[-1] - times[0] > 100


def test_time_on_a_cpu(load, tmp_path):
    """As the kernel accounts it; other events than clocks have none."""
    path, none = tmp_path / 'x.json.gz', tmp_path / 'none.json.gz'
    before = os.times()
    done = run('profile', '-q', '-F', str(F), '-o', path, '--', workload('split7030'), '2000')
    after = os.times()
    assert done.returncode == 0, done.stderr
    used = 1000 * (after.children_user - before.children_user + after.children_system -
                   before.children_system)  # and some of attar itself
    load(path)
    cpu = sum(cpu_times(load).values())
    assert 0.6 * used < cpu < 1.1 * used, (cpu, used)
    meta = json.loads(gzip.decompress(path.read_bytes()))['meta']
    assert abs(meta['interval'] - 1000 / F) < 1e-9
    assert meta['profilingStartTime'] == 0 and meta['profilingEndTime'] > cpu
    assert run('profile', '-q', '-e', 'page-faults', '-o', none, '--',
               workload('faults1000')).returncode == 0
    threads = json.loads(gzip.decompress(none.read_bytes()))['threads']
    assert threads and not any('threadCPUDelta' in t['samples'] for t in threads)


def test_lines(tmp_path):
    path = tmp_path / 'x.json.gz'
    profile('--exclude-kernel', '--inline', '--lines', '-o', path,
            command=[workload('inlines'), 500])
    lines = set()
    for t in json.loads(gzip.decompress(path.read_bytes()))['threads']:
        for function, line in zip(t['frameTable']['func'], t['frameTable']['line']):
            name, file = (t['funcTable'][key][function] for key in ('name', 'fileName'))
            if line:
                lines.add((t['stringArray'][name], t['stringArray'][file].rpartition('/')[2], line))
    assert ('hot', 'inlines.c', line_of('the hot line')) in lines
    assert ('work', 'inlines.c', line_of('the cold call')) in lines


def test_needs_stacks(tmp_path):
    done = run('stat', '-o', 'x.json.gz', '-d', '1', cwd=tmp_path)
    assert done.returncode == 2 and 'firefox output needs aggregated stacks' in done.stderr
    assert not list(tmp_path.iterdir())
