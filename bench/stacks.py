# SPDX-License-Identifier: MIT
"""Profiles with stacks by call frame information, compared with perf record --call-graph dwarf.

All CPUs run Python, whose stacks have about 17 frames, without frame pointers. attar profile and
perf record sample them system-wide at 997 Hz for the same time, with 8 KiB of each stack. perf
needs a second command for its report, whose cost is included; it does not look for inlined
functions, as attar does not. Peak memory is that of a profile of 200 Python processes, without the
rings, which some kernels count. A table is the call frame information of one binary, compiled.
"""
import json
import os
import re
import subprocess
import time
from pathlib import Path

SECONDS, PROCESSES = 10, 200
PROGRAM = """
import json, re
def deep(n):
    return deep(n - 1) if n else sum(len(json.dumps([i, re.sub('a', 'b', 'banana')]))
                                     for i in range(300))
while True:
    deep(12)
"""


def python(n):
    return [subprocess.Popen(['/usr/bin/python3', '-c', PROGRAM]) for _ in range(n)]


def end(processes):
    for process in processes:
        process.kill()
        process.wait()


def library(name):
    """The path of a library that this process uses."""
    found = re.search(rf'(/\S*/{name}\.so\S*)$', Path('/proc/self/maps').read_text(), re.M)
    return found[1]


def counted_rings(process):
    """Bytes of the rings that the kernel counts as memory of attar, a child of bench/cost."""
    attar = Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()[0]
    areas = Path(f'/proc/{attar}/smaps').read_text()
    counted = re.findall(r'\[perf_event\]\n(?:.*\n)*?Rss: +(\d+) kB', areas)
    return 1024 * sum(map(int, counted))


def run(bench):
    perf, data = bench.peer('perf'), bench.scratch / 'perf.data'
    cpu = bench.compare('own CPU, report included', 's', 'perf record + perf report', 0.05)
    lost = bench.limit('samples lost', '%', None)
    memory = bench.limit(f'peak RSS beyond the rings, {PROCESSES} processes', 'MB', 64, worst=True)
    table = bench.limit("libc's table", 'ms', 10)
    size = bench.limit("libc's table, of a function", 'bytes', None)
    tool = bench.tool('cfi_table')
    answer = bench.scratch / 'profile.json'
    command = [bench.attar, 'profile', '-F', 997, '--call-graph', 'dwarf', '-d', f'{SECONDS}s',
               '-o', answer]
    for _ in bench.rounds():
        built = bench.answer(tool, library('libc'))
        table.add(built['ns'] / 1e6)
        size.add(built['bytes'] / built['functions'])
        running = python(os.cpu_count())
        try:
            time.sleep(1)
            ours = bench.cost(*command)
            record = bench.cost(perf, 'record', '-q', '-F', 997, '-a', '--call-graph', 'dwarf',
                                '-o', data, '--', 'sleep', SECONDS)
        finally:
            end(running)
        report = bench.cost(perf, 'report', '--stdio', '--no-inline', '-i', data)
        cpu.add(ours['cpu'], record['cpu'] + report['cpu'])
        notes = json.loads(answer.read_text())['notes']
        lost.add(100 * notes['lost'] / (notes['lost'] + notes['seen']))
        running = python(PROCESSES)
        try:
            time.sleep(3)
            process = bench.start(*command)
            time.sleep(SECONDS - 2)
            rings = counted_rings(process)
            ours = bench.finish(process)
        finally:
            end(running)
        memory.add((ours['rss'] - rings) / 1e6)
