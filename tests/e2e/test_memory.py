# SPDX-License-Identifier: MIT
"""Memory runs out at any allocation: the result is complete, or is marked as incomplete, or attar
exits with status 1 and a message."""
import json
import math
import random
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from command import ATTAR, Profile, workload
from faults import counted, messages_of, sanitized, with_fault

MOMENTS = 60
# Runs at a time: doctor waits for an idle CPU, up to two seconds.
AT_A_TIME = {'doctor': 8}
# Messages of a run that continued with less memory.
INCOMPLETE = re.compile('out of memory|Cannot allocate memory|rings of .* not')


def profile_is_whole(text, _):
    found = Profile(text)
    whole = found.samples
    # The dynamic linker has no frame pointers: its frames may be a loop that the kernel cuts.
    remarks = [r for r in found.remarks if 'the kernel cuts stacks' not in r]
    # Few samples: allow 4.5 standard deviations.
    return whole > 20 \
        and abs(found.own('heavy') / whole - 0.7) < 4.5 * math.sqrt(0.7 * 0.3 / whole) \
        and found.notes['lost'] == 0 and not remarks


def stat_is_whole(text, _):
    return counted(text, 'raw_syscalls:sys_enter') > 23 and not json.loads(text).get('remarks')


def trace_is_whole(text, _):
    reports = [json.loads(line) for line in text.splitlines()]
    lines = sum(len(section['rows']) for report in reports for section in report['sections'])
    return lines == 1000 and not any(report.get('remarks') for report in reports)


def is_the_same(text, reference):
    return text == reference


def doctor_is_the_same(text, reference):
    """Which events the kernel delivers, and of how many tasks, varies from run to run."""
    delivery = re.compile(r'(?m)^\S+ +(?:delivery|tasks) .*\n(?: +.*\n)*')
    return delivery.sub('', text) == delivery.sub('', reference)


COMMANDS = {
    'profile': (['profile', '-F', 1997, '-g', '--unwind', 'fp', '--exclude-kernel', '--format',
                 'json', '--', workload('split7030'), 125],
                profile_is_whole),
    'stat': (['stat', '--format', 'json', '-e', 'raw_syscalls:sys_enter,cpu-clock', '--',
              workload('wakeups23')],
             stat_is_whole),
    'trace': (['trace', '--format', 'json', '-e', 'page-faults', '-N', 1000, '--',
               workload('faults1000')],
              trace_is_whole),
    'list': (['list'], is_the_same),
    'doctor': (['doctor'], doctor_is_the_same),
    'help': (['profile', '-h'], is_the_same),
    'fields': (['trace', '-e', 'sched:sched_switch', 'help'], is_the_same),
    'completion': (['completion', 'zsh'], is_the_same),
}


def judge(done, is_whole, reference, moment):
    if done.returncode == 0:
        text_is_whole = is_whole(done.stdout, reference)
        assert text_is_whole or INCOMPLETE.search(done.stderr + done.stdout), \
            (moment, done.stderr, done.stdout[-500:])
        return
    assert done.returncode == 1, (moment, done.returncode, done.stderr)
    assert INCOMPLETE.search(messages_of(done)[-1]), (moment, done.stderr)


@pytest.mark.parametrize('later', ['', '+'], ids=['once', 'for good'])
@pytest.mark.parametrize('name', COMMANDS)
def test_failed_allocation_is_reported(name, later, root, tmp_path):
    args, is_whole = COMMANDS[name]
    counted = tmp_path / 'count'
    reference = with_fault('alloc', *args, count=counted)
    assert reference.returncode == 0 and is_whole(reference.stdout, reference.stdout), \
        reference.stderr
    allocations = int(counted.read_text())
    rng = random.Random(f'{name}{later}')
    moments = sorted(rng.sample(range(1, allocations + 1), min(MOMENTS, allocations)))
    with ThreadPoolExecutor(AT_A_TIME.get(name, 1)) as pool:
        runs = pool.map(lambda k: with_fault('alloc', *args, alloc=f'{k}{later}'), moments)
        for k, done in zip(moments, runs):
            judge(done, is_whole, reference.stdout, f'allocation {k} of {allocations}')


def test_every_failed_allocation_of_an_event_is_reported(tmp_path):
    """So many terms that the list of strings has to grow when the options are passed on."""
    args = ['trace', '-e', 'cpu-clock/time=1,inherit,no-inherit,overwrite,percore/', 'help']
    counted = tmp_path / 'count'
    reference = with_fault('alloc', *args, count=counted)
    assert reference.returncode == 0, reference.stderr
    for k in range(1, int(counted.read_text()) + 1):
        judge(with_fault('alloc', *args, alloc=str(k)), is_the_same, reference.stdout,
              f'allocation {k}')


@pytest.mark.usefixtures('root')
def test_a_limit_of_the_address_space_is_named():
    """Too small for the tables of symbols: what was not made, why, and how to change it."""
    if sanitized():
        pytest.skip('sanitizers need more address space')
    for limit in range(14000, 10000, -250):  # how much is needed depends on the symbols
        done = subprocess.run(['sh', '-c', f'ulimit -v {limit} && exec {ATTAR} wall -d 100ms'],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            break
    assert done.returncode == 1
    assert re.fullmatch(r'attar: .*; the address space of this '
                        rf'process is limited to {limit} KiB: raise the limit \(ulimit -v\)',
                        done.stderr.splitlines()[-1])
