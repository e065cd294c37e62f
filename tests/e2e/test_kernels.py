# SPDX-License-Identifier: MIT
"""The same tree on other kernels: from Debian 12's to the newest, and on arm64 with a CPU PMU."""
import json
import os
import re

import pytest

import guest
from command import BUILD, Profile, share_is

KERNELS = ['debian', 'debian7', 'arm64']
pytestmark = pytest.mark.guest
# Under emulation a second takes a minute: on x86-64 only tests that use the kernel are repeated,
# and on arm64 all but those that take seconds on a real machine.
ASK_THE_KERNEL = ('aux', 'defer', 'event', 'kallsyms', 'overwrite', 'perf', 'procs', 'ring',
                  'sample', 'stream', 'symbol')
TAKE_LONG = ('address_space', 'debugfile')
# Formatting of values is the same on every architecture.
PLAIN_TEXT = ('csv', 'folded', 'html', 'options', 'opts', 'render', 'suggest', 'text', 'tree')
# Compares its lines with those of the kernel's own trace, which fall out of step in a slow guest.
IN_STEP = ('event_print',)


def build_for(kernel):
    """Return the build directory whose programs run there."""
    return guest.cross_build() if kernel == 'arm64' else BUILD


def is_for(kernel, name):
    if kernel == 'arm64':
        return not name.startswith(TAKE_LONG + IN_STEP + PLAIN_TEXT)
    return name.startswith(ASK_THE_KERNEL) and not name.startswith(IN_STEP)


@pytest.mark.parametrize('kernel', KERNELS)
def test_unit_tests(kernel):
    build = build_for(kernel)
    found = sorted(path for pattern in ('unit/unit_*', 'live/live_*')
                   for path in (build / 'tests').glob(pattern) if path.is_file())
    if not found:
        pytest.skip(f'no unit tests in {build} (package libcmocka-dev)')
    chosen = [path for path in found if is_for(kernel, path.name.partition('_')[2])]
    # counts are exact only under -icount, where the tests of hardware counters run
    env = {'ATTAR_TEST_SHARE': '10'} | ({'ATTAR_ICOUNT': '1'} if kernel == 'arm64' else {})
    ended = guest.run(kernel, guest.VM / 'units', *chosen, timeout=1500, env=os.environ | env)
    assert ended.stdout.splitlines() == [f'ok - {path.name}' for path in chosen], \
        ended.stdout + ended.stderr
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize('kernel', KERNELS)
def test_profile_of_known_truth(kernel, tmp_path):
    """70% of the time is in heavy(): with cpu-clock, and on arm64, which has a PMU, with cycles."""
    build = build_for(kernel)
    ended = guest.run(kernel, build / 'src/cli/attar', 'profile', '-F', 997, '-g',
                      '--exclude-kernel',
                      '-o', tmp_path / 'out.json', '--', build / 'tests/workloads/split7030', 2000,
                      share=[tmp_path])
    assert ended.returncode == 0, ended.stderr
    assert ('sampling cpu-clock instead' in ended.stderr) == (kernel != 'arm64'), ended.stderr
    found = Profile((tmp_path / 'out.json').read_text())
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.03)
    share_is(found.own('light'), found.samples, 0.3, slack=0.03)


COMMANDS = """
set -e
cd {here}
{attar} doctor --json >{out}/doctor.json
{attar} list --json >{out}/list.json
{attar} list sched:sched_switch >{out}/fields
{attar} trace -e sched:sched_wakeup help >{out}/help
{attar} stat -q -r 2 -o {out}/stat.json -e '{{page-faults,task-clock}},kprobe:do_exit,{probe},sched:sched_process_exec' -- {faults}
{attar} stat -q --per-cpu -d 300ms -o {out}/cpus.json
{attar} trace -g -e 'kprobe:do_exit,{probe},sched:sched_process_exec' -- {faults} >{out}/trace
{attar} user-events --json >{out}/user.json || true
"""


@pytest.mark.parametrize('kernel', KERNELS)
def test_every_command(kernel, tmp_path):
    """
    Debian's kernels have kprobes and all of tracefs: each command runs once, with a known result.
    """
    build = build_for(kernel)
    faults = build / 'tests/workloads/faults1000'
    script = COMMANDS.format(attar=build / 'src/cli/attar', out=tmp_path, here=tmp_path,
                             faults=faults,
                             probe=f'uprobe:main@"{faults}"')
    ended = guest.run(kernel, 'sh', '-c', script, share=[tmp_path])
    assert ended.returncode == 0, ended.stderr

    state = {row['name']: row['state'] for row in table(tmp_path / 'doctor.json', 'system')}
    for name in ('perf events', 'whole system', 'kernel names', 'tracefs', 'kprobes', 'uprobes',
                 'BPF', 'BTF'):
        assert state[name] == 'READY', name
    assert state['hardware counters'] == ('READY' if kernel == 'arm64' else 'DEGRADED')

    listed = {row['name'] for section in ('software', 'tracepoint', 'syntax')
              for row in table(tmp_path / 'list.json', section)}
    assert {'page-faults', 'sched:sched_switch', 'kprobe:FUNCTION[+OFFSET]',
            'uprobe:FUNCTION[+OFFSET]@FILE'} <= listed
    assert ' next_comm ' in (tmp_path / 'fields').read_text()
    assert "attar trace -e 'sched:sched_wakeup/pid>0/'" in (tmp_path / 'help').read_text()

    counts = {row['event'].split(':')[0]: row for row in table(tmp_path / 'stat.json', 'counts')}
    assert 1000 <= counts['page-faults']['value'] < 1200
    assert [counts[name]['value'] for name in ('kprobe', 'uprobe', 'sched')] == [1, 1, 1]
    assert {row['quality'] for row in counts.values()} == {'exact'}
    cpus = {row['cpu'] for row in table(tmp_path / 'cpus.json', 'counts')}
    assert cpus == ({0} if kernel == 'arm64' else {0, 1})

    traced = (tmp_path / 'trace').read_text()
    order = re.findall(r'^\S+ +\S+ +\d+ +\d+ +(sched:sched_process_exec|uprobe|kprobe)', traced,
                       re.M)
    assert order == ['sched:sched_process_exec', 'uprobe', 'kprobe'], traced
    assert re.search(r'^ +ffff[0-9a-f]+ do_exit\+', traced,
                     re.M) and re.search(r'^ +[0-9a-f]+ main\+', traced, re.M), traced


def table(path, name):
    """Return the rows of a section of the report."""
    section = next(s for s in json.loads(path.read_text())['sections'] if s['name'] == name)
    return [dict(zip([c['name'] for c in section['columns']], row)) for row in section['rows']]
