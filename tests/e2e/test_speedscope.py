# SPDX-License-Identifier: MIT
"""Profiles for speedscope, checked with its own schema."""
import json
from collections import Counter

import pytest

import npm
from command import ROOT, profile, run, share_is, workload
from test_source_lines import line_of
from test_wall import SCRIPT

jsonschema = pytest.importorskip('jsonschema', reason='python3-jsonschema is not installed')


@pytest.fixture(scope='module')
def read():
    schema = json.loads((npm.install('speedscope', '1.25.0') /
                         'dist/release/file-format-schema.json').read_text())

    def load(path):
        found = json.loads(path.read_text())
        jsonschema.validate(found, schema)
        return found

    return load


def stacks(found, number=0):
    """Return the weight of each stack, a tuple of names."""
    of, names = found['profiles'][number], [f['name'] for f in found['shared']['frames']]
    weights = Counter()
    for sample, weight in zip(of['samples'], of['weights'], strict=True):
        weights[tuple(names[i] for i in sample)] += weight
    assert of['endValue'] == sum(weights.values())
    return weights


def test_equals_the_tree(read, tmp_path):
    path = tmp_path / 'x.speedscope.json'
    found = profile('--exclude-kernel', '-o', path, command=[workload('split7030')])
    theirs = stacks(read(path))
    assert theirs == found.stacks()
    share_is(sum(n for stack, n in theirs.items() if stack[-1] == 'heavy'), found.samples, 0.7)


def test_units(read, tmp_path):
    script, path = tmp_path / 'test.script', tmp_path / 'x.speedscope.json'
    script.write_text(SCRIPT)
    done = run('wall', '-q', '-o', path, '--input', script)
    assert done.returncode == 0, done.stderr
    found = read(path)
    assert found['profiles'][0]['unit'] == 'nanoseconds'
    states = Counter()
    for stack, weight in stacks(found).items():
        states[next(name for name in stack if name.startswith('['))] += weight
    assert states == {'[running]': 60_000_000, '[waiting for a CPU]': 20_000_000,
                      '[blocked]': 20_000_000}


def test_lines(read, tmp_path):
    path = tmp_path / 'x.speedscope.json'
    profile('--exclude-kernel', '--inline', '--lines', '-o', path,
            command=[workload('inlines'), 500])
    frames = {(f['name'], f['line']): f['file'] for f in read(path)['shared']['frames']
              if 'line' in f}
    source = ROOT / 'tests/workloads/inlines.c'
    assert frames['hot', line_of('the hot line')].endswith(source.name)
    assert frames['work', line_of('the cold call')].endswith(source.name)


def test_needs_stacks(tmp_path):
    done = run('stat', '-o', 'x.speedscope.json', '-d', '1', cwd=tmp_path)
    assert done.returncode == 2 and 'speedscope output needs aggregated stacks' in done.stderr
    assert not list(tmp_path.iterdir())
