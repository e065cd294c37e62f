# SPDX-License-Identifier: MIT
"""attar and perf on the same workload: the top ten agree within sampling error."""
import math
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from command import perf, profile, workload

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures('root', 'needs_perf')]


def plain(name):
    """A function's name without what the compiler and the linker append."""
    return re.sub(r'(\.(isra|constprop|part|cold)\.\d+|@@.*)+$', '', name)


def aliases():
    """Return the first name of each kernel function by its others: perf and attar may differ."""
    names, addresses = {}, Counter()
    for line in Path('/proc/kallsyms').read_text().splitlines():
        address, _, name = line.split()[:3]
        names.setdefault(address, set()).add(name)
        addresses[name] += 1
    return {name: min(same) for same in names.values() for name in same if addresses[name] == 1}


def both(tmp_path, mode, words):
    """
    Count the samples of the command by function, of attar and of perf. Both sample the same run:
    another one can be slowed down elsewhere by other programs.
    """
    data, first = tmp_path / 'perf.data', aliases()
    found = profile(f'--exclude-{"user" if mode == "k" else "kernel"}', command=[
        'perf', 'record', '-q', '-F', '997', '-e', f'cpu-clock:{mode}', '-o', str(data), '--',
        *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    ours, theirs = Counter(), Counter()
    for f in found.functions:
        if f['comm'] not in ('perf', 'perf-exec'):
            ours[plain(first.get(f['symbol'], f['symbol']))] += f['samples']
    for line in perf('script', '-i', data, '-F', 'ip,sym,dso', '-G').splitlines():
        if m := re.match(r'\s*[0-9a-f]+ (.*) \((.*)\)$', line):
            theirs[plain(first.get(m[1], m[1]))] += 1
    return ours, theirs


def compare(ours, theirs, top=10, slack=0.01):
    n, m = sum(ours.values()), sum(theirs.values())
    assert n > 250 and m > 250, (n, m)
    for name, hits in theirs.most_common(top):
        p, q = ours[name] / n, hits / m
        error = math.sqrt(p * (1 - p) / n + q * (1 - q) / m)
        assert abs(p - q) <= 4.5 * error + slack, \
            f'{name}: attar {p:.4f}, perf {q:.4f} +- {error:.4f}\nattar: {ours.most_common(top)}'


@pytest.mark.parametrize('command', [['demo', '3'], ['split7030'], ['forkstorm', 'exec', '500'],
                                     ['mangled']])
def test_top_ten_agree(tmp_path, command):
    ours, theirs = both(tmp_path, 'u', [workload(command[0]), *command[1:]])
    # Sampling starts with each process: one of 2 ms has two samples; its start is in the first or
    # none.
    compare(ours, theirs, slack=0.06 if command[0] == 'forkstorm' else 0.01)


def test_top_kernel_functions_agree(tmp_path):
    """
    Kernel functions that print the kernel's symbols: tracers of system calls, which other tests
    use, are not among them.
    """
    compare(*both(tmp_path, 'k', ['wc', '-l', *['/proc/kallsyms'] * 40]), top=5)
