# SPDX-License-Identifier: MIT
"""The interface of libkperf, compared with equivalent bare system calls.

One process counts its own page faults and samples its own CPU time (bench/bench_kperf.c). Both
sides alternate in slices of a few milliseconds; the result is the median slice, in CPU time of the
thread. PmuRead includes PmuDataFree; PmuOpen includes PmuClose, the bare side mmap and munmap.
"""
GOALS = {'PmuRead, two read()': 1.05, 'PmuOpen to sample, bare calls': 2.0}


def run(bench):
    rows = {name: bench.compare(name.split(',')[0], 'ns', name.split(', ')[1], goal)
            for name, goal in GOALS.items()}
    for _ in bench.rounds():
        for name, pair in bench.answer(bench.tool('bench_kperf')).items():
            rows[name].add(*pair)
