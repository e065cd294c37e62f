# SPDX-License-Identifier: MIT
"""How long twenty tracepoints and five uprobes of the whole system take to open, enable, disable and close.

Most of it is waiting for all CPUs inside the kernel, so it is measured by the clock, and the CPU time beside it. The peer
is the best order of bare system calls: all opened, then all enabled; closed by as many threads as there are
events. Both in one process, in turn (bench/bench_probes.c).
"""
from harness import rare_tracepoints

STEPS = ('open', 'enable', 'disable', 'close', 'all four')


def run(bench):
    steps = {name: bench.compare(f'{name}, by the clock', 'ms', 'bare system calls', 1.2) for name in STEPS}
    steps['cpu'] = bench.compare('all four, CPU time', 'ms', 'bare system calls', 1.2)
    for _ in bench.rounds():
        answer = bench.answer(bench.tool('bench_probes'), *rare_tracepoints(20))
        for name, pair in answer.items():
            steps[name].add(*pair)
