# SPDX-License-Identifier: MIT
"""Hardware counters in a guest where every instruction is one cycle and is counted exactly."""
import json
import re
import subprocess

import pytest

import guest
import kperf_readme
from command import ROOT, Profile
from scripts import rows_of

pytestmark = [pytest.mark.guest('arm64'), pytest.mark.xdist_group('hardware')]  # one boot for all

LOOPS = [1, 1000001, 10000001]
PERIOD = 1000003

# The example of libkperf's README, with a loop of known length in place of its sleep.
KPERF = r'''
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "pmu.h"

int main(int argc, char **argv)
{
    int pidList[1];
    pidList[0] = getpid();
    char *evtList[2];
    evtList[0] = "cycles";
    evtList[1] = "instructions";
    PmuAttr attr = {0};
    attr.evtList = evtList;
    attr.numEvt = 2;
    attr.pidList = pidList;
    attr.numPid = 1;
    attr.excludeKernel = 1;
    int pd = PmuOpen(COUNTING, &attr);
    for (int i = 1; i < argc; i++) {
        unsigned long n = strtoul(argv[i], NULL, 10);
        PmuEnable(pd);
        __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
        PmuDisable(pd);
        PmuData *data = NULL;
        int len = PmuRead(pd, &data);
        printf("%s", argv[i]);
        for (int j = 0; j < len; ++j)
            printf(" %s %lu", data[j].evt, data[j].count);
        printf("\n");
        PmuDataFree(data);
    }
    PmuClose(pd);
    return 0;
}
'''

# The same in Python: a program is counted from its exec on.
KPERF_PYTHON = '''
import ctypes, subprocess, sys
build, turns = sys.argv[1:3]
sys.path.insert(0, build + '/python')
ctypes.CDLL(build + '/kperf/libkperf.so')
import kperf
for n in sys.argv[3:]:
    with subprocess.Popen(['sh', '-c', 'echo; read go; exec "$0" "$1"', turns, n],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.read(1)  # its own exec is over
        pd = kperf.open(kperf.PmuTaskType.COUNTING, kperf.PmuAttr(
            evtList=['r8', 'cycles'], pidList=[child.pid], excludeKernel=True, enableOnExec=True))
        child.stdin.write(b'\\n')
        child.stdin.close()
        child.wait()
    print(n, *(f'{data.evt} {data.count}' for data in kperf.read(pd).iter))
    kperf.close(pd)
'''


def rows(path, name='counts'):
    report = json.loads(path.read_text())
    section = next(s for s in report['sections'] if s['name'] == name)
    return rows_of(section)


def kperf_program(folder, name, text, build):
    (folder / f'{name}.c').write_text(text)
    subprocess.run(['aarch64-linux-gnu-gcc', f'--sysroot={guest.output_of("arm64-sysroot")}', '-O1',
                    '-o', folder / name, folder / f'{name}.c', f'-I{ROOT}/kperf',
                    f'-L{build}/kperf', '-lkperf', f'-Wl,-rpath,{build}/kperf:{build}/src',
                    f'-Wl,-rpath-link,{build}/src'], check=True)


def kperf_commands(folder, build, turns):
    """Build the programs; return the commands that count in C and in Python."""
    kperf_program(folder, 'kperf', KPERF, build)
    kperf_program(folder, 'readme', kperf_readme.c_program(), build)
    (folder / 'loops.py').write_text(KPERF_PYTHON)
    (folder / 'readme.py').write_text(kperf_readme.PYTHON)
    loops = ' '.join(map(str, LOOPS))
    python = f'LD_LIBRARY_PATH={build}/kperf:{build}/src PYTHONPATH={build}/python python3'
    return [f'{folder}/kperf {loops} >{folder}/kperf.out',
            f'python3 {folder}/loops.py {build} {turns} {loops} >{folder}/python.out',
            'echo 1 >/proc/sys/kernel/perf_user_access',
            f'CMOCKA_MESSAGE_OUTPUT=TAP {build}/kperf/tests/kperf_pmu >{folder}/pmu.out || true',
            f'{turns} 1000000000000 & spinner=$!',
            f'{folder}/readme $spinner >{folder}/readme.out',
            f'{python} {folder}/readme.py >{folder}/readme.py.out', 'kill $spinner']


@pytest.fixture(scope='module')
def out(tmp_path_factory):
    """The folder with the reports; one boot for all tests."""
    folder = tmp_path_factory.mktemp('arm64')
    build = guest.cross_build()
    attar, turns = build / 'src/cli/attar', build / 'tests/workloads/turns'
    many = ','.join(['instructions:u', 'cycles:u'] * 6)
    lines = ['set -e']
    for n in LOOPS:
        lines += [f"{attar} stat -q -o {folder}/{n}.json -e instructions:u,cycles:u -- {turns} {n}",
                  f"{attar} stat -q -o {folder}/group{n}.json -e "
                  f"'{{instructions:u,page-faults,cycles:u}}' "
                  f"-- {turns} {n}"]
    lines += [f'{attar} stat -q -o {folder}/many.json -e {many} -- {turns} 200000000',
              f"{attar} profile -q -o {folder}/profile.json -e cycles/period={PERIOD}/u -- {turns} "
              "50000000"]
    lines += [f'{turns} 1000000000000 & spinner=$!',
              *(f'{attar} hwstat -q -o {folder}/hwstat{n}.json -- {turns} {n}' for n in LOOPS),
              f'{attar} cpu-util -q -o {folder}/util.json -- {turns} 250000000',
              'kill $spinner', *kperf_commands(folder, build, turns)]
    ended = guest.run('arm64', 'sh', '-c', '\n'.join(lines))
    assert ended.returncode == 0, ended.stderr
    return folder


