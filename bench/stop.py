# SPDX-License-Identifier: MIT
"""How long twenty tracepoints take to stop: from Ctrl-C to the report, and to the end of the process.

Closing the last user of a tracepoint waits tens of milliseconds for all CPUs. The same twenty events of the whole system
are counted by attar stat and perf stat, where the first byte of the report is waited for, and recorded by attar trace and
perf record, where the end is. This is waiting, not work, so it is measured by the clock.
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
    pipes = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL, to: subprocess.PIPE}
    process = subprocess.Popen(command, **pipes)
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
