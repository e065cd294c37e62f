# SPDX-License-Identifier: MIT
"""Time to open, enable, disable and close twenty tracepoints and five uprobes, system-wide.

Most of it is time that the kernel waits for all CPUs, so wall time is measured as well as CPU time.
The reference makes bare system calls in the fastest order: it opens all events, enables all, and
closes them in one thread per event. Both run alternately in one process (bench/bench_probes.c).
"""
from harness import rare_tracepoints

STEPS = ('open', 'enable', 'disable', 'close', 'all four')


def run(bench):
    steps = {name: bench.compare(f'{name}, wall time', 'ms', 'bare system calls', 1.2)
             for name in STEPS}
    steps['cpu'] = bench.compare('all four, CPU time', 'ms', 'bare system calls', 1.2)
    for _ in bench.rounds():
        answer = bench.answer(bench.tool('bench_probes'), *rare_tracepoints(20))
        for name, pair in answer.items():
            steps[name].add(*pair)
