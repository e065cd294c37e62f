# SPDX-License-Identifier: MIT
"""Recording a flood of events: attar record, compared with perf record.

A program on one CPU makes system calls; each is an event raw_syscalls:sys_enter, with the fields
that each tool records by default. The CPU time is that of the tool without the program. First the
program calls as fast as it can, with rings that hold all events. Then it makes 500,000 calls per
second for two seconds, with rings of 4 MiB; then program and tool have real-time priority, to
exclude effects of other processes. `perf report --stats` counts the events in both files; lost are
those that are not in them. Bytes are those of the records: the files differ by 2 KB of
descriptions, such as build IDs.
"""
import re
import struct
import subprocess

EVENTS = 1000000
RATE = 500000
FILTER = 110  # getppid


def bytes_of_records(data):
    """The size of the data section, from the header of a perf.data file."""
    with open(data, 'rb') as file:
        return struct.unpack_from('<Q', file.read(64), 48)[0]


def record(bench, tool, pages, rate, *event):
    """The CPU time of a recording of the program, the bytes of its records, and its events."""
    out, data = bench.scratch / 'program', bench.scratch / 'flood.data'
    first = bench.real_time() if rate else []
    cost = bench.cost(*first, tool, 'record', '-q', '-m', pages, '-o', data, *event, '--',
                      bench.tool('paced'), out, EVENTS, rate)
    stats = subprocess.run([bench.peer('perf'), 'report', '--stats', '-i', data],
                           capture_output=True, text=True, check=True).stdout
    events = int(re.search(r'SAMPLE events: +(\d+)', stats)[1])
    return cost['cpu'] - float(out.read_text()), bytes_of_records(data), events


def attar(bench, pages, rate):
    return record(bench, bench.attar, pages, rate, '-e', f'raw_syscalls:sys_enter/id=={FILTER}/')


def perf(bench, pages, rate):
    return record(bench, bench.peer('perf'), pages, rate, '-e', 'raw_syscalls:sys_enter',
                  '--filter', f'id=={FILTER}')


def run(bench):
    cpu = bench.compare('CPU of an event', 'us', 'perf record', 1)
    size = bench.compare('bytes of an event', 'B', 'perf record', 1)
    whole = bench.limit(f'lost of {EVENTS}', '', 0, worst=True)
    lost = bench.compare(f'lost of {EVENTS}, {RATE}/s', '', 'perf record', 1, worst=True)
    for _ in bench.rounds():
        peer_cpu, peer_size, peer_events = perf(bench, 8192, 0)
        our_cpu, our_size, our_events = attar(bench, 8192, 0)
        cpu.add(our_cpu / our_events * 1e6, peer_cpu / peer_events * 1e6)
        size.add(our_size / our_events, peer_size / peer_events)
        whole.add(EVENTS - our_events)
        _, _, peer_events = perf(bench, 1024, RATE)
        _, _, our_events = attar(bench, 1024, RATE)
        lost.add(max(EVENTS - our_events, 0), max(EVENTS - peer_events, 0))
