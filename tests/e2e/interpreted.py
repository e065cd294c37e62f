# SPDX-License-Identifier: MIT
"""Functions of interpreted languages in reports of attar stack."""
import json

from command import run


def stacks(pid, *options):
    """Return the frames of each thread of the report in JSON."""
    done = run('stack', '-p', pid, '--json', *options)
    assert done.returncode == 0, done.stderr
    tables = {s['name']: s for s in json.loads(done.stdout)['sections']}
    names = [c['name'] for c in tables['frames']['columns']]
    found = {}
    for row in tables['frames']['rows']:
        row = dict(zip(names, row))
        found.setdefault(row['tid'], []).append(row)
    return found


def interpreted(rows, title):
    """The function, file and line of the frames of a language, such as 'Python 3.11'."""
    return [[row['symbol'], row['file'], row['line']] for row in rows if row['dso'] == title]


def repeated(pid, *options):
    """Return the report of repeated stacks, and the rows of its functions by their names."""
    done = run('stack', '-p', pid, '--json', *options, timeout=60)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    table = next(s for s in report['sections'] if s['name'] == 'functions')
    names = [c['name'] for c in table['columns']]
    return report, {row['symbol']: row for row in (dict(zip(names, r)) for r in table['rows'])}


def check_shares(pid, heavy, light, caller, turns=500):
    """Loops that take 70 and 30 % of the time, in functions with these names."""
    _, functions = repeated(pid, '--repeat', turns, '--every', '3ms')
    both = [functions[name]['samples'] for name in (heavy, light)]
    n = sum(both)
    assert n > turns / 5, functions
    assert abs(both[0] / n - 0.7) < 4.5 * (0.7 * 0.3 / n) ** 0.5, functions
    assert functions[caller]['total'] > 97, functions
