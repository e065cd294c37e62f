# SPDX-License-Identifier: MIT
"""attar diff on results with known differences."""
import json
import math
import os
import random
import re

import pytest

from command import ATTAR, has, profile, run, workload
from scripts import rows_of
from test_wall import SCRIPT


def result(path, reports, dso='/bin/x'):
    """
    Write reports, each a dictionary of function to samples, as attar profile does. A name that has
    a blank is the file and the function.
    """
    lines = []
    for i, samples in enumerate(reports):
        whole = sum(samples.values())
        rows = [[100 * n / whole, n, 'task', *(name.split() if ' ' in name else (dso, name))]
                for name, n in samples.items()]
        columns = [{'name': n, 'unit': u} for n, u in (
            ('self', 'percent'), ('samples', 'count'), ('comm', 'text'), ('dso', 'text'),
            ('symbol', 'text'))]
        lines.append(json.dumps({
            'schema': 'attar/1', 'profiler': 'profile', 'time': 10 ** 18 + i * 10 ** 9,
            'interval_ns': 10 ** 9, 'notes': None, 'sections': [
                {'name': 'functions', 'kind': 'table', 'columns': columns, 'rows': rows}]}))
    path.write_text('\n'.join(lines) + '\n')
    return path


def diff(*args, status=0):
    done = run('diff', '--format', 'json', *args)
    assert done.returncode == status, done.stderr
    report = json.loads(done.stdout)
    found = {}
    for section in report['sections']:
        found[section['name']] = rows_of(section)
    return found, report['remarks']


@pytest.mark.quick
def test_shares(tmp_path):
    """The confidence is that of two shares of samples, for two functions."""
    before = result(tmp_path / 'a.json', [{'heavy': 700, 'light': 300}])
    after = result(tmp_path / 'b.json', [{'heavy': 740, 'light': 260}])
    found, remarks = diff(before, after)
    heavy, light = found['functions: self']
    assert (heavy['symbol'], heavy['before'], heavy['after']) == ('heavy', 70, 74)
    assert math.isclose(heavy['points'], 4) and math.isclose(light['points'], -4)
    z = 0.04 / math.sqrt((0.7 * 0.3 + 0.74 * 0.26) / 1000)
    assert math.isclose(heavy['confidence'], 100 * (1 - 2 * math.erfc(z / math.sqrt(2))),
                        rel_tol=1e-6)
    count = {row['symbol']: row for row in found['functions: samples']}['light']
    assert math.isclose(count['change'], 100 * (260 - 300) / 300)
    assert remarks[2] == 'significant changes, with a confidence of at least 99%: 0'


@pytest.mark.quick
def test_forks_of_another_process(tmp_path):
    """Two runs of a program have other PIDs."""
    results = []
    for pid, forks in ((100, 12), (200, 18)):
        script, path = tmp_path / f'{pid}.txt', tmp_path / f'{pid}.json'
        script.write_text('# attar script\nevent task:task_newtask clone_flags:u64\n' + ''.join(
            f'1.{i:03} 0 {pid}/{pid} sh task:task_newtask clone_flags=0\n' for i in range(forks)))
        assert run('forks', '-q', '--input', script, '-o', path).returncode == 0
        results.append(path)
    found, _ = diff(*results)
    row, = found['forks: forks']
    assert (row['before'], row['after'], row['comm']) == (12, 18, 'sh') and 'pid' not in row


@pytest.mark.quick
def test_a_size_distinguishes_rows(tmp_path):
    """Requests of 4 KiB are compared with requests of 4 KiB, and sizes with nothing."""
    def requests(path, *counts):
        columns = [{'name': n, 'unit': u} for n, u in (
            ('size', 'bytes'), ('reqs', 'count'), ('bytes', 'bytes'))]
        rows = [[size, n, size * n] for size, n in zip((4096, 65536), counts)]
        path.write_text(json.dumps({
            'schema': 'attar/1', 'profiler': 'blktrace', 'time': 10 ** 18,
            'interval_ns': 10 ** 9, 'notes': None, 'sections': [
                {'name': 'requests', 'kind': 'table', 'columns': columns, 'rows': rows}]}))
        return path
    found, _ = diff(requests(tmp_path / 'a.json', 10, 7), requests(tmp_path / 'b.json', 20, 7))
    assert set(found) == {'requests: reqs', 'requests: bytes'}
    assert {row['size (bytes)']: (row['before'], row['after'])
            for row in found['requests: reqs']} == {'4096': (10, 20), '65536': (7, 7)}


