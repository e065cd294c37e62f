#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Where a command spends its time, which faults it has and what wakes it up, in Python.

    examples/28-python.py PAGE.html COMMAND [ARGUMENTS]

In a notebook, the last line of a cell can be `report`: it shows its flame graph and tables.
"""
import collections
import sys

import attar


def profile(page, command):
    """Print the functions with most samples, and write the page with the flame graph."""
    report = attar.profile(freq=997, stacks=True, command=command).report()
    functions = sorted(report['functions'], key=lambda row: -row['samples'])
    for row in functions[:5]:
        print(f"{row['self']:6.2f} %  {row['symbol']}")
    with open(page, 'w', encoding='utf-8') as out:
        out.write(report.render('html', title=' '.join(command)))


def wakeups(command):
    """Print who woke up threads while the command ran, and which CPUs they were to run on."""
    wakers, cpus = collections.Counter(), collections.Counter()
    with attar.events('sched:sched_wakeup', command=command, all_cpus=True) as events:
        for event in events:
            wakers[event._comm] += 1
            cpus[event.target_cpu] += 1
        print(f"{events.notes['seen']} wakeups, {events.notes['lost']} lost")
    print('by:', wakers.most_common(3), 'on CPU:', dict(cpus))


def faults(pages):
    """Print the page faults of this program while it writes memory."""
    with attar.count('page-faults:u') as counters:
        bytearray(pages * 4096)
    print(f'{counters.value} page faults for {pages} pages')


def main():
    if len(sys.argv) < 3:
        sys.exit('28-python.py: name a page and a command: 28-python.py cpu.html make')
    profile(sys.argv[1], sys.argv[2:])
    wakeups(sys.argv[2:])
    faults(1000)


main()
