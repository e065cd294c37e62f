# SPDX-License-Identifier: MIT
"""attar doctor: its findings are true, its suggested fixes work, and it changes nothing."""
import ctypes
import errno
import json
import os
import re
import resource
import struct
import subprocess
import sys

import pytest

import scripts
from command import ATTAR, NOBODY, cpu_seconds, has, run, wait_until
from scripts import rows_of
from faults import sanitized, with_fault
from test_json_schema import validator

pytestmark = [pytest.mark.exclusive, pytest.mark.quick, pytest.mark.usefixtures('root')]
UNPRIVILEGED = ('--reuid', NOBODY, '--regid', NOBODY, '--clear-groups')
SYS_PERF_EVENT_OPEN = {'x86_64': 298, 'aarch64': 241}


@pytest.fixture
def program(open_dir):
    """attar in a directory that every user can read, where root can give it capabilities."""
    return open_dir('attar') / 'attar'


def examine(done, status=0):
    """Return the rows by section and name."""
    assert done.returncode == status, done.stdout + done.stderr
    report = json.loads(done.stdout)
    validator().validate(report)
    sections = {}
    for section in report['sections']:
        rows = rows_of(section)
        sections[section['name']] = {row['name']: row for row in rows}
    return sections['system'], sections['profilers']


def as_user(program, **kwargs):
    return run(*UNPRIVILEGED, program, 'doctor', '--json', program='setpriv', **kwargs)


def as_member(program, words=('doctor', '--json')):
    """As this user, in the group attar."""
    return run('--reuid', NOBODY, '--regid', NOBODY, '--groups', 'attar', program, *words,
               program='setpriv')


@pytest.fixture
def group():
    """The fixes create the group attar, unless it exists."""
    existed = subprocess.run(['getent', 'group', 'attar'], capture_output=True).returncode == 0
    yield
    if not existed:
        subprocess.run(['groupdel', 'attar'], check=True, capture_output=True)


def test_root_is_ready():
    system, profilers = examine(run('doctor', '--json'))
    for name in ('perf events', 'paranoid', 'capabilities', 'seccomp', 'whole system',
                 'kernel names', 'process names', 'tracefs',
                 'locked memory'):
        assert system[name]['state'] == 'READY', system[name]
        assert not system[name]['remedy']
    assert profilers['trace']['state'] == 'READY'
    assert {'profile', 'stat', 'trace'} <= set(profilers)


def test_every_row_that_is_not_ready_has_a_fix(program, sysctl):
    sysctl('kernel.perf_event_paranoid', 2)
    for done in (run('doctor', '--json'), as_user(program)):
        for row in examine(done)[0].values():
            assert (row['state'] == 'READY') == (not row['remedy']), row
            assert row['found'] and row['gives'], row


def test_suggested_fixes_work(program, sysctl, group):
    sysctl('kernel.perf_event_paranoid', 2)
    sysctl('kernel.kptr_restrict', 1)
    for name in ('paranoid', 'whole system', 'kernel names', 'BPF', 'capabilities'):
        before = examine(as_user(program))[0][name]
        assert before['state'] == 'DEGRADED', before
        subprocess.run(before['remedy'], shell=True, check=True)
        if 'setcap' in before['remedy']:
            assert run(*UNPRIVILEGED, 'sh', '-c', f'{program} -h', program='setpriv') \
                .returncode == 126  # not permitted
        after = examine(as_member(program))[0][name]
        assert after['state'] == 'READY', (before, after)
        subprocess.run(['setcap', '-r', program], check=True)
        program.chmod(0o755)


def test_every_setcap_gives_all_that_is_missing(program, sysctl):
    """setcap replaces the whole set: to follow several fixes in order must lose nothing."""
    sysctl('kernel.perf_event_paranoid', 2)
    sysctl('kernel.kptr_restrict', 1)
    system, profilers = examine(as_user(program))
    missing = system['capabilities']
    fixes = {one['remedy'] for one in [*system.values(), *profilers.values()]
             if 'setcap' in one['remedy']}
    assert fixes == {missing['remedy']}, fixes
    for name in ('cap_perfmon', 'cap_sys_ptrace', 'cap_syslog', 'cap_dac_read_search', 'cap_bpf'):
        assert name in missing['remedy'] and name in missing['found'], missing
    assert ('cap_sys_admin' in missing['remedy']) == (system['uprobes']['state'] == 'DEGRADED')


