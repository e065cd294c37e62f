# SPDX-License-Identifier: MIT
"""The cost of sampling all CPUs at 997 Hz with stacks: slowdown, CPU time of the tool, memory.

All CPUs run bench/busy, with stacks 10 to 40 frames deep. attar profile and perf record sample them
system-wide for the same time. perf needs a second command for its report (perf report), whose cost
is included; attar prints its report when it ends.

The throughput that the busy program loses has two parts. Interrupts and cold caches slow it down:
this is its work per ns of its own CPU time, compared with the same before and after. The CPU time
of the tool is not available to it, because all CPUs are busy: this is added. Neither depends on
other load on the machine.
"""
import os
import struct
import time

SECONDS = 4


def speed(path, seconds):
    """Work per ns of CPU time of all threads of busy, measured for this number of seconds."""
    def totals():
        data, work, cpu = path.read_bytes(), 0, 0
        for i in range(os.cpu_count()):
            while True:
                sequence, w, c = struct.unpack_from('QQQ', data, 128 * i)
                if sequence % 2 == 0:
                    break
                data = path.read_bytes()
            work, cpu = work + w, cpu + c
        return work, cpu

    before = totals()
    time.sleep(seconds)
    after = totals()
    return (after[0] - before[0]) / (after[1] - before[1])


def sampled(bench, counters, command):
    """Runs a tool on the busy program; returns its cost and the share of speed that busy lost."""
    alone = speed(counters, 1)
    tool = bench.start(*command)
    time.sleep(SECONDS * 0.2)
    during = speed(counters, SECONDS * 0.6)
    cost = bench.finish(tool)
    alone = (alone + speed(counters, 1)) / 2
    return cost, 1 - during / alone


def run(bench):
    perf, data = bench.peer('perf'), bench.scratch / 'perf.data'
    counters = bench.scratch / 'counters'
    loss = bench.compare('throughput that busy programs lose', '%', 'perf record', 1.0)
    cpu = bench.compare('own CPU, report included', 's', 'perf record + perf report', 0.25)
    rss = bench.compare('peak RSS', 'MB', 'the larger of perf record and perf report', None)
    limit = bench.limit('peak RSS beyond the rings', 'MB', 16, worst=True)
    rings_mb = 0.5 * os.cpu_count()
    ours_command = [bench.attar, 'profile', '-F', 997, '-g', '-d', f'{SECONDS}s']
    record = [perf, 'record', '-q', '-F', 997, '-a', '-g', '-o', data, '--', 'sleep', SECONDS]

    busy = bench.start(bench.tool('busy'), counters)
    try:
        time.sleep(0.5)
        for _ in bench.rounds():
            ours, our_loss = sampled(bench, counters, ours_command)
            recorded, their_loss = sampled(bench, counters, record)
            reported = bench.cost(perf, 'report', '--stdio', '-i', data)
            cpus = os.cpu_count() * SECONDS
            loss.add(100 * (our_loss + ours['cpu'] / cpus),
                     100 * (their_loss + recorded['cpu'] / cpus))
            cpu.add(ours['cpu'], recorded['cpu'] + reported['cpu'])
            rss.add(ours['rss'] / 1e6, max(recorded['rss'], reported['rss']) / 1e6)
            limit.add(ours['rss'] / 1e6 - rings_mb)
    finally:
        busy.terminate()
        busy.wait()
