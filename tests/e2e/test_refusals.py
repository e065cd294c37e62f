# SPDX-License-Identifier: MIT
"""perf_event_open(2) as other kernels answer it: fallbacks, messages and exit status."""
import errno
import os
import re

import pytest

from command import Profile, run, share_is, workload
from faults import counted, messages_of, with_fault

pytestmark = pytest.mark.usefixtures('root')

FAILED, USAGE, PERMISSION, UNSUPPORTED = 1, 2, 3, 4
OLD = ['3.16', '4.0', '4.4', '4.9', '4.14', '4.19', '5.4', '5.10', '5.15', '6.0']


@pytest.mark.parametrize('version', OLD)
def test_profile_on_old_kernels(version):
    """Without the features that the kernel lacks, the result is the same."""
    done = with_fault('kernel', 'profile', '-F', 997, '-g', '--exclude-kernel', '--format', 'json',
                      '--',
                      workload('split7030'), 1000, kernel=version)
    assert done.returncode == 0, done.stderr
    found = Profile(done.stdout)
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.01)
    assert found.samples > 300 and found.total('main') > 98 and found.notes['lost'] == 0


@pytest.mark.parametrize('version', OLD)
def test_trace_on_old_kernels(version):
    """Events are in time order, also if the kernel has no clock that attar supports."""
    done = with_fault('kernel', 'trace', '-e', 'page-faults', '--', workload('faults1000'),
                      kernel=version)
    assert done.returncode == 0, done.stderr
    times = [line.split()[0] for line in done.stdout.splitlines() if 'faults1000' in line]
    assert 1000 <= len(times) < 1200 and times == sorted(times)


@pytest.mark.parametrize('version', OLD)
def test_stat_of_a_group_on_old_kernels(version):
    """Before 4.13 an inherited group cannot be read at once: its members are read one by one."""
    args = ['stat', '-e', '{sched:sched_process_exit,cpu-clock}', '--format', 'json', '--',
            workload('forkstorm'), 'fork', 40]
    done, calm = with_fault('kernel', *args, kernel=version), run(*args)
    assert done.returncode == 0, done.stderr
    assert counted(done.stdout, 'sched:sched_process_exit') == \
        counted(calm.stdout, 'sched:sched_process_exit') >= 40


def test_too_old_kernel_is_refused():
    """A feature that every run needs is named, with the first kernel that has it."""
    done = with_fault('kernel', 'profile', '-d', '100ms', kernel='3.10')
    assert done.returncode == UNSUPPORTED
    assert messages_of(done)[-1].endswith(
        'uses PERF_SAMPLE_IDENTIFIER (event ids at a fixed offset in records), which '
        'requires Linux 3.12 or newer; this is kernel 3.10.0')


def test_fallbacks_are_listed_with_verbose():
    """-v lists what was left out for an old kernel."""
    done = with_fault('kernel', 'profile', '-v', '-e', 'cpu-clock', '--', workload('split7030'), 50,
                      kernel='4.4')
    assert re.search(r"cpu-clock: opened without .*, which kernel 4\.4\.0 does not support",
                     done.stderr), done.stderr


# As root there is no evidence of a cause: a security module that is not active is not blamed.
UNEXPLAINED = (
    r'(this process has CAP_PERFMON, and no seccomp filter or security module is known to '
    r'deny it; the kernel gives no reason|'
    r'.* (SELinux|a BPF program \(LSM\)) is active and may deny it: see its log)')
REFUSED = r"not permitted to open 'cpu-clock' system-wide on CPU \d+: " + UNEXPLAINED

# errno: status, message
REFUSALS = {
    errno.ENOSPC: (FAILED, r"cannot open 'cpu-clock': No space left on device "
                           r'\(its PMU has no free counter\)'),
    errno.EMFILE: (
        FAILED, r"'cpu-clock' exceeds the limit of \d+ open files: 1 event in \d+ instances? "
                r'\(CPUs x threads or control groups\) and other files need up to \d+ in '
                r'total: run ulimit -n \d+, or monitor fewer CPUs \(-C\) or threads \(-t\)'),
    errno.ENFILE: (
        FAILED, "cannot open 'cpu-clock': the system's limit of open files is reached: raise "
                "sysctl fs.file-max"),
    errno.EBUSY: (FAILED, r"'cpu-clock' is busy: its counter or PMU is held exclusively "
                          'by another event or profiler'),
    errno.EOPNOTSUPP: (
        UNSUPPORTED, r"'cpu-clock' is not available: kernel .* does not support software event 0"),
    errno.ENOENT: (UNSUPPORTED,
                   r"'cpu-clock' is not available: kernel .* does not support software event 0"),
    errno.ENOSYS: (UNSUPPORTED,
                   r'perf_event_open\(2\) is not available: the kernel was built without '
                                'CONFIG_PERF_EVENTS, or a sandbox blocks it'),
    errno.ENOMEM: (FAILED, '(cannot start: )?out of memory'),
    errno.EIO: (FAILED, "cannot open 'cpu-clock': Input/output error"),
    errno.EACCES: (PERMISSION, REFUSED),
    errno.EPERM: (PERMISSION, REFUSED),
    errno.EINVAL: (
        USAGE, r"the kernel rejects 'cpu-clock' as invalid: its type, config or a combination of "
               r'options is not supported; no single option is the cause'),
    errno.ENODEV: (
        FAILED, r"cannot open 'cpu-clock' on CPU \d+: the CPU is offline, or the event does not "
               r'count on this CPU'),
}


