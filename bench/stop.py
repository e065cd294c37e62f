# SPDX-License-Identifier: MIT
"""Time to stop twenty tracepoints: from Ctrl-C to the report, and to the exit of the process.

When the last user of a tracepoint closes it, the kernel waits tens of milliseconds for all CPUs.
Twenty system-wide events are counted by attar stat and perf stat (until the first byte of the
report), and recorded by attar trace and perf record (until the process exits). This is wall time,
because the processes wait.
"""
import signal
import subprocess
import time

from harness import rare_tracepoints

SETTLE_S = 1


def end_ms(bench, *command):
    process = bench.start(*command)
    time.sleep(SETTLE_S)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    bench.finish(process, statuses=(0, 130))
    return 1000 * (time.monotonic() - start)


def report_ms(*command, to):
    streams = dict.fromkeys(('stdin', 'stdout', 'stderr'), subprocess.DEVNULL)
    process = subprocess.Popen(command, **{**streams, to: subprocess.PIPE})
    time.sleep(SETTLE_S)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    pipe = getattr(process, to)
    pipe.read(1)
    took = 1000 * (time.monotonic() - start)
    pipe.read()
    process.wait()
    return took


def run(bench):
    perf, data = bench.peer('perf'), bench.scratch / 'perf.data'
    events = ','.join(rare_tracepoints(20))
    report = bench.compare('Ctrl-C to the report, 20 tracepoints', 'ms', 'perf stat', 1.0)
    end = bench.compare('Ctrl-C to the end, 20 tracepoints', 'ms', 'perf record', 1.0)
    for _ in bench.rounds():
        report.add(report_ms(bench.attar, 'stat', '-a', '-e', events, to='stdout'),
                   report_ms(perf, 'stat', '-a', '-e', events, to='stderr'))
        end.add(end_ms(bench, bench.attar, 'trace', '-q', '-e', events),
                end_ms(bench, perf, 'record', '-q', '-a', '-e', events, '-o', data))
