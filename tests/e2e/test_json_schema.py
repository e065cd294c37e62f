# SPDX-License-Identifier: MIT
"""Every renderer with reports of every shape, and with reports of random bytes."""
import csv
import functools
import io
import json
import os
import re
import subprocess
from collections import Counter

import pytest

from command import BUILD, ROOT, run, workload

jsonschema = pytest.importorskip('jsonschema',
                                 reason='jsonschema (package python3-jsonschema) is not installed')

DEMO = BUILD / 'tests/e2e/report_demo'
SCHEMA = json.loads((ROOT / 'docs/report.schema.json').read_text())
SEEDS = range(1, 201)


@functools.cache
def demo(kind, form, number=1, columns=0):
    done = subprocess.run([DEMO, kind, form, str(number)], capture_output=True, timeout=60,
                          env={'COLUMNS': str(columns), 'TZ': 'UTC'})
    assert done.returncode == 0, done.stderr
    return done.stdout


def no_constant(name):
    raise ValueError(f'{name} is no JSON')


def parse(line):
    return json.loads(line, parse_constant=no_constant)


def inlined(schema):
    """The schema with definitions instead of references, which jsonschema resolves for each value.
    """
    if isinstance(schema, list):
        return [inlined(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    name = schema.get('$ref', '').removeprefix('#/$defs/')
    found = {key: inlined(value) for key, value in schema.items() if key not in ('$ref', '$defs')}
    return inlined(SCHEMA['$defs'][name]) | found if name else found


def validator():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(inlined(SCHEMA))


def check(report):
    """Check what the schema cannot express: length of rows, parents first, totals."""
    for section in report['sections']:
        assert all(len(row) == len(section['columns']) for row in section['rows'])
        if section['kind'] != 'tree':
            continue
        sums = [row[4] for row in section['rows']]
        for i in reversed(range(len(sums))):
            parent = section['rows'][i][0]
            assert -1 <= parent < i
            assert section['rows'][i][5] == min(sums[i], 2**64 - 1)
            if parent >= 0:
                sums[parent] += sums[i]


@pytest.mark.parametrize('kind', ['split', 'tables', 'empty', 'hostile'])
def test_known_reports_are_valid(kind):
    text = demo(kind, 'json').decode()
    assert text.count('\n') == 1
    report = parse(text)
    validator().validate(report)
    check(report)


def test_schema_refuses_invalid_reports():
    good = parse(demo('split', 'json'))
    for corrupt in [lambda r: r.pop('notes'), lambda r: r.update(schema='attar/2'),
                    lambda r: r.update(more=1),
                    lambda r: r['sections'][0].pop('kind'),
                    lambda r: r['sections'][1]['rows'][0].__setitem__(0, -2),
                    lambda r: r['sections'][1]['columns'].pop(0),
                    lambda r: r['notes'].update(lost=-1),
                    lambda r: r['sections'][0]['columns'][0].update(unit='parsec')]:
        report = json.loads(json.dumps(good))
        corrupt(report)
        with pytest.raises(jsonschema.ValidationError):
            validator().validate(report)


def test_random_reports_are_valid_json():
    schema = validator()
    for seed in SEEDS:
        report = parse(demo('random', 'json', seed).decode('utf-8', 'strict'))
        schema.validate(report)
        check(report)


def test_large_integers_are_exact():
    rows = parse(demo('hostile', 'json'))['sections'][1]['rows']
    assert [row[1] for row in rows] == [2**64 - 1 - i for i in range(17)]


def documented():
    """Return the examples of docs/json.md: indented blocks of JSON."""
    for block in re.findall(r'(?m)^(?:    .*\n)+', (ROOT / 'docs/json.md').read_text()):
        if block.lstrip().startswith('{'):
            yield parse(block)


def test_documented_examples_are_valid():
    """Each is valid, and has the members, sections and columns that its command prints."""
    examples = list(documented())
    assert examples
    for example in examples:
        validator().validate(example)
        check(example)
    words = re.search(r'`attar (.*) -- ./split7030 300`',
                      (ROOT / 'docs/json.md').read_text())[1].split()
    real = parse(run(*words, '--', workload('split7030'), 300).stdout)
    example = examples[0]
    assert example.keys() - real.keys() == set() and example['notes'].keys() == real['notes'].keys()
    assert [(s['name'], s['kind'], s['columns']) for s in example['sections']] == \
        [(s['name'], s['kind'], s['columns']) for s in real['sections']]


def test_reports_of_attar_are_valid(tmp_path):
    """Reports of attar itself: with and without stacks, in intervals, and single samples."""
    schema, out = validator(), tmp_path / 'x.json'
    for options in [[], ['-g'], ['-g', '-i', '200'], ['--print-samples']]:
        done = run('profile', '-q', '-F', 997, *options, '-o', out, '--', workload('split7030'),
                   500)
        assert done.returncode == 0, done.stderr
        lines = out.read_text().splitlines()
        assert lines
        for line in lines:
            schema.validate(parse(line))
            check(parse(line))


def test_tree_has_the_addresses_of_functions():
    """They are those of the symbols in the program's file."""
    program = workload('split7030')
    symbols = subprocess.run(['nm', program], capture_output=True, text=True, check=True).stdout
    known = {name: int(address, 16)
             for address, name in re.findall(r'^([0-9a-f]+) [tT] (\S+)$', symbols, re.M)}
    done = run('profile', '-F', 997, '-g', '--exclude-kernel', '--format', 'json', '--', program,
               300)
    [tree] = [s for s in parse(done.stdout)['sections'] if s['kind'] == 'tree']
    names = [column['name'] for column in tree['columns']]
    name, address, kind, module = map(names.index, ['name', 'address', 'kind', 'module'])
    # The dynamic linker has functions of the same name.
    found = {row[name]: row[address] for row in tree['rows']
             if row[name] in known and row[module] == os.path.realpath(program)}
    assert {'main', 'heavy'} <= found.keys()
    assert found == {function: known[function] for function in found}
    assert all(row[address] is None for row in tree['rows'] if row[kind] == 'task')


@pytest.mark.xdist_group('test_user_events')  # -a there enables events of these programs, too
def test_event_values_are_valid(tmp_path):
    """attar trace: with stacks, with events of programs, and with values in some rows only."""
    if os.geteuid():
        pytest.skip('needs root')
    schema, out = validator(), tmp_path / 'x.json'
    for options, command in [(['-e', 'sched:sched_switch,page-faults', '-g'],
                              [workload('wakeups23')]),
                             (['-e', 'user_events:e2e_order'], [workload('emit'), 'once', '20'])]:
        done = run('trace', '-q', *options, '-o', out, '--', *command)
        assert done.returncode == 0, done.stderr
        lines = [parse(line) for line in out.read_text().splitlines()]
        for line in lines:
            schema.validate(line)
            check(line)
        units = {c['name']: c['unit'] for line in lines for s in line['sections']
                 for c in s['columns']}
        assert units['values'] == 'object'


@pytest.mark.parametrize('form', ['csv', 'folded'])
def test_csv_and_folded_print_notes_to_stderr(form, tmp_path):
    summary = re.compile(
        r'^attar: [\d,]+ samples? seen, 0 lost, 0 throttled; .* of a CPU, .* peak$', re.M)
    done = run('profile', '-g', '--format', form, '--', workload('split7030'), 500)
    assert done.returncode == 0 and len(summary.findall(done.stderr)) == 1, done.stderr
    assert 'samples seen' not in done.stdout
    done = run('profile', '-g', '-o', tmp_path / f'x.{form}', '--', workload('split7030'), 500)
    assert done.returncode == 0 and not summary.search(done.stderr), done.stderr


def blocks(text):
    """Return the blocks of a CSV report: (name or None, column names, rows)."""
    for block in text.split('\n\n'):
        rows = list(csv.reader(io.StringIO(block, newline=''), strict=True))
        name = None
        if rows[0][0].startswith('# '):
            [name], rows = rows[0], rows[1:]
        yield name, rows[0], rows[1:]


def harmless(text):
    """Whether it has no control bytes but newlines, none of C1, and is valid UTF-8."""
    return not re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f]', text.decode('utf-8', 'strict'))


def test_random_reports_are_valid_csv():
    for seed in SEEDS:
        text, report = demo('random', 'csv', seed), parse(demo('random', 'json', seed))
        assert harmless(text)
        found = list(blocks(text.decode()))
        assert len(found) == len(report['sections'])
        for (_, names, rows), section in zip(found, report['sections']):
            assert all(len(row) == len(names) for row in rows)
            assert len(rows) == len(section['rows'])
            for row in rows:
                for cell in row:
                    assert cell[:1] not in ('=', '@') \
                        and (cell[:1] not in ('+', '-') or cell[1:2].isdigit() or cell == '-')


def test_csv_has_the_numbers_of_json():
    for seed in SEEDS:
        trees = [s for s in parse(demo('random', 'json', seed))['sections'] if s['kind'] == 'tree']
        *_, (_, names, rows) = blocks(demo('random', 'csv', seed).decode())
        at = [i for i, name in enumerate(names)
              if name.split('_')[0] in ('parent', 'self', 'total')]
        assert [[int(row[i]) for i in at] for row in rows] == \
            [[r[0], r[4], r[5]] for r in trees[-1]['rows']]


def test_random_text_is_harmless_at_any_width():
    for seed in SEEDS:
        assert harmless(demo('random', 'text', seed))
        assert harmless(demo('random', 'text', seed, columns=1 + seed % 100))


def folded(text):
    found = Counter()
    for line in text.splitlines():
        stack, _, weight = line.rpartition(' ')
        found[stack] += int(weight)
    return found


def test_folded_stacks_equal_the_tree():
    """The stacks are those of the tree: the same weights at the same depths."""
    for seed in SEEDS:
        text = demo('random', 'folded', seed)
        assert harmless(text)
        tree = parse(demo('random', 'json', seed))['sections'][-1]['rows']
        depths, found = [], Counter()
        for parent, _, _, _, own, *_ in tree:
            depths.append(depths[parent] + 1 if parent >= 0 else 1)
            found[depths[-1]] += own
        written = Counter()
        for stack, weight in folded(text.decode()).items():
            written[stack.count(';') + 1] += weight
        assert +found == +written


def test_hostile_text_is_escaped_on_a_terminal():
    for form, name in [('text', b'\\x1b]0;PWN\\x07'), ('csv', b'\\x1b]0;PWN\\x07'),
                       ('folded', b'\\x1b]0:PWN\\x07')]:
        text = demo('hostile', form)
        assert harmless(text)
        assert name in text