@pytest.mark.quick
@pytest.mark.parametrize('holder', ['holder', 'thread', 'blocked by'])
def test_threads_do_not_distinguish_rows(holder, tmp_path):
    """They have other numbers in each run: also the holder of a lock."""
    def locks(path, tid, total):
        columns = [{'name': n, 'unit': u} for n, u in (
            ('type', 'text'), ('pid', 'id'), (holder, 'id'), ('holder name', 'text'),
            ('total', 'ns'))]
        path.write_text(json.dumps({
            'schema': 'attar/1', 'profiler': 'locks', 'time': 10 ** 18, 'interval_ns': 10 ** 9,
            'notes': None, 'sections': [{'name': 'locks', 'kind': 'table', 'columns': columns,
                                         'rows': [['futex', tid, tid + 1, 'h', total]]}]}))
        return path
    found, _ = diff(locks(tmp_path / 'a.json', 10, 100), locks(tmp_path / 'b.json', 20, 300))
    row, = found['locks: total']
    assert (row['before'], row['after'], row['holder name']) == (100, 300, 'h')


@pytest.mark.quick
def test_what_is_said_of_a_row_does_not_distinguish_it(tmp_path):
    """The process that runs most of the time has another number in each run."""
    def times(path, process, time):
        columns = [{'name': n, 'unit': u} for n, u in (
            ('time spent', 'text'), ('time', 'ns'), ('mostly', 'text'), ('in', 'text'))]
        path.write_text(json.dumps({
            'schema': 'attar/1', 'profiler': 'overview', 'time': 10 ** 18,
            'interval_ns': 10 ** 9, 'notes': None, 'sections': [
                {'name': 'time', 'kind': 'table', 'columns': columns,
                 'rows': [['run queue', time, process, '']]}]}))
        return path
    before = times(tmp_path / 'a.json', 'a (1)', 100)
    after = times(tmp_path / 'b.json', 'a (2)', 150)
    found, _ = diff(before, after)
    row, = found['time: time']
    assert (row['before'], row['after'], row['time spent']) == (100, 150, 'run queue')
    assert 'mostly' not in row and 'in' not in row


@pytest.mark.quick
def test_program_in_another_directory(tmp_path):
    before = result(tmp_path / 'a.json', [{'heavy': 700, 'light': 300}], '/old/x')
    after = result(tmp_path / 'b.json', [{'heavy': 700, 'light': 300}], '/new/x')
    found, remarks = diff('--fail-above', '0%', before, after)
    assert [(r['dso'], r['before'], r['after']) for r in found['functions: self']] == [
        ('/new/x', 70, 70), ('/new/x', 30, 30)]
    assert remarks[0].endswith(": '/old/x' and '/new/x'")


@pytest.mark.quick
@pytest.mark.parametrize('before, after', [
    (['/old/x', '/other/x'], ['/new/x']), (['/old/x'], ['/new/x', '/other/x']),
    (['/same/x', '/old/x'], ['/same/x', '/new/x']), (['/old/x'], ['/old/y'])])
def test_files_whose_name_is_not_unique_are_not_the_same(tmp_path, before, after):
    paths = [result(tmp_path / name, [{f'{file} f': 100 for file in files}])
             for name, files in (('a.json', before), ('b.json', after))]
    found, remarks = diff(*paths)
    assert sorted(r['dso'] for r in found['functions: samples']) == sorted({*before, *after})
    assert remarks[0].startswith('before: ')


@pytest.mark.parametrize('heavy, limit, status', [
    (7000, '5%', 0), (7400, '5%', 0), (7600, '5%', 1), (6400, '5', 1), (7600, '20%', 0)])
