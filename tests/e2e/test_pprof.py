# SPDX-License-Identifier: MIT
"""Profiles for pprof, as the real `go tool pprof` reads them."""
import json
import re
import subprocess
from collections import Counter

import pytest

from command import ATTAR, Profile, has, profile, run, share_is, workload
from test_source_lines import line_of
from test_wall import SCRIPT

pytestmark = pytest.mark.skipif(not has('go'), reason='go (package golang-go) is not installed')


def pprof(*args):
    return subprocess.run(['go', 'tool', 'pprof', *map(str, args)], capture_output=True, text=True,
                          check=True, timeout=120).stdout


def top(path, *args):
    """Return {function: (self, total)} of go tool pprof -top."""
    text = pprof('-top', '-nodecount=100000', '-nodefraction=0', *args, path)
    rows = re.findall(r'^ *(\S+) +\S+% +\S+% +(\S+) +\S+% +(.*)$', text, re.M)
    assert rows, text
    return {name: (own, total) for own, total, name in rows}


def test_equals_the_table(tmp_path):
    path = tmp_path / 'x.pb.gz'
    found = profile('--exclude-kernel', '-o', path, command=[workload('split7030')])
    own, total = Counter(), {}
    for function in found.functions:
        own[function['symbol']] += function['samples']
        total[function['symbol']] = round(function['total'] * found.samples / 100)
    theirs = {name: (int(a), int(b)) for name, (a, b) in top(path).items()}
    assert {name: a for name, (a, _) in theirs.items()} == dict(own)
    assert theirs['main'][1] == total['main']
    share_is(theirs['heavy'][0], found.samples, 0.7)
    share_is(theirs['light'][0], found.samples, 0.3)
    assert 'File: split7030\n' in pprof('-top', path)


def test_names_are_not_shortened(tmp_path):
    """pprof simplifies the names of functions that it takes for mangled ones."""
    path = tmp_path / 'x.pb.gz'
    found = profile('-o', path, command=[workload('split7030')])
    names = {f['symbol'] for f in found.functions if f['symbol'] != '[unknown]'}
    assert names - set(top(path)) == set()


def test_values_labels_and_mappings(tmp_path):
    """Times of states: the state is a frame, the task is not."""
    script, path = tmp_path / 'test.script', tmp_path / 'x.pb.gz'
    script.write_text(SCRIPT)
    done = run('wall', '-q', '-o', path, '--input', script)
    assert done.returncode == 0, done.stderr
    raw = pprof('-raw', path)
    assert '/nanoseconds[dflt]' in raw
    samples = Counter()
    for value, task, pid, tid in re.findall(
            r'^ +(\d+): [\d ]+\n +comm:\[(.*)\]\n +pid:\[(\d+)\] tid:\[(\d+)\]', raw, re.M):
        samples[task, int(pid), int(tid)] += int(value)
    assert samples == {('worker', 100, 100): 90_000_000, ('worker', 100, 101): 10_000_000}
    states = top(path, '-unit=ms')
    assert {name: total for name, (_, total) in states.items() if name.startswith('[')
            and name != '[unknown]'} == {
        '[running]': '60ms', '[waiting for a CPU]': '20ms', '[blocked]': '20ms'}
    only = top(path, '-unit=ms', '-tagfocus=tid=101')
    assert only['[running]'][1] == '10ms'
    assert '[blocked]' not in only


def test_lines_inlined_functions_and_build_ids(tmp_path):
    """The 70 % are a function that is inlined; a location has the line of each function in it."""
    path, program = tmp_path / 'x.pb.gz', workload('inlines')
    found = profile('--exclude-kernel', '--inline', '--lines', '-o', path, command=[program])
    notes = subprocess.check_output(['readelf', '-n', program], text=True)
    build_id = re.search(r'Build ID: (\w+)', notes)[1]
    raw = pprof('-raw', path)
    assert f'{program} {build_id} [FN][FL][LN][IN]' in raw
    pairs = re.findall(r' hot \S*inlines\.c:(\d+) s=0\(\)\n +work \S*inlines\.c:(\d+) ', raw)
    assert set(pairs) == {(str(line_of('the hot line')), str(line_of('the hot call')))}, raw
    theirs = top(path)
    share_is(int(theirs['hot (inline)'][1]), found.samples, 0.7)
    share_is(int(theirs['cold (inline)'][1]), found.samples, 0.3)
    assert int(theirs['main'][1]) >= 0.99 * found.samples


