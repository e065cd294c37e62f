# SPDX-License-Identifier: MIT
"""Profilers of the scheduler and of memory beside the tools that one would take otherwise.

`perf bench sched pipe` passes a byte back and forth between two processes, which are woken up and
switch with each of a fixed number of messages. attar watches it with runqlat, task-state and
offcpu; the peers record switches and wakeups into a file and report on that. The tool's CPU time
is that of all its processes without the watched command, whose CPU time is compared as well: what
the kernel and the tool do in its context. kmemleak watches a command that starts 300 processes,
beside a script of bpftrace for the same two events, whose CPU time includes compiling it.

The share of a CPU that `attar overview` needs is measured for ten seconds: of a process that makes
20,000 system calls per second and one that sleeps 1,000 times per second, and of the whole system,
on which they and what else there is run.
"""
import json
import os
import subprocess
import sys

MESSAGES = 100000
PROCESSES = 300
PERCENT = 2
SLEEPS = 'import time\nwhile True: time.sleep(0.001)'
LEAKS = '''
tracepoint:kmem:kmalloc { @size[args->ptr] = args->bytes_alloc; @stack[args->ptr] = kstack; }
tracepoint:kmem:kfree { delete(@size[args->ptr]); delete(@stack[args->ptr]); }
END { clear(@size); clear(@stack); }
'''


def watched(bench, *tool, command):
    """The CPU time of a tool without the command that it runs, and that of the command."""
    inner = bench.scratch / 'command.json'
    all_of_it = bench.cost(*tool, '--', bench.tool('cost'), inner, *command)
    cost = json.loads(inner.read_text())
    cpu = cost['user'] + cost['system']
    return all_of_it['cpu'] - cpu, cpu


def ours(bench, *words, command):
    """As watched(), and the number of lost events."""
    out = bench.scratch / 'out.json'
    cpu, inside = watched(bench, bench.attar, *words, '-q', '-m', 1024, '-o', out, command=command)
    return cpu, inside, json.loads(out.read_text().splitlines()[-1])['notes']['lost']


def recorded(bench, record, report, command):
    """The CPU time of recording and of the report, and that of the command."""
    cpu, inside = watched(bench, *record, command=command)
    return cpu + bench.cost(*report)['cpu'], inside


def traced(bench, script, command):
    """The CPU time of bpftrace, which runs the command itself."""
    inner = bench.scratch / 'command.json'
    words = ' '.join(map(str, [bench.tool('cost'), inner, *command]))
    all_of_it = bench.cost(bench.peer('bpftrace'), '-q', '-e', script, '-c', words)
    cost = json.loads(inner.read_text())
    return all_of_it['cpu'] - cost['user'] - cost['system']


def overview(bench, is_system):
    """The share of a CPU that the profiler needs, as it says itself, in percent."""
    out = bench.scratch / 'overview.json'
    load = [subprocess.Popen([bench.tool('paced'), bench.scratch / 'calls', '1000000', '20000']),
            subprocess.Popen([sys.executable, '-c', SLEEPS])]
    of = [] if is_system else ['-p', ','.join(str(process.pid) for process in load)]
    try:
        subprocess.run([bench.attar, 'overview', '-q', '-d', '10s', *of, '-o', out], check=True)
    finally:
        for process in load:
            process.kill()
            process.wait()
    return 100 * json.loads(out.read_text().splitlines()[-1])['notes']['self_cpu']


def run(bench):
    perf, data = bench.peer('perf'), bench.scratch / 'perf.data'
    messages = MESSAGES // 10 if bench.quick else MESSAGES
    pipe = [perf, 'bench', '-f', 'simple', 'sched', 'pipe', '-l', messages]
    forks = [bench.tool('forks'), PROCESSES]
    sched = [perf, 'sched', 'record', '-q', '-m', '4M', '-o', data]
    switches = [perf, 'record', '-q', '-g', '-m', '4M', '-e',
                'sched:sched_switch,sched:sched_wakeup', '-o', data]
    peers = {
        'runqlat': (sched, [perf, 'sched', '-i', data, 'latency'], 'perf sched record + latency'),
        'task-state': (sched, [perf, 'sched', '-i', data, 'latency'],
                       'perf sched record + latency'),
        'offcpu': (switches, [perf, 'script', '-i', data], 'perf record + perf script'),
    }
    lines = {name: (bench.compare(f'{name}: CPU', 's', peer, 0.1),
                    bench.compare(f'{name}: CPU of the command', 's', peer, 1.05),
                    bench.limit(f'{name}: lost', '', 0, worst=True))
             for name, (_, _, peer) in peers.items()}
    leaks = bench.compare('kmemleak: CPU', 's', 'bpftrace', None)
    share = bench.limit('overview of two processes', '% of a CPU', PERCENT)
    system = bench.limit('overview of the system', '% of a CPU', PERCENT)
    for _ in bench.rounds():
        for name, (record, report, _) in peers.items():
            cpu, inside, lost = ours(bench, name, command=pipe)
            their_cpu, their_inside = recorded(bench, record, report, pipe)
            lines[name][0].add(cpu, their_cpu)
            lines[name][1].add(inside, their_inside)
            lines[name][2].add(lost)
        cpu, _, _ = ours(bench, 'kmemleak', '--alloc', 'kmem:kmalloc//stack/', '--free',
                         'kmem:kfree', '-g', command=forks)
        leaks.add(cpu, traced(bench, LEAKS, forks))
        share.add(overview(bench, False))
        system.add(overview(bench, True))
    os.unlink(data)
