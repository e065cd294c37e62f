# SPDX-License-Identifier: MIT
"""How long twenty tracepoints take to close: from Ctrl-C to the end of the process.

Closing the last user of a tracepoint waits tens of milliseconds for all CPUs. Ours is attar trace, the peer perf
record, on the same twenty events of the whole system. This is waiting, not work, so it is measured by the clock.
"""
import signal
import time

from harness import rare_tracepoints


def stop_ms(bench, *command):
    process = bench.start(*command)
    time.sleep(1)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    bench.finish(process, statuses=(0, 130))
    return 1000 * (time.monotonic() - start)


def run(bench):
    perf, data = bench.peer('perf'), bench.scratch / 'perf.data'
    stop = bench.compare('Ctrl-C to the end, 20 tracepoints', 'ms', 'perf record', 1.0)
    events = ','.join(rare_tracepoints(20))
    for _ in bench.rounds():
        stop.add(stop_ms(bench, bench.attar, 'trace', '-q', '-e', events),
                 stop_ms(bench, perf, 'record', '-q', '-a', '-e', events, '-o', data))
