# SPDX-License-Identifier: MIT
"""Shared by the benchmarks: alternating rounds, cost of a process tree, table of results.

A benchmark is a file bench/<name>.py with one function run(bench) and a docstring that says what is
measured and how. Each round measures attar and the reference tool one after the other. The result
is the ratio within a round: on a shared machine, rounds differ more than the programs do.

    def run(bench):
        cpu = bench.compare('own CPU', 's', peer='perf record', goal=0.25)
        for _ in bench.rounds():
            cpu.add(ours=..., peer=...)
"""
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


class Skip(Exception):
    """The benchmark cannot run on this machine; the text is the reason."""


class Comparison:
    """One line of the table.

    The goal is the maximum of the ratio attar/reference or, without a reference, of our value.
    """

    def __init__(self, benchmark, name, unit, peer, goal, worst=False):
        self.benchmark, self.name, self.unit, self.peer = benchmark, name, unit, peer
        self.goal, self.worst = goal, worst
        self.ours, self.theirs = [], []

    def add(self, ours, peer=None):
        self.ours.append(ours)
        if self.peer:
            self.theirs.append(peer)

    @property
    def ratios(self):
        return [o / p if p else float('inf') if o else 1.0 for o, p in zip(self.ours, self.theirs)]

    @property
    def compared(self):
        """The value compared with the goal: the median or, with `worst`, the highest value."""
        values = self.ratios if self.peer else self.ours
        return max(values) if self.worst else statistics.median(values)

    @property
    def met(self):
        return None if self.goal is None else self.compared <= self.goal

    def row(self):
        values = self.ratios if self.peer else self.ours
        return {
            'benchmark': self.benchmark, 'measure': self.name, 'unit': self.unit,
            'peer_name': self.peer, 'ours': statistics.median(self.ours),
            'peer': statistics.median(self.theirs) if self.theirs else None,
            'ratio': statistics.median(self.ratios) if self.theirs else None,
            'low': min(values), 'high': max(values), 'rounds': len(self.ours),
            'goal': self.goal, 'met': self.met, 'all_ours': self.ours, 'all_peer': self.theirs,
        }


class Bench:
    def __init__(self, build, name, rounds, quick):
        self.build, self.name, self.count, self.quick = build, name, rounds, quick
        self.attar = str(build / 'src/cli/attar')
        self.source = Path(__file__).resolve().parents[1]
        self.comparisons = []
        self.scratch = Path(tempfile.mkdtemp(prefix='attar-bench-'))

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def compare(self, name, unit, peer, goal, worst=False):
        self.comparisons.append(Comparison(self.name, name, unit, peer, goal, worst))
        return self.comparisons[-1]

    def limit(self, name, unit, goal, worst=False):
        return self.compare(name, unit, None, goal, worst)

    def rounds(self, at_least=0):
        for i in range(max(self.count, 0 if self.quick else at_least)):
            print(f'  {self.name}: round {i + 1}', file=sys.stderr, flush=True)
            yield i

    def tool(self, name):
        """A program of bench/ or tests/workloads/ from the build directory."""
        for folder in ('bench', 'tests/workloads'):
            if (self.build / folder / name).exists():
                return str(self.build / folder / name)
        raise Skip(f'{name} is not built: ninja -C {self.build} bench-peers')

    def peer(self, name):
        if not shutil.which(name):
            raise Skip(f'{name} is not installed')
        return name

    def real_time(self):
        """The prefix that gives a command real-time priority over other processes."""
        return [self.peer('chrt'), '-f', 20] if os.geteuid() == 0 else []

    def start(self, *command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL):
        """Starts a command under bench/cost; finish() returns its cost."""
        out = self.scratch / f'cost.{os.urandom(4).hex()}'
        process = subprocess.Popen([self.tool('cost'), out, *map(str, command)],
                                   stdin=stdin, stdout=stdout,
                                   stderr=subprocess.PIPE, text=True, errors='replace')
        process.cost_file = out
        return process

    @staticmethod
    def finish(process, statuses=(0,)):
        _, errors = process.communicate(timeout=300)
        if process.returncode not in statuses:
            raise RuntimeError(f'{process.args[2:]}: status {process.returncode}\n{errors}')
        cost = json.loads(process.cost_file.read_text())
        cost['cpu'] = cost['user'] + cost['system']
        return cost

    def cost(self, *command, **kwargs):
        return self.finish(self.start(*command, **kwargs))

    def answer(self, *command):
        """The JSON output of a benchmark program."""
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                              timeout=300)
        if done.returncode:
            raise RuntimeError(f'{command}: status {done.returncode}\n{done.stderr}')
        return json.loads(done.stdout)


