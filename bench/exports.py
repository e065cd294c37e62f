# SPDX-License-Identifier: MIT
"""Results for other tools: a profile for pprof, and metrics by HTTP.

pprof: 100,000 stacks, compared with perf report printing them.

The recording has one sample of each of 100,000 different stacks of 16 functions of attar itself: a
call tree whose innermost six functions call one of seven each. Ours is reading it and writing the
profile (-o x.pb.gz), the reference is reading it and printing all call chains (perf report --stdio
-g graph,0). Both are CPU time.

Metrics: a client gets /metrics with at least 200 series, one connection for each request, while the
results of each second replace the previous ones. The time is that of the client, from the
connection to the last byte: the median of 50 requests, and the slowest one.
"""
import contextlib
import http.client
import os
import shutil
import statistics
import struct
import subprocess
import time

STACKS = 100000
DEPTH = 16
CALLS, BRANCHES = 7, 6  # 7 ** 6 is more than STACKS
BASE = 0x400000
IP, TID, TIME, CALLCHAIN, CPU, PERIOD = 1, 2, 4, 0x20, 0x80, 0x100  # PERF_SAMPLE_*


def record(kind, misc, payload):
    payload += bytes(-len(payload) % 8)
    return struct.pack('<IHH', kind, misc, 8 + len(payload)) + payload


def functions(path):
    """Addresses of functions in the file, in its text segment."""
    listed = subprocess.run(['nm', '--defined-only', path], capture_output=True, text=True,
                            check=True).stdout
    return [int(line.split()[0], 16) for line in listed.splitlines() if line.split()[1] in 'tT']


def write_stacks(bench, path):
    """A recording in the pipe format. The last digits of i are the innermost functions."""
    program, sample_type = bench.attar, IP | TID | TIME | CALLCHAIN | CPU | PERIOD
    addresses = functions(program)
    attr = struct.pack('<IIQQQQQ', 1, 128, 0, 1, sample_type, 0, 1 << 18).ljust(128, b'\0')
    with path.open('wb') as out:
        out.write(struct.pack('<QQ', 0x32454c4946524550, 16))
        out.write(record(64, 0, attr + struct.pack('<Q', 7)))
        ids = struct.pack('<IIQII', 1000, 1000, 0, 0, 0)
        out.write(record(3, 0, struct.pack('<II', 1000, 1000) + b'attar'.ljust(8, b'\0') + ids))
        out.write(record(1, 2, struct.pack('<IIQQQ', 1000, 1000, BASE, os.path.getsize(program), 0)
                         + program.encode().ljust(len(program) // 8 * 8 + 8, b'\0') + ids))
        for i in range(STACKS):
            chain = [BASE + addresses[depth * CALLS + (i // CALLS ** depth % CALLS
                                                       if depth < BRANCHES else 0)]
                     + (depth > 0) for depth in range(DEPTH)]  # callers: after the call
            out.write(record(9, 2, struct.pack(
                f'<QIIQIIQQ{DEPTH + 1}Q', chain[0], 1000, 1000, 1000 + i, 0, 0, 1, DEPTH + 1,
                2 ** 64 - 512, *chain)))
        out.write(record(68, 0, b''))


def compare_pprof(bench):
    perf, path = bench.peer('perf'), bench.scratch / 'stacks.data'
    write_stacks(bench, path)
    cpu = bench.compare(f'pprof of {STACKS} stacks', 's', 'perf report', 0.1)
    for _ in bench.rounds():
        ours = bench.cost(bench.attar, 'profile', '-q', '--input', path, '-o',
                          bench.scratch / 'x.pb.gz')
        theirs = bench.cost(perf, 'report', '-i', path, '--stdio', '--no-children', '-g',
                            'graph,0')
        cpu.add(ours['cpu'], theirs['cpu'])


EVENTS = ['switch', 'waking', 'wakeup', 'wakeup_new', 'stat_runtime', 'migrate_task',
          'process_fork', 'process_exec', 'process_exit', 'process_free']
TASKS = 24
SERIES, REQUESTS = 200, 50


@contextlib.contextmanager
def started(*command, **kwargs):
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, **kwargs)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def get_metrics(port):
    """The number of series, and the time that it took to get them, in ms."""
    begin = time.perf_counter()
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    connection.request('GET', '/metrics')
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    return sum(not line.startswith('#') for line in lines), (time.perf_counter() - begin) * 1000


def serve_metrics(bench):
    """Each row of the table is a name of a process, each event a column."""
    usual = bench.limit(f'/metrics with {SERIES} series', 'ms', 5)
    slowest = bench.limit('/metrics, slowest request', 'ms', None)
    events = [word for event in EVENTS for word in ('-e', f'sched:sched_{event}')]
    with contextlib.ExitStack() as stack:
        for i in range(TASKS):
            path = bench.scratch / f'task{i}'
            path.symlink_to(shutil.which('sh'))
            stack.enter_context(started(path, '-c', 'while sleep 0.2; do :; done'))
        server = stack.enter_context(started(
            bench.attar, 'top', '-i', '1s', '--listen', '0', *events, stderr=subprocess.PIPE,
            text=True))
        port = int(next(line for line in server.stderr if 'listening on' in line)
                   .partition('127.0.0.1:')[2].split('/')[0])
        while get_metrics(port)[0] < SERIES:
            time.sleep(0.1)
        for _ in bench.rounds():
            times = [get_metrics(port)[1] for _ in range(REQUESTS)]
            usual.add(statistics.median(times))
            slowest.add(max(times))


def run(bench):
    compare_pprof(bench)
    serve_metrics(bench)
