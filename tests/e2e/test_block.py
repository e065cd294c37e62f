# SPDX-License-Identifier: MIT
"""blktrace, biolatency, biosnoop, bitesize: a loop device, and scripts."""
import json
from pathlib import Path

import pytest

from command import run

WRITES, SIZE = 100, 4096
SCRIPT = '''# attar script
event block:block_getrq dev:u32 sector:u64 nr_sector:u32 rwbs:char[10] comm:char[16]
event block:block_rq_insert dev:u32 sector:u64 nr_sector:u32 bytes:u32 rwbs:char[10] comm:char[16]
event block:block_rq_issue dev:u32 sector:u64 nr_sector:u32 bytes:u32 rwbs:char[10] comm:char[16]
event block:block_rq_complete dev:u32 sector:u64 nr_sector:u32 error:int rwbs:char[10]
event block:block_bio_frontmerge dev:u32 sector:u64 nr_sector:u32 rwbs:char[10] comm:char[16]
event block:block_rq_merge dev:u32 sector:u64 nr_sector:u32 bytes:u32 rwbs:char[10] comm:char[16]
'''
DEV = 'dev=256901120'  # 245:0
AT_8 = 'sector=8 nr_sector=8'
READ = f'''
1.000000000 0 7/7 reader block:block_getrq {DEV} sector=8 nr_sector=8 rwbs=R comm=reader
1.000001000 0 7/7 reader block:block_rq_insert {DEV} {AT_8} bytes=4096 rwbs=R comm=reader
1.000003000 1 9/9 kworker block:block_rq_issue {DEV} {AT_8} bytes=4096 rwbs=R comm=kworker
1.000010000 0 0/0 swapper block:block_rq_complete {DEV} sector=8 nr_sector=8 rwbs=R
'''


@pytest.fixture(name='script')
def fixture_script(script):
    return lambda text: script(SCRIPT + text)


def rows(section):
    names = [c['name'] for c in section['columns']]
    return [dict(zip(names, row)) for row in section['rows']]


def reports(*args):
    ended = run(*args, '--format', 'json')
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def command_reports(profiler, *args, command):
    ended = run(profiler, '--format', 'json', *args, '--', *command)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith('{')]


def table(report, name):
    return rows(next(s for s in report['sections'] if s['name'] == name))


def lines(found, name):
    return [r for report in found for s in report['sections'] if s['name'] == name
            for r in rows(s)]


def writes_to(device, count=WRITES, size=SIZE):
    return ['dd', 'if=/dev/zero', f'of={device}', f'bs={size}', f'count={count}', 'oflag=direct',
            'status=none']


def statistics(device):
    return [int(n) for n in Path(f'/sys/block/{Path(device).name}/stat').read_text().split()]


def test_direct_writes_are_requests(loop):
    """The number equals the kernel's own counts."""
    before = statistics(loop)
    found = command_reports('blktrace', '-d', loop, command=writes_to(loop))[-1]
    done = [b - a for a, b in zip(before, statistics(loop))]
    types = table(found, 'requests')
    assert [(r['type'][0], r['size'], r['reqs'], r['bytes']) for r in types] == [
        ('W', SIZE, WRITES, WRITES * SIZE)]
    assert done[4] == WRITES and done[6] * 512 == types[0]['bytes']
    stages = {(r['start'], r['end']): r for r in table(found, 'stages')}
    assert stages['issue', 'complete']['reqs'] == WRITES
    assert stages['getrq', 'issue']['reqs'] + stages.get(
        ('insert', 'issue'), {'reqs': 0})['reqs'] == WRITES
    assert sum(r['total'] for r in stages.values()) == types[0]['total']