def test_uprobes_are_not_ready_if_they_are_refused(program, sysctl):
    sysctl('kernel.perf_event_paranoid', 2)
    row = examine(as_user(program))[0]['uprobes']
    done = run(*UNPRIVILEGED, program, 'stat', '-e', 'uprobe:main@"/bin/true"', '--', 'true',
               program='setpriv')
    if 'uprobes require' in done.stderr:
        assert (row['state'], row['found']) == (
            'DEGRADED', 'the kernel refuses to open them without capabilities')


def test_profilers_that_cannot_run_are_blocked(program, sysctl):
    """Profilers that doctor reports as BLOCKED fail, and all others run."""
    sysctl('kernel.perf_event_paranoid', 2)
    root, user = examine(run('doctor', '--json')), examine(as_user(program))
    for name in ('hwstat', 'llcstat', 'tlbstat', 'split-lock', 'ldlat-loads', 'ldlat-stores'):
        done = run(name, '-d', '10ms')
        assert (root[1][name]['state'] == 'BLOCKED') == (done.returncode == 4), root[1][name]
    if root[1]['ldlat-loads']['state'] == 'BLOCKED':
        assert root[1]['ldlat-loads']['found'] == \
            'without samples of loads and stores by PEBS or IBS (memory accesses)'
    for name in ('biolatency', 'cpudist', 'execsnoop', 'offcpu', 'watchdog'):
        done = run(*UNPRIVILEGED, program, name, '--', 'true', program='setpriv')
        assert done.returncode == 3, done.stderr
        assert user[1][name]['state'] == 'BLOCKED' and user[1][name]['remedy'], user[1][name]
    for name in ('profile', 'stat', 'page-faults'):
        done = run(*UNPRIVILEGED, program, name, '--', 'true', program='setpriv')
        assert (done.returncode, user[1][name]['state']) == (0, 'DEGRADED')


def test_delivery_is_not_ready_if_it_was_not_checked(program, sysctl):
    sysctl('kernel.perf_event_paranoid', 2)
    row = examine(as_user(program))[0]['delivery']
    assert row['found'].startswith('not checked: ') and row['state'] == 'DEGRADED', row


def test_profilers_list_what_a_user_lacks(program, sysctl):
    sysctl('kernel.perf_event_paranoid', 2)
    system, profilers = examine(as_user(program))
    assert system['whole system']['found'] == "only user code of this user's processes"
    assert profilers['profile']['state'] == 'DEGRADED'
    assert "without other users' processes, the kernel (whole system)" in \
        profilers['profile']['found']
    assert 'tracepoints (tracefs)' in profilers['trace']['found']


class Program(ctypes.Structure):
    """struct sock_fprog of linux/filter.h."""
    _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.c_char_p)]


def install_filter(code):
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(code), b''.join(struct.pack('HBBI', *line) for line in code))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), 'prctl')


def allow_everything():
    install_filter([(0x06, 0, 0, 0x7fff0000)])    # SECCOMP_RET_ALLOW


def refuse_perf_event_open():
    """Install the seccomp filter of containers: only perf_event_open(2) fails, with EPERM."""
    number = SYS_PERF_EVENT_OPEN[subprocess.os.uname().machine]
    install_filter([
        (0x20, 0, 0, 0),  # load the system call number
        (0x15, 0, 1, number),        # perf_event_open?
        (0x06, 0, 0, 0x00050001),    # SECCOMP_RET_ERRNO | EPERM
        (0x06, 0, 0, 0x7fff0000)])   # SECCOMP_RET_ALLOW


def test_a_seccomp_filter_blocks_everything():
    system, profilers = examine(run('doctor', '--json', preexec_fn=refuse_perf_event_open),
                                status=4)
    assert system['perf events']['state'] == system['seccomp']['state'] == 'BLOCKED'
    assert system['perf events']['found'] == 'a seccomp filter refuses perf_event_open(2)'
    for name, row in profilers.items():
        if name != 'cpu-util':  # reads /proc/stat only
            assert row['state'] == 'BLOCKED', row
            assert 'docker run --cap-add PERFMON' in row['remedy'], row


@pytest.mark.parametrize('error', [errno.EPERM, errno.EACCES, errno.ENOSYS],
                         ids=errno.errorcode.get)
