# SPDX-License-Identifier: MIT
"""Without root: permitted events are shown, others are reported with the least invasive fix."""
import json
import os
import re
import shutil
import subprocess

import pytest

from command import (
    ATTAR, NOBODY, Profile, as_nobody, has, is_waiting, run, share_is, wait_until, workload)
from scripts import rows_of

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures('root')]

PARANOID = [2, 3, 4]
PERMISSION = 3


@pytest.fixture
def nobody(open_dir):
    """nobody(*arguments) runs attar without privileges in a folder with two workloads."""
    if not has('setpriv'):
        pytest.skip('setpriv (package util-linux) is not installed')
    folder = open_dir('split7030', 'flood')

    def start(*args, wrap=()):
        return as_nobody(*wrap, folder / 'attar', *args)

    start.folder = folder
    return start


def table(report):
    """Return the rows of the first section."""
    section = report['sections'][0]
    return rows_of(section)


def notes_of(done):
    return [line for line in done.stderr.splitlines() if line.startswith('attar: ')]


@pytest.mark.parametrize('level', PARANOID)
def test_own_command_is_watched(nobody, sysctl, level):
    """
    User code of the user's own command works; one line says what is missing and how to get it.
    """
    sysctl('kernel.perf_event_paranoid', level)
    done = nobody('profile', '-F', 997, '-g', '--format', 'json', '--', nobody.folder / 'split7030')
    if done.returncode == PERMISSION and level > 2:
        # Debian's and Ubuntu's kernels refuse everything at levels 3 and 4.
        assert re.search(
            rf'kernel.perf_event_paranoid is {level}, which requires CAP_PERFMON for all events; '
            r'run as root, or run: sysctl kernel.perf_event_paranoid=2', done.stderr)
        return
    assert done.returncode == 0, done.stderr
    said = [line for line in notes_of(done) if 'only user code is monitored' in line]
    assert len(said) == 1
    assert f'kernel.perf_event_paranoid is {level}' in said[0]
    assert re.search(r'run as root, or let a group run attar with cap_perfmon,cap_sys_ptrace,'
                     r"cap_syslog,\S+ \('attar doctor' shows the commands\)$", said[0])
    found = Profile(done.stdout)
    share_is(found.own('heavy'), found.samples, 0.7)
    assert not found.pick(dso='[kernel.kallsyms]')


@pytest.mark.parametrize('level', PARANOID)
def test_whole_system_is_refused(nobody, sysctl, level):
    """The whole system is refused and this user has no other process: an error with the fix."""
    sysctl('kernel.perf_event_paranoid', level)
    done = nobody('profile', '-d', '200ms')
    assert done.returncode == PERMISSION
    last = notes_of(done)[-1]
    assert re.match(
        r"attar: not permitted to open '[\w-]+' system-wide on CPU \d+: kernel.perf_event_paranoid "
        r"is "
        rf'{level}\b.*(sysctl kernel.perf_event_paranoid=)', last), last


def test_own_processes_are_watched_instead_of_the_system(nobody, sysctl):
    sysctl('kernel.perf_event_paranoid', 2)
    script = f'{nobody.folder}/split7030 3000 & ' \
             f'exec {nobody.folder}/attar profile -F 997 -N 400 -d 30s --format json'
    done = as_nobody('sh', '-c', script)
    assert done.returncode == 0, done.stderr
    assert any('watching only your own processes' in line for line in notes_of(done))
    found = Profile(done.stdout)
    share_is(found.own('heavy', comm='split7030'), found.samples, 0.7, slack=0.01)


@pytest.mark.parametrize('level, whole_system', [(1, False), (0, True), (-1, True)])
def test_lower_paranoid_levels_allow_more(nobody, sysctl, level, whole_system):
    """Kernel code of own processes at level 1, the whole system at level 0."""
    sysctl('kernel.perf_event_paranoid', level)
    own = nobody('profile', '--format', 'json', '--', nobody.folder / 'flood', 2000000)
    assert own.returncode == 0 and 'only user code' not in own.stderr
    found = Profile(re.sub(r'^[\d.]+\n', '', own.stdout))
    assert found.own(dso='[kernel.kallsyms]') > 0.2 * found.samples
    system = nobody('profile', '-d', '100ms')
    assert (system.returncode == 0) == whole_system


@pytest.mark.parametrize('events', ['page-faults,page-faults:k', 'page-faults:k,page-faults'])
def test_kernel_code_beside_all_code_is_refused(nobody, sysctl, events):
    """They have a common counter, which is reduced to user code for one of them only."""
    sysctl('kernel.perf_event_paranoid', 2)
    done = nobody('trace', '-e', events, '--', 'true')
    assert done.returncode == PERMISSION
    assert "not permitted to open 'page-faults:k'" in notes_of(done)[-1]
    assert nobody('trace', '-e', 'page-faults,page-faults:u', '--', 'true').returncode == 0


