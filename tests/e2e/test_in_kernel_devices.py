# SPDX-License-Identifier: MIT
"""--in-kernel: requests of block devices and interrupts of devices, beside the events."""
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command import ATTAR, has, is_waiting, run, wait_until
from scripts import lacks_events, report, rows

SAID = 'the events were counted in the kernel'
SIZE = 4096
# Numbers of reads of the same block by threads, of flushes, and of writes of the other blocks.
REQUESTS = '''
import mmap, os, sys, threading
device, reads, flushes, writes = sys.argv[1], *map(int, sys.argv[2:])
page = mmap.mmap(-1, 4096)
def read():
    fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
    for i in range(reads):
        os.preadv(fd, [mmap.mmap(-1, 4096)], 0)
def flush():
    fd = os.open(device, os.O_RDWR)
    for i in range(flushes):
        os.fsync(fd)
def write():
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    for i in range(writes):
        os.pwritev(fd, [page], (1 + i) * 4096)
threads = [threading.Thread(target=t) for t in (read, read, flush, write)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
'''
READS, FLUSHES, WRITES = 100, 50, 80
BLOCKS = 500
# Blocks next to each other are written together.
MERGED = '''
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
for i in range(int(sys.argv[2])):
    os.pwrite(fd, bytes(4096), i * 4096)
os.fsync(fd)
'''


@pytest.fixture(autouse=True)
def can_count(root):
    """The build has programs, and the system accepts them."""
    done = run('biolatency', '-d', '10ms', '--in-kernel', 'yes')
    if done.returncode == 4:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr


def is_in_kernel(found):
    return any(SAID in remark for remark in found.get('remarks', []))


def watch(spawn, command, *runs):
    """Return the reports of runs of attar that all watch the same run of a command."""
    watching = [spawn(ATTAR, *args, '--format', 'json', '-m', 1024, stdout=subprocess.PIPE)
                for args in runs]
    for process in watching:
        wait_until(lambda process=process: is_waiting(process), 'attar waits')
    subprocess.run(list(map(str, command)), check=True)
    for process in watching:
        process.send_signal(signal.SIGINT)
    return [[json.loads(line) for line in process.communicate(timeout=30)[0].splitlines()]
            for process in watching]


def both(spawn, command, profiler, *options):
    """Return the reports of the same run of a command: from the kernel's sums, and from events."""
    for _ in range(8):
        (sums,), (events,) = watch(spawn, command, (profiler, '--in-kernel', 'yes', *options),
                                   (profiler, '--in-kernel', 'no', *options))
        assert is_in_kernel(sums) and not is_in_kernel(events)
        said = str(events.get('remarks'))
        if not lacks_events(events) and 'missed' not in said and 'did not deliver' not in said:
            break
    assert sums['notes']['lost'] == 0
    return sums, events


def summaries(found):
    """The histograms by their title: 'loop0, WS'."""
    return {s['name']: s['summary'] for s in found['sections'] if 'summary' in s}


def counts(found):
    return {name: summary['count'] for name, summary in summaries(found).items()}


def statistics(device):
    """
    The numbers of reads, writes and flushes that have completed, as the kernel counts: a call that
    asks for a flush only is a write, too.
    """
    numbers = Path(f'/sys/block/{Path(device).name}/stat').read_text().split()
    return [int(numbers[i]) for i in (0, 4, 15)]


def python(script, *args):
    return ['/usr/bin/python3', '-c', script, *args]


def test_requests(loop, spawn):
    """Known numbers of each type, by both ways and by the kernel's statistics."""
    before = statistics(loop)
    sums, events = both(spawn, python(REQUESTS, loop, READS, FLUSHES, WRITES), 'biolatency',
                        '-D', '--types', '--device', loop)
    done = [b - a for a, b in zip(before, statistics(loop))]
    name = Path(loop).name
    found = counts(sums)
    runs = done[0] // (2 * READS)  # of the command, as long as the other way missed events
    assert done[:2] == [2 * READS * runs, (WRITES + FLUSHES) * runs]
    assert 0 < done[2] <= FLUSHES * runs
    assert found == counts(events)
    assert found.keys() == {f'{name}, RS', f'{name}, FF', f'{name}, WS'}
    assert (found[f'{name}, RS'], found[f'{name}, WS']) == (2 * READS, WRITES)
    if runs == 1:
        assert found[f'{name}, FF'] == done[2]
    assert 'missed' not in str(sums['remarks'])
    others = summaries(events)
    for title, summary in summaries(sums).items():
        assert 0 < summary['min'] <= summary['sum'] / summary['count'] <= summary['max']
        # both clocks are read at the same events, one after the other
        assert abs(summary['sum'] - others[title]['sum']) < (
            50_000 * summary['count'] + others[title]['sum'] / 5)