# Rare events: only opening and closing them takes time.
RARE = [
    'sched:sched_process_exec', 'sched:sched_process_exit', 'sched:sched_process_fork',
    'sched:sched_process_free', 'sched:sched_process_wait', 'sched:sched_kthread_stop',
    'sched:sched_kthread_stop_ret', 'sched:sched_wait_task', 'sched:sched_move_numa',
    'sched:sched_stick_numa', 'sched:sched_swap_numa', 'signal:signal_generate',
    'signal:signal_deliver', 'task:task_newtask', 'task:task_rename', 'oom:oom_score_adj_update',
    'oom:mark_victim', 'oom:wake_reaper', 'oom:reclaim_retry_zone', 'module:module_load',
    'module:module_free', 'cgroup:cgroup_mkdir', 'cgroup:cgroup_rmdir', 'cgroup:cgroup_attach_task',
    'printk:console', 'sched:sched_process_hang']
EVENTS_DIR = Path('/sys/kernel/tracing/events')


def rare_tracepoints(n):
    """The first n that this kernel has."""
    found = [name for name in RARE if (EVENTS_DIR / name.replace(':', '/')).is_dir()][:n]
    if len(found) < n:
        raise Skip(f'only {len(found)} of {n} tracepoints exist: mount tracefs')
    return found


def machine():
    """The machine of the measurements."""
    def first(command):
        try:
            done = subprocess.run(command, capture_output=True, text=True)
            return done.stdout.splitlines()[0].strip()
        except (OSError, IndexError):
            return 'none'

    cpuinfo = Path('/proc/cpuinfo').read_text()
    model = [line.split(':', 1)[1].strip() for line in cpuinfo.splitlines()
             if line.startswith('model name')]
    return {
        'cpu': model[0] if model else platform.machine(),
        'cpus': os.cpu_count(),
        'virtual': ' hypervisor' in cpuinfo,
        'memory_gb': round(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2 ** 30, 1),
        'kernel': platform.release(),
        'system': platform.freedesktop_os_release()['PRETTY_NAME'],
        'perf': first(['perf', '--version']),
        'load_at_start': round(os.getloadavg()[0], 2),
    }


def number(value):
    if value is None:
        return '-'
    if value == 0 or 0.01 <= abs(value) < 100000:
        return f'{value:.3g}' if abs(value) < 100 else f'{value:.0f}'
    return f'{value:.2e}'


def goal_text(row, unit):
    if row['goal'] is None:
        return '-'
    return '<= ' + number(row['goal']) + ('' if row['peer_name'] else unit)


def table(rows):
    heads = ['benchmark', 'measure', 'attar', 'reference', 'ratio', 'spread', 'goal', 'met']
    lines = []
    for r in rows:
        unit = f" {r['unit']}" if r['unit'] else ''
        lines.append([
            r['benchmark'], r['measure'], number(r['ours']) + unit,
            f"{number(r['peer'])}{unit} ({r['peer_name']})" if r['peer_name'] else '-',
            number(r['ratio']), f"{number(r['low'])} to {number(r['high'])}",
            goal_text(r, unit), {None: '-', True: 'yes', False: 'NO'}[r['met']]])
    widths = [max(len(line[i]) for line in [heads, *lines]) for i in range(len(heads))]
    rule = ['-' * w for w in widths]
    return '\n'.join('| ' + ' | '.join(c.ljust(w) for c, w in zip(line, widths)) + ' |'
                     for line in [heads, rule, *lines])
