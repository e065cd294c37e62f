# SPDX-License-Identifier: MIT
"""attar num-dist: exact numbers from a script, and the sizes of known system calls."""
import json

import pytest

from command import ATTAR, has, run, workload
from scripts import of_script, report, rows, section, stacks

DECLARED = 'event demo:read size:u64 back:s64 stack\n'
SIZES = ['-e', 'syscalls:sys_enter_write//num=count/']


def script(values, **fields):
    more = ''.join(f' {k}={v}' for k, v in fields.items())
    return DECLARED + '\n'.join(
        f'1.{i:09} {i % 2} {100 + i % 2}/{100 + i % 2} reader{i % 2} demo:read size={v}{more}'
        for i, v in enumerate(values)) + '\n'


@pytest.mark.quick
def test_one_to_a_thousand(tmp_path):
    """Everything is exact."""
    found = of_script(tmp_path, script(range(1, 1001)), 'num-dist', '-e',
                      'demo:read//num=size/', '--than', 900)
    row, = rows(found, 'numbers')
    assert (row['count'], row['total'], row['min'], row['max']) == (1000, 500500, 1, 1000)
    assert row['than'] == 100
    assert (row['p50'], row['p95'], row['p99']) == (500, 950, 990)
    buckets = {r['low']: r['count'] for r in rows(found, 'demo:read')}
    assert buckets == {2 ** i: min(2 ** i, 1001 - 2 ** i) for i in range(10)}


@pytest.mark.quick
def test_large_numbers(tmp_path):
    """Sums and extremes are exact; quantiles have an error of at most 1/128."""
    found = of_script(tmp_path, script(range(7, 7001, 7)), 'num-dist', '-e', 'demo:read//num=size/')
    row, = rows(found, 'numbers')
    assert (row['count'], row['total'], row['min'], row['max']) == (1000, 3503500, 7, 7000)
    for quantile, truth in [('p50', 3500), ('p95', 6650), ('p99', 6930)]:
        assert abs(row[quantile] - truth) <= truth / 128


@pytest.mark.quick
def test_expression_and_alias(tmp_path):
    found = of_script(tmp_path, script(range(1, 101)), 'num-dist', '-e',
                      'demo:read//num=size*4096/alias=pages/')
    row, = rows(found, 'numbers')
    assert (row['event'], row['total'], row['max']) == ('pages', 5050 * 4096, 409600)
    assert {s['name'] for s in found['sections']} == {'numbers', 'pages'}  # no stacks


@pytest.mark.quick
def test_two_events_are_two_rows(tmp_path):
    found = of_script(tmp_path, script([7, 8, 9]), 'num-dist', '-e',
                      'demo:read//num=size/alias=a/,demo:read/size>7/num=size/alias=b/')
    assert {r['event']: r['total'] for r in rows(found, 'numbers')} == {'a': 24, 'b': 17}


@pytest.mark.quick
def test_instances_are_cpus_or_threads(tmp_path):
    found = of_script(tmp_path, script([1, 2, 3, 4]), 'num-dist', '--perins', '-e',
                      'demo:read//num=size/')
    assert {r['cpu']: r['total'] for r in rows(found, 'numbers')} == {0: 4, 1: 6}
    found = of_script(tmp_path, script([1, 2, 3, 4]), 'num-dist', '--perins', '-p', '100,101',
                      '-e', 'demo:read//num=size/')
    assert {(r['tid'], r['comm'], r['total']) for r in rows(found, 'numbers')} == {
        (100, 'reader0', 4), (101, 'reader1', 6)}


@pytest.mark.quick
def test_negative_numbers_are_not_counted(tmp_path):
    found = of_script(tmp_path, script([1, 2], back=-11), 'num-dist', '-e', 'demo:read//num=back/')
    assert rows(found, 'numbers') == []
    assert '2 negative numbers are not counted' in found['remarks']


@pytest.mark.quick
@pytest.mark.parametrize('n', [2, 3])
def test_totals_beyond_64_bits_are_remarked(tmp_path, n):
    found = of_script(tmp_path, script([2 ** 63 - 1] * n), 'num-dist', '-e', 'demo:read//num=size/')
    row, = rows(found, 'numbers')
    assert (row['total'], row['max']) == (min(n * (2 ** 63 - 1), 2 ** 64 - 1), 2 ** 63 - 1)
    assert ('totals above 2^64 - 1 are shown as 2^64 - 1' in found.get('remarks', [])) == (n == 3)