def test_threshold(tmp_path, heavy, limit, status):
    """Four points are significant, but only six are above five, in either direction."""
    paths = []
    for name, n in ('a.json', 7000), ('b.json', heavy):
        path = result(tmp_path / name, [{'heavy': n, 'light': 10000 - n}])
        report = json.loads(path.read_text())
        table = report['sections'][0]  # compare shares only: of counts 5 % is less
        table['columns'].append({'name': 'other', 'unit': 'text'})
        for row in table['rows']:
            row.append('x')
        path.write_text(json.dumps(report))
        paths.append(path)
    found, remarks = diff('--fail-above', limit, *paths, status=status)
    assert (remarks[-1].split()[-1] != '0') == bool(status)


def test_numbers_of_samples_are_not_significant(tmp_path):
    """They have a confidence, but depend on the length of the measurement."""
    before = result(tmp_path / 'a.json', [{'heavy': 700, 'light': 300}])
    after = result(tmp_path / 'b.json', [{'heavy': 7000, 'light': 3000}])
    found, remarks = diff('--fail-above', '1%', before, after)
    assert [row['confidence'] > 99 for row in found['functions: samples']] == [True, True]
    assert remarks[2] == 'significant changes, with a confidence of at least 99%: 0'


@pytest.mark.quick
@pytest.mark.parametrize('confidence', ['200', '100', '0.99', '49.9%', 'high'])
def test_impossible_confidence(confidence):
    done = run('diff', '--confidence', confidence, '--fail-above', '5', 'a.json', 'b.json')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr in (
        f"attar: --confidence: '{confidence}' is not a percentage between 50 and 100\n",
        'attar: --confidence must be below 100\n')


def test_few_samples_are_not_significant(tmp_path):
    """Of 10 samples 7 or 5: chance makes such a difference in a third of all cases."""
    a = result(tmp_path / 'a.json', [{'heavy': 7, 'light': 3}])
    b = result(tmp_path / 'b.json', [{'heavy': 5, 'light': 5}])
    found, _ = diff('--fail-above', '5%', a, b)
    assert all(row['confidence'] < 50 for row in found['functions: self'])
    a = result(tmp_path / 'a.json', [{'heavy': 700, 'light': 300}])
    b = result(tmp_path / 'b.json', [{'heavy': 500, 'light': 500}])
    diff('--fail-above', '5%', a, b, status=1)


def test_a_new_function(tmp_path):
    a = result(tmp_path / 'a.json', [{'old': 1000}])
    b = result(tmp_path / 'b.json', [{'old': 800, 'new': 200}])
    found, _ = diff('--fail-above', '5%', a, b, status=1)
    new = next(row for row in found['functions: samples'] if row['symbol'] == 'new')
    assert (new['before'], new['after'], new['change']) == (0, 200, None)
    assert new['confidence'] > 99.9


def test_chance_rarely_looks_significant(tmp_path):
    """Of 60 pairs of results of the same program, with 20 functions each."""
    random.seed(7)
    weights = [2 ** -(i / 3) for i in range(20)]
    false = 0
    for i in range(60):
        paths = []
        for side in 'ab':
            samples = random.choices(range(20), weights, k=2000)
            counts = {f'f{n}': samples.count(n) for n in range(20) if n in samples}
            paths.append(result(tmp_path / f'{side}.json', [counts]))
        found, _ = diff(*paths)
        false += any(row['confidence'] > 99 for row in found['functions: self'])
    assert false <= 4, false


def test_spread_over_intervals(tmp_path):
    """Counts that vary more than chance would: the change is within their spread."""
    random.seed(3)
    noisy = [[{'f': random.choice((500, 1500)), 'g': 1000} for _ in range(10)] for _ in range(2)]
    a, b = (result(tmp_path / name, reports) for name, reports in zip(('a.json', 'b.json'), noisy))
    found, _ = diff(a, b)
    f = next(row for row in found['functions: samples'] if row['symbol'] == 'f')
    means = [sum(r['f'] for r in reports) / 10 for reports in noisy]
    assert [f['before'], f['after']] == means
    errors = [sum((r['f'] - m) ** 2 for r in reports) / 9 / 10 for reports, m in zip(noisy, means)]
    z = abs(means[1] - means[0]) / math.sqrt(sum(errors))
    assert math.isclose(f['confidence'],
                        100 * max(0, 1 - 2 * math.erfc(z / math.sqrt(2))), abs_tol=1e-6)