def test_a_seccomp_filter_that_refuses_nothing_is_not_blamed(error):
    """Software events are refused by something else, while the system call itself works."""
    done = with_fault('kernel', 'doctor', '--json', open=f'{error}@1+', type=1,
                      preexec_fn=allow_everything)
    system, _ = examine(done, status=4)
    assert system['seccomp']['state'] == 'READY'
    assert system['seccomp']['found'] == 'a filter is active and allows perf_event_open(2)'
    assert system['perf events']['state'] == 'BLOCKED' and system['perf events']['remedy']
    assert 'a seccomp filter refuses' not in system['perf events']['found']


def test_ring_limit_is_lifted_by_cap_ipc_lock(program, sysctl):
    """CAP_PERFMON does not lift the limit on locked memory; CAP_IPC_LOCK and paranoid -1 do."""
    sysctl('kernel.perf_event_paranoid', 2)
    sysctl('kernel.perf_event_mlock_kb', 64)
    for capability, state in (('cap_perfmon', 'DEGRADED'), ('cap_ipc_lock', 'READY')):
        subprocess.run(['setcap', f'{capability}=ep', program], check=True)
        row = examine(as_user(program))[0]['locked memory']
        assert row['state'] == state, (capability, row)
    subprocess.run(['setcap', '-r', program], check=True)
    sysctl('kernel.perf_event_paranoid', -1)
    assert examine(as_user(program))[0]['locked memory']['state'] == 'READY'


def delivery():
    return examine(run('doctor', '--json'))[0]['delivery']['found']


def test_delivery_is_not_confirmed_on_busy_cpus(spawn):
    """No event happens in the idle task there, so nothing is known about such events."""
    cpus = sorted(os.sched_getaffinity(0))
    busy = [spawn('taskset', '-c', cpu, 'nice', '-n', '19', 'sh', '-c',
                  'while :; do :; done') for cpu in cpus]
    wait_until(lambda: all(cpu_seconds(one.pid) > 0 for one in busy), 'all CPUs are busy')
    assert delivery() == f'not checked, because busy: {", ".join(f"CPU {n}" for n in cpus)}'


def test_delivery_agrees_with_what_a_trace_misses(tmp_path):
    """CPUs whose idle task loses events are never said to deliver them."""
    nap = 'import time\nfor _ in range(300): time.sleep(0.0005)'
    for cpu in sorted(os.sched_getaffinity(0)):
        out = tmp_path / 'x.json'
        done = run('trace', '-q', '-a', '-e', 'sched:sched_wakeup/common_pid==0/', '-o', out, '--',
                   'taskset', '-c', cpu, 'python3', '-S', '-c', nap, stdout=subprocess.DEVNULL)
        assert done.returncode == 0
        notes = json.loads(out.read_text().splitlines()[-1])['notes']
        missing = {one['cpu'] for one in notes['missing_by_cpu']}
        assert all(f'CPU {n}' in delivery() for n in missing), notes


def test_tasks_agree_with_a_trace():
    """What is said to be delivered of sleeps on a CPU, a trace of another program has, too."""
    found = examine(run('doctor', '--json'))[0]['tasks']
    lacking = set(re.findall(r'sleeps on CPU (\d+)', found['found']))
    nap = 'import time\nfor _ in range(200): time.sleep(0.0005)'
    assert re.fullmatch(
        r'all switches of [1-9]\d* tasks were delivered'
        r'|(of [1-9]\d* sleeps on CPU \d+, \d+ wakeups, \d+ switches to the task and \d+ from it '
        r'were delivered(; )?)*'
        r'(switches from tasks that were not delivered: .*)?'
        r'|not checked, because the kernel lost events', found['found']), found
    assert (found['state'] == 'READY') == found['found'].startswith('all switches of '), found
    assert 'from attar (' not in found['found']  # its own samples arrive
    if found['found'].startswith('not checked'):
        return
    for cpu in {str(n) for n in os.sched_getaffinity(0)} - lacking:
        done = run('trace', '-q', '-a', '-e', 'sched:sched_wakeup/comm=="python3"/', '-m', 1024,
                   '--format', 'json', '--', 'taskset', '-c', cpu, 'python3', '-S', '-c', nap)
        reports = [json.loads(line) for line in done.stdout.splitlines()]
        woken = sum(len(s['rows']) for r in reports for s in r['sections'])
        assert woken >= 200 * 0.8 or reports[-1]['notes'].get('lost'), (cpu, woken, found)


