# SPDX-License-Identifier: MIT
"""
Switches whose samples are not delivered: they are made from the kernel's records of switches, live
and of recordings of perf record --switch-events and attar record.
"""
import json
import os
import subprocess
import sys

import pytest

from command import ATTAR, has, run, workload
from perf_pipe import SWITCH_CPU_WIDE, Pipe
from perf_prof_machine import rows_of
from scripts import lacks_events, report, rows

pytestmark = pytest.mark.usefixtures('root')

SLEEPS = 200
CPUS = sorted(os.sched_getaffinity(0))[:4]
# Prints the PID of a program and how often it gave up a CPU: without its end, or with it.
COUNTED = '''
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], {})
print(pid, os.wait4(pid, 0)[2].ru_nvcsw, flush=True)
'''
SLEEPER = [workload('sleeps'), str(SLEEPS), '2']


def states(found, tid):
    """The number of segments and the time of each state, without what came before the exec."""
    return {r['state']: (r['count'], r['total']) for r in rows(found, 'task-state')
            if r['tid'] == tid and r['comm'] == 'sleeps'}


@pytest.mark.parametrize('cpu', [*CPUS, None])
def test_every_sleep_is_found(cpu, tmp_path):
    """As many as the kernel counts, on each CPU that the program is bound to, and free to move."""
    on = [] if cpu is None else ['taskset', '-c', str(cpu)]
    whole = 0
    for _ in range(5):
        out = tmp_path / 'out'
        found = report('task-state', '--perins', '--rows', 0, '-m', 1024, '--', *on, 'sh', '-c',
                       'exec "$0" "$@" >' + str(out), sys.executable, '-I', '-S', '-c', COUNTED,
                       *SLEEPER)
        if found['notes']['lost']:  # the machine is busy
            continue
        whole += 1
        tid, switches = map(int, out.read_text().split())
        blocked = [r['count'] for r in rows(found, 'task-state')
                   if r['tid'] == tid and r['state'] in 'SDI']
        assert sum(blocked) in (switches, switches - 1), found['remarks']
        assert switches >= SLEEPS - 2
        assert 'left out' not in str(found.get('remarks'))
    assert whole


@pytest.mark.parametrize('cpu', [*CPUS, None])
def test_every_block_is_counted(cpu):
    """Also blocks whose wakeup is not delivered, with the time in which the thread waits to run."""
    on = [] if cpu is None else ['taskset', '-c', str(cpu)]
    whole = 0
    for _ in range(5):
        found = report('offcpu', '--rows', 0, '-m', 1024, '--', *on, *SLEEPER)
        if found['notes']['lost']:  # the machine is busy
            continue
        whole += 1
        row, = [r for r in rows(found, 'threads') if r['comm'] == 'sleeps']
        assert row['count'] in (SLEEPS, SLEEPS + 1), found['remarks']
        assert row['total'] >= SLEEPS * 2_000_000
    assert whole


@pytest.mark.skipif(len(CPUS) < 2, reason='needs two CPUs')
def test_none_is_made_on_excluded_cpus():
    """The records of switches are of all CPUs, and programs sleep on the first and the last one."""
    for only in (CPUS[0], CPUS[-1]):
        ended = run('trace', '-a', '-m', 1024, '-e', f'sched:sched_switch//cpus={only}/',
                    '--format', 'json', '--', 'sh', '-c',
                    ''.join(f'taskset -c {cpu} "$@" & ' for cpu in CPUS) + 'wait', 'sh', *SLEEPER)
        assert ended.returncode == 0, ended.stderr
        cpus = [cpu for cpu, in rows_of(ended.stdout, 'events', 'cpu')]
        assert set(cpus) == {only} and len(cpus) >= SLEEPS


