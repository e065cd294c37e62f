# SPDX-License-Identifier: MIT
"""Run the built attar and read its reports."""
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get('ATTAR_BUILD', ROOT / 'build')).resolve()
ATTAR = BUILD / 'src/cli/attar'
NOBODY = 65534
# No result depends on what perf has kept of the binaries that it recorded.
os.environ['PERF_BUILDID_DIR'] = '/nonexistent'
# For targets that never end: the number of samples after which to stop, on busy machines too.
ENOUGH = ('-N', 400, '-d', '30s')


# The function quiet(seconds) of a program for python3 -c, which stays on one CPU. It returns when
# the program has seen no gap in the time that is longer than a tenth of the seconds, for as long as
# these. Whatever makes the kernel's timers of the CPU late, such as a virtual machine that waits
# for its CPU, delays the program too; other programs do not.
QUIET = '''
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
def quiet(seconds):
    start = before = time.monotonic()
    while before < start + seconds:
        now = time.monotonic()
        if now > before + seconds / 10: start = now
        before = now
'''


def workload(name):
    return str(BUILD / 'tests/workloads' / name)


def run(*args, program=ATTAR, timeout=60, **kwargs):
    """Run attar with these arguments; undecodable bytes of its output are preserved."""
    kwargs.setdefault('stdin', subprocess.DEVNULL)
    if not {'stdout', 'stderr', 'capture_output'} & set(kwargs):
        kwargs['capture_output'] = True
    return subprocess.run([str(program), *map(str, args)], timeout=timeout, text=True,
                          encoding='utf-8', errors='surrogateescape', **kwargs)


def run_delivered(*args, output=None, **kwargs):
    """
    Run attar, again if the kernel did not deliver events to it, as its report then says: that of
    the file `output`, or of standard output.
    """
    for _ in range(5):
        ended = run(*args, **kwargs)
        said = output.read_text() if output and output.exists() else ended.stdout
        if ('kernel did not report' not in said and 'attar did not receive' not in said
                and 'more remark' not in said):
            break
    return ended


def write_secret(path, text):
    """Write a key, token or password, which other users must not be able to read."""
    path.write_text(text)
    path.chmod(0o600)


def wait_until(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f'not within {seconds} s: {what}'
        time.sleep(0.005)


def comm_of(pid):
    return Path(f'/proc/{pid}/comm').read_text().strip()


def cpu_seconds(pid):
    """Return the CPU time that the process has used in user mode."""
    ticks = int(Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[11])
    return ticks / os.sysconf('SC_CLK_TCK')


def is_sampling(process):
    """Return whether a started attar has opened its events and mapped its rings, or its sums."""
    assert process.poll() is None, f'attar has ended with status {process.returncode}'
    maps = Path(f'/proc/{process.pid}/maps').read_text()
    # the maps of sums are there before the events that are counted
    return 'anon_inode:[perf_event]' in maps or ('anon_inode:bpf-map' in maps and waits(process))


# poll, epoll_wait, ppoll and epoll_pwait
WAITING_CALLS = {'x86_64': {7, 232, 271, 281}, 'aarch64': {22, 73}}[os.uname().machine]


def waits(process):
    """Return whether the process waits for descriptors."""
    call, *args = Path(f'/proc/{process.pid}/syscall').read_text().split()
    # The second argument is the number of descriptors; poll(2) without any is a sleep.
    return call.isdigit() and int(call) in WAITING_CALLS and int(args[1], 16) > 0


def is_waiting(process):
    """Return whether a started attar has enabled its events and waits for the first one."""
    return is_sampling(process) and waits(process)


class Profile:
    """The JSON report of a run of attar profile."""

    def __init__(self, text, done=None):
        self.reports = [json.loads(line) for line in text.splitlines()]
        self.report = self.reports[-1]
        self.notes = self.report['notes']
        self.remarks = self.report.get('remarks', [])
        self.stderr = done.stderr if done else ''
        self.stdout = done.stdout if done else ''
        self.functions = self.rows('functions')
        self.samples = sum(f.get('samples', 0) for f in self.functions)

    def rows(self, section):
        for s in self.report['sections']:
            if s['name'] == section:
                names = [c['name'] for c in s['columns']]
                return [dict(zip(names, row)) for row in s['rows']]
        raise KeyError(section)

    def pick(self, symbol=None, comm=None, dso=None):
        """
        Return the functions with that name, task and file (each a string or a compiled pattern).
        """
        def fits(wanted, value):
            if wanted is None:
                return True
            return bool(wanted.fullmatch(value)) if isinstance(
                wanted, re.Pattern) else wanted == value
        return [f for f in self.functions if fits(symbol, f['symbol']) and fits(comm, f['comm'])
                and fits(dso, Path(f['dso']).name if isinstance(dso, str) else f['dso'])]

    def own(self, symbol=None, comm=None, dso=None):
        """Return the number of samples in the function itself."""
        return sum(f['samples'] for f in self.pick(symbol, comm, dso))

    def total(self, symbol):
        """Return the percentage of samples with the function anywhere in their stack."""
        return sum(f['total'] for f in self.pick(symbol))

    def stacks(self):
        """Count the samples by stack: (task, outermost function, ..., innermost)."""
        nodes, paths, found = self.rows('stacks'), [], Counter()
        for node in nodes:
            above = () if node['parent'] in (-1, None) else paths[node['parent']]
            paths.append(above + (node['name'],))
            if node['self']:
                found[paths[-1]] += node['self']
        return found


def profile(*args, command=None, freq=997, graph=True, status=0, timeout=90, **kwargs):
    """Run attar profile to its end, and fail if its exit status is another."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / 'out.json'
        words = ['profile', '-q', '-F', freq, *(['-g'] if graph else []), '-o', out, *args]
        done = run(*words, *(['--', *command] if command else []), timeout=timeout, **kwargs)
        assert done.returncode == status, f'status {done.returncode}: {done.stderr}'
        return Profile(out.read_text(encoding='utf-8'), done)


def share_is(part, whole, truth, slack=0.003, sigmas=4.5):
    """
    Fail unless part/whole is the share within sampling error (slack: interrupts, and start-up,
    which takes up to three samples on slow machines).
    """
    slack = max(slack, 3 / max(whole, 1))
    assert whole >= 50, f'only {whole} samples'
    share, error = part / whole, math.sqrt(max(truth * (1 - truth), 1e-4) / whole)
    assert abs(share - truth) <= sigmas * error + slack, \
        f'{part} of {whole} samples is {share:.4f}; the truth is {truth} +- {error:.4f}'


def compiler():
    """Return the compiler command for programs that use the library, with its sanitizers."""
    # what "meson introspect" prints, which takes 0.2 s
    options = json.loads((BUILD / 'meson-info/intro-buildoptions.json').read_text())
    sanitizer = next(o['value'] for o in options if o['name'] == 'b_sanitize')
    flags = [f'-fsanitize={sanitizer}'] if sanitizer != 'none' else []
    return [*(os.environ.get('CC') or 'gcc').split(), *flags]


def has(name):
    return shutil.which(name) is not None


def perf(*args):
    """Run perf and return its standard output."""
    return subprocess.run(['perf', *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True,
                          errors='replace', timeout=120, check=True).stdout


def as_nobody(*args, drop=(), **kwargs):
    """Run attar as a user without privileges (who must be able to read the program)."""
    return run('--reuid', NOBODY, '--regid', NOBODY, '--clear-groups', '--inh-caps=-all',
               '--bounding-set=-all',
               *args, program='setpriv', **kwargs)