def test_loops_are_counted_exactly(out):
    """
    A longer loop has two more instructions per iteration; start and end differ by a few branches.
    """
    short, *longer = ({row['event']: row for row in rows(out / f'{n}.json')} for n in LOOPS)
    for n, found in zip(LOOPS[1:], longer):
        for event in ('instructions:u', 'cycles:u'):
            assert found[event]['quality'] == 'exact'
            more = found[event]['value'] - short[event]['value']
            assert abs(more - 2 * (n - LOOPS[0])) < 2000, (event, n)
        assert found['cycles:u']['value'] == pytest.approx(found['instructions:u']['value'],
                                                           abs=2000)
        assert found['instructions:u']['ratio'] == pytest.approx(1, abs=0.01) # per cycle


def test_siblings_of_another_pmu_count(out):
    for n in LOOPS:
        instructions, faults, cycles = rows(out / f'group{n}.json')
        assert {row['quality'] for row in (instructions, faults, cycles)} == {'exact'}
        # on the CPU at the same time, so their counts are equal
        assert instructions['value'] == cycles['value']
        assert 2 * n < instructions['value'] < 2 * n + 200000
        assert 20 < faults['value'] < 200


def test_more_events_than_counters_are_scaled(out):
    found = rows(out / 'many.json')
    assert len(found) == 12
    for row in found:
        assert row['quality'] == 'scaled'
        assert row['counted'] < 90
        assert row['value'] == pytest.approx(400000000, rel=0.03)


def test_sampled_at_the_exact_period(out):
    found = Profile((out / 'profile.json').read_text())
    assert abs(found.notes['seen'] - 100000000 // PERIOD) <= 1
    assert found.own('main') >= found.samples - 1
    assert found.notes['lost'] == 0


def test_cycles_of_a_cpu(out):
    """A CPU that is never idle: each instruction is a cycle, and each cycle a nanosecond."""
    for n in LOOPS:
        (found,) = rows(out / f'hwstat{n}.json', 'cpus')
        time = json.loads((out / f'hwstat{n}.json').read_text())['interval_ns']
        assert found['cpu'] == 0 and found['counted'] == 100
        assert found['cycles'] == found['instructions'] and found['IPC'] == 1
        assert 0.99 * time < found['cycles'] <= time + 20000  # enabled before the time begins
        assert found['cycles'] > 2 * n
        assert rows(out / f'hwstat{n}.json', 'total')[0]['cycles'] == found['cycles']


def test_cycles_beside_shares_of_time(out):
    """The kernel's ticks of 10 ms are those of the clock that the cycles follow."""
    (found,) = rows(out / 'util.json', 'cpus')
    time = json.loads((out / 'util.json').read_text())['interval_ns']
    assert 0.99 * time < found['cycles'] <= time + 20000  # enabled before the time begins
    assert found['time'] == pytest.approx(time, abs=2e7)
    assert found['user'] > 90 and found['idle'] == 0


@pytest.mark.parametrize('language', ['kperf', 'python'])
def test_libkperf_counts_exactly(out, language):
    """The loop is all that differs between the counts."""
    counts = [line.split() for line in (out / f'{language}.out').read_text().splitlines()]
    assert [int(words[0]) for words in counts] == LOOPS
    names = ['cycles', 'instructions'] if language == 'kperf' else ['r8', 'cycles']
    short, *longer = ([int(number) for number in words[2::2]] for words in counts)
    for words in counts:
        assert words[1::2] == names
    for n, found in zip(LOOPS[1:], longer):
        more = [value - first for value, first in zip(found, short)]
        # start and end of a program differ by a few branches; its first call looks up a name
        assert more == pytest.approx([2 * (n - LOOPS[0])] * 2, abs=2000)
    if language == 'kperf':
        more = [value - first for value, first in zip(longer[1], longer[0])]
        assert more == [2 * (LOOPS[2] - LOOPS[1])] * 2


def test_the_readme_of_libkperf(out):
    """A second is a thousand million cycles, which a program that never sleeps has nearly all."""
    row, length = (out / 'readme.out').read_text().splitlines()
    name, pid, count = row.split()
    assert (name, length) == ('cycles', '1') and int(pid) > 0
    assert 0.9e9 < int(count) < 1.05e9
    text = (out / 'readme.py.out').read_text()
    counts = re.findall(r'^event: (\w+) count: (\d+)$', text, re.M)
    assert [name for name, _ in counts] == ['r11', 'cycles'] * 3  # both count cycles
    for _, count in counts:
        assert 0.9e9 < int(count) < 1.5e9
    assert 'event: page-faults\n' in text


def test_counters_of_libkperf(out):
    """kperf/tests/pmu_test.c, all of it: the guest has a PMU."""
    text = (out / 'pmu.out').read_text()
    assert re.findall(r'^(ok|not ok) \d+ - (\w+)(.*)$', text, re.M) == [
        ('ok', name, '') for name in ('a_group_larger_than_the_pmu', 'more_events_than_counters',
                                      'no_room_for_a_group', 'no_room_for_samples',
                                      'without_system_calls')], text
