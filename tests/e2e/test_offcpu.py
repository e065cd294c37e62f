# SPDX-License-Identifier: MIT
"""attar offcpu: blocked time by stack, with wakers."""
import json

import pytest

from command import run, run_delivered, workload
from scripts import rows

SLEEPS, MS = 10, 20
SCRIPT = '''# attar script
event sched:sched_switch stack prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:s64 \
next_comm:char[16] next_pid:pid_t next_prio:int
event sched:sched_waking stack comm:char[16] pid:pid_t prio:int target_cpu:int
'''
BLOCK = '''
1.000000000 0 100/100 worker sched:sched_switch stack=0xa1,0xa2 prev_comm=worker prev_pid=100 \
prev_state=1
1.020000023 1 200/200 server sched:sched_waking stack=0xb1,0xb2 comm=worker pid=100
1.030000000 0 0/0 swapper sched:sched_switch next_comm=worker next_pid=100
1.040000000 0 100/100 worker sched:sched_switch stack=0xa1,0xa3 prev_comm=worker prev_pid=100 \
prev_state=2
1.050000000 0 0/0 swapper sched:sched_waking comm=worker pid=100
1.055000000 0 0/0 swapper sched:sched_switch next_comm=worker next_pid=100
1.060000000 0 100/100 worker sched:sched_switch stack=0xa1,0xa3 prev_comm=worker prev_pid=100
'''


@pytest.fixture(name='script')
def fixture_script(script):
    return lambda text: script(SCRIPT + text)


def reports(*args):
    ended = run_delivered('offcpu', '--format', 'json', *args)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.mark.quick
def test_blocks_to_the_nanosecond(script):
    found = reports('--input', script(BLOCK))[-1]
    assert [(r['tid'], r['comm'], r['count'], r['total'], r['max'])
            for r in rows(found, 'threads')] == [(100, 'worker', 2, 30_000_023, 20_000_023)]
    assert [(r['comm'], r['waker'], r['count'], r['total']) for r in rows(found, 'wakers')] == [
        ('worker', 'server', 1, 20_000_023), ('worker', 'swapper', 1, 10_000_000)]


NO_WAKEUP = BLOCK.replace('comm=worker pid=100\n1.055', 'comm=x pid=99\n1.055')


@pytest.mark.quick
def test_blocks_without_a_wakeup(script):
    """Another task ran on the CPU: the thread was blocked for at most that long."""
    path = script(NO_WAKEUP.replace('1.055000000 0 0/0 swapper sched:sched_switch',
                                    '1.055000000 0 300/300 other sched:sched_switch prev_pid=300'))
    found = reports('--input', path)[-1]
    assert [(r['count'], r['total'], r['unsplit']) for r in rows(found, 'threads')] == [
        (2, 35_000_023, 15_000_000)]
    assert [(r['waker'], r['unsplit']) for r in rows(found, 'wakers')] == [
        ('server', 0), ('[unknown]', 15_000_000)]
    assert ("blocks whose wakeup was not delivered: 1, 15.0 ms in all; their time (column "
            "'unsplit') includes waiting for a CPU") in found['remarks']
    found = reports('--than', '20ms', '--input', path)[-1]
    assert 'unsplit' not in str(found)


@pytest.mark.quick
def test_blocks_that_end_on_an_idle_cpu(script):
    """It may not deliver the wakeup: the thread was blocked until it ran."""
    found = reports('--input', script(NO_WAKEUP))[-1]
    assert [(r['count'], r['total']) for r in rows(found, 'threads')] == [(2, 35_000_023)]
    assert [(r['waker'], r['total']) for r in rows(found, 'wakers')] == [
        ('server', 20_000_023), ('[unknown]', 15_000_000)]
    assert 'left out' not in str(found) and 'unsplit' not in str(found)