def counts(path, reports):
    """Write reports of syscount, each its length in ms and the number of calls."""
    path.write_text(''.join(json.dumps({
        'schema': 'attar/1', 'profiler': 'syscount', 'time': 10 ** 18 + i, 'notes': None,
        'interval_ns': ms * 10 ** 6, 'sections': [{
            'name': 'syscount', 'kind': 'table', 'rows': [[n, 'read']], 'columns': [
                {'name': 'count', 'unit': 'count'}, {'name': 'syscall', 'unit': 'text'}]}]})
        + '\n' for i, (ms, n) in enumerate(reports)))
    return path


@pytest.mark.parametrize('reports, mean', [
    ([(1000, 100), (1000, 100), (500, 50)], 100),
    ([(1000, 100)] * 20 + [(1, 1)], 2001 / 20.001),
    ([(1000, 90), (1000, 110), (1000, 100)], 100),
    ([(500, 90), (700, 110), (400, 106)], 102),  # three runs of a command
], ids=str)
def test_a_last_interval_that_is_shorter(tmp_path, reports, mean):
    """It counts as the part of an interval that it is."""
    found, _ = diff(counts(tmp_path / 'a.json', [(1000, 100)]),
                    counts(tmp_path / 'b.json', reports))
    row, = found['syscount: count']
    assert (row['before'], row['after']) == (100, pytest.approx(mean))


def histogram(path, buckets, quantiles):
    path.write_text(json.dumps({
        'schema': 'attar/1', 'profiler': 'runqlat', 'time': 1, 'interval_ns': 1, 'notes': None,
        'sections': [{'name': 'times', 'kind': 'histogram', 'columns': [
            {'name': 'low', 'unit': 'ns'}, {'name': 'high', 'unit': 'ns'},
            {'name': 'count', 'unit': 'count'}], 'rows': buckets,
            'quantiles': [{'share': s, 'value': v} for s, v in quantiles]}]}))
    return path


def test_quantiles(tmp_path):
    a = histogram(tmp_path / 'a.json', [[1024, 2048, 9000], [2048, 4096, 1000]],
                  [(0.5, 1500), (0.95, 3000)])
    b = histogram(tmp_path / 'b.json', [[1024, 2048, 5000], [4096, 8192, 5000]],
                  [(0.5, 2000), (0.95, 7777)])
    found, _ = diff('--fail-above', '50%', a, b, status=1)
    rows = {row['quantile']: row for row in found['times: quantiles']}
    assert (rows['p50']['before'], rows['p50']['after']) == (1500, 2000)
    assert (rows['p95']['before'], rows['p95']['after']) == (3000, 7777)
    assert rows['p95']['confidence'] > 99
    # Without exact quantiles, they are interpolated in the buckets.
    assert math.isclose(rows['p99']['before'], 2048 + 0.9 * 2048)
    found, _ = diff('--fail-above', '1%', a, a)
    assert all(row['change'] == 0 for row in found['times: quantiles'])


def test_real_profiles_and_stacks(tmp_path):
    """The same program twice, and another one; the folded stacks have both numbers."""
    paths, trees = [], []
    for i, program in enumerate(('split7030', 'split7030', 'chain5')):
        paths.append(tmp_path / f'{i}.json')
        found = profile('--exclude-kernel', '-o', paths[-1], command=[workload(program)])
        trees.append(found.stacks())
    diff(paths[0], paths[1])
    folded = tmp_path / 'x.folded'
    found, _ = diff('--fail-above', '5%', '--folded', folded, paths[0], paths[2], status=1)
    heavy = next(r for r in found['functions: self'] if r['symbol'] == 'heavy')
    assert 60 < heavy['before'] < 80 and heavy['after'] == 0 and heavy['confidence'] > 99.9
    lines = [line.rsplit(' ', 2) for line in folded.read_text().splitlines()]
    assert {stack: int(n) for stack, n, _ in lines if int(n)} == {
        ';'.join(stack): n for stack, n in trees[0].items()}
    assert {stack: int(n) for stack, _, n in lines if int(n)} == {
        ';'.join(stack): n for stack, n in trees[2].items()}
    share = {row['stack']: row for row in found['stacks: share']}
    whole = sum(trees[0].values())
    for stack, n in trees[0].items():
        assert math.isclose(share[';'.join(stack)]['before'], 100 * n / whole)