def with_counts(tmp_path, *command):
    """
    Run the command, and count for each CPU the switches from and to the idle task meanwhile. What
    the kernel counts changes from time to time, so it is known for the same run only. Return the
    finished command and {cpu: (left, entered)}.
    """
    out = tmp_path / 'counts.json'
    done = run('stat', '-q', '-a', '--per-cpu', '-e', 'sched:sched_switch/prev_pid==0/',
               '-e', 'sched:sched_switch/next_pid==0/', '-o', out, '--', *command)
    counts = {}
    for row in scripts.rows(json.loads(out.read_text()), 'counts'):
        counts[row['cpu']] = (*counts.get(row['cpu'], ()), row['value'])
    return done, counts


def test_delivery_agrees_with_counted_switches(tmp_path):
    """Ten switches to the idle task of a CPU are followed by switches from it."""
    done, counts = with_counts(tmp_path, ATTAR, 'doctor', '--json')
    found = examine(done)[0]['delivery']['found']
    blind = re.search(r'switches from the idle task: ([^;]*)', found)
    for cpu in os.sched_getaffinity(0):
        left, entered = counts[cpu]
        if blind and f'CPU {cpu}' in blind[1].split(', '):
            assert entered - left >= 10 - 1, counts  # the CPU may be idle at the end only
        elif entered >= 40 and 'busy' not in found:  # at least 10 of them while doctor counts
            assert left > 0, counts


def test_remarks_agree_with_counted_switches(tmp_path):
    """
    Each sleep on an idle CPU is followed by a switch from the idle task. Those that the tracepoint
    does not show are made from other records, and counted.
    """
    nap = 'import time\nfor _ in range(300): time.sleep(0.0005)'
    for cpu in sorted(os.sched_getaffinity(0)):
        done, counts = with_counts(tmp_path, ATTAR, 'cpudist', '-a', '--in-kernel', 'no',
                                   '--format', 'json', '--',
                                   'taskset', '-c', cpu, 'python3', '-S', '-c', nap)
        assert done.returncode == 0, done.stderr
        remarks = ' '.join(json.loads(done.stdout.splitlines()[-1]).get('remarks', []))
        found = re.search(r'([\d,]+) samples? of sched:sched_switch that the kernel did not',
                          remarks)
        made = int(found[1].replace(',', '')) if found else 0
        lacking = sum(max(0, entered - left) for left, entered in counts.values())
        assert lacking * .8 - 50 <= made <= lacking * 1.2 + 50, (counts, remarks)


@pytest.mark.parametrize('args', [
    ('sql', '-e', 'sched:sched_switch', '--query',
     "SELECT count(*) FROM sched_switch WHERE prev_comm = 'sleeper'"),
    ('top', '-e', 'sched:sched_switch/prev_comm=="sleeper"/'),
], ids=['sql', 'filter'])
def test_filtered_switches_are_not_missing(args):
    """A filter in the kernel, given by the user or taken from a query, leaves gaps."""
    found = scripts.report(*args, '-a', '--', sys.executable, '-S', '-c', 'import time\n'
                           'open("/proc/self/comm", "w").write("sleeper")\n'
                           'for _ in range(100): time.sleep(0.001)')
    assert 100 <= found['notes']['seen'] < 1000
    assert 'kernel did not report' not in str(found.get('remarks'))


def test_low_limit_on_open_files_is_reported():
    system, _ = examine(run('doctor', '--json',
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                  (64, 64))))
    assert system['open files']['state'] == 'DEGRADED'
    assert system['open files']['found'].startswith('at most 64 open files')


def test_a_pid_namespace_is_a_container():
    if not has('unshare'):
        pytest.skip('unshare (package util-linux) is not installed')
    system, _ = examine(run('-p', '-f', '--mount-proc', ATTAR, 'doctor', '--json',
                            program='unshare'))
    assert system['container']['found'] == \
        'inside a container; processes outside it are shown by PID only'


