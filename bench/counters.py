# SPDX-License-Identifier: MIT
"""The cost of counting, compared with equivalent bare system calls and with PAPI.

One thread counts its own software events (bench/bench_counter.c, bench/bench_papi.c). Both sides
run in one process, alternating in slices of a few milliseconds; the result is the median slice, in
CPU time of the thread.
"""
GOALS = {
    'open and close': 1.1, 'enable and disable': None, 'read one': 1.05, 'read a group of 8': 1.05}


def run(bench):
    bare = {name: bench.compare(name, 'ns', 'bare system calls', goal)
            for name, goal in GOALS.items()}
    papi = {name: bench.compare(name, 'ns', 'PAPI', 1.0)
            for name in ('read one', 'read a group of 7')}
    for _ in bench.rounds():
        for name, pair in bench.answer(bench.tool('bench_counter')).items():
            bare[name].add(*pair)
    peer = bench.tool('bench_papi')
    for _ in bench.rounds():
        for name, pair in bench.answer(peer).items():
            papi[name].add(*pair)