@pytest.mark.parametrize('profiler', ['profile', 'stat', 'trace'])
@pytest.mark.parametrize('error', REFUSALS, ids=errno.errorcode.get)
def test_refusal_of_every_open_is_reported(profiler, error):
    status, sentence = REFUSALS[error]
    done = with_fault('kernel', profiler, '-e', 'cpu-clock', '-d', '100ms', open=f'{error}@1+')
    assert re.fullmatch('attar: ' + sentence, messages_of(done)[-1]), done.stderr
    assert (done.returncode, done.stdout) == (status, '')


@pytest.mark.parametrize('nth', [1, 2, 3, 4])
@pytest.mark.parametrize('error', [errno.ENOSPC, errno.EMFILE, errno.EBUSY, errno.EIO,
                                   errno.ENOMEM],
                         ids=errno.errorcode.get)
def test_refusal_of_one_open_is_reported(error, nth):
    """One event per CPU is opened, then one dummy event per CPU for side-band records."""
    cpus = os.cpu_count()
    status, sentence = REFUSALS[error]
    if cpus < nth <= 2 * cpus:
        sentence = sentence.replace("'cpu-clock'", "'side-band records'")
    done = with_fault('kernel', 'profile', '-e', 'cpu-clock', '-d', '100ms', open=f'{error}@{nth}')
    if nth <= 2 * cpus:
        assert re.fullmatch('attar: ' + sentence, messages_of(done)[-1]), done.stderr
        assert done.returncode == status
    else:
        assert done.returncode == 0 and done.stderr == ''


def test_threads_that_exit_during_open_are_skipped(spawn):
    """ESRCH for some threads of a process does not affect the others."""
    target = spawn(workload('threads2'), 1000000)
    while len(os.listdir(f'/proc/{target.pid}/task')) < 3:
        pass
    done = with_fault('kernel', 'profile', '-e', 'cpu-clock', '--exclude-kernel', '-d', '500ms',
                      '-p', target.pid,
                      '--format', 'json', open=f'{errno.ESRCH}@2')
    assert done.returncode == 0, done.stderr
    assert Profile(done.stdout).samples > 5


def test_fifth_breakpoint_is_refused():
    """Refused by the machine itself: x86 has four breakpoints."""
    events = ','.join(f'mem:{0x601000 + 8 * i:#x}:w' for i in range(5))
    done = run('trace', '-e', events, '--', 'true')
    assert done.returncode == FAILED
    assert re.fullmatch(r"attar: 'mem:0x601020:w' needs a hardware breakpoint, and all are in use "
                        r'\(most CPUs have four\): stop other users of breakpoints, such as '
                        r'debuggers, or request fewer', messages_of(done)[-1]), done.stderr


@pytest.mark.parametrize('arguments', [('-d', '100ms'), ('--', 'true')], ids=['system', 'command'])
@pytest.mark.parametrize('profiler', ['stat', 'trace'])
def test_kprobe_without_kprobes(profiler, arguments):
    """A feature that the kernel lacks is not supported for any target."""
    if os.path.exists('/sys/kernel/tracing/kprobe_events'):
        pytest.skip('this kernel has kprobes')
    for event in 'kprobe:do_exit', 'kretprobe:do_exit':
        done = run(profiler, '-e', event, *arguments)
        assert 'this kernel does not support kprobes' in messages_of(done)[-1]
        assert (done.returncode, done.stdout) == (UNSUPPORTED, '')


