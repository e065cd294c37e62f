# SPDX-License-Identifier: MIT
"""ldlat-loads and ldlat-stores: samples of memory accesses, on scripts without PEBS or IBS."""
import json

import pytest

from command import run
from scripts import of_script, rows

pytestmark = pytest.mark.quick

# union perf_mem_data_src: the operation in the lowest bits, the level from bit 5 on.
LOAD, STORE, OTHER = 2, 4, 1
RAM = 'load, local RAM hit'
L1_HIT, RAM_HIT, L3_HIT = (2 | 8) << 5, (2 | 0x80) << 5, (2 | 0x40) << 5
SCRIPT = f'''event cpu/mem-loads/ sampled
1.0 0 7/7 a cpu/mem-loads/ weight=4 data_src={LOAD | L1_HIT} addr=0x1000
1.1 0 7/8 b cpu/mem-loads/ weight=6 data_src={LOAD | L1_HIT} addr=0x1008
1.2 1 7/8 b cpu/mem-loads/ weight=300 data_src={LOAD | RAM_HIT} addr=0x2000 phys=0x99000
1.3 1 7/8 b cpu/mem-loads/ weight=2 data_src={LOAD | L1_HIT}
1.4 1 7/8 b cpu/mem-loads/ weight=1000 data_src={OTHER}
1.5 1 7/8 b cpu/mem-loads/ weight=0 data_src={STORE | L3_HIT}
'''


def values(found, name='accesses'):
    return [tuple(row.values()) for row in rows(found, name)]


def test_loads(tmp_path):
    """A load of 2 cycles is below the default of --ldlat, and other operations are not loads."""
    found = of_script(tmp_path, SCRIPT, 'ldlat-loads')
    assert values(found) == [(RAM, 1, 300, 300, 300, 300, 300),
                             ('load, L1 hit', 2, 10, 4, 5, 6, 6)]
    assert {(r['low'], r['count']) for r in rows(found, 'cycles') if r['count']} == {
        (4, 2), (256, 1)}


def test_threshold(tmp_path):
    found = of_script(tmp_path, SCRIPT, 'ldlat-loads', '--ldlat', '1')
    assert [(r[0], r[1]) for r in values(found)] == [(RAM, 1), ('load, L1 hit', 3)]
    found = of_script(tmp_path, SCRIPT, 'ldlat-loads', '--ldlat', '5')
    assert [(r[0], r[1]) for r in values(found)] == [(RAM, 1), ('load, L1 hit', 1)]


def test_by_cpu_and_thread(tmp_path):
    found = of_script(tmp_path, SCRIPT, 'ldlat-loads', '--perins')
    assert [r[:3] for r in values(found)] == [
        (1, RAM, 1), (0, 'load, L1 hit', 2)]
    found = of_script(tmp_path, SCRIPT, 'ldlat-loads', '--perins', '-p', '7')
    assert [r[:4] for r in values(found)] == [
        (8, 'b', RAM, 1), (8, 'b', 'load, L1 hit', 1), (7, 'a', 'load, L1 hit', 1)]


def test_slow_loads(tmp_path):
    path = tmp_path / 'test.script'
    path.write_text('# attar script\nwall 1000\n' + SCRIPT)
    ended = run('ldlat-loads', '--input', path, '--format', 'json', '--than', '6')
    first = json.loads(ended.stdout.splitlines()[0])
    assert [row[:8] for row in values(first, 'slow accesses')] == [
        (1001200000000, 'b', 8, 1, 300, 0x2000, 0x99000, RAM)]


def test_stores(tmp_path):
    found = of_script(tmp_path, SCRIPT, 'ldlat-stores')
    assert values(found) == [('store, L3 hit', 1, 0, 0, 0, 0, 0)]


@pytest.mark.parametrize('profiler', ['ldlat-loads', 'ldlat-stores'])
def test_without_the_hardware(root, profiler):
    ended = run(profiler, '-d', '10ms')
    if ended.returncode == 0:
        pytest.skip('this machine has PEBS or IBS')
    assert ended.returncode == 4
    assert 'PEBS' in ended.stderr and 'IBS' in ended.stderr or 'mem-loads-aux' in ended.stderr


@pytest.mark.parametrize('line, sentence', [
    ('event x sampled frame', 'NAME:TYPE'), ('event x', 'with counted or sampled')])
def test_bad_scripts(tmp_path, line, sentence):
    path = tmp_path / 'test.script'
    path.write_text(f'# attar script\n{line}\n')
    ended = run('ldlat-loads', '--input', path)
    assert ended.returncode == 1 and sentence in ended.stderr, ended.stderr
