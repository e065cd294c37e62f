# SPDX-License-Identifier: MIT
"""attar and perf on the same workload: the top ten agree within sampling error."""
import math
import re
import subprocess
from collections import Counter

import pytest

from command import perf, profile, workload

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures('root', 'needs_perf')]


def plain(name):
    """A function's name without what the compiler and the linker append."""
    return re.sub(r'(\.(isra|constprop|part|cold)\.\d+|@@.*)+$', '', name)


def perf_functions(data):
    """Count samples by function in the output of perf script."""
    found = Counter()
    for line in perf('script', '-i', data, '-F', 'ip,sym,dso', '-G').splitlines():
        if m := re.match(r'\s*[0-9a-f]+ (.*) \((.*)\)$', line):
            found[plain(m[1])] += 1
    return found


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
    data = tmp_path / 'perf.data'
    words = [workload(command[0]), *command[1:]]
    found = profile('--exclude-kernel', command=words)
    ours = Counter()
    for f in found.functions:
        ours[plain(f['symbol'])] += f['samples']
    subprocess.run(['perf', 'record', '-q', '-F', '997', '-e', 'cpu-clock:u', '-o', data, '--',
                    *words],
                   check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    # Sampling starts with each process: one of 2 ms has two samples; its start is in the first or
    # none.
    compare(ours, perf_functions(data), slack=0.06 if command[0] == 'forkstorm' else 0.01)


def test_top_kernel_functions_agree(tmp_path):
    """
    Kernel functions that print the kernel's symbols: tracers of system calls, which other tests
    use, are not among them.
    """
    data = tmp_path / 'perf.data'
    words = ['wc', '-l', *['/proc/kallsyms'] * 40]
    found = profile('--exclude-user', command=words)
    ours = Counter()
    for f in found.functions:
        ours[plain(f['symbol'])] += f['samples']
    subprocess.run(['perf', 'record', '-q', '-F', '997', '-e', 'cpu-clock:k', '-o', data, '--',
                    *words],
                   check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    theirs = perf_functions(data)
    compare(ours, theirs, top=5)