def test_process_of_another_user_is_refused(nobody, sysctl):
    sysctl('kernel.perf_event_paranoid', 2)
    done = nobody('profile', '-d', '200ms', '-p', 1)
    assert done.returncode == PERMISSION
    assert notes_of(done)[-1].endswith(
        'on thread 1: the process belongs to another user; run as root or as that user, '
        'or give this program CAP_PERFMON and CAP_SYS_PTRACE')


@pytest.fixture
def setuid_program(nobody):
    """A copy of chain5 that runs as root, whoever starts it."""
    program = nobody.folder / 'suid'
    shutil.copy(workload('chain5'), program)
    program.chmod(0o4755)
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        pytest.skip(f'{nobody.folder} is on a file system that is mounted nosuid')
    return program


def reports_ended_events(done):
    said = [line for line in notes_of(done) if 'set-user-ID' in line]
    return len(said) == 1 and re.fullmatch(
        r'attar: process \d+ \(suid\) has executed a set-user-ID program, or one that its user '
        'may not read: the kernel then ends its events, so its later activity is missing', said[0])


def remarks_on_ended_events(report):
    return any(remark.startswith('1 process executed a set-user-ID or unreadable program')
               for remark in report.get('remarks', []))


def test_setuid_program_is_reported(nobody, setuid_program, sysctl):
    """
    The kernel ends the events of a task that executes one: this is reported, the rest is shown.
    """
    sysctl('kernel.perf_event_paranoid', 2)
    done = nobody('profile', '-F', 997, '--format', 'json', '--', 'sh', '-c',
                  f'{nobody.folder}/split7030; {setuid_program} 700')
    assert done.returncode == 0, done.stderr
    found = Profile(done.stdout)
    share_is(found.own('heavy'), found.samples, 0.7)
    assert not found.pick('five')
    assert reports_ended_events(done) and remarks_on_ended_events(found.report)


@pytest.mark.parametrize('command', ['profile', 'trace', 'stat'])
@pytest.mark.parametrize('who', ['nobody', 'root'])
def test_setuid_program_is_reported_by_each_command(command, who, nobody, setuid_program, sysctl):
    """Even if the program is short-lived, and even for root, whose events end as well."""
    sysctl('kernel.perf_event_paranoid', 2)
    script = f'{nobody.folder}/split7030 1; {setuid_program} 1; true'
    become = ['setpriv', '--reuid', NOBODY, '--regid', NOBODY, '--clear-groups']
    become = become if who == 'root' else []
    start = nobody if who == 'nobody' else run
    done = start(command, '-e', 'page-faults', '--format', 'json', '--', *become,
                 'sh', '-c', script)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert reports_ended_events(done) and remarks_on_ended_events(report)
    if command == 'stat':
        assert table(report)[0]['quality'] == 'partial'


def test_counts_of_an_unreadable_program_are_partial(nobody, sysctl):
    sysctl('kernel.perf_event_paranoid', 2)
    program = nobody.folder / 'suid'
    shutil.copy(workload('chain5'), program)
    program.chmod(0o711)
    done = nobody('stat', '-e', 'page-faults', '--format', 'json', '--',
                  'sh', '-c', f'{program} 1; true')
    assert reports_ended_events(done)
    assert table(json.loads(done.stdout))[0]['quality'] == 'partial'


def test_setuid_program_makes_only_its_counts_partial(nobody, setuid_program, sysctl):
    """With --per-thread only its counts are partial; with -r the remark is about all runs."""
    sysctl('kernel.perf_event_paranoid', 2)
    script = f'{nobody.folder}/split7030 1; {setuid_program} 1; true'
    done = nobody('stat', '--per-thread', '-e', 'page-faults', '--format', 'json', '--',
                  'sh', '-c', script)
    found = {row['comm']: row['quality'] for row in table(json.loads(done.stdout))}
    if 'suid' in found:  # this kernel counts the threads of a command separately
        assert found == {'sh': 'exact', 'split7030': 'exact', 'suid': 'partial'}
    done = nobody('stat', '-r', 3, '-e', 'page-faults', '--format', 'json', '--',
                  'sh', '-c', script)
    assert reports_ended_events(done)
    assert any(remark.startswith('3 processes executed')
               for remark in json.loads(done.stdout)['remarks'])


@pytest.mark.parametrize('options', [['-C', f'0-{os.cpu_count() - 1}'], ['-i', '60s']],
                         ids=['-C', '-i'])
