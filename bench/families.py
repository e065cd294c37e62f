# SPDX-License-Identifier: MIT
"""Profilers of the scheduler, memory and disks compared with other tools for the same questions.

`perf bench sched pipe` passes a byte back and forth between two processes, which are woken up and
switch with each of a fixed number of messages. It runs on one CPU: on two, its CPU time differs by
a factor of three, depending on where the scheduler places the processes. attar watches it with
runqlat, task-state and offcpu; the peers record switches and wakeups of the whole system, as attar
does, to a file, and report on it: the events that end a block happen in other tasks. The tool's CPU
time is that of all its processes without the watched command. The command's CPU time, which
includes the work of the kernel and the tool in its context, is compared as well.

Three profilers are compared with scripts of bpftrace for the same events: runqlat with the same
messages, kmemleak with a command that starts 300 processes, blktrace with 20,000 direct reads of a
loop device. A script computes in the kernel, in the context of each event, which is in the CPU time
of the command: the sum of both is compared too. These rows have no goal: compiling a script takes
0.2 s or more, however many events follow.

The share of a CPU that `attar overview` needs is measured for ten seconds: of a process that makes
20,000 system calls per second and one that sleeps 1,000 times per second, and of the whole system,
on which they and all other programs run.
"""
import contextlib
import json
import os
import subprocess
import sys

MESSAGES = 100000
PROCESSES = 300
READS = 20000
BLOCK = 4096
PERCENT = 2
SLEEPS = 'import time\nwhile True: time.sleep(0.001)'
LEAKS = '''
tracepoint:kmem:kmalloc { @size[args->ptr] = args->bytes_alloc; @stack[args->ptr] = kstack; }
tracepoint:kmem:kfree { delete(@size[args->ptr]); delete(@stack[args->ptr]); }
END { clear(@size); clear(@stack); }
'''
LATENCY = '''
tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new { @since[args->pid] = nsecs; }
tracepoint:sched:sched_switch {
    if ((args->prev_state & 0xff) == 0) { @since[args->prev_pid] = nsecs; }
    if (@since[args->next_pid]) { @ns = hist(nsecs - @since[args->next_pid]); }
    delete(@since[args->next_pid]);
}
END { clear(@since); }
'''
REQUESTS = '''
tracepoint:block:block_getrq /args->dev == DEVICE/ {
    @got[args->dev, args->sector] = nsecs;
}
tracepoint:block:block_rq_insert /args->dev == DEVICE/ {
    @inserted[args->dev, args->sector] = nsecs;
}
tracepoint:block:block_rq_issue /args->dev == DEVICE/ {
    if (@got[args->dev, args->sector]) {
        @queue[args->dev] = hist(nsecs - @got[args->dev, args->sector]);
    }
    @issued[args->dev, args->sector] = nsecs;
}
tracepoint:block:block_rq_complete /args->dev == DEVICE/ {
    if (@issued[args->dev, args->sector]) {
        @device[args->dev] = hist(nsecs - @issued[args->dev, args->sector]);
    }
    delete(@got[args->dev, args->sector]);
    delete(@inserted[args->dev, args->sector]);
    delete(@issued[args->dev, args->sector]);
}
END { clear(@got); clear(@inserted); clear(@issued); }
'''


def watched(bench, *tool, command):
    """The CPU time of a tool without its command, and that of the command."""
    inner = bench.scratch / 'command.json'
    all_of_it = bench.cost(*tool, '--', bench.tool('cost'), inner, *command)
    cost = json.loads(inner.read_text())
    cpu = cost['user'] + cost['system']
    return all_of_it['cpu'] - cpu, cpu


def rings(words):
    """Options with which the events are delivered: bench/in_kernel.py has the other way."""
    return ['--in-kernel', 'no'] if words[0] == 'runqlat' else []


def ours(bench, *words, command):
    """As watched(), and the number of lost events."""
    out = bench.scratch / 'out.json'
    cpu, inside = watched(bench, bench.attar, *words, '-q', '-m', 1024, '-o', out,
                          *rings(words), command=command)
    return cpu, inside, json.loads(out.read_text().splitlines()[-1])['notes']['lost']


def recorded(bench, record, report, command):
    """The CPU time of recording and of the report, and that of the command."""
    cpu, inside = watched(bench, *record, command=command)
    return cpu + bench.cost(*report)['cpu'], inside