def test_recordings(tmp_path):
    script = tmp_path / 'a.script'
    script.write_text('# attar script\nevent cpu-clock stack\n' + ''.join(
        f'1.{i:03} 0 1/1 x cpu-clock stack=0xa1\n' for i in range(100)))
    found, remarks = diff(script, script)
    assert [row['points'] for row in found['functions: self']] == [0]


def test_rates_are_not_judged_as_counts(tmp_path):
    """54 faults in 61 and in 50 ms: the rates are as uncertain as the times, which are unknown."""
    paths = [tmp_path / 'a.json', tmp_path / 'b.json']
    for path, rate, calls in zip(paths, (885.9, 1074.1), (1000, 2000)):
        columns = [{'name': n, 'unit': u} for n, u in (
            ('value', 'count'), ('event', 'text'), ('ratio', 'count'))]
        path.write_text(json.dumps({
            'schema': 'attar/1', 'profiler': 'stat', 'time': 10 ** 18, 'interval_ns': 10 ** 9,
            'notes': None, 'sections': [{
                'name': 'counts', 'kind': 'table', 'columns': columns,
                'rows': [[54, 'page-faults', rate], [calls, 'calls', 16000.0],
                         [0.0091 * calls, 'task-clock', 0.5]]}]}))
    found, remarks = diff('--fail-above', '5%', *paths, status=1)
    assert [row['confidence'] for row in found['counts: ratio']] == [None] * 3
    confidence = {row['event']: row['confidence'] for row in found['counts: value']}
    assert confidence['page-faults'] == 0 and confidence['calls'] > 99.9
    assert 'significant changes, with a confidence of at least 99%: 1' in remarks


@pytest.mark.parametrize('kind', ['reports', 'recording'])
def test_fifo(spawn, tmp_path, kind):
    """attar waits for its writer, even between lines. A recording would have to be read twice."""
    path, fifo = result(tmp_path / 'a.json', [{'heavy': 700, 'light': 300}]), tmp_path / 'fifo'
    os.mkfifo(fifo)
    line = '# attar script' if kind == 'recording' else path.read_text().strip()
    spawn('sh', '-c', f"exec >'{fifo}'; echo '{line}'; cat '{path}'")
    done = run('diff', fifo, path)
    if kind == 'reports':
        assert done.returncode == 0 and 'note: before: 2 reports' in done.stdout, done.stderr
    else:
        assert (done.returncode, done.stderr) == (
            2, f"attar: cannot read '{fifo}': a recording in a pipe cannot be compared: write it "
               'to a file\n')


def test_other_outputs(tmp_path):
    a = result(tmp_path / 'a.json', [{'heavy': 700, 'light': 300}])
    outputs = [tmp_path / f'x.{kind}' for kind in ('html', 'csv', 'db', 'txt')]
    done = run('diff', a, a, *(word for path in outputs for word in ('-o', path)))
    assert done.returncode == 0, done.stderr
    assert 'functions: self' in done.stdout and 'confidence' in done.stdout
    assert all(path.stat().st_size for path in outputs)


