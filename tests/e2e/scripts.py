# SPDX-License-Identifier: MIT
"""Reports of profilers as dictionaries, live and from scripts (docs/scripts.md)."""
import json
import signal

from command import is_sampling, run, wait_until


def report(profiler, *args, **kwargs):
    """Return the last JSON report of a run, with its stderr."""
    ended = run(profiler, '--format', 'json', *args, **kwargs)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    found['stderr'] = ended.stderr
    return found


def lacks_events(found):
    """Whether attar did not receive events: full rings, or the kernel does not report them."""
    notes = found.get('notes') or {}
    return bool(notes.get('lost') or notes.get('missing')
                or 'kernel did not report' in str(found.get('remarks')))


def report_until(is_right, *args, **kwargs):
    """Return the report of a run, again if it is wrong and says that events are lacking."""
    for _ in range(5):
        found = report(*args, **kwargs)
        if is_right(found) or not lacks_events(found):
            break
    return found


def of_script(tmp_path, text, profiler, *args):
    """Return the report on a script with this text, whose first line is added."""
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + text)
    return report(profiler, '--input', path, *args)


def section(found, name):
    return next(s for s in found['sections'] if s['name'] == name)


def rows_of(table):
    """Return the rows of a section as dictionaries."""
    names = [c['name'] for c in table['columns']]
    return [dict(zip(names, row)) for row in table['rows']]


def rows(found, name):
    """Return the rows of the section with this name as dictionaries."""
    return rows_of(section(found, name))


def stacks(found, name='stacks'):
    """Return the weights of a tree by path: (outermost, ..., innermost)."""
    paths, weights = [], {}
    for node in rows(found, name):
        above = () if node['parent'] in (-1, None) else paths[node['parent']]
        paths.append(above + (node['name'],))
        if node['self']:
            weights[paths[-1]] = weights.get(paths[-1], 0) + node['self']
    return weights


def wait_until_running(process):
    """Wait until events are enabled and the main loop prints; return the first line of output."""
    wait_until(lambda: process.poll() is not None or is_sampling(process), 'events are open')
    process.send_signal(signal.SIGUSR1)
    return process.stdout.readline()


def lines_of_csv(text):
    """Return the lines of single events in CSV output, which begin with their time."""
    lines = text.splitlines()
    head = next((i for i, line in enumerate(lines) if line.startswith('time,')), len(lines))
    end = next((i for i in range(head, len(lines)) if not lines[i]), len(lines))
    return lines[head:end]