def test_one_histogram(loop, spawn):
    """Without -D and --types."""
    sums, events = both(spawn, python(REQUESTS, loop, READS, FLUSHES, WRITES), 'biolatency',
                        '--device', loop)
    assert counts(sums) == counts(events)
    assert counts(sums).keys() == {'latency'}
    assert 2 * READS + WRITES < counts(sums)['latency'] <= 2 * READS + WRITES + FLUSHES


def test_merged_requests(loop, spawn):
    """Requests are counted, not the blocks that were merged into them."""
    before = statistics(loop)
    sums, events = both(spawn, python(MERGED, loop, BLOCKS), 'biolatency', '--types', '--device',
                        loop)
    done = [b - a for a, b in zip(before, statistics(loop))]
    assert counts(sums) == counts(events)
    written = sum(n for title, n in counts(sums).items() if title.startswith('W'))
    assert 0 < written == done[1] - 1 < BLOCKS / 2
    assert counts(sums)['FF'] == 1


def test_discards(loop, spawn):
    """A discard is one request, and zeroes are written by one of the type N."""
    if not has('blkdiscard'):
        pytest.skip('util-linux has no blkdiscard here')
    sums, events = both(spawn, ['sh', '-c', f'blkdiscard {loop}; blkdiscard -z {loop}'],
                        'biolatency', '--types', '--device', loop)
    assert counts(sums) == counts(events)
    assert any(title.startswith('D') for title in counts(sums)), counts(sums)


def test_intervals_sum_up(loop, spawn):
    """No interval loses or doubles a request."""
    parts, (whole,) = watch(
        spawn, python(REQUESTS, loop, 20 * READS, 0, 0),
        ('biolatency', '--in-kernel', 'yes', '--device', loop, '-i', '20ms'),
        ('biolatency', '--in-kernel', 'yes', '--device', loop))
    parts = [counts(part).get('latency', 0) for part in parts]
    assert len([n for n in parts if n]) > 3
    assert sum(parts) == counts(whole)['latency'] == 40 * READS


@pytest.mark.parametrize('is_selected', [True, False])
def test_a_partition(root, tmp_path, spawn, is_selected):
    """Only requests of its sectors; its flushes are of the disk."""
    if not has('losetup') or not has('addpart') or not Path('/dev/loop-control').exists():
        pytest.skip('this system has no loop devices, or no addpart')
    image = tmp_path / 'disk'
    image.write_bytes(bytes(4 << 20))
    loop = subprocess.check_output(['losetup', '-f', '-P', '--show', image], text=True).strip()
    first = 2048
    try:
        subprocess.run(['addpart', loop, '1', str(first), '2048'], check=True)
        number = Path(f'/sys/block/{Path(loop).name}/{Path(loop).name}p1/dev').read_text()
        node = tmp_path / 'partition'
        os.mknod(node, 0o600 | 0o060000, os.makedev(*map(int, number.split(':'))))
        seek = first // 8 if is_selected else 0
        sums, events = both(
            spawn, ['dd', 'if=/dev/zero', f'of={loop}', 'bs=4k', f'seek={seek}', 'count=20',
                    'oflag=direct', 'conv=notrunc', 'status=none'], 'biolatency', '--device', node)
    finally:
        subprocess.run(['losetup', '-d', loop], check=True)
    assert counts(sums) == counts(events) == ({'latency': 20} if is_selected else {})


def test_requests_that_began_before(loop, spawn):
    """Reads are under way when attar begins: at most some have an unknown start."""
    reading = spawn(*python(REQUESTS, loop, 10 ** 9, 0, 0))
    before = statistics(loop)[0]
    found = report('biolatency', '--in-kernel', 'yes', '--device', loop, '-d', '200ms')
    count = counts(found)['latency']
    after = statistics(loop)[0]
    reading.kill()
    assert 0 < count <= after - before + 2
    unknown = [r for r in found['remarks'] if r.startswith('completed requests whose start')]
    assert not unknown or int(unknown[0].split()[-1]) <= 2