@pytest.mark.parametrize('words, sentence', [
    ([], 'diff requires two results: attar diff BEFORE AFTER'),
    (['a', 'b', 'c'], "unexpected argument 'c': attar diff [OPTIONS] BEFORE AFTER"),
    (['--fail-above', 'much', 'a', 'b'], "--fail-above: 'much' is not a percentage"),
    (['--fail-above'], '--fail-above needs a value'),
    (['--fast', 'a', 'b'], "no such option --fast: 'attar diff -h all' lists them"),
    (['-o', 'x.htlm', 'a', 'b'],
     '--output: no format has the extension .htlm: did you mean .html?'),
    (['/no/such', '/no/such'], "cannot read '/no/such': "),
    (['/dev/null', '/dev/null'],
     "cannot read '/dev/null': it has no table, histogram or call tree"),
    (['/etc/passwd', '/etc/passwd'], "cannot read '/etc/passwd': line 1: it is not a report of "
                                     'attar in JSON (schema attar/1)'),
])
def test_refusals(words, sentence):
    done = run('diff', *words)
    assert done.returncode == 2 and done.stdout == ''
    assert done.stderr.startswith(f'attar: {sentence}'), done.stderr


def test_results_without_a_common_section(tmp_path):
    a = result(tmp_path / 'a.json', [{'heavy': 700}])
    b = histogram(tmp_path / 'b.json', [[1024, 2048, 9]], [])
    b.write_text(b.read_text().replace('"runqlat"', '"profile"'))
    done = run('diff', a, b)
    assert done.returncode == 2 and 'no section in common' in done.stderr


@pytest.mark.parametrize('kind', ['json', 'db', 'script'])
def test_results_of_two_profilers(tmp_path, kind):
    """Both have a table of functions and a call tree. A recording is of profile."""
    script = tmp_path / 'x.script'
    script.write_text(SCRIPT)
    paths = [tmp_path / f'profile.{kind}', tmp_path / 'wall.json']
    assert run('wall', '-q', '--input', script, '-o', paths[1]).returncode == 0
    if kind == 'script':
        script.rename(paths[0])
    else:
        assert run('profile', '-g', '-q', '--input', script, '-o', paths[0]).returncode == 0
    for order in (paths, paths[::-1]):
        done = run('diff', *order, '--fail-above', '5%')
        names = [path.name.partition('.')[0] for path in order]
        assert (done.returncode, done.stdout) == (2, '')
        assert done.stderr == ("attar: the results are of two profilers, '{}' and '{}': compare "
                               'results of the same profiler\n'.format(*names))


def test_truncated_and_hostile_results(tmp_path):
    good = result(tmp_path / 'a.json', [{'he"a\\vy': 700, 'li\u2028ght': 300}])
    text, bad = good.read_text().strip(), tmp_path / 'b.json'
    for end in range(0, len(text), 7):
        bad.write_text(text[:end])
        done = run('diff', good, bad)
        assert done.returncode == 2 and done.stderr.startswith("attar: cannot read"), (end, done)
    for hostile in ('[' * 100000, '{"schema":"attar/1","sections":[' + '[' * 50 + ']}',
                    text.replace('700', '1e999'), text.replace('700', '"\\ud800"'),
                    text.replace('"rows": [[', '"rows": [[[],{},'), '\x00' * 100):
        bad.write_text(hostile)
        done = run('diff', good, bad)
        assert done.returncode in (0, 2), done
    found, _ = diff(good, good)
    assert {row['symbol'] for row in found['functions: self']} == {'he"a\\vy', 'li\u2028ght'}


def test_a_full_disk_leaves_the_former_result(tmp_path, root):
    a = result(tmp_path / 'a.json', [{f'function{i}': 7 for i in range(3000)}])
    b = result(tmp_path / 'b.json', [{f'function{i}': 8 for i in range(3000)}])
    where = tmp_path / 'small'
    where.mkdir()
    out = where / 'x.html'
    script = f'mount -t tmpfs -o size=16k none {where} && echo former >{out} && ' \
        f'{ATTAR} diff {a} {b} -o {out} >/dev/null; echo $?; ls {where}; cat {out}'
    done = run('-m', 'sh', '-c', script, program='unshare')
    assert done.stdout.split() == ['2', out.name, 'former'], done.stderr
    # a long path is shortened
    assert re.search(r"cannot write '\S+': cannot write the report: No space left on device",
                     done.stderr)
