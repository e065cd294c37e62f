# SPDX-License-Identifier: MIT
"""The interface of libkperf, compared with equivalent bare system calls.

One process counts its own page faults and samples its own CPU time (bench/bench_kperf.c). Both
sides alternate in slices of a few milliseconds; the result is the median slice, in CPU time of the
thread. PmuRead includes PmuDataFree; PmuOpen includes PmuClose, the bare side mmap and munmap.
kperf.read of Python, with the end of its data, is compared with PmuRead of the same round.
"""
import sys

GOALS = {'PmuRead, two read()': 1.05, 'PmuOpen to sample, bare calls': 2.0}


PYTHON = '''
import os, sys, time
sys.path.insert(0, sys.argv[1])
import kperf
pd = kperf.open(kperf.PmuTaskType.COUNTING,
                kperf.PmuAttr(evtList=['page-faults'], pidList=[os.getpid()]))
kperf.enable(pd)
slices = []
for _ in range(31):
    start = time.thread_time_ns()
    for _ in range(2000):
        kperf.read(pd)
    slices.append((time.thread_time_ns() - start) / 2000)
print(sorted(slices)[15])
'''


def run(bench):
    rows = {name: bench.compare(name.split(',')[0], 'ns', name.split(', ')[1], goal)
            for name, goal in GOALS.items()}
    python = bench.compare('kperf.read (Python)', 'ns', 'PmuRead', 4)
    for _ in bench.rounds():
        pairs = bench.answer(bench.tool('bench_kperf'))
        for name, pair in pairs.items():
            rows[name].add(*pair)
        python.add(bench.answer(sys.executable, '-c', PYTHON, bench.build / 'python'),
                   pairs['PmuRead, two read()'][0])