@pytest.mark.parametrize('options, why', [
    (['--queued'], 'needs each event'), (['-C', '0'], 'on all CPUs only'),
    (['-p', '1'], 'whole system only'), (['--cgroups', '/'], 'needs each event')])
def test_single_requests_are_refused_with_the_reason(options, why):
    done = run('biolatency', '-d', '10ms', '--in-kernel', 'yes', *options)
    assert done.returncode in (2, 4) and why in done.stderr
    assert not is_in_kernel(report('biolatency', '-d', '10ms', *options))


def test_auto():
    assert is_in_kernel(report('biolatency', '-d', '10ms'))
    assert not is_in_kernel(report('biolatency', '-d', '10ms', '--in-kernel', 'no'))
    done = run('biosnoop', '-d', '10ms', '--in-kernel', 'yes')
    assert done.returncode == 4 and 'cannot be counted in the kernel' in done.stderr


# ---- interrupts of devices ----

SYNCS = '''
import os, sys
def copy(name):
    with open("/proc/interrupts") as source, open(name, "w") as file:
        file.write(source.read())
copy(sys.argv[2])
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for i in range(100):
    os.write(fd, b"x")
    os.fsync(fd)
copy(sys.argv[3])
'''


def interrupts(path='/proc/interrupts'):
    """The numbers of /proc/interrupts, or of a copy, by the name of the handler."""
    text = Path(path).read_text()
    cpus, found = text.partition(':')[0].count('CPU'), {}
    for words in map(str.split, text.splitlines()):
        if words[1:] and words[0].endswith(':') and words[0][:-1].isdigit():
            found[words[-1]] = found.get(words[-1], 0) + sum(map(int, words[1:cpus + 1]))
    return found


def test_hardirqs(spawn, tmp_path):
    """The names and numbers of /proc/interrupts, and of the events."""
    file, began, ended = ATTAR.parent / 'hardirqs.tmp', tmp_path / 'began', tmp_path / 'ended'
    before = interrupts()
    (sums,), (events,), = watch(spawn, [sys.executable, '-c', SYNCS, file, began, ended],
                                ('hardirqs', '--in-kernel', 'yes'),
                                ('hardirqs', '--in-kernel', 'no'))
    after = interrupts()
    file.unlink()
    assert is_in_kernel(sums) and not is_in_kernel(events) and sums['notes']['lost'] == 0
    of_sums, of_events = ({row['comm']: row for row in rows(found, 'pairs')}
                          for found in (sums, events))
    if not of_sums:
        pytest.skip('no device interrupted this machine')
    inside, outside = ({name: new[name] - old[name] for name in new} for old, new in (
        (interrupts(began), interrupts(ended)), (before, after)))
    missing = events['notes'].get('missing', 0) + events['notes']['lost']
    for name, count in inside.items():
        # some virtual machines do not report each interrupt, which only the other way tells
        calls = of_sums.get(name, {'calls': 0})['calls']
        assert count - 2 - missing <= calls <= outside[name], name
    assert sum(row['calls'] for row in of_sums.values()) > sum(inside.values()) / 2
    for name, row in of_sums.items():
        if row['calls'] < 50:
            continue
        other = of_events[name]
        # the events are written between the clock reads of their run, and not of the program
        assert row['p50'] < 1.5 * other['p50'] + 5000
        assert row['p50'] > other['p50'] / 8
        assert row['min'] <= row['p50'] <= row['max'] <= row['total']


@pytest.mark.parametrize('comm, is_counted', [('name', True), ('irq', False)])
def test_names_of_handlers_only(comm, is_counted):
    """What is named by other fields of the event needs the event."""
    found = report('multi-trace', '--perins', '-d', '10ms',
                   '-e', f'irq:irq_handler_entry//key={{_cpu,irq}}/comm={comm}/',
                   '-e', 'irq:irq_handler_exit//key={_cpu,irq}/')
    assert is_in_kernel(found) == is_counted


@pytest.mark.parametrize('profiler', ['hardirqs', 'softirqs'])
def test_interrupts_of_tasks_need_events(profiler):
    done = run(profiler, '--in-kernel', 'yes', '--', 'true')
    assert done.returncode == 4 and 'interrupts are counted for the whole system' in done.stderr