@pytest.mark.quick
def test_large_numbers_are_exact(tmp_path):
    """In JSON and in text, of numbers that no double has."""
    path = tmp_path / 'test.script'
    low, high = 2**53 + 1, 2**62 + 1
    path.write_text('# attar script\n' + script([low, high]))
    out = tmp_path / 'out.json'
    ended = run('num-dist', '--input', path, '-e', 'demo:read//num=size/', '-o', out)
    assert ended.returncode == 0, ended.stderr
    histogram = section(json.loads(out.read_text()), 'demo:read')
    assert histogram['summary'] == {'count': 2, 'sum': low + high, 'min': low, 'max': high}
    assert histogram['quantiles'][-1] == {'share': 0.999, 'value': high}
    assert f'min {low:,}, ' in ended.stdout and f'max {high:,}' in ended.stdout


@pytest.mark.quick
def test_stacks_of_large_numbers(tmp_path):
    text = DECLARED + '''1.1 0 7/7 reader demo:read size=10 stack=0xffffffff81000010
1.2 0 7/7 reader demo:read size=20 stack=0xffffffff81000020
1.3 0 7/7 reader demo:read size=20 stack=0xffffffff81000020
'''
    found = of_script(tmp_path, text, 'num-dist', '-g', '--than', 15, '-e', 'demo:read//num=size/')
    assert list(stacks(found).values()) == [2]


@pytest.mark.quick
def test_heatmap(tmp_path):
    of_script(tmp_path, script([5, 6]), 'num-dist', '--heatmap', tmp_path / 'heat', '-e',
              'demo:read//num=size/')
    lines = (tmp_path / 'heat-demo:read.lat').read_text().split()
    assert lines == ['1000000000', '5', '1000000001', '6']


@pytest.mark.usefixtures('root')
def test_a_full_disk_leaves_the_former_heatmap(tmp_path):
    """It is replaced when the new one is complete, and nothing else is left."""
    if not has('unshare'):
        pytest.skip('unshare (package util-linux) is not installed')
    events, where = tmp_path / 'events.script', tmp_path / 'small'
    events.write_text('# attar script\n' + script(range(20000)))
    where.mkdir()
    for kilobytes, status, size in (64, 1, 7), (1024, 0, None):
        words = f'mount -t tmpfs -o size={kilobytes}k none {where} && cd {where} && ' \
            f'echo former >heat-demo:read.lat && {ATTAR} num-dist -q --input {events} ' \
            '--heatmap heat -e demo:read//num=size/; echo $?; stat -c %s *'
        done = run('-m', 'sh', '-c', words, program='unshare')
        assert done.stdout.split()[:2] == [str(status), str(size or len(''.join(
            f'{10**9 + i} {i}\n' for i in range(20000))))], done.stderr
    done = run('-m', 'sh', '-c', words.replace('1024k', '64k'), program='unshare')
    assert "--heatmap: cannot write 'heat-demo:read.lat': No space left on device" in done.stderr


@pytest.mark.usefixtures('root')
def test_samples_are_remarked():
    found = report('num-dist', '-e', SIZES[1] + 'period=10/', '--', workload('sizes1000'))
    assert rows(found, 'numbers')[0]['count'] == 100
    assert "'syscalls:sys_enter_write' was sampled: only its samples are counted, which are not " \
        'all events' in found['remarks']


@pytest.mark.usefixtures('root')
def test_known_sizes():
    found = report('num-dist', '--in-kernel', 'no', *SIZES, '--', workload('sizes1000'))
    row, = rows(found, 'numbers')
    assert (row['count'], row['total'], row['min'], row['max']) == (1000, 500500, 1, 1000)
    assert 'remarks' not in found
    assert section(found, 'syscalls:sys_enter_write')['kind'] == 'histogram'


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('args, sentence', [
    ([], 'num-dist needs an event: -e EVENT//num=FIELD/'),
    (['-e', 'sched:sched_switch'], "'sched:sched_switch' has no attribute num=EXPRESSION"),
    (['-e', 'sched:sched_switch//num=prev_comm/'], 'num'),
    (['-e', 'sched:sched_switch//num=foo/'], "no such field or variable 'foo'"),
    ([*SIZES, '--heatmap', '/nonexistent/x'], "cannot write '/nonexistent/x"),
])
def test_refusals(args, sentence):
    ended = run('num-dist', *args, '--', workload('sizes1000'), '1')
    assert ended.returncode in (1, 2), ended.stderr
    assert sentence in ended.stderr