def test_inlined_functions_have_the_address_of_their_code(tmp_path):
    """turns() is inlined into heavy() and light(), which have 70 % and 30 %."""
    path, program = tmp_path / 'x.pb.gz', workload('split7030')
    found = profile('--exclude-kernel', '--inline', '-o', path, command=[program])
    names = subprocess.check_output(['nm', program], text=True)
    raw = pprof('-raw', path)
    locations = {m[1]: (m[3], m[2]) for m in re.finditer(
        r'^ +(\d+): 0x(\w+) M=\d+ turns .*\n +(\w+) ', raw, re.M)}
    for function, share in ('heavy', 0.7), ('light', 0.3):
        address = int(re.search(rf'^(\w+) t {function}$', names, re.M)[1], 16)
        [number] = [n for n, (name, _) in locations.items() if name == function]
        assert int(locations[number][1], 16) == address, raw
        share_is(sum(int(m[1]) for m in re.finditer(rf'^ +(\d+): {number} ', raw, re.M)),
                 found.samples, share)


def test_static_functions_of_one_name_have_their_addresses(tmp_path):
    """Two functions work(), which have 70 % and 30 %; the table and the report add them up."""
    path, program = tmp_path / 'x.pb.gz', workload('namesakes')
    found = profile('--exclude-kernel', '-o', path, command=[program])
    names = subprocess.check_output(['nm', program], text=True)
    wanted = {int(address, 16) for address in re.findall(r'^(\w+) t work$', names, re.M)}
    assert len(wanted) == 2
    raw = pprof('-raw', path)
    locations = {m[1]: int(m[2], 16) for m in re.finditer(
        r'^ +(\d+): 0x(\w+) M=\d+ work ', raw, re.M)}
    assert set(locations.values()) == wanted, raw
    counts = sorted(sum(int(m[1]) for m in re.finditer(rf'^ +(\d+): {number} ', raw, re.M))
                    for number in locations)
    share_is(counts[1], found.samples, 0.7)
    share_is(counts[0], found.samples, 0.3)
    assert [f['samples'] for f in found.functions if f['symbol'] == 'work'] == [sum(counts)]
    assert int(top(path)['work'][0]) == sum(counts)


def test_losses_and_remarks_are_comments(tmp_path):
    path = tmp_path / 'x.pb.gz'
    profile('-o', path, command=[workload('split7030')])
    comments = pprof('-comments', path)
    assert 'samples seen, 0 lost' in comments and 'attar profile' in comments


def test_intervals_are_one_profile_of_the_run(tmp_path):
    path = tmp_path / 'x.pb.gz'
    found = profile('--exclude-kernel', '-i', '100ms', '-o', path, command=[workload('split7030')])
    assert len(found.reports) > 1
    whole = sum(Profile(json.dumps(report)).samples for report in found.reports)
    assert sum(int(own) for own, _ in top(path).values()) == whole


@pytest.mark.parametrize('profiler', ['stat', 'top'])
def test_needs_stacks(tmp_path, profiler):
    done = run(profiler, '-o', 'x.pb.gz', '-d', '1', cwd=tmp_path)
    assert done.returncode == 2 and done.stderr == (
        f"attar: pprof output needs aggregated stacks, which 'attar {profiler}' does not produce: "
        "use 'attar profile -e EVENT'\n")
    assert not list(tmp_path.iterdir())


def test_full_disk(tmp_path):
    (tmp_path / 'x.pb.gz').symlink_to('/dev/full')
    done = run('profile', '-q', '-o', 'x.pb.gz', '--', 'true', cwd=tmp_path)
    assert done.returncode == 1
    assert "attar: cannot write 'x.pb.gz': No space left on device" in done.stderr


def test_not_to_a_terminal():
    command = f'{ATTAR} profile --format pprof -d 1s'
    done = subprocess.run(['script', '-qec', command, '/dev/null'], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 2, done.stdout
    assert 'pprof output is binary: use -o FILE.pb.gz, or redirect stdout to a file' in done.stdout
