# SPDX-License-Identifier: MIT
"""How long twenty tracepoints take to close: from Ctrl-C to the end of the process.

Closing the last user of a tracepoint waits tens of milliseconds for all CPUs. Ours is attar trace, the peer perf
record, on the same twenty events of the whole system. This is waiting, not work, so it is measured by the clock.
"""
import signal
import time
from pathlib import Path

from harness import Skip

# Rare ones, so that nothing but the closing takes time; the first twenty that this kernel has.
WISHES = [
    'sched:sched_process_exec', 'sched:sched_process_exit', 'sched:sched_process_fork', 'sched:sched_process_free',
    'sched:sched_process_wait', 'sched:sched_kthread_stop', 'sched:sched_kthread_stop_ret', 'sched:sched_wait_task',
    'sched:sched_move_numa', 'sched:sched_stick_numa', 'sched:sched_swap_numa', 'signal:signal_generate',
    'signal:signal_deliver', 'task:task_newtask', 'task:task_rename', 'oom:oom_score_adj_update', 'oom:mark_victim',
    'oom:wake_reaper', 'oom:reclaim_retry_zone', 'module:module_load', 'module:module_free', 'cgroup:cgroup_mkdir',
    'cgroup:cgroup_rmdir', 'cgroup:cgroup_attach_task', 'printk:console', 'sched:sched_process_hang']
EVENTS_DIR = Path('/sys/kernel/tracing/events')


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
    there = [w for w in WISHES if (EVENTS_DIR / w.replace(':', '/')).is_dir()][:20]
    if len(there) < 20:
        raise Skip(f'only {len(there)} of the tracepoints are here: is tracefs mounted?')
    events = ','.join(there)
    for _ in bench.rounds():
        stop.add(stop_ms(bench, bench.attar, 'trace', '-q', '-e', events),
                 stop_ms(bench, perf, 'record', '-q', '-a', '-e', events, '-o', data))