def test_breakpoint_on_kernel_code():
    """x86 allows them where kprobes are allowed; the kernel only reports EINVAL."""
    with open('/proc/kallsyms') as symbols:
        address = next(line.split()[0] for line in symbols if line.split()[2] == '_text')
    done = run('stat', '-e', f'mem:0x{address}:x', '-d', '100ms')
    if os.uname().machine != 'x86_64' or os.path.exists('/sys/kernel/tracing/kprobe_events'):
        pytest.skip('this kernel allows breakpoints on kernel code')
    assert messages_of(done)[-1].endswith(
        'execution breakpoints on kernel addresses require a kernel '
 'with kprobes (CONFIG_KPROBES is not set)')
    assert done.returncode == UNSUPPORTED


def test_pmu_that_this_machine_lacks():
    done = run('stat', '-e', 'some_accelerator/commands/', '--', 'true')
    assert messages_of(done)[-1].endswith(
        "this machine has no PMU 'some_accelerator': see 'attar list'")
    assert done.returncode == UNSUPPORTED


PATTERN = 'sched:sched_process_*'


@pytest.mark.parametrize('profiler', ['stat', 'trace'])
def test_pattern_leaves_out_refused_events(profiler):
    """
    The rest of the pattern is watched; one line gives the number of missing events and the reason.
    """
    events = os.listdir('/sys/kernel/tracing/events/sched')
    n = sum(name.startswith('sched_process_') for name in events)
    done = with_fault('kernel', profiler, '-e', PATTERN, '--', 'true',
                      open=f'{errno.EBUSY}@1', type=2)
    assert done.returncode == 0, done.stderr
    assert len(messages_of(done)) == 1
    assert re.fullmatch(rf"attar: skipped 1 of the {n} events that match '{re.escape(PATTERN)}': "
                        r"'sched:sched_process_\w+' is busy: .*", messages_of(done)[0])
    assert 'sched:sched_process_exit' in done.stdout


@pytest.mark.parametrize('profiler', ['stat', 'trace'])
def test_pattern_without_usable_event_fails(profiler):
    done = with_fault('kernel', profiler, '-e', PATTERN, '--', 'true',
                      open=f'{errno.EBUSY}@1+', type=2)
    assert (done.returncode, done.stdout) == (FAILED, '')
    assert re.fullmatch(r"attar: 'sched:sched_process_\w+' is busy: .*", messages_of(done)[-1])


def test_pattern_leaves_out_events_without_the_filtered_field():
    """Of these events, only sched_switch has the field next_pid."""
    done = run('trace', '-e', 'sched:sched_[sw]*/next_pid>0/', '-d', '100ms')
    assert done.returncode == 0, done.stderr
    assert re.search(r"events that match 'sched:sched_\[sw\]\*': "
                     r"filter 'next_pid>0': 'sched:\w+' has no field 'next_pid'", done.stderr)


IN_KERNEL = 'events are counted in the kernel, which cannot apply this filter: '


@pytest.mark.parametrize('profiler, event, place, reason', [
    ('stat', 'syscalls:sys_enter_read/fd==-1/', 'fd', IN_KERNEL +
     'the field is unsigned: use a number that is not negative, such as 0xffffffff'),
    ('stat', 'sched:sched_wakeup/comm==bash/', 'comm=',
     f'{IN_KERNEL}the kernel requires quotes around text'),
    ('stat', 'sched:sched_wakeup/pid<prio/', 'pid',
     f"{IN_KERNEL}the kernel's filters can only compare a field with a constant; 'attar top' "
     'counts by such a filter'),
    *[case for profiler in ['stat', 'trace'] for case in [
        (profiler, 'sched:sched_wakeup/pid==1 &/', '/', 'filter: expected an operand'),
        (profiler, '{page-faults,sched:sched_wakeup/nofield==1/}:W', 'nofield',
         "filter: no such field or variable 'nofield'; the fields are comm, pid, prio, "
         'target_cpu')]]])
def test_invalid_filters_are_refused_with_the_reason(root, profiler, event, place, reason):
    """The run ends: an event that is not counted because of a typing error is not a result."""
    done = run(profiler, '-e', event, '-d', '10s')
    assert (done.returncode, done.stdout) == (USAGE, '')
    caret = ' ' * event.rindex(place) + '^'
    assert done.stderr == f'attar: {reason}\n    {event}\n    {caret}\n'


@pytest.mark.parametrize('profiler', ['stat', 'trace'])
def test_function_tracing_works_or_is_refused_by_name(profiler):
    """ftrace:function is counted and traced, or the message names the kernel's refusal."""
    done = run(profiler, '-e', 'ftrace:function', '-N' if profiler == 'trace' else '-d',
               1 if profiler == 'trace' else '10ms', '-C', 0)
    assert done.returncode == 0 or \
        'this kernel does not allow function tracing (ftrace)' in done.stderr