def test_setuid_program_of_one_of_several_tasks(nobody, setuid_program, options, spawn):
    """What a thread creates is counted in its row, here: that one is partial, others are not."""
    become = ['setpriv', '--reuid', NOBODY, '--regid', NOBODY, '--clear-groups']
    waits, given = 'read line; {} 1; true', {'stdin': subprocess.PIPE}
    one = spawn(*become, 'sh', '-c', waits.format(setuid_program), **given)
    other = spawn(*become, 'sh', '-c', waits.format(nobody.folder / 'split7030'), **given)
    attar = spawn(ATTAR, 'stat', '--per-thread', '-e', 'page-faults', '--format', 'json',
                  '-p', f'{one.pid},{other.pid}', *options, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: is_waiting(attar), 'attar')
    for process in one, other:
        process.communicate(b'\n')
    report = json.loads(attar.communicate(timeout=30)[0].splitlines()[-1])
    assert {row['tid']: row['quality'] for row in table(report)} == {
        one.pid: 'partial', other.pid: 'exact'}
    assert remarks_on_ended_events(report)


def test_setuid_program_of_the_same_user_is_counted(nobody, sysctl):
    """A program that does not change the user is counted to its end, whatever its mode."""
    sysctl('kernel.perf_event_paranoid', 2)
    program = nobody.folder / 'own'
    shutil.copy(workload('chain5'), program)
    os.chown(program, NOBODY, NOBODY)
    program.chmod(0o4755)
    script = f'for i in 1 2 3 4 5; do {program} 1; false; done; true'
    done = nobody('stat', '-e', 'page-faults', '--format', 'json', '--', 'sh', '-c', script)
    report = json.loads(done.stdout)
    assert 'set-user-ID' not in done.stderr and table(report)[0]['quality'] == 'exact'


def test_perfmon_without_tracefs_names_tracefs(nobody, sysctl):
    """CAP_PERFMON permits the whole system but not tracefs, and the message names tracefs."""
    sysctl('kernel.perf_event_paranoid', 2)
    may = ['--reuid', NOBODY, '--regid', NOBODY, '--clear-groups', '--inh-caps=+perfmon',
           '--ambient-caps=+perfmon',
           '--bounding-set=-all,+perfmon', nobody.folder / 'attar', 'profile', '-d', '300ms']
    done = run(*may, '--format', 'json', program='setpriv')
    assert done.returncode == 0, done.stderr
    assert Profile(done.stdout).pick(dso='[kernel.kallsyms]')
    done = run(*may, '-e', 'sched:sched_switch', program='setpriv')
    assert done.returncode == PERMISSION
    assert re.fullmatch(
        r'attar: --event: no permission to read tracefs \(/sys/kernel/tracing: '
        r'Permission denied\): '
        r'run as root, or let a group read it \(as root\): .*', notes_of(done)[-1])


def test_tracepoint_without_tracefs_is_refused(nobody):
    done = nobody('profile', '-e', 'sched:sched_switch', '-d', '100ms')
    assert done.returncode == PERMISSION
    assert 'no permission to read tracefs' in done.stderr and 'run as root' in done.stderr


@pytest.mark.parametrize('what', ['sched:sched_switch', 'sched:*', 'sched_switch'])
@pytest.mark.parametrize('form', [(), ('--names',), ('--json',)], ids=' '.join)
def test_list_of_tracepoints_without_tracefs(nobody, what, form):
    """Whether there is such an event is unknown."""
    done = nobody('list', *form, what)
    assert (done.returncode, done.stdout) == (PERMISSION, '')
    assert done.stderr.startswith('attar: no permission to read tracefs (/sys/kernel/tracing: ')
    assert done.stderr.count('\n') == 1


def test_list_without_tracefs(nobody):
    """What can be read is listed."""
    done = nobody('list', '--names', 'page-faults')
    assert (done.returncode, done.stdout) == (0, 'page-faults\n')
    assert done.stderr.startswith('attar: tracepoints are not listed: no permission to read ')


def test_event_of_the_kernel_alone(nobody, sysctl):
    """It is not permitted, which is not 0; other events are counted."""
    sysctl('kernel.perf_event_paranoid', 2)
    for events in 'page-faults:k,page-faults:u', 'page-faults,page-faults:k':
        done = nobody('stat', '-e', events, '--format', 'json', '--', 'true')
        assert done.returncode == 0, done.stderr
        found = {row['event']: row for row in table(json.loads(done.stdout))}
        assert found['page-faults:u']['value'] > 0
        assert found['page-faults:k']['value'] is None
        assert found['page-faults:k']['quality'] == 'not permitted'
        assert "not permitted to open 'page-faults:k'" in done.stderr


