# SPDX-License-Identifier: MIT
"""attar agent compared with perf record, both sampling all CPUs at 19 Hz with stacks.

The agent runs `profile -F 19 -g -i 10s`, analyses in memory and writes a file with metrics; perf
record writes a file, which must still be analysed. Both run for the same time on the same machine,
with the same other load. The CPU time is that of all their processes from start to end; in such a
short time, the start, which reads the kernel's symbols, is a large part of it.
"""

SECONDS = 30


def run(bench):
    perf, data = bench.peer('perf'), bench.scratch / 'perf.data'
    seconds = 5 if bench.quick else SECONDS
    config = bench.scratch / 'agent.conf'
    config.write_text('[cpu]\nrun = profile -F 19 -g -i 10s\n')
    cpu = bench.compare('CPU at 19 Hz, all CPUs, stacks', 's', peer='perf record -F 19 -a -g',
                        goal=1)
    for _ in bench.rounds():
        ours = bench.cost(bench.peer('timeout'), '--preserve-status', '-s', 'TERM', seconds,
                          bench.attar, 'agent', '-c', config, '--metrics',
                          bench.scratch / 'agent.prom')
        peer = bench.cost(perf, 'record', '-q', '-F', 19, '-a', '-g', '-o', data,
                          '--', 'sleep', seconds)
        cpu.add(ours['cpu'], peer['cpu'])
