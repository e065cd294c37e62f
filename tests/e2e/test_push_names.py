# SPDX-License-Identifier: MIT
"""Kernel functions of pushing hosts have the names of the kernel of each."""
import json
import re
import subprocess
from pathlib import Path

import pytest

from command import ATTAR, run, wait_until, workload
from test_push import listens

pytestmark = pytest.mark.usefixtures('root', 'needs_perf')

ENTER = 'raw_syscalls:sys_enter'
GETPPID = f'{ENTER}/id==110/'
CALLS = 50
# The caller of the tracepoint, of any kernel and compiler.
SYSCALL = r'do_syscall_64|entry_SYSCALL_64\w*|x64_sys_call'


def kallsyms(change):
    """The lines of this kernel, of which each name of code is changed."""
    text = Path('/proc/kallsyms').read_text()
    return re.sub(r'^(\w+ [tTwW] )(\S+)', lambda m: m[1] + change(m[2]), text, flags=re.M)


@pytest.fixture
def host(spawn, tmp_path):
    """
    Start a host of this name, which pushes the calls of a program with their stacks. The names of
    its kernel end with _of_NAME.
    """
    def start(name, lines=None):
        where = f'unix:{tmp_path}/{name}'
        (tmp_path / f'{name}.kallsyms').write_text(
            lines if lines is not None else kallsyms(lambda text: f'{text}_of_{name}'))
        process = spawn('unshare', '--uts', '--mount', 'sh', '-c',
                        f'hostname {name} && mount --bind {tmp_path}/{name}.kallsyms '
                        '/proc/kallsyms && exec "$@"', 'sh', ATTAR, 'record', '-g', '-e', GETPPID,
                        '--push', where, '--', workload('flood'), str(CALLS),
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wait_until(lambda: listens(where) or process.poll() is not None, 'a listener')
        return where
    return start


def events(done):
    """Return (host or None, text of the stack) of each event."""
    assert done.returncode == 0, done.stderr
    found = []
    for line in done.stdout.splitlines():
        for section in json.loads(line)['sections']:
            names = [c['name'] for c in section['columns']]
            for row in section['rows']:
                event = dict(zip(names, row))
                found.append((event.get('host'), '\n'.join(event['detail'])))
    return found


def test_names_are_those_of_the_sender(host):
    done = run('trace', '-g', '--format', 'json', '-e', ENTER, '--pull', host('one'))
    found = events(done)
    assert len(found) == CALLS
    assert all(re.search(rf'({SYSCALL})_of_one', frames) for _, frames in found), found[0]


def test_each_host_has_its_own_names(host):
    done = run('trace', '-g', '--format', 'json', '-e', ENTER, '--pull', host('one'), '--pull',
               host('two'))
    found = events(done)
    assert len(found) == 2 * CALLS
    for name, other in ('one', 'two'), ('two', 'one'):
        frames = [text for of, text in found if of == name]
        assert len(frames) == CALLS
        assert all(re.search(rf'({SYSCALL})_of_{name}', text) for text in frames), frames[0]
        assert not any(f'_of_{other}' in text for text in frames)


def test_a_profiler_of_several_hosts_has_the_names_of_each(host, tmp_path):
    """Without attar fleet in so many words."""
    folded = tmp_path / 'x.folded'
    done = run('profile', '-e', ENTER, '-g', '-o', folded, '--pull', host('one'), '--pull',
               host('two'))
    assert done.returncode == 0, done.stderr
    counts = {name: sum(int(line.rpartition(' ')[2]) for line in folded.read_text().splitlines()
                        if re.search(rf'({SYSCALL})_of_{name}', line))
              for name in ('one', 'two')}
    assert counts == {'one': CALLS, 'two': CALLS}


def test_a_sender_without_addresses_has_no_names(host):
    """As with kptr_restrict: the receiver is the same kernel, and uses its own names."""
    hidden = re.sub(r'^\w+', '0', kallsyms(lambda text: f'{text}_hidden'), flags=re.M)
    done = run('trace', '-g', '--format', 'json', '-e', ENTER, '--pull', host('one', hidden))
    found = events(done)
    assert len(found) == CALLS and not any('_hidden' in frames for _, frames in found)