@pytest.mark.parametrize('arguments', [
    ('stat', '-e', 'page-faults:k'), ('stat', '-e', '{page-faults,page-faults:k}'),
    ('trace', '-e', 'page-faults:k'), ('profile', '--exclude-user', '-e', 'cpu-clock')],
    ids=' '.join)
def test_events_of_the_kernel_alone(nobody, sysctl, arguments):
    sysctl('kernel.perf_event_paranoid', 2)
    done = nobody(*arguments, '--', 'true')
    assert (done.returncode, done.stdout) == (PERMISSION, '')
    assert re.search(r"attar: not permitted to open '(page-faults:k|cpu-clock)' on thread \d+: "
                     'kernel.perf_event_paranoid is 2 and this process lacks CAP_PERFMON',
                     notes_of(done)[-1])


@pytest.mark.parametrize('capabilities', ['-all', '+perfmon'])
def test_uprobes_need_more_than_perfmon(root, nobody, sysctl, capabilities):
    """
    Kernels that require CAP_SYS_ADMIN refuse them also with CAP_PERFMON; the reason is named once,
    without that of the tracefs that was tried first.
    """
    sysctl('kernel.perf_event_paranoid', 2)
    probe = f'uprobe:main@{nobody.folder}/flood'
    done = run('--reuid', 65534, '--regid', 65534, '--clear-groups', '--inh-caps', capabilities,
               '--ambient-caps', capabilities, nobody.folder / 'attar', 'stat', '-e', probe, '-a',
               '--', nobody.folder / 'flood', 1, program='setpriv')
    if capabilities == '+perfmon' and done.returncode == 0:
        return
    assert done.returncode == PERMISSION
    [note] = notes_of(done)
    assert note.startswith(
        f"attar: not permitted to open '{probe}' system-wide on CPU 0: uprobes require "
        'CAP_SYS_ADMIN (on some kernels since 5.8 CAP_PERFMON), regardless of '
        'kernel.perf_event_paranoid; run as root, or let a group run attar with cap_')
    assert re.search(r"[ ,]cap_sys_admin \('attar doctor' shows the commands\)$", note)


def test_limit_on_locked_memory_shrinks_rings(nobody, sysctl):
    """
    Beyond perf_event_mlock_kb the rings shrink until they fit, with one line, and the run
    continues.
    """
    sysctl('kernel.perf_event_mlock_kb', 516)
    # frame pointers: copies of stacks do not fit into such rings at this frequency
    done = nobody('profile', '-F', 997, '-m', 16384, '--unwind', 'fp', '--format', 'json', '--',
                  nobody.folder / 'split7030', 2000,
                  wrap=('prlimit', '--memlock=65536:65536'))
    assert done.returncode == 0, done.stderr
    said = [line for line in notes_of(done) if 'rings have' in line]
    assert len(said) == 1 and re.search(
        r'rings have \d+ KiB per CPU instead of 65536: the limit on locked memory', said[0])
    found = Profile(done.stdout)
    assert found.notes['lost'] == 0
    share_is(found.own('heavy'), found.samples, 0.7)


def test_root_mounts_tracefs():
    """As root with tracefs unmounted, in its own mount namespace: attar mounts it and says so."""
    from command import ATTAR
    script = (
        'mount --make-rprivate /; umount -l /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; '
        f'exec {ATTAR} profile -q -e raw_syscalls:sys_enter -N 10 -- {workload("flood")} 100000')
    done = run('-m', 'sh', '-c', script, program='unshare')
    assert done.returncode == 0, done.stderr


def test_clocks_count_kernel_code_without_permission(nobody, sysctl):
    """Software clocks count all time: there is nothing to report, unlike with page faults."""
    sysctl('kernel.perf_event_paranoid', 2)
    shutil.copy(workload('faults1000'), nobody.folder)
    done = nobody('stat', '-e', 'task-clock,page-faults', '--format', 'json', '--',
                  nobody.folder / 'faults1000', 50000)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [row['event'] for row in table(report)] == ['task-clock', 'page-faults:u']
    said = [line for line in notes_of(done) if 'only user code' in line]
    assert len(said) == 1 and said[0].startswith('attar: page-faults: ')
    clock = table(report)[0]['value'] * 1e6
    times = next(s for s in report['sections'] if s['name'] == 'command')
    spent = dict(zip([c['name'] for c in times['columns']], times['rows'][0]))
    # Faults take a third of the time or more. A clock of user code alone would have the user time.
    assert spent['system'] > 0.2 * clock
    assert abs(clock - spent['user'] - spent['system']) < 0.1 * clock
