# SPDX-License-Identifier: MIT
"""
attar irq-off and watchdog in a guest, in which a module (tests/vm/modules/hold.c) keeps interrupts
or tasks from running on CPU 1 for a known time.
"""
import json

import pytest

import guest
from command import ATTAR
from scripts import rows

S = 1000000000


def reports_in_guest(*commands):
    """Run attar for each (arguments, hold's parameters); return the reports of each."""
    module = guest.output_of('module', 'hold')
    runs = '\n'.join(
        f"{ATTAR} {words} -g --format json -- taskset -c 1 sh -c 'insmod {module} {held}; true'\n"
        'echo END' for words, held in commands)
    ended = guest.run('debian', 'sh', '-c', f'echo 4 >/proc/sys/kernel/watchdog_thresh\n{runs}',
                      cwd=guest.ROOT)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return [[json.loads(line) for line in part.splitlines() if line.startswith('{')]
            for part in ended.stdout.split('END\n')[:-1]]


def lines(found, name):
    return [row for report in found for section in report['sections'] if section['name'] == name
            for row in rows(report, name)]


def check_irqs(found):
    """Interrupts are disabled three times for three seconds; a busy host may add to that."""
    late = lines(found, 'late timers')
    assert [(row['cpu'], row['comm']) for row in late] == [(1, 'insmod')] * 3
    for row in late:
        assert 2.95 * S < row['irqs off'] < 4 * S
        assert 'hold_irqs' in row['detail'][0]
    first, second = lines(found, 'irq-off')
    assert (first['count'], second['count']) == (0, 3)
    assert second['total'] == sum(row['irqs off'] for row in late)
    hold = next(f for f in lines(found, 'functions') if f['symbol'] == 'hold_irqs')
    assert hold['self'] == 100


def check_lockup(found, kind, column, reported, held):
    """It is reported once, after half of the kernel's limit; then the CPU recovers."""
    (line,) = lines(found, 'lockups')
    assert (line['lockup'], line['cpu']) == (kind, 1)
    assert reported <= line['since'] < held
    assert line['since'] + line['kernel reports in'] == 2 * reported
    (_, cpu) = lines(found, 'cpus')
    assert held - S / 4 < cpu[column] < held + S
    return line


@pytest.mark.guest('debian')
def test_a_cpu_that_is_held_for_a_known_time():
    """
    Repeated if functions of the module have no names: an emulated CPU can need more time to read
    all names than the module is loaded.
    """
    for _ in range(3):
        irqs, soft, hard = reports_in_guest(
            ('irq-off --period 10ms --than 2s', 'what=irqs ms=3000 times=3'),
            ('watchdog -F 10', 'what=tasks ms=7500'),
            ('watchdog -F 10', 'what=irqs ms=3000'))
        if not any('[unknown]' in row['detail'][0]
                   for row in lines(irqs, 'late timers') + lines(soft, 'lockups')):
            break
    check_irqs(irqs)
    line = check_lockup(soft, 'soft', 'longest in kernel', 4 * S, 7.5 * S)
    # The kernel does not unwind from the indirect calls of its clock (retpolines).
    assert line['comm'] == 'insmod' and any(
        'hold_tasks' in t or 'indirect_thunk' in t for t in line['detail']), line
    check_lockup(hard, 'hard', 'longest without timer', 2 * S, 3 * S)