def test_user_namespace_gives_no_privileges(program, sysctl):
    """Its root has capabilities there, but none in the initial namespace; setcap is not a fix."""
    sysctl('kernel.perf_event_paranoid', 2)
    if not has('unshare') or run('-Ur', 'true', program='unshare').returncode:
        pytest.skip('user namespaces are not available')
    system, _ = examine(run('-Ur', program, 'doctor', '--json', program='unshare'))
    for name in ('paranoid', 'capabilities', 'whole system'):
        assert system[name]['state'] == 'DEGRADED', system[name]
        assert system[name]['remedy'].startswith(
            'run it outside this user namespace, with cap_perfmon')
    assert system['container']['found'].endswith(
        "its root has no capabilities in the host's user namespace")
    done = run('-Ur', program, 'stat', '-a', '-e', 'page-faults', '-d', '100ms', program='unshare')
    assert done.returncode == 3
    assert done.stderr.endswith(
        'kernel.perf_event_paranoid is 2, and even root lacks CAP_PERFMON in a user namespace '
        '(rootless container); run as root outside the container, or run there: '
        'sysctl kernel.perf_event_paranoid=0\n')


def test_unmounted_proc_and_sys_are_reported():
    """A feature is unknown, not missing in the kernel, if /proc or /sys is not mounted."""
    if sanitized():
        pytest.skip('sanitizers read /proc')
    script = f'mount -t tmpfs none /proc; mount -t tmpfs none /sys; exec {ATTAR} doctor --json'
    system, _ = examine(run('-m', 'sh', '-c', script, program='unshare'))
    for name, folder in (('paranoid', '/proc'), ('kernel names', '/proc'),
                         ('control groups', '/proc'), ('tracefs', '/sys'),
                         ('kprobes', '/sys'), ('uprobes', '/sys'), ('BTF', '/sys'),
                         ('lockdown', '/sys')):
        assert system[name]['found'] == f'unknown: {folder} is not mounted', system[name]
        assert system[name]['remedy'].startswith('mount -t '), system[name]


def test_doctor_mounts_nothing():
    script = f'''umount /sys/kernel/tracing 2>/dev/null; umount /sys/kernel/debug 2>/dev/null
        before=$(cat /proc/self/mounts); {ATTAR} doctor --json || exit
        [ "$before" = "$(cat /proc/self/mounts)" ] || echo "mounts changed" >&2'''
    done = run('-m', 'sh', '-c', script, program='unshare')
    system, _ = examine(done)
    assert system['tracefs']['found'].startswith('not mounted: attar mounts it'), system['tracefs']
    assert done.stderr == ''


def with_rights(rights, program, *words):
    """As another user who has only these capabilities, and no other process."""
    user = '31337'
    sets = ','.join(f'+{name.removeprefix("cap_")}' for name in rights)
    more = [f'--inh-caps={sets}', f'--ambient-caps={sets}'] if rights else []
    return run('--reuid', user, '--regid', user, '--clear-groups', *more, program, *words,
               program='setpriv')


def rights_of(done):
    """Return the rows of the capabilities, and the row of the profiler."""
    report = json.loads(done.stdout)
    validator().validate(report)
    system, rights, profilers = (scripts.rows(report, name)
                                 for name in ('system', 'rights', 'profilers'))
    assert 'open files' not in {row['name'] for row in system}  # which it does not need
    profiler, = profilers
    return {row['name']: row for row in rights}, profiler


REFUSALS = {
    'cap_perfmon': r"not permitted to open '\S+' system-wide on CPU \d+: "
                   r'kernel.perf_event_paranoid is 2 and this process lacks CAP_PERFMON; run as ',
    'cap_dac_read_search': r'no permission to read tracefs \(/sys/kernel/tracing: Permission d',
    'cap_sys_admin': 'uprobes require CAP_SYS_ADMIN',
    'cap_syslog': 'kernel functions are not resolved: .* or with CAP_SYSLOG',
}
# Profilers, and the rights of which one is enough to make them fail.
NEEDED = {
    'runqlat': {'cap_perfmon', 'cap_dac_read_search'},
    'offcpu': {'cap_perfmon', 'cap_dac_read_search'},
    'profile': {'cap_perfmon'},
    'gc': {'cap_sys_admin'},  # which includes CAP_PERFMON
}