def test_each_request_is_printed(loop):
    found = lines(command_reports('biosnoop', '-d', loop, command=writes_to(loop)), 'requests')
    assert [(r['comm'], r['bytes'], r['sector'], r['error']) for r in found] == [
        ('dd', SIZE, i * SIZE // 512, 0) for i in range(WRITES)]
    assert all(r['latency'] > 0 and r['disk'] == Path(loop).name for r in found)


def test_histograms(loop):
    latency = command_reports('biolatency', '-D', '-d', loop, command=writes_to(loop))[-1]
    assert [(s['name'], s['summary']['count']) for s in latency['sections']] == [
        (Path(loop).name, WRITES)]
    sizes = command_reports('bitesize', '-d', loop, command=writes_to(loop, 10, 65536))[-1]
    assert [(s['name'], s['summary']['count'], s['summary']['sum']) for s in sizes['sections']] == [
        ('dd', 10, 655360)]


@pytest.mark.quick
def test_stages_to_the_nanosecond(script):
    found = reports('blktrace', '--than', '2us', '--input', script(READ))[-1]
    assert [(r['device'], r['start'], r['end'], r['reqs'], r['total'], r['than'])
            for r in table(found, 'stages')] == [
        ('245:0', 'getrq', 'insert', 1, 1000, 0), ('245:0', 'insert', 'issue', 1, 2000, 0),
        ('245:0', 'issue', 'complete', 1, 7000, 1)]
    assert [(r['type'], r['size'], r['reqs'], r['total'], r['than'], r['bytes'])
            for r in table(found, 'requests')] == [('R', 4096, 1, 10_000, 1, 4096)]


@pytest.mark.quick
def test_line_of_a_request(script):
    found = lines(reports('biosnoop', '--input', script(READ)), 'requests')
    assert [(r['comm'], r['tid'], r['disk'], r['type'], r['sector'], r['bytes'], r['queued'],
             r['latency']) for r in found] == [
        ('reader', 7, '245:0', 'R', 8, 4096, 3000, 7000)]
    assert lines(reports('biosnoop', '--than', '7us', '--input', script(READ)), 'requests') == []


@pytest.mark.quick
def test_other_devices_are_left_out(script):
    found = reports('blktrace', '-d', '245:1', '--input', script(READ))[-1]
    assert table(found, 'stages') == []


@pytest.mark.quick
def test_merged_requests(script):
    """
    A bio put before a request moves its first sector; a request that is merged into another
    disappears; a partial completion leaves the rest.
    """
    text = f'''
1.000000 0 7/7 a block:block_getrq {DEV} sector=16 nr_sector=8 rwbs=W comm=a
1.000001 0 7/7 a block:block_bio_frontmerge {DEV} sector=8 nr_sector=8 rwbs=W comm=a
1.000002 0 7/7 a block:block_getrq {DEV} sector=24 nr_sector=8 rwbs=W comm=a
1.000003 0 7/7 a block:block_rq_merge {DEV} sector=24 nr_sector=8 bytes=4096 rwbs=W comm=a
1.000010 0 7/7 a block:block_rq_issue {DEV} sector=8 nr_sector=24 bytes=12288 rwbs=W comm=a
1.000020 0 7/7 a block:block_rq_complete {DEV} sector=8 nr_sector=8 rwbs=W
1.000030 0 7/7 a block:block_rq_complete {DEV} sector=16 nr_sector=16 rwbs=W
'''
    found = reports('blktrace', '--input', script(text))[-1]
    assert [(r['start'], r['end'], r['reqs'], r['total']) for r in table(found, 'stages')] == [
        ('getrq', 'issue', 1, 10_000), ('issue', 'complete', 1, 20_000)]


@pytest.mark.quick
def test_losses_and_requests_from_before(script):
    lost = READ.replace('1.000010000', '1.000009000 1 9/9 kworker lost 2\n1.000010000')
    found = reports('blktrace', '--input', script(lost))[-1]
    assert [r['end'] for r in table(found, 'stages')] == ['insert', 'issue']
    assert table(found, 'requests') == []
    assert any('events were lost' in r for r in found['remarks'])
    end = READ.strip().splitlines()[-1] + '\n'
    found = reports('blktrace', '--input', script(end))[-1]
    assert any('whose start was missed, or before the measurement: 1' in r
               for r in found['remarks'])


@pytest.mark.parametrize('device, sentence', [
    ('/dev/nosuch', "no block device '/dev/nosuch' (No such file or directory)"),
    ('/dev/null', "'/dev/null' is not a block device"),
])
def test_devices_that_do_not_exist(device, sentence):
    ended = run('blktrace', '-d', device)
    assert ended.returncode in (1, 2)
    assert sentence in ended.stderr and 'lsblk' in ended.stderr
