# SPDX-License-Identifier: MIT
"""attar cachestat and swapin: scripted counts, and the sentence of a kernel without kprobes."""
import os

import pytest

from command import run
from scripts import of_script, rows

EVENTS = ('probe:folio_mark_accessed', 'probe:filemap_add_folio',
          'writeback:writeback_dirty_folio', 'probe:mark_buffer_dirty')


def script(accessed, added, pages, buffers, names=EVENTS):
    counts = zip(names, (accessed, added, pages, buffers))
    return ''.join(f'event {name} counted\n' for name in names) + (
        '1 0 0/0 - count ' + ' '.join(f'{name}={n}' for name, n in counts) + '\n')


@pytest.mark.parallel
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


@pytest.mark.parallel
def test_names_of_older_kernels(tmp_path):
    older = ('probe:mark_page_accessed', 'probe:add_to_page_cache_lru',
             'writeback:writeback_dirty_page', 'probe:mark_buffer_dirty')
    row, = rows(of_script(tmp_path, script(9, 4, 1, 2, older), 'cachestat'), 'page cache')
    assert (row['hits'], row['misses']) == (4, 3)


@pytest.mark.parallel
def test_a_recording_without_its_events(tmp_path):
    path = tmp_path / 'a.script'
    path.write_text('# attar script\nevent a:b\n1 0 1/1 x a:b\n')
    ended = run('cachestat', '--input', path)
    assert ended.returncode == 4
    assert "cachestat counts 'probe:folio_mark_accessed', which the recording does not have" in \
        ended.stderr


@pytest.mark.parallel
def test_swapin(tmp_path):
    text = 'event probe:swap_read_folio\n' + ''.join(
        f'1.{i:09d} 0 {7 + i % 3 // 2}/{7 + i % 3 // 2} c{i % 3 // 2} probe:swap_read_folio\n'
        for i in range(9))
    found = rows(of_script(tmp_path, text, 'swapin', '-e', 'probe:swap_read_folio'), 'top')
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
