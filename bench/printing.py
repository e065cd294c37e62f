# SPDX-License-Identifier: MIT
"""Printing each event: attar trace, compared with perf record and perf script.

A program on one CPU makes system calls; each is an event raw_syscalls:sys_enter, printed with its
fields. The CPU time of the tools is that of all their processes without the program. First the
program calls as fast as it can, with rings that hold all events. Then it makes 500,000 calls per
second for two seconds, with rings of 4 MiB; lost are the events that are not in the output. Then
program and tool have real-time priority, to exclude effects of other processes. The output file of
the previous run exists then: attar truncates it before events are enabled.
"""
import json

EVENTS = 1000000
RATE = 500000
FORMATS = {'text': 'txt', 'csv': 'csv', 'json': 'json'}
FILTER = 110  # getppid


def cost(bench, rate, *command):
    """The CPU time of a command that runs the program."""
    out = bench.scratch / 'program'
    first = bench.real_time() if rate else []
    total = bench.cost(*first, *command, '--', bench.tool('paced'), out, EVENTS, rate)
    return total['cpu'] - float(out.read_text())


def attar(bench, extension, pages, rate):
    out = bench.scratch / f'events.{extension}'
    if not rate:
        out.unlink(missing_ok=True)  # to free its memory is not printing
    cpu = cost(bench, rate, bench.attar, 'trace', '-q', '-m', pages, '-o', out, '-e',
               f'raw_syscalls:sys_enter/id=={FILTER}/')
    return cpu, out


def perf(bench, pages, rate, script):
    data = bench.scratch / 'perf.data'
    cpu = cost(bench, rate, bench.peer('perf'), 'record', '-q', '-m', pages, '-o', data, '-e',
               'raw_syscalls:sys_enter', '--filter', f'id=={FILTER}')
    if script:
        with open(bench.scratch / 'script.txt', 'w') as out:
            cpu += bench.cost(bench.peer('perf'), 'script', '-i', data, stdout=out)['cpu']
    return cpu, data


def count(out, extension):
    """The number of printed events."""
    with open(out) as lines:
        if extension != 'json':
            return sum('raw_syscalls:sys_enter' in line for line in lines)
        return sum(len(section['rows'])
                   for line in lines for section in json.loads(line)['sections'])


def run(bench):
    peer_name = 'perf record + perf script'
    cpus = {name: bench.compare(f'CPU of an event as {name}', 'us', peer_name, 0.15)
            for name in FORMATS}
    lost = {name: bench.limit(f'lost of {EVENTS} as {name}, {RATE}/s', '', 0, worst=True)
            for name in FORMATS}
    for _ in bench.rounds():
        peer, _ = perf(bench, 8192, 0, script=True)
        for name, extension in FORMATS.items():
            ours, _ = attar(bench, extension, 8192, 0)
            cpus[name].add(ours / EVENTS * 1e6, peer / EVENTS * 1e6)
            _, out = attar(bench, extension, 1024, RATE)
            lost[name].add(EVENTS - count(out, extension))
