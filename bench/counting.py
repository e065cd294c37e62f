# SPDX-License-Identifier: MIT
"""Counting system calls by key: attar top and syscalls, compared with a minimal reader and perf.

A program on the first CPU makes two million getppid() calls. attar runs on the last CPU, with rings
of 4 MiB; its cost is the CPU time of the whole command without the program, and without what the
same command costs when the program makes one call. The minimal reader (bench/bare_drain.c) reads
one ring, decodes the same fields, and counts by the number of the call in an array; its cost is
that of its loop. attar syscalls reads two events for each call, and pairs them. perf record writes
the same event to a file, and awk counts what perf script prints. Both attar and the minimal reader
have real-time priority; lost are events that attar did not read.
"""
import json
import os

CALLS = 2000000
RING = 1024  # pages: 4 MiB


def first(bench):
    return [bench.peer('chrt'), '-f', 20] if os.geteuid() == 0 else []


def program(bench, out, calls):
    """The program, on the first CPU."""
    return [bench.peer('taskset'), '-c', 0, bench.tool('paced'), out, calls, 0]


def cost(bench, calls, *command):
    """CPU seconds of a command, which runs the program, without those of the program."""
    out = bench.scratch / 'program'
    total = bench.cost(*first(bench), bench.peer('taskset'), '-c', os.cpu_count() - 1,
                       *command, '--', *program(bench, out, calls))
    return total['cpu'] - float(out.read_text())


def attar(bench, profiler, *options):
    """ns per call, and the events that were lost."""
    out = bench.scratch / 'report.json'
    command = [bench.attar, profiler, '-q', '-m', RING, *options, '-o', out]
    base = cost(bench, 1, *command)
    cpu = cost(bench, CALLS, *command) - base
    return cpu / CALLS * 1e9, json.loads(out.read_text())['notes']['lost']


def bare(bench):
    answer = bench.answer(*first(bench), bench.tool('bare_drain'), 'read', CALLS, RING)
    return answer['reader_ns'] / answer['seen']


def perf(bench):
    """ns per call of perf record, perf script and awk."""
    data, text = bench.scratch / 'perf.data', bench.scratch / 'script.txt'
    cpu = cost(bench, CALLS // 4, bench.peer('perf'), 'record', '-q', '-m', RING, '-o', data, '-e',
               'raw_syscalls:sys_enter')
    with open(text, 'w') as out:
        cpu += bench.cost('perf', 'script', '-i', data, stdout=out)['cpu']
    cpu += bench.cost('awk', '{n[$7]++} END {for (i in n) print i, n[i]}', text)['cpu']
    return cpu / (CALLS // 4) * 1e9


def run(bench):
    by_id = bench.compare('top by a field, CPU per event', 'ns', 'minimal reader', 2)
    by_thread = bench.compare('top by thread, CPU per event', 'ns', 'minimal reader', 2)
    script = bench.compare('top by a field', 'ns', 'perf record + perf script | awk', 0.1)
    pairs = bench.compare('syscalls, CPU per event', 'ns', 'minimal reader', 3)
    lost = bench.limit(f'lost of {CALLS}, top', '', 0, worst=True)
    lost_pairs = bench.limit(f'lost of {2 * CALLS}, syscalls', '', 0, worst=True)
    for _ in bench.rounds():
        peer = bare(bench)
        top, n = attar(bench, 'top', '--in-kernel', 'no', '-e',
                       'raw_syscalls:sys_enter//key=id/')
        by_id.add(top, peer)
        lost.add(n)
        by_thread.add(attar(bench, 'top', '-e', 'raw_syscalls:sys_enter')[0], peer)
        pair, n = attar(bench, 'syscalls', '--in-kernel', 'no')
        pairs.add(pair / 2, peer)
        lost_pairs.add(n)
        script.add(top, perf(bench))
