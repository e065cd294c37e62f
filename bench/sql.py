# SPDX-License-Identifier: MIT
"""Queries on events: attar sql compared with inserting the same rows into SQLite and querying them.

16 threads make ten million getppid() calls, which are recorded. Ours is `attar sql` on the
recording; the peer (bench/sql_insert.c) reads it with the same library, inserts each event with one
prepared statement into a table in memory, and runs the same query. Both are the CPU time of the
whole process. The rows of both results are compared. Live, a flood of a million calls is counted by
a query whose condition the kernel applies, with rings of 4 MiB per CPU and real-time priority,
which excludes effects of other processes.
"""
import json
import os
import subprocess

EVENTS = 10000000
THREADS = 16
CALLS = 1000000
RING = 1024  # pages: 4 MiB
WINDOW = '4G'
SMALL = 64  # MB
QUERIES = {
    'GROUP BY tid': 'SELECT tid, count(*), sum(id) FROM sys_enter GROUP BY tid ORDER BY 2, 1',
    'count and sum': 'SELECT count(*), sum(id) FROM sys_enter',
}


def record(bench, events):
    path = bench.scratch / 'sql.data'
    subprocess.run([bench.attar, 'record', '-q', '-m', '4096', '-o', path, '-e',
                    'raw_syscalls:sys_enter', '--', bench.tool('threadcalls'), str(THREADS),
                    str(events // THREADS)], check=True)
    return path


def measure(bench, *command):
    """The cost of a command and its output."""
    out = bench.scratch / 'rows'
    with out.open('w') as file:
        cost = bench.cost(*command, stdout=file)
    return cost, out.read_text()


def ours(bench, path, query, window=WINDOW):
    cost, text = measure(bench, bench.attar, 'sql', '--input', path, '--window', window, '-e',
                         'raw_syscalls:sys_enter', '--timeout', '5m', '--format', 'json',
                         '--query', query)
    return cost, json.loads(text)['sections'][0]['rows']


def live(bench):
    number = {'x86_64': 110, 'aarch64': 173}[os.uname().machine]
    first = [bench.peer('chrt'), '-f', '20'] if os.geteuid() == 0 else []
    query = f'SELECT count(*) FROM sys_enter WHERE id = {number}'
    done = subprocess.run(
        [*first, bench.attar, 'sql', '-m', str(RING), '-e', 'raw_syscalls:sys_enter', '--query',
         query, '-o', bench.scratch / 'live.json', '--', bench.tool('flood'), str(CALLS)],
        capture_output=True, text=True, check=True)
    report = json.loads((bench.scratch / 'live.json').read_text())
    counted = report['sections'][0]['rows'][0][0]
    return counted, report['notes']['lost'], float(done.stdout.split()[0])


def run(bench):
    peer = bench.tool('sql_insert')
    events = EVENTS // 10 if bench.quick else EVENTS
    path = record(bench, events)
    ratios = {name: bench.compare(f'{name}, {events} events', 's', 'SQLite, prepared inserts', 0.1)
              for name in QUERIES}
    memory = bench.compare('peak RSS, GROUP BY', 'MB', 'SQLite, prepared inserts', None)
    small = bench.limit(f'peak RSS beyond --window {SMALL}M', 'MB', 32)
    lost = bench.limit(f'events lost of {CALLS}, live', '', 0, worst=True)
    each = bench.limit('one traced call, live', 'ns', None)
    for _ in bench.rounds():
        for name, query in QUERIES.items():
            a, rows = ours(bench, path, query)
            b, text = measure(bench, peer, path, query)
            if [[int(n) for n in line.split()] for line in text.splitlines()] != rows:
                raise RuntimeError(f'{name}: the results differ')
            ratios[name].add(a['cpu'], b['cpu'])
            if name.startswith('GROUP'):
                memory.add(a['rss'] / 1e6, b['rss'] / 1e6)
        cost, _ = ours(bench, path, QUERIES['GROUP BY tid'], f'{SMALL}M')
        small.add(cost['rss'] / 1e6 - SMALL * 1.048576)
        counted, dropped, ns = live(bench)
        if counted + dropped != CALLS:
            raise RuntimeError(f'{counted} events counted and {dropped} lost of {CALLS}')
        lost.add(dropped)
        each.add(ns)
