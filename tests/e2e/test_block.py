# SPDX-License-Identifier: MIT
"""blktrace, biolatency, biosnoop, bitesize: a loop device, and scripts."""
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from command import has, run
from faults import with_fault
from scripts import rows as table, rows_of

WRITES, SIZE = 100, 4096
SCRIPT = '''# attar script
event block:block_getrq dev:u32 sector:u64 nr_sector:u32 rwbs:char[10] comm:char[16]
event block:block_rq_insert dev:u32 sector:u64 nr_sector:u32 bytes:u32 rwbs:char[10] comm:char[16]
event block:block_rq_issue dev:u32 sector:u64 nr_sector:u32 bytes:u32 rwbs:char[10] comm:char[16]
event block:block_rq_complete dev:u32 sector:u64 nr_sector:u32 error:int rwbs:char[10]
event block:block_bio_frontmerge dev:u32 sector:u64 nr_sector:u32 rwbs:char[10] comm:char[16]
event block:block_rq_merge dev:u32 sector:u64 nr_sector:u32 bytes:u32 rwbs:char[10] comm:char[16]
event block:block_rq_requeue dev:u32 sector:u64 nr_sector:u32 rwbs:char[10]
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


def reports(*args):
    ended = run(*args, '--format', 'json')
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def command_reports(profiler, *args, command):
    ended = run(profiler, '--format', 'json', *args, '--', *command)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith('{')]


def lines(found, name):
    return [r for report in found for s in report['sections'] if s['name'] == name
            for r in rows_of(s)]


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
    assert not any('missed' in r for r in found['remarks'])
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
    assert ended.returncode == 2
    assert sentence in ended.stderr and 'lsblk' in ended.stderr


READS = '''
import mmap, os, sys
fd, page = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
for i in range(int(sys.argv[3])): os.preadv(fd, [page], int(sys.argv[2]) + 4096 * i)
'''


def test_a_partition(root, tmp_path):
    """Of a loop device with one partition of 1 MiB, which needs no table of partitions."""
    if not has('losetup') or not has('addpart') or not Path('/dev/loop-control').exists():
        pytest.skip('this system has no loop devices, or no addpart (util-linux)')
    image = tmp_path / 'disk'
    image.write_bytes(bytes(4 << 20))
    loop = subprocess.check_output(['losetup', '-f', '-P', '--show', image], text=True).strip()
    name = Path(loop).name
    try:
        subprocess.run(['addpart', loop, '1', '2048', '2048'], check=True)
        number = Path(f'/sys/block/{name}/{name}p1/dev').read_text()
        part = tmp_path / 'part'  # in containers, /dev has no new devices
        os.mknod(part, stat.S_IFBLK | 0o600, os.makedev(*map(int, number.split(':'))))
        reads = ['--', sys.executable, '-c', READS]
        ends = [run('blktrace', '-d', devices, '--format', 'json', *reads, device, start, 20)
                for devices in (part, f'{part},254:7')
                for device, start in ((part, 0), (loop, 0), (loop, 1 << 20),
                                      (loop, (2 << 20) - 5 * 4096))]
    finally:
        subprocess.run(['losetup', '-d', loop], check=True)
    assert [ended.returncode for ended in ends] == 8 * [0], ends[0].stderr
    found = [[row['reqs'] for row in table(json.loads(ended.stdout.splitlines()[-1]), 'requests')]
             for ended in ends]
    assert found == 2 * [[20], [], [20], [5]]


# ---- flushes ----

NO_SECTOR = 2**64 - 1

# Threads that read sector 0, and threads that flush the device.
SECTOR_0 = '''
import mmap, os, sys, threading
device, readers, reads, flushers, flushes = sys.argv[1], *map(int, sys.argv[2:])
def read():
    fd, page = os.open(device, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
    for i in range(reads):
        os.preadv(fd, [page], 0)
def flush():
    fd = os.open(device, os.O_RDWR)
    for i in range(flushes):
        os.fsync(fd)
threads = [threading.Thread(target=t) for t in [read] * readers + [flush] * flushers]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
'''


def steps(*events, task='7/7 writer'):
    """Lines of a script, of '10 getrq FWS 0+0': microseconds, the event, its type and place."""
    text = ''
    for event in events:
        time, stage, kind, place = event.split()
        sector, sectors = map(int, place.replace('-1', str(NO_SECTOR)).split('+'))
        name = {'getrq': 'block_getrq', 'requeue': 'block_rq_requeue'}.get(
            stage, f'block_rq_{stage}')
        who = task if stage == 'getrq' else '9/9 kworker'
        text += (f'1.{int(time):06} 0 {who} block:{name} {DEV} sector={sector} '
                 f'nr_sector={sectors} rwbs={kind}')
        if stage in ('insert', 'issue'):
            text += f' bytes={sectors * 512}'
        if stage in ('getrq', 'insert', 'issue'):
            text += f' comm={who.split()[1]}'
        text += '\n'
    return text


def printed(script, *args):
    """Type, sector, bytes and us in the queue and the device of each request; and the remarks."""
    found = reports('biosnoop', '--input', script, *args)
    return ([(r['comm'], r['type'], r['sector'], r['bytes'],
              None if r['queued'] is None else r['queued'] // 1000, r['latency'] // 1000)
             for r in lines(found, 'requests')], found[-1].get('remarks', []))


def write_and_flush(flush, at_issue, at_end):
    """A write with a flush before it and one after it, as kernels report it."""
    return steps('10 getrq FWFS 64+8', f'20 issue {flush} {at_issue}+0',
                 f'120 complete {flush} {at_end}+0', '130 insert WS 64+8', '140 issue WS 64+8',
                 '150 complete WS 64+8', f'160 issue {flush} {at_issue}+0',
                 f'360 complete {flush} {at_end}+0', '361 complete WS 64+0')


KERNELS = {'4.4': ('FWS', -1, -1), '4.14': ('FF', -1, -1), '6.18': ('FF', 0, -1)}


@pytest.mark.quick
@pytest.mark.parametrize('kernel', KERNELS)
def test_flushes_before_and_after_a_write(script, kernel):
    """
    Both flushes are for the thread that writes: the second one has begun when its data were
    written. The completion of no bytes at the end is no request.
    """
    flush = KERNELS[kernel][0]
    recording = script(write_and_flush(*KERNELS[kernel]))
    assert printed(recording) == ([
        ('writer', flush, None, 0, 10, 100), ('writer', 'WS', 64, 4096, 130, 10),
        ('writer', flush, None, 0, 10, 200)], [])
    found = reports('blktrace', '--input', recording)[-1]
    assert [(r['start'], r['end'], r['reqs'], r['total']) for r in table(found, 'stages')] == [
        ('getrq', 'insert', 1, 120_000), ('getrq', 'issue', 2, 20_000),
        ('insert', 'issue', 1, 10_000), ('issue', 'complete', 3, 310_000)]
    assert [(r['type'], r['size'], r['reqs'], r['total']) for r in table(found, 'requests')] == [
        (flush, 0, 2, 320_000), ('WS', 4096, 1, 140_000)]


@pytest.mark.quick
def test_a_device_with_fua_has_no_second_flush(script):
    """A flush of another thread that follows is not for the first writer."""
    text = steps('10 getrq FWFS 64+8', '20 issue FF 0+0', '120 complete FF -1+0',
                 '140 issue WFS 64+8', '150 complete WFS 64+8', '151 complete WFS 72+0')
    text = text.replace('1.000151', '1.000251')
    text += steps('155 getrq FWS 0+0', '210 issue FF 0+0', '250 complete FF -1+0',
                  '251 complete WS 0+0', task='8/8 other')
    assert printed(script(text)) == ([
        ('writer', 'FF', None, 0, 10, 100), ('writer', 'WFS', 64, 4096, 130, 10),
        ('other', 'FF', None, 0, 55, 40)], [])


@pytest.mark.quick
@pytest.mark.parametrize('end', ['64+0', '72+0'])
def test_the_end_of_a_write_that_was_flushed(script, end):
    """Kernels report it at the first sector, or after the last one: it no longer waits."""
    text = steps('10 getrq WFS 64+8', '20 issue WS 64+8', '30 complete WS 64+8',
                 '40 issue FF 0+0', '50 complete FF -1+0', f'51 complete WS {end}')
    text += steps('60 issue FF 0+0', '70 complete FF -1+0')
    assert [(r[0], r[1], r[4]) for r in printed(script(text))[0]] == [
        ('writer', 'WS', 10), ('writer', 'FF', 10), ('kworker', 'FF', 0)]


@pytest.mark.quick
def test_sector_0_beside_flushes(script):
    """A read of sector 0 while a flush is open, and the end of a flush while the read is."""
    text = steps('10 getrq FWS 0+0', '20 issue FF 0+0', '30 getrq RS 0+8', '31 issue RS 0+8',
                 '40 complete FF -1+0', '41 complete WS 0+0', '50 complete RS 0+8')
    assert printed(script(text)) == ([
        ('writer', 'FF', None, 0, 10, 20), ('writer', 'RS', 0, 4096, 1, 19)], [])


@pytest.mark.quick
def test_one_flush_for_several_writes(script):
    """It is for the first one; those that came too late get the next one."""
    text = (steps('10 getrq FWS 0+0', task='7/7 first')
            + steps('12 getrq FWS 0+0', task='8/8 second')
            + steps('20 issue FF 0+0') + steps('25 getrq FWS 0+0', task='6/6 third')
            + steps('40 complete FF -1+0', '41 complete WS 0+0', '42 complete WS 0+0',
                    '50 issue FF 0+0', '80 complete FF -1+0', '81 complete WS 0+0',
                    '90 issue FF 0+0', '99 complete FF -1+0'))
    assert printed(script(text)) == ([
        ('first', 'FF', None, 0, 10, 20), ('third', 'FF', None, 0, 25, 30),
        ('kworker', 'FF', None, 0, 0, 9)], [])
    assert [r[0] for r in printed(script(text), '-p', '8')[0]] == ['second']
    text = (steps('10 getrq FWS 0+0', task='7/7 first')
            + steps('12 getrq FWS 64+8', '20 issue FF 0+0', '40 complete FF -1+0',
                    '41 complete WS 0+0', '42 issue WS 64+8', '50 issue FF 0+0',
                    '60 complete FF -1+0', task='8/8 second'))
    assert [r[0] for r in printed(script(text))[0]] == ['first', 'kworker']


@pytest.mark.quick
def test_a_discard_completes_with_any_number_of_bytes(script):
    text = steps('10 getrq D 8+64', '11 issue D 8+64', '20 complete D 8+1')
    assert printed(script(text))[0] == [('writer', 'D', 8, 64 * 512, 1, 9)]


def on_cpus(text, cpus):
    """The same lines on these CPUs, one after the other."""
    return ''.join(re.sub(r'^(\S+) 0 ', rf'\1 {cpu} ', line + '\n')
                   for line, cpu in zip(text.splitlines(), cpus, strict=True))


@pytest.mark.quick
def test_flushes_of_several_queues_overlap(script):
    """
    Each CPU issues to its own queue. That there are several is known when the second flush
    completes; from then on, they complete in the order of their issue.
    """
    text = on_cpus(steps(
        '9 getrq FWS 0+0', '10 issue FF 0+0', '20 issue FF 0+0', '30 issue FF 0+0',
        '40 complete FF -1+0', '60 complete FF -1+0', '80 complete FF -1+0', '110 issue FF 0+0',
        '120 issue FF 0+0', '140 complete FF -1+0', '160 complete FF -1+0'), '00123210100')
    found, remarks = printed(script(text))
    assert [(r[0], r[5]) for r in found] == [
        ('kworker', 10), ('writer', 50), ('kworker', 60), ('kworker', 30), ('kworker', 40)]
    assert remarks == []
    text += on_cpus(steps('210 issue FF 0+0', '220 issue FF 0+0', '230 complete FF -1+0',
                          '300 issue FF 0+0', '320 complete FF -1+0'), '01110')
    found, remarks = printed(script(text))
    assert [r[5] for r in found][5:] == [20, 20]
    assert remarks == ['flushes whose completion was missed, which are not counted: 1']


@pytest.mark.quick
@pytest.mark.parametrize('cpus', ['0', '01', '012', '0011', '00010'])
@pytest.mark.parametrize('profiler', ['biosnoop', 'blktrace', 'biolatency'])
def test_missed_completions_of_flushes(script, profiler, cpus):
    """20 flushes of 1 ms, without the completions of the third one and the tenth one."""
    text = steps(*(f'{t} {stage} FF {place}' for i in range(20) for t, stage, place in [
        (i * 10000, 'issue', '0+0'), (i * 10000 + 1000, 'complete', '-1+0')]))
    text = on_cpus(text, (cpus[i % len(cpus)] for i in range(40)))
    kept = [line for i, line in enumerate(text.splitlines(True)) if i not in (5, 19)]
    found = reports(profiler, '--input', script(''.join(kept)))
    if profiler == 'biosnoop':
        assert [r['latency'] for r in lines(found, 'requests')] == [1_000_000] * 18
    elif profiler == 'blktrace':
        assert [(r['reqs'], r['total'], r['max']) for r in table(found[-1], 'stages')] == [
            (18, 18_000_000, 1_000_000)]
    else:
        summary = found[-1]['sections'][0]['summary']
        assert (summary['count'], summary['max']) == (18, 1_000_000)
    assert found[-1]['remarks'] == [
        'flushes whose completion was missed, which are not counted: 2']


@pytest.mark.quick
def test_a_flush_that_is_issued_twice(script):
    """The driver was out of resources: the time counts from the first issue."""
    text = steps('10 issue FF 0+0', '20 requeue FF 0+0', '30 issue FF 0+0', '40 complete FF -1+0',
                 '50 issue FF 0+0', '60 complete FF -1+0')
    assert [r[5] for r in printed(script(text))[0]] == [30, 10]


@pytest.mark.quick
def test_commands_are_no_data_of_sector_0(script):
    """SG_IO and the like: their completion has no sector either."""
    text = steps('10 insert N 0+0', '11 issue N 0+0', '12 getrq W 0+8', '13 issue W 0+8',
                 '20 complete N -1+0', '30 complete W 0+8')
    assert printed(script(text)) == ([
        ('kworker', 'N', None, 0, 1, 9), ('writer', 'W', 0, 4096, 1, 17)], [])


def by_tasks(text, tids):
    """The same lines, with these threads as those that make the requests, one after the other."""
    tids = iter(tids)
    return ''.join(f'{line}\n'.replace('7/7', f'7/{next(tids)}') if '7/7' in line else f'{line}\n'
                   for line in text.splitlines())


@pytest.mark.quick
@pytest.mark.parametrize('options, stages', [
    ('-d 245:0', ['getrq', 'insert', 'issue', 'requeue', 'issue', 'complete']),
    ('-d 245:0 --than 85us', ['complete']), ('-d 245:0 --than 95us', []), ('-d 245:1', [])])
def test_stages_of_events(script, options, stages):
    """Events of blktrace have the fields of their tracepoints, and say the stage."""
    text = steps('10 getrq WS 8+8', '20 insert WS 8+8', '30 issue WS 8+8', '40 requeue WS 8+8',
                 '50 issue WS 8+8', '100 complete WS 8+8').replace(
                     'complete dev', 'complete error=-5 dev')
    ended = run('trace', '--format', 'json', '-e', f'blktrace/{options}/', '--input', script(text))
    assert ended.returncode == 0, ended.stderr
    lines = [dict(zip([c['name'] for c in s['columns']], row)) for line in ended.stdout.splitlines()
             for s in json.loads(line)['sections'] if s['name'] == 'events' for row in s['rows']]
    assert [line['values']['stage'] for line in lines] == stages
    assert {line['event'] for line in lines} <= {'blktrace'}
    for line in lines:
        values, stage = line['values'], line['values']['stage']
        assert [values[name] for name in ('dev', 'sector', 'nr_sector', 'bytes', 'rwbs')] == [
            245 << 20, 8, 8, 4096, 'WS']
        assert values['error'] == (-5 if stage == 'complete' else 0)
        assert values['comm'] == {'getrq': 'writer', 'insert': 'kworker', 'issue': 'kworker'}.get(
            stage, '')
        assert f'stage={stage} dev=245,0 rwbs=WS sector=8 ' in line['fields']


@pytest.mark.quick
def test_requests_of_the_same_sector_at_the_same_time(script):
    """Reads of different threads are told apart by their order, also after one has ended."""
    text = by_tasks(
        steps('10 getrq R 8+8', '11 issue R 8+8', '20 getrq R 8+8', '30 getrq R 8+8',
              '31 issue R 8+8', '40 complete R 8+8', '42 getrq R 8+8', '43 issue R 8+8',
              '50 complete R 8+8', '51 issue R 8+8', '60 complete R 8+8', '70 complete R 8+8'),
        (1, 2, 3, 4))
    found, remarks = printed(script(text))
    assert [r[4:] for r in found] == [(1, 29), (11, 19), (13, 17), (9, 19)] and remarks == []


@pytest.mark.quick
@pytest.mark.parametrize('kind, tids, times', [
    ('R', (1, 2, 3), [40, 45, 50]), ('R', (1, 1, 1), [20, 45, 70]), ('W', (1, 2, 3), [20, 45, 70])])
def test_the_total_of_equal_requests_is_right(script, kind, tids, times):
    """Whichever of them the completions belong to: of other threads the first, or else the last."""
    begins = (f'{time}{stage} {kind} 8+8' for time in (1, 2, 3) for stage in ('0 getrq', '0 issue'))
    text = by_tasks(steps(*begins, *(f'{time} complete {kind} 8+8' for time in (50, 65, 80))), tids)
    found, remarks = printed(script(text))
    assert [r[5] for r in found] == times and remarks == []
    assert sum(times) == 50 + 65 + 80 - 10 - 20 - 30


@pytest.mark.quick
@pytest.mark.parametrize('kinds, sizes', [(('R', 'R'), (8, 16)), (('R', 'RA'), (8, 8)),
                                          (('RS', 'W'), (8, 8)), (('R', 'RA'), (16, 8))])
@pytest.mark.parametrize('last', [0, 1])
def test_what_tells_requests_of_a_sector_apart(script, kinds, sizes, last):
    """Size and type: the second request completes first (last 0), or the first one."""
    first, second = ((f'{kind} 8+{size}') for kind, size in zip(kinds, sizes))
    ends = (second, first) if last == 0 else (first, second)
    text = by_tasks(steps(f'10 getrq {first}', f'20 getrq {second}', f'31 issue {second}',
                          f'52 issue {first}', f'60 complete {ends[0]}', f'90 complete {ends[1]}'),
                    (1, 2))
    found, remarks = printed(script(text))
    ended = {kind: 90 - 30 * (kind == ends[0]) for kind in (first, second)}
    assert sorted((f'{r[1]} 8+{r[3] // 512}', *r[4:]) for r in found) == sorted(
        [(first, 42, ended[first] - 52), (second, 11, ended[second] - 31)]) and remarks == []


@pytest.mark.quick
def test_threads_tell_the_queues_of_requests_apart(script):
    """The second reader issues its request itself, before the first one; both are equal."""
    text = by_tasks(steps('10 getrq R 8+8', '20 getrq R 8+8', '21 issue R 8+8', '60 issue R 8+8',
                          '70 complete R 8+8', '90 complete R 8+8'), (1, 2))
    at = '1.000021 0 9/9 kworker'
    assert text.count(at) == 1
    found, remarks = printed(script(text.replace(at, '1.000021 0 7/2 writer')))
    assert sorted(r[4] for r in found) == [1, 50] and remarks == []
    assert [r[4] for r in printed(script(text))[0]] == [11, 40]


@pytest.mark.quick
def test_priorities_tell_requests_of_a_sector_apart(script):
    declared = {'insert': 'bytes:u32', 'issue': 'bytes:u32', 'complete': 'error:int'}
    text = by_tasks(steps('10 getrq R 8+8', '11 issue R 8+8', '20 getrq R 8+8', '22 issue R 8+8',
                          '40 complete R 8+8', '90 complete R 8+8'), (1, 2))
    for time, ioprio in ((11, 4), (22, 7), (40, 7), (90, 4)):
        text = re.sub(rf'(1\.0000{time} .*)', rf'\1 ioprio={ioprio}', text)
    events = SCRIPT
    for name, field in declared.items():
        events = re.sub(rf'(block_rq_{name} .*) {field}', rf'\1 {field} ioprio:u16', events)
    path = script(text)
    path.write_text(path.read_text().replace(SCRIPT, events))
    assert path.read_text().count('ioprio') == 7
    found, remarks = printed(path)
    assert [r[4:] for r in found] == [(2, 18), (1, 79)] and remarks == []


MISSED = 'requests whose completion was missed, which are not counted: {}'


@pytest.mark.parametrize('profiler', ['blktrace', 'biolatency', 'biosnoop'])
def test_completions_that_the_kernel_did_not_deliver(loop, profiler):
    """
    No later request of their sectors shows that they were missed. Only the first event has a ring.
    """
    before = statistics(loop)
    done = with_fault('kernel', profiler, '-d', loop, '--format', 'json', '--', *writes_to(loop),
                      output=1)
    assert done.returncode == 0, done.stderr
    completed = statistics(loop)[4] - before[4]
    assert completed >= WRITES
    assert MISSED.format(completed) in json.loads(done.stdout.splitlines()[-1])['remarks']


@pytest.mark.quick
@pytest.mark.parametrize('stages', [('getrq', 'insert', 'issue'), ('getrq', 'issue'),
                                    ('insert', 'issue'), ('issue',)])
@pytest.mark.parametrize('kind, tids', [('WS', [7]), ('RS', [7]), ('WS', [7, 8, 9])])
def test_missed_completions_of_a_sector(script, stages, kind, tids):
    """20 requests of 1 ms, without the completions of the first and the tenth one."""
    text = ''
    for i in range(20):
        events = [f'{i * 50000 + n * 10} {stage} {kind} 8+8' for n, stage in enumerate(stages)]
        if i not in (0, 9):
            events.append(f'{i * 50000 + (len(stages) - 1) * 10 + 1000} complete {kind} 8+8')
        tid = tids[i % len(tids)]
        text += steps(*events, task=f'7/{tid} writer').replace('9/9', f'9/{tid + 100}')
    found = reports('blktrace', '--input', script(text))[-1]
    duration = 1_000_000 + (len(stages) - 1) * 10_000
    assert [(r['reqs'], r['min'], r['max']) for r in table(found, 'requests')] == [
        (18, duration, duration)]
    assert found['remarks'] == [MISSED.format(2)]
    found = reports('biolatency', '--input', script(text))[-1]
    summary = found['sections'][0]['summary']
    assert (summary['count'], summary['sum'], summary['max']) == (18, 18_000_000, 1_000_000)
    assert [r[5] for r in printed(script(text))[0]] == [1000] * 18


@pytest.mark.quick
def test_an_issue_and_completion_that_were_missed(script):
    text = steps('10 getrq W 8+8', '11 insert W 8+8', '100 getrq W 8+8', '101 insert W 8+8',
                 '102 issue W 8+8', '110 complete W 8+8', '200 getrq W 8+8', '201 insert W 8+8',
                 '203 issue W 8+8', '220 complete W 8+8')
    found, remarks = printed(script(text))
    assert [r[4:] for r in found] == [(2, 8), (3, 17)] and remarks == [MISSED.format(1)]


@pytest.mark.quick
def test_asynchronous_requests_of_a_sector_by_one_thread(script):
    """All are counted, and their sum is right; only one was missed long before."""
    text = steps('1 getrq W 8+8', '2 issue W 8+8', '1010 getrq W 8+8', '1011 issue W 8+8',
                 '1020 getrq W 8+8', '1021 issue W 8+8', '1040 complete W 8+8',
                 '1050 complete W 8+8', '2000 getrq W 8+8', '2001 issue W 8+8',
                 '2002 complete W 8+8')
    found, remarks = printed(script(text))
    assert [r[4:] for r in found] == [(1, 19), (1, 39), (1, 1)]
    assert remarks == [MISSED.format(1)]


@pytest.mark.quick
def test_a_merge_of_a_request_is_not_missed(script):
    """The second request of the thread is issued and the first one merged into another."""
    text = steps('10 getrq W 8+8', '20 getrq W 8+8', '30 issue W 8+8', '40 complete W 8+8')
    text += f'1.000050 0 7/7 a block:block_rq_merge {DEV} {AT_8} bytes=4096 rwbs=W comm=a\n'
    assert printed(script(text)) == ([('writer', 'W', 8, 4096, 10, 10)], [])


@pytest.mark.quick
def test_many_missed_completions_of_a_sector(script):
    """At most 16 older ones are kept, for asynchronous I/O."""
    begun = [e for i in range(3000) for e in (f'{i * 10} getrq W 8+8', f'{i * 10 + 1} issue W 8+8')]
    found, remarks = printed(script(steps(*begun, '30000 complete W 8+8')))
    assert found == [('writer', 'W', 8, 4096, 1, 9)] and remarks == [MISSED.format(2999)]
    ends = [f'{30000 + i} complete W 8+8' for i in range(40)]
    found, remarks = printed(script(steps(*begun[:80], *ends)))
    assert len(found) == 17 and remarks[1] == MISSED.format(23)
    assert remarks[0].endswith('whose start was missed, or before the measurement: 23')


@pytest.mark.quick
def test_a_request_that_is_inserted_and_issued_again(script):
    """The driver was out of resources: it is the same request, as a command and as data."""
    for kind, place, end in (('W', '8+8', '8+8'), ('N', '0+0', '-1+0')):
        text = steps(f'10 insert {kind} {place}', f'11 issue {kind} {place}',
                     f'20 requeue {kind} {place}', f'25 insert {kind} {place}',
                     f'30 issue {kind} {place}', f'40 complete {kind} {end}')
        found, remarks = printed(script(text))
        assert [r[4:] for r in found] == [(1, 29)] and remarks == []


@pytest.mark.quick
def test_a_request_that_was_merged_unseen(script):
    """Without the event of Linux 5.11, a request may end without a word: the next one is new."""
    old = SCRIPT.replace('block_rq_merge', 'block_unknown')
    text = by_tasks(steps('10 getrq R 8+8', '50 getrq R 8+8', '60 issue R 8+8',
                          '70 complete R 8+8'), (1, 2))
    path = script('')
    path.write_text(old + text)
    assert [r[4:] for r in printed(path)[0]] == [(10, 10)]
    path.write_text(SCRIPT + text)
    assert [r[4:] for r in printed(path)[0]] == [(50, 10)]


@pytest.mark.quick
def test_flushes_after_a_loss(script):
    """The first flush has ended unseen: the next ones keep their own times."""
    text = (steps('10 getrq FWS 0+0', '20 issue FF 0+0') + '1.000030 0 9/9 kworker lost 2\n'
            + steps('40 issue FF 0+0', '60 complete FF -1+0', '70 issue FF 0+0',
                    '75 complete FF -1+0'))
    found, remarks = printed(script(text))
    assert [(r[0], r[5]) for r in found] == [('kworker', 20), ('kworker', 5)]
    text = (on_cpus(steps('10 issue FF 0+0', '20 issue FF 0+0', '25 issue FF 0+0'), '012')
            + '1.000030 0 9/9 kworker lost 1\n'
            + steps('40 issue FF 0+0', '60 complete FF -1+0', '70 complete FF -1+0'))
    assert [r[5] for r in printed(script(text))[0]] == [20, 45]


@pytest.mark.quick
def test_flushes_that_others_asked_for(script):
    """jbd2 writes the journal for a program that waits in fsync()."""
    text = '1.000001 0 7/7 writer fork 8/8\n' + steps(
        '10 getrq FWFS 64+8', '20 issue FF 0+0', '120 complete FF -1+0')
    found, remarks = printed(script(text), '-p', '8')
    assert found == []
    assert remarks == ["1 flush is left out: other threads than the selected ones, such as "
                       "'writer', asked for them, perhaps for an fsync() of these; -a shows them"]
    assert reports('biolatency', '--input', script(text), '-p', '7')[-1].get('remarks') is None
    # With -a it does not show them, either.
    assert reports('bitesize', '--input', script(text), '-p', '8')[-1].get('remarks') is None


@pytest.mark.quick
def test_flushes_have_a_latency_and_no_size(script):
    recording = script(write_and_flush('FF', 0, -1))
    found = reports('biolatency', '--types', '--input', recording)[-1]
    assert {s['name']: (s['summary']['count'], s['summary']['sum']) for s in found['sections']} == {
        'FF': (2, 300_000), 'WS': (1, 10_000)}
    found = reports('biolatency', '-Q', '--input', recording)[-1]
    assert [s['summary']['sum'] for s in found['sections']] == [460_000]
    found = reports('bitesize', '--input', recording)[-1]
    assert [(s['name'], s['summary']['count'], s['summary']['sum']) for s in found['sections']] == [
        ('writer', 1, 4096)]


@pytest.mark.quick
def test_flushes_in_the_overview(script):
    """The flush takes 20 ms, while reads of sector 0 take 1 ms."""
    text = steps('1000 issue FF 0+0', *(f'{t} {stage} RS 0+8' for i in range(30)
                 for t, stage in [(1000 + i * 600, 'issue'), (1100 + i * 600, 'complete')]),
                 '21000 complete FF -1+0', '21010 complete WS 0+0')
    needed = ''.join(f'event {e}\n' for e in (
        'cpu-clock', 'sched:sched_switch prev_pid:pid_t prev_state:s64 next_pid:pid_t',
        'sched:sched_wakeup pid:pid_t', 'sched:sched_wakeup_new pid:pid_t'))
    found = reports('overview', '--input', script(needed + text))[-1]
    latency = {r['latency']: r for r in table(found, 'latency')}
    assert latency['block I/O']['count'] == 31, latency
    assert latency['block I/O']['max'] == 20_000_000


def test_sector_0_and_flushes_as_the_kernel_counts(loop):
    """Threads that read and flush at the same time, live and from a recording."""
    for threads in ((1, 1), (4, 4)):
        before = statistics(loop)
        command = ['/usr/bin/python3', '-c', SECTOR_0, loop, threads[0], 100, threads[1], 50]
        found = command_reports('blktrace', '-d', loop, command=map(str, command))[-1]
        done = [b - a for a, b in zip(before, statistics(loop))]
        counts = {r['type']: r['reqs'] for r in table(found, 'requests')}
        assert counts == {'RS': 100 * threads[0], 'FF': done[15]}
        assert done[0] == counts['RS'] and done[15] > 40
        assert 'remarks' not in found


def test_recorded_flushes(loop, tmp_path):
    recording = tmp_path / 'block.data'
    events = ','.join(f'block:{e}' for e in ('block_getrq', 'block_rq_insert', 'block_rq_issue',
                                             'block_rq_complete', 'block_rq_merge'))
    before = statistics(loop)
    ended = run('record', '-a', '-e', events, '-o', recording, '--', '/usr/bin/python3', '-c',
                SECTOR_0, loop, '1', '100', '1', '50')
    assert ended.returncode == 0, ended.stderr
    assert statistics(loop)[15] - before[15] == 50
    found = lines(reports('biosnoop', '-d', loop, '--input', recording), 'requests')
    assert len([r for r in found if r['type'] == 'RS' and r['sector'] == 0]) == 100
    flushes = [r for r in found if r['type'] == 'FF']
    assert len(flushes) == 50
    assert {r['comm'] for r in flushes} == {'python3'} and all(r['latency'] for r in flushes)


@pytest.mark.exclusive
def test_fsync_on_a_filesystem(loop, tmp_path):
    """The journal's thread asks for the flushes; their time is most of that of the calls."""
    if not has('mkfs.ext4'):
        pytest.skip('e2fsprogs is not installed')
    mount = tmp_path / 'mnt'
    mount.mkdir()
    subprocess.run(['mkfs.ext4', '-q', '-E', 'lazy_itable_init=0,lazy_journal_init=0', loop],
                   check=True)
    subprocess.run(['mount', loop, mount], check=True)
    statistic = f'/sys/block/{Path(loop).name}/stat'
    script = (f'cat {statistic} > {tmp_path}/before; for i in 1 2 3 4 5; do echo $i > {mount}/f$i; '
              f'sync {mount}/f$i; done; cat {statistic} > {tmp_path}/after')
    try:
        found = command_reports('biosnoop', '-a', '-d', loop, command=['sh', '-c', script])
    finally:
        subprocess.run(['umount', mount], check=True)
    before, after = (int((tmp_path / n).read_text().split()[15]) for n in ('before', 'after'))
    flushes = [r for r in lines(found, 'requests') if r['type'] == 'FF']
    assert len(flushes) == after - before >= 10
    assert {r['comm'].split('/')[0] for r in flushes} <= {'jbd2', 'sync'}
    assert found[-1].get('remarks', []) == []