@pytest.fixture(scope='module', params=['perf', 'attar'])
def recorded(request):
    """With the records of all switches of the program: the kernel does not always deliver them."""
    if not has('perf') and request.param == 'perf':
        pytest.skip('perf is not installed')
    tool, pages = ('perf', '8M') if request.param == 'perf' else (ATTAR, '2048')
    for _ in range(10):
        out = subprocess.run(
            [tool, 'record', '-q', '-a', '-m', pages,
             *(['--switch-events'] if tool == 'perf' else []),
             '-o', '-', '-e', 'sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new', '--',
             'taskset', '-c', str(CPUS[-1]), *SLEEPER],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        pipe = Pipe(out)
        if pipe.switches() >= 2 * SLEEPS:
            return pipe
    raise AssertionError(f'{pipe.switches()} records of {2 * SLEEPS} switches or more')


@pytest.mark.parametrize('added, args', [
    (True, ['-a', '-e', 'sched:sched_switch']),
    (True, ['-C', '0', '-e', 'sched:sched_wakeup,sched:sched_switch']),
    (True, ['-a', '-e', 'dummy', '--switch-events']),
    (False, ['-a', '-e', 'sched:sched_switch', '--no-switch-events']),
    (False, ['-a', '-e', 'sched:sched_wakeup']),
    (False, ['-a', '-e', 'sched:sched_switch/prev_prio<50/']),
    (False, ['-p', str(os.getpid()), '-e', 'sched:sched_switch']),
])
def test_records_of_switches_are_added(added, args):
    """Where they complete the samples, and only there unless they are asked for."""
    with subprocess.Popen(['taskset', '-c', '0', 'sh', '-c',
                           'while sleep 0.01; do :; done']) as switching:
        done = subprocess.run([ATTAR, 'record', '-q', '-o', '-', '-d', '100ms', *args],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        switching.kill()
    kinds = {kind for kind, _ in Pipe(done.stdout).records}
    assert (SWITCH_CPU_WIDE in kinds) == added, kinds


@pytest.mark.parametrize('share', [0, 0.01, 0.1, 0.5])
def test_recording_with_fewer_samples(recorded, share, tmp_path):
    """
    The states of a program stay the same; its times differ by a few switches. If the kernel did
    not deliver the records of some, nothing stands in for their samples.
    """
    def states_of(share, seed):
        path = tmp_path / 'x.data'
        path.write_bytes(recorded.without(share, seed))
        found = report('task-state', '--perins', '--rows', 0, '--input', path)
        tid, = {r['tid'] for r in rows(found, 'task-state') if r['comm'] == 'sleeps'}
        return states(found, tid), found

    whole, found = states_of(0, 0)
    assert whole['S'][0] >= SLEEPS - 2 or lacks_events(found)
    slack = SLEEPS * 0.02 if 'not deliver' in str(found.get('remarks')) else 0
    for seed in range(5):
        fewer, _ = states_of(share, seed)
        assert fewer.keys() == whole.keys()
        for state in fewer:
            assert fewer[state][0] == pytest.approx(whole[state][0], abs=slack), (state, seed)
            assert fewer[state][1] == pytest.approx(
                whole[state][1], abs=SLEEPS * 20000 + slack * 3000000)


def test_events_of_a_recording(recorded, tmp_path):
    """The event itself, too, not only profilers of the scheduler."""
    path = tmp_path / 'x.data'
    path.write_bytes(recorded.without(1, 0))
    whole, none = tmp_path / 'whole.data', report('top', '-e', 'sched:sched_switch//key=next_pid/',
                                                  '--rows', 0, '--input', path)
    whole.write_bytes(recorded.without(0, 0))
    tid, = {r['tid'] for r in rows(report('task-state', '--perins', '--rows', 0, '--input', whole),
                                   'task-state') if r['comm'] == 'sleeps'}
    counted, = (r['sched:sched_switch'] for r in rows(none, 'top') if r['next_pid'] == tid)
    assert counted >= SLEEPS - 2


@pytest.mark.parametrize('words', [(), ('-N', '7')])
def test_made_samples_are_counted(recorded, words, tmp_path):
    """Each line is a sample seen, and a remark has the number of those that were made."""
    path = tmp_path / 'x.data'
    path.write_bytes(recorded.without(1, 0))
    ended = subprocess.run([ATTAR, 'trace', '-e', 'sched:sched_switch', '--format', 'json',
                            '--input', path, *words], capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    lines = sum(len(s['rows']) for r in found for s in r['sections'] if s['kind'] == 'events')
    assert lines == 7 if words else lines >= SLEEPS
    assert found[-1]['notes']['seen'] == lines
    assert (f'{lines} samples of sched:sched_switch that the kernel did not deliver were made from '
            'its records of context switches') in found[-1]['remarks']