@pytest.mark.parametrize('name, needed', NEEDED.items())
def test_profilers_work_with_the_rights_that_are_listed(name, needed, program, sysctl):
    """And with one less they are refused, or say what is missing."""
    sysctl('kernel.perf_event_paranoid', 2)
    sysctl('kernel.kptr_restrict', 1)
    words = (name, '-a', '-d', '200ms')
    if name == 'gc' and run(*words).returncode:
        pytest.skip('there is no /usr/bin/python3 with probes, or no uprobes')
    rights, _ = rights_of(run('doctor', name, '--json'))
    assert {row['state'] for row in rights.values()} == {'READY'}
    done = with_rights(rights, program, 'doctor', '--json', name)
    assert rights_of(done)[0] == rights, done.stdout
    assert {row['found'] for row in rights.values()} == {'this process has it'}
    done = with_rights(rights, program, *words)
    assert done.returncode == 0, done.stderr
    assert not any(re.search(said, done.stderr) for said in REFUSALS.values()), done.stderr
    for less in rights:
        done = with_rights([one for one in rights if one != less], program, *words)
        assert (done.returncode == 3) == (less in needed), (less, done.stderr)
        if less in REFUSALS and (less, name) != ('cap_perfmon', 'gc'):
            assert re.search(REFUSALS[less], done.stderr), (less, done.stderr)


def test_rights_are_those_of_the_process(program, sysctl):
    """Profilers that cannot run without a right are blocked, others are degraded."""
    sysctl('kernel.perf_event_paranoid', 2)
    sysctl('kernel.kptr_restrict', 1)
    for name, state, status in (('runqlat', 'BLOCKED', 4), ('profile', 'DEGRADED', 0)):
        listed = rights_of(run('doctor', name, '--json'))[0]
        for less in listed:
            have = [one for one in listed if one != less]
            done = with_rights(have, program, 'doctor', name, '--json')
            rights, blocked = rights_of(done)
            assert rights[less]['state'] == state and done.returncode == status, rights
            assert rights[less]['found'].startswith('missing; not needed if '), rights
            assert less in rights[less]['remedy'], rights
            assert {rights[one]['state'] for one in have} <= {'READY'}, rights
            assert blocked['state'] != 'READY' or less == 'cap_sys_ptrace', blocked


def test_rights_that_settings_replace_are_not_needed(program, sysctl):
    """The table says which value is low enough; runqlat reads fields of tracepoints."""
    sysctl('kernel.kptr_restrict', 0)
    for level, runqlat, profile in ((2, 'BLOCKED', 'DEGRADED'), (0, 'BLOCKED', 'READY'),
                                    (-1, 'READY', 'READY')):
        sysctl('kernel.perf_event_paranoid', level)
        have = ['cap_dac_read_search']
        for name, state in (('runqlat', runqlat), ('profile', profile)):
            row = rights_of(with_rights(have, program, 'doctor', name, '--json'))[0]['cap_perfmon']
            assert row['state'] == state, (level, row)
            assert row['found'].startswith('not needed: ' if state == 'READY' else 'missing; ')
            done = with_rights(have, program, name, '-a', '-d', '50ms')
            assert (done.returncode == 0) == (state == 'READY'), (level, name, done.stderr)


def test_command_with_these_rights_works(program):
    """The command that the report suggests."""
    done = run('doctor', 'runqlat')
    command = re.search(r'with these rights only, as root: (setpriv .*) attar runqlat', done.stdout)
    words = re.sub('USER|GROUP', str(NOBODY), command[1]).split()
    done = run(*words[1:], program, 'runqlat', '-d', '50ms', program='setpriv')
    assert done.returncode == 0, done.stderr


def test_text_output(program, sysctl):
    sysctl('kernel.perf_event_paranoid', 2)
    done = run(*UNPRIVILEGED, program, 'doctor', program='setpriv')
    assert done.returncode == 0
    assert f'        fix: groupadd -f attar && chgrp attar {program} && chmod 750 ' in done.stdout
    assert ' && setcap cap_perfmon,cap_sys_ptrace,cap_syslog,' in done.stdout
    assert f'=ep {program} # members of this group are then as powerful as root\n' in done.stdout


def test_invalid_arguments_are_refused():
    for words, sentence in (
            (['--jsom'], 'no such option --jsom: did you mean --json?'),
            (['--json', '--jsom'], 'no such option --jsom: did you mean --json?'),
            (['runqlat', 'profile'],
             "unexpected argument 'profile': attar doctor [PROFILER] [--json]")):
        done = run('doctor', *words)
        assert (done.returncode, done.stderr) == (2, f'attar: {sentence}\n')
    for name, fix in (('runqlatt', "did you mean 'runqlat'?"),
                      ('user-events', "'attar list profilers' lists them")):
        done = run('doctor', name)
        assert (done.returncode, done.stderr) == (
            2, f"attar: doctor: no such profiler '{name}': {fix}\n")
