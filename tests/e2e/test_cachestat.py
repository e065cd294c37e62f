# SPDX-License-Identifier: MIT
"""attar cachestat and swapin: scripted counts, files and swap areas in guests, refusals."""
import json
import os

import pytest

import guest
from command import ATTAR, run, workload
from scripts import of_script, rows

EVENTS = ('probe:folio_mark_accessed', 'probe:filemap_add_folio',
          'writeback:writeback_dirty_folio', 'probe:mark_buffer_dirty')


def script(accessed, added, pages, buffers, names=EVENTS):
    counts = zip(names, (accessed, added, pages, buffers))
    return ''.join(f'event {name} counted\n' for name in names) + (
        '1 0 0/0 - count ' + ' '.join(f'{name}={n}' for name, n in counts) + '\n')


@pytest.mark.parametrize('counts, hits, misses, dirtied, ratio', [
    ((100, 20, 10, 40), 50, 10, 40, 250 / 3),
    ((10, 0, 0, 0), 10, 0, 0, 100),
    ((5, 30, 0, 0), 0, 5, 0, 0),   # more pages were added, by reading ahead, than accessed
    ((3, 1, 2, 9), 0, 0, 9, None)])
def test_counts(tmp_path, counts, hits, misses, dirtied, ratio):
    row, = rows(of_script(tmp_path, script(*counts), 'cachestat'), 'page cache')
    assert (row['hits'], row['misses'], row['dirtied']) == (hits, misses, dirtied)
    assert row['hit ratio'] == (ratio if ratio is None else pytest.approx(ratio))
    assert row['cached'] is None


def test_names_of_older_kernels(tmp_path):
    older = ('probe:mark_page_accessed', 'probe:add_to_page_cache_lru',
             'writeback:writeback_dirty_page', 'probe:mark_buffer_dirty')
    row, = rows(of_script(tmp_path, script(9, 4, 1, 2, older), 'cachestat'), 'page cache')
    assert (row['hits'], row['misses']) == (4, 3)


def test_a_recording_without_its_events(tmp_path):
    path = tmp_path / 'a.script'
    path.write_text('# attar script\nevent a:b\n1 0 1/1 x a:b\n')
    ended = run('cachestat', '--input', path)
    assert ended.returncode == 4
    assert 'cachestat needs counts, and this recording has only samples' in ended.stderr


def test_swapin(tmp_path):
    text = 'event probe:swap_read_folio\n' + ''.join(
        f'1.{i:09d} 0 {7 + i % 3 // 2}/{7 + i % 3 // 2} c{i % 3 // 2} probe:swap_read_folio\n'
        for i in range(9))
    found = rows(of_script(tmp_path, text, 'swapin', '-e', 'probe:swap_read_folio'), 'swapin')
    assert sorted(value for row in found for name, value in row.items()
                  if name == 'probe:swap_read_folio') == [3, 6]


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', ['cachestat', 'swapin'])
def test_kernel_without_kprobes(profiler):
    if os.path.exists('/sys/kernel/tracing/kprobe_events'):
        pytest.skip('this kernel has kprobes')
    ended = run(profiler, '-d', '100ms')
    assert ended.returncode == 4
    assert 'this kernel does not support kprobes' in ended.stderr


# Kernels whose functions have the newer and the older names.
KERNELS = ['x86', 'debian']


def in_guest(kernel, setup, *command):
    """Run attar with a RAM disk /dev/ram0; return its report and the number that COMMAND prints."""
    words = ' '.join(map(str, command))
    ended = guest.run(kernel, 'sh', '-c', f'''set -e
        [ -e /dev/ram0 ] || {{ tests/vm/load brd; tests/vm/load ext4; }}
        {setup}
        {ATTAR} {words}''', cwd=guest.ROOT)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout.splitlines()[-1]), int(ended.stderr)


@pytest.mark.parametrize('kernel', [pytest.param(k, marks=pytest.mark.guest(k)) for k in KERNELS])
def test_a_file_that_is_read_once_cold_and_nine_times_warm(kernel):
    """
    Processes that end mark pages of their files as accessed: some hundred hits more. A page of
    the file system that becomes dirty counts as one miss less.
    """
    found, pages = in_guest(kernel, '''
        mkfs.ext4 -q -O ^has_journal /dev/ram0 && mkdir -p /tmp/disk && mount /dev/ram0 /tmp/disk
        dd if=/dev/urandom of=/tmp/disk/file bs=4096 count=700 status=none
        sync && umount /tmp/disk && mount /dev/ram0 /tmp/disk && ls /tmp/disk >/dev/null''',
        'cachestat', '--format', 'json', '--', workload('readpages'), '/tmp/disk/file', '10')
    row, = rows(found, 'page cache')
    assert pages == 700
    assert 0.99 * pages <= row['misses'] <= 1.1 * pages
    assert 9 * pages * 0.99 <= row['hits'] <= 9 * pages + 1500
    assert 88 < row['hit ratio'] < 93


@pytest.mark.parametrize('kernel, name', [
    pytest.param(k, n, marks=pytest.mark.guest(k))
    for k, n in zip(KERNELS, ['swap_read_folio', 'swap_readpage'])])
def test_pages_that_are_read_from_swap(kernel, name):
    found, absent = in_guest(kernel, '''
        mkswap -f /dev/ram0 >/dev/null 2>&1 && swapon /dev/ram0
        echo 0 >/proc/sys/vm/page-cluster''',
        'swapin', '-e', f'kprobe:{name}', '--format', 'json', '--', workload('swapped'), '500')
    row, = [row for row in rows(found, 'swapin') if 'swapped' in row.values()]
    assert 450 <= absent <= 500  # the kernel does not always move all pages
    assert absent in row.values()