@pytest.mark.quick
def test_recording_of_one_thread(script):
    """Without the switches of other threads, no block has an end."""
    leaves = [line for line in BLOCK.splitlines(True) if ' 100/100 ' in line]
    [report] = reports('--input', script(''.join(leaves)))
    assert rows(report, 'threads') == []
    assert ('blocks left out because their end was missed: 1; use recordings of the whole system '
            '(attar record -a)') in report['remarks']


@pytest.mark.quick
def test_stacks_end_with_the_waker(script, tmp_path):
    folded = tmp_path / 'off.folded'
    assert run('offcpu', '-o', folded, '--input', script(BLOCK)).returncode == 0
    found = sorted(line.rpartition(' ') for line in folded.read_text().splitlines())
    assert sum(int(weight) for _, _, weight in found) == 30_000_023
    assert any(stack.endswith(';server') and '-- woken up by' in stack and int(weight) == 20_000_023
               for stack, _, weight in found)
    assert run('offcpu', '--no-waker', '-o', folded, '--input', script(BLOCK)).returncode == 0
    assert 'woken' not in folded.read_text()


@pytest.mark.quick
def test_selections(script):
    found = reports('-D', '--input', script(BLOCK))[-1]
    assert [(r['count'], r['total']) for r in rows(found, 'threads')] == [(1, 10_000_000)]
    found = reports('--than', '10ms', '--input', script(BLOCK))
    lines = [r for report in found for s in report['sections'] if s['name'] == 'blocks'
             for r in rows(report, 'blocks')]
    assert [(r['comm'], r['tid'], r['blocked'], r['waker']) for r in lines] == [
        ('worker', 100, 20_000_023, 'server')]
    assert rows(reports('-p', '200', '--input', script(BLOCK))[-1], 'threads') == []


@pytest.mark.quick
def test_losses_drop_blocks(script):
    lost = BLOCK.replace('1.020000023', '1.010000000 1 200/200 server lost 2\n1.020000023')
    found = reports('--input', script(lost))[-1]
    assert [(r['count'], r['total']) for r in rows(found, 'threads')] == [(1, 10_000_000)]
    assert any('events were lost' in r for r in found['remarks'])


@pytest.mark.usefixtures('root')
def test_process_that_sleeps_all_the_time(spawn):
    """It has no block that ends."""
    process = spawn('sleep', '1000')
    found, = reports('-p', process.pid, '-d', '100ms')
    assert rows(found, 'threads') == []
    row, = rows(found, 'waits that have not ended')
    assert (row['tid'], row['waits for']) == (process.pid, 'a time to pass')
    assert row['at least'] >= 100_000_000


@pytest.mark.usefixtures('root')
def test_sleeps_of_known_length(tmp_path):
    """
    In nanosleep(), called by main(), woken up by the timer's interrupt. Some virtual machines do
    not deliver events of idle CPUs: those blocks are left out, and counted, as lost ones are.
    """
    folded = tmp_path / 'off.folded'
    ended = run('offcpu', '-m', 1024, '--format', 'json', '-o', folded, '--',
                workload('sleeps'), SLEEPS, MS)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    sleeps = next(r for r in rows(found, 'threads') if r['comm'] == 'sleeps')
    missing = found['notes']['missing'] + found['notes']['lost']
    assert SLEEPS - missing <= sleeps['count'] <= SLEEPS + 5
    if not missing:
        assert sleeps['total'] >= SLEEPS * MS * 10**6
    asleep = [line.rpartition(' ') for line in folded.read_text().splitlines()
              if 'nanosleep' in line]
    total = sum(int(weight) for _, _, weight in asleep)
    assert sleeps['count'] // 2 * MS * 10**6 <= total <= sleeps['total']
    assert any('-- woken up by' in stack for stack, _, _ in asleep)


@pytest.mark.usefixtures('root', 'busy_cpus')
def test_page(tmp_path):
    page = tmp_path / 'off.html'
    ended = run('offcpu', '-o', page, '--', workload('sleeps'))
    assert ended.returncode == 0, ended.stderr
    assert 'nanosleep' in page.read_text() and 'woken up by' in page.read_text()
