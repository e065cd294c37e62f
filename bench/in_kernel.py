# SPDX-License-Identifier: MIT
"""Counting in the kernel, compared with counting the delivered events, and with bpftrace.

A program on the first CPU makes two million getppid() calls as fast as it can, more than a million
events per second, which attar syscount and syscalls count, and top and num-dist by their result; dd
writes 50,000 blocks of 4 KiB to a loop device, whose requests biolatency counts; and two processes
on the last CPU pass a byte back and forth (`perf bench sched pipe`), whose switches and wakeups
attar runqlat counts. Each runs with --in-kernel yes and no alternately, with rings of 4 MiB on the
last CPU, and under a script of bpftrace that computes the same. Compared are the CPU time of the
tool, without what it costs to start and end, and how much longer a call or a message takes than
without any tool: the time of the program in the kernel is part of it. Lost are events and values
that were not counted.
"""
import json
import os
import subprocess

CALLS = 2000000
MESSAGES = 200000
BLOCKS = 50000
RING = 1024  # pages: 4 MiB
SCRIPTS = {
    'syscount': 'tracepoint:raw_syscalls:sys_enter /comm == "paced"/ { @[args->id] = count(); }',
    'syscalls': '''
tracepoint:raw_syscalls:sys_enter /comm == "paced"/ { @since[tid] = nsecs; }
tracepoint:raw_syscalls:sys_exit /@since[tid]/ {
    @ns[args->id] = hist(nsecs - @since[tid]);
    delete(@since[tid]);
}''',
    'runqlat': '''
tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new { @since[args->pid] = nsecs; }
tracepoint:sched:sched_switch {
    if ((args->prev_state & 0xff) == 0) { @since[args->prev_pid] = nsecs; }
    if (@since[args->next_pid]) { @ns = hist(nsecs - @since[args->next_pid]); }
    delete(@since[args->next_pid]);
}
END { clear(@since); }''',
    'top': 'tracepoint:raw_syscalls:sys_exit /comm == "paced"/ { @[args->ret] = count(); }',
    'num-dist': 'tracepoint:raw_syscalls:sys_exit /comm == "paced"/ { @ = hist(args->ret); }',
    'biolatency': '''
tracepoint:block:block_rq_issue { @since[args->dev, args->sector] = nsecs; }
tracepoint:block:block_rq_complete /@since[args->dev, args->sector]/ {
    @ns = hist(nsecs - @since[args->dev, args->sector]);
    delete(@since[args->dev, args->sector]);
}
END { clear(@since); }''',
}
ARGUMENTS = {
    'top': ['-e', 'raw_syscalls:sys_exit//key=ret/'],
    'num-dist': ['-e', 'raw_syscalls:sys_exit//num=ret/'],
    'biolatency': ['-a'],
}


def loop_device(bench):
    """A loop device, which close_loop_device() removes."""
    image = bench.scratch / 'disk'
    found = subprocess.run([bench.peer('losetup'), '-j', image], capture_output=True, text=True,
                           check=True).stdout
    if found:
        return found.partition(':')[0]
    with image.open('wb') as file:
        file.truncate(BLOCKS * 4096)
    return subprocess.run(['losetup', '-f', '--show', image], capture_output=True, text=True,
                          check=True).stdout.strip()


def close_loop_device(bench):
    image = bench.scratch / 'disk'
    if image.exists():
        subprocess.run(['losetup', '-d', loop_device(bench)], check=True)


class Workload:
    """A command that does something n times."""

    def __init__(self, bench, profiler):
        self.bench, self.out = bench, bench.scratch / 'cost.json'
        self.is_calls = profiler not in ('runqlat', 'biolatency')
        self.loop = loop_device(bench) if profiler == 'biolatency' else None
        n = CALLS if self.is_calls else BLOCKS if self.loop else MESSAGES
        self.n = n // 10 if bench.quick else n

    def command(self, n):
        cost = [self.bench.tool('cost'), self.out]
        taskset = self.bench.peer('taskset')
        if self.is_calls:
            return [*cost, taskset, '-c', 0, self.bench.tool('paced'),
                    self.bench.scratch / 'program', n, 0]
        if self.loop:
            return [*cost, self.bench.peer('dd'), 'if=/dev/zero', f'of={self.loop}', 'bs=4k',
                    f'count={n}', 'oflag=direct', 'status=none']
        return [*cost, taskset, '-c', os.cpu_count() - 1, self.bench.peer('perf'), 'bench', '-f',
                'simple', 'sched', 'pipe', '-l', n]

    def cpu(self):
        """The CPU time of the command that ran last."""
        cost = json.loads(self.out.read_text())
        return cost['user'] + cost['system']

    def watched(self, n, tool):
        """The CPU times of a tool that runs the command, and of the command."""
        everything = self.bench.cost(*tool(self.command(n)))['cpu']
        return everything - self.cpu(), self.cpu()

    def measure(self, tool):
        """CPU seconds of the tool, and of the command, beyond the seconds of a short run."""
        base, short = self.watched(100, tool)
        cpu, inside = self.watched(self.n, tool)
        return max(cpu - base, 0), inside - short

    def alone(self):
        return self.measure(lambda command: command)[1]


def attar(bench, profiler, how):
    out = bench.scratch / 'report.json'
    return lambda command: [bench.peer('taskset'), '-c', os.cpu_count() - 1, bench.attar, profiler,
                            *ARGUMENTS.get(profiler, []), '-q', '-m', RING, '--in-kernel', how,
                            '-o', out, '--', *command]


def bpftrace(bench, profiler):
    return lambda command: [bench.peer('bpftrace'), '-q', '-e', SCRIPTS[profiler], '-c',
                            ' '.join(map(str, command))]


def lost(bench):
    return json.loads((bench.scratch / 'report.json').read_text().splitlines()[-1])['notes']['lost']


def run(bench):
    try:
        measure(bench)
    finally:
        close_loop_device(bench)


def measure(bench):
    lines = {name: (bench.compare(f'{name}: CPU', 's', '--in-kernel no', 0.1),
                    bench.compare(f'{name}: added to each', 'ns', '--in-kernel no', 0.7),
                    bench.compare(f'{name}: added to each', 'ns', 'bpftrace', 1),
                    bench.limit(f'{name}: lost', '', 0, worst=True)) for name in SCRIPTS}
    for _ in bench.rounds():
        for name, (cpu, added, script, missing) in lines.items():
            work = Workload(bench, name)
            alone = work.alone()

            def each(inside):
                return (inside - alone) / work.n * 1e9

            rings, of_rings = work.measure(attar(bench, name, 'no'))
            sums, of_sums = work.measure(attar(bench, name, 'yes'))
            missing.add(lost(bench))
            of_script = work.measure(bpftrace(bench, name))[1]
            cpu.add(sums, rings)
            added.add(each(of_sums), each(of_rings))
            script.add(each(of_sums), each(of_script))
