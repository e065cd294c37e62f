# SPDX-License-Identifier: MIT
"""The cost of a libperfume event: disabled, through shared memory, through the kernel.

An event has 20 bytes: a u32 and two u64.

- Disabled: compared with a loop with one relaxed load and a branch.
- Shared memory: compared with a bare ring for one thread with the same timestamp
  (bench/perfume_cost.c), and with an LTTng-UST event with the same fields (bench/perfume_lttng.c).
  All rings are overwritten and have no reader.
- Kernel: in a guest with user_events (emulated: only the ratios are meaningful), compared with
  write() of the same bytes, and with writev() with one allocated iovec per field.

These are CPU times of the writing thread, the best of seven measurements in each round (in the
guest, of four hundred short ones). Finally, two programs write at full speed while a collector
reads: written must equal read + lost (bench/perfume_flood.c).
"""
import contextlib
import json
import os
import subprocess
import time

EVENTS = 5000000
FLOOD = 3000000
SESSION = 'attar-bench'


def run(bench):
    off = bench.compare('disabled event', 'ns', 'load and branch', 1.1)
    at_most = bench.limit('disabled event, at most', 'ns', 1)
    ring = bench.compare('event into the ring', 'ns', 'bare ring, same stamp', 2)
    lttng = bench.compare('event into the ring ', 'ns', 'LTTng-UST', 0.5)
    unaccounted = bench.limit('two writers: events neither read nor counted lost', '', 0,
                              worst=True)
    share = bench.limit('two writers: events read', '%', None)
    reading = bench.limit('two writers: collector CPU per event read', 'ns', None)
    cost = bench.tool('perfume_cost')
    for _ in bench.rounds():
        a = bench.answer(cost, 'off', 20 * EVENTS)
        off.add(a['ours'], a['bare'])
        at_most.add(a['ours'])
        with always_rings():
            a = bench.answer(cost, 'ring', EVENTS)
            flood = bench.answer(bench.tool('perfume_flood'), FLOOD)
        ring.add(a['ours'], a['bare'])
        lttng.add(a['ours'], lttng_event(bench))
        unaccounted.add(abs(flood['wrote'] - flood['read'] - flood['lost']) + flood['wrong'])
        share.add(100 * flood['read'] / flood['wrote'])
        reading.add(1e9 * flood['cpu'] / max(1, flood['read']))
    in_the_kernel(bench, cost)


@contextlib.contextmanager
def always_rings():
    """Use rings even if the kernel has user_events."""
    os.environ['PERFUME_RING'] = '1'
    try:
        yield
    finally:
        del os.environ['PERFUME_RING']


def lttng_event(bench):
    """The cost of an LTTng-UST event in ns."""
    environment = dict(os.environ, HOME=str(bench.scratch), LTTNG_HOME=str(bench.scratch))
    daemon = subprocess.Popen([bench.peer('lttng-sessiond'), '--no-kernel'], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)

    def lttng(*words):
        return subprocess.run(['lttng', '--no-sessiond', *words], env=environment,
                              capture_output=True, text=True)

    try:
        until = time.monotonic() + 30
        while lttng('list').returncode and time.monotonic() < until:
            time.sleep(0.05)
        for words in (('create', SESSION, '--snapshot'),
                      ('enable-channel', '-u', 'ring', '--subbuf-size=256k', '--num-subbuf=4'),
                      ('enable-event', '-u', '-c', 'ring', 'bench:event'), ('start',)):
            done = lttng(*words)
            if done.returncode:
                raise RuntimeError(f'lttng {words}: {done.stderr}')
        done = subprocess.run([bench.tool('perfume_lttng'), str(EVENTS // 5)], env=environment,
                              capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise RuntimeError(f'perfume_lttng: {done.stderr}')
        return json.loads(done.stdout)['ours']
    finally:
        lttng('destroy', SESSION)
        daemon.terminate()
        daemon.wait(timeout=60)


def in_the_kernel(bench, cost):
    guest = bench.source / 'tests/vm/run'
    measure = 'event through the kernel (guest)'
    write = bench.compare(measure, 'ns', 'write() of the same bytes', 1.05)
    iovecs = bench.compare(measure + ' ', 'ns', "writev(), malloc'd iovecs", 1)
    # One boot for all rounds.
    script = f'for i in $(seq {bench.count}); do {cost} kernel 500 || exit; done'
    done = subprocess.run([guest, 'x86', '--timeout', '600', '--', 'sh', '-c', script],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          cwd=bench.source)
    if done.returncode:
        raise RuntimeError(f'cannot run a guest with user_events: {done.stderr.strip()}')
    for line in done.stdout.splitlines():
        a = json.loads(line)
        write.add(a['ours'], a['bare'])
        iovecs.add(a['ours'], a['iovecs'])