def traced(bench, script, command):
    """The CPU time of bpftrace, which runs the command itself, and that of the command."""
    inner = bench.scratch / 'command.json'
    words = ' '.join(map(str, [bench.tool('cost'), inner, *command]))
    all_of_it = bench.cost(bench.peer('bpftrace'), '-q', '-e', script, '-c', words)
    cost = json.loads(inner.read_text())
    cpu = cost['user'] + cost['system']
    return all_of_it['cpu'] - cpu, cpu


@contextlib.contextmanager
def loop_device(bench):
    """A loop device; None: the system has none."""
    image = bench.scratch / 'disk'
    with open(image, 'wb') as file:
        file.truncate(READS * BLOCK)
    made = subprocess.run(['losetup', '-f', '--show', image], capture_output=True, text=True)
    device = made.stdout.strip() or None
    try:
        yield device
    finally:
        if device:
            subprocess.run(['losetup', '-d', device], check=True)


class Script:
    """Rows that compare a profiler with a script of bpftrace."""

    def __init__(self, bench, words, script, command):
        self.bench, self.words, self.script, self.command = bench, words, script, command
        self.tool = bench.compare(f'{words[0]}: CPU', 's', 'bpftrace', None)
        self.both = bench.compare(f'{words[0]}: CPU with the command', 's', 'bpftrace', None)
        self.lost = bench.limit(f'{words[0]}: lost', '', 0, worst=True)

    def measure(self):
        cpu, inside, lost = ours(self.bench, *self.words, command=self.command)
        their_cpu, their_inside = traced(self.bench, self.script, self.command)
        self.tool.add(cpu, their_cpu)
        self.both.add(cpu + inside, their_cpu + their_inside)
        self.lost.add(lost)


def scripts(bench, pipe, device):
    found = [Script(bench, ['runqlat'], LATENCY, pipe),
             Script(bench, ['kmemleak', '--alloc', 'kmem:kmalloc//stack/', '--free', 'kmem:kfree',
                            '-g'], LEAKS, [bench.tool('forks'), PROCESSES])]
    reads = ['dd', f'if={device}', 'of=/dev/null', f'bs={BLOCK}', 'iflag=direct', 'status=none',
             f'count={READS // 10 if bench.quick else READS}']
    if device:
        number = os.stat(device).st_rdev
        script = REQUESTS.replace('DEVICE', str(os.major(number) << 20 | os.minor(number)))
        found.append(Script(bench, ['blktrace', '-d', device], script, reads))
    return found


def overview(bench, is_system):
    """The share of a CPU that the profiler reports for itself, in percent."""
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


def peers_of(perf, data):
    """For each profiler: the recorder, the reporter, and the name of both."""
    sched = [perf, 'sched', 'record', '-q', '-m', '4M', '-o', data]
    latency = [perf, 'sched', '-i', data, 'latency']
    switches = [perf, 'record', '-q', '-a', '-g', '-m', '4M', '-e',
                'sched:sched_switch,sched:sched_waking', '-o', data]
    return {
        'runqlat': (sched, latency, 'perf sched record + latency'),
        'task-state': (sched, latency, 'perf sched record + latency'),
        'offcpu': (switches, [perf, 'script', '-i', data], 'perf record -a + perf script'),
    }


def run(bench):
    perf, data = bench.peer('perf'), bench.scratch / 'perf.data'
    messages = MESSAGES // 10 if bench.quick else MESSAGES
    last = str(max(os.sched_getaffinity(0)))
    pipe = ['taskset', '-c', last, perf, 'bench', '-f', 'simple', 'sched', 'pipe', '-l', messages]
    peers = peers_of(perf, data)
    lines = {name: (bench.compare(f'{name}: CPU', 's', peer, 0.1),
                    bench.compare(f'{name}: CPU of the command', 's', peer, 1.05),
                    bench.limit(f'{name}: lost', '', 0, worst=True))
             for name, (_, _, peer) in peers.items()}
    share = bench.limit('overview of two processes', '% of a CPU', PERCENT)
    system = bench.limit('overview of the system', '% of a CPU', PERCENT)
    with loop_device(bench) as device:
        against_scripts = scripts(bench, pipe, device)
        for _ in bench.rounds():
            for name, (record, report, _) in peers.items():
                cpu, inside, lost = ours(bench, name, command=pipe)
                their_cpu, their_inside = recorded(bench, record, report, pipe)
                lines[name][0].add(cpu, their_cpu)
                lines[name][1].add(inside, their_inside)
                lines[name][2].add(lost)
            for line in against_scripts:
                line.measure()
            share.add(overview(bench, False))
            system.add(overview(bench, True))
    os.unlink(data)
