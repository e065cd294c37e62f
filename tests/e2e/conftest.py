# SPDX-License-Identifier: MIT
"""Fixtures that bring the machine into the state that a test needs, and restore it."""
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import breakpoints
import command
import guest
import hierarchy


# Keep the compiled tests in the build directory. To rewrite the assertions of all tests takes 6 s,
# in each worker and each run.
sys.pycache_prefix, sys.dont_write_bytecode = str(command.BUILD / 'pycache'), False

MARKERS = [
    'guest(kernel): boots this guest (or the one that the parameter "kernel" names)',
    'exclusive(subject): changes a setting of the machine, or is disturbed by other tests that '
    'measure it; with a subject, only by tests of the same one',
    'quick: part of "make check"',
    'slow: left out of "make check" although its file is quick',
]
# Fixtures that change a setting or a limit of the machine, or keep its CPUs busy.
EXCLUSIVE = {'sysctl', 'busy_cpus', 'open_dir'}
# Guests whose kernels are built: until that is done, their tests come last.
BUILT = ['x86', 'statuspage']
# Groups that take half a minute or more, the longest first. A worker takes the next group when it
# has two tests left, so groups of one or two tests do not come first.
LONG_GROUPS = ['exclusive', 'exclusive_events', 'debian', 'arm64', 'x86', 'test_fuzz',
               'packages', 'debian5', 'test_arm64', 'test_threads', 'test_command_lines',
               'hardware', 'test_waits', 'test_agent', 'debian7', 'arm64_test_packaging',
               'test_make_check', 'test_fleet', 'test_packaging', 'test_symbols_command',
               'test_perf_prof_commands', 'test_outputs', 'test_memory', 'test_truth',
               'test_targets', 'test_headers', 'test_symbols']
# For a test with its fixtures, which may wait for the build of a kernel.
HANGS_AFTER_S = 30 * 60


def kernel_of(item):
    """Return the guest that the test boots, or None."""
    mark = item.get_closest_marker('guest')
    if not mark:
        return None
    return mark.args[0] if mark.args else item.callspec.params['kernel']


def exclusive_group(item):
    """Return the group of tests that run one at a time, or None."""
    mark = item.get_closest_marker('exclusive')
    if EXCLUSIVE & set(item.fixturenames):
        return 'exclusive'
    return '_'.join(['exclusive', *mark.args]) if mark else None


def group_of(item, cached):
    """Return the group of the test; those of a group run one after another in one worker."""
    mark, kernel = item.get_closest_marker('xdist_group'), kernel_of(item)
    module = item.module.__name__.rpartition('.')[2]
    if mark:
        return mark.args[0]
    if kernel == 'arm64' or (kernel in BUILT and not cached):
        return f'{kernel}_{module}'  # each boots, or waits for the build and runs at the end
    if kernel:
        return kernel  # these share a boot
    return exclusive_group(item) or module  # these share fixtures of their module


def rank(item, cached, sizes):
    """
    Workers take groups in this order: the longest ones, beginning with exclusive tests, each of
    which one worker runs; then the other ones, those with most tests first, so that the last ones
    are short. While kernels are built, tests that need these come last.
    """
    group, kernel = group_of(item, cached), kernel_of(item)
    if kernel in BUILT and not cached:
        return 2, BUILT.index(kernel), group
    if group in LONG_GROUPS:
        return 0, LONG_GROUPS.index(group), group
    return 1, -sizes[group], group


@functools.cache  # all workers of xdist must have the same groups in the same order
def kernels_are_cached():
    return guest.kernels_are_cached(BUILT)


def pytest_sessionstart(session):
    if not hasattr(session.config, 'workerinput'):
        hierarchy.repair()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Called for each worker, before it starts."""
    node.workerinput['kernels_are_cached'] = kernels_are_cached()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config, items):
    """Exclusive tests run one at a time, the files of the others in parallel with them."""
    cached = config.workerinput['kernels_are_cached'] if hasattr(config, 'workerinput') \
        else kernels_are_cached()
    for item in items:
        if not command.ATTAR.exists():
            item.add_marker(pytest.mark.skip(reason=f'{command.ATTAR} is not built'))
        item.add_marker(pytest.mark.xdist_group(group_of(item, cached)))
    sizes = Counter(group_of(item, cached) for item in items)
    items.sort(key=lambda item: rank(item, cached, sizes))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Guests refuse to boot in a test without the mark, because the mark defines the order of
    tests.
    """
    guest.kernel = kernel_of(item)
    if guest.server and guest.server.name != guest.kernel:
        guest.end()


def kill_children(pid):
    """With the children of these, which may keep a pipe open."""
    for path in Path(f'/proc/{pid}/task').glob('*/children'):
        with contextlib.suppress(OSError):
            for child in map(int, path.read_text().split()):
                kill_children(child)
                os.kill(child, signal.SIGKILL)


def end_hanging_test(*_):
    """The programs are killed first: after an error, subprocess.Popen waits for them."""
    kill_children(os.getpid())
    raise TimeoutError(f'the test has not ended after {HANGS_AFTER_S} s')


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol():
    """A test that hangs fails, and does not stop the others."""
    signal.signal(signal.SIGALRM, end_hanging_test)
    signal.alarm(HANGS_AFTER_S)
    yield
    signal.alarm(0)


def pytest_runtest_logreport(report):
    """Print a failure immediately, so that an aborted run has reported it."""
    if report.failed:
        print(f'\nFAILED {report.nodeid} ({report.when})', file=sys.__stderr__, flush=True)


def pytest_configure(config):
    """Restore the signals that a background job ignores for the programs that tests start."""
    for marker in MARKERS:
        config.addinivalue_line('markers', marker)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT
                          else signal.SIG_DFL)


@pytest.fixture(scope='session', autouse=True)
def guests(tmp_path_factory):
    """The folders of tests, which a guest may write; the guest is switched off at the end."""
    guest.folder = tmp_path_factory.getbasetemp()
    guest.folder.chmod(0o711)  # for users in the guest; its parent is private
    yield
    guest.end()


@pytest.fixture
def root():
    if os.geteuid():
        pytest.skip('needs root')


@pytest.fixture
def needs_breakpoints():
    if not breakpoints.breakpoints_are_hit():
        pytest.skip('hardware breakpoints have no effect on this machine')


@pytest.fixture
def needs_perf():
    if not command.has('perf'):
        pytest.skip('perf (package linux-perf) is not installed')


@pytest.fixture
def script(tmp_path):
    """Write a text as a script (docs/scripts.md), and return its path."""
    def write(text):
        path = tmp_path / 'test.script'
        path.write_text(text)
        return path
    return write


@pytest.fixture
def sdt():
    """A program with probes of <sys/sdt.h>."""
    path = command.workload('sdt')
    if not os.path.exists(path):
        pytest.skip('sys/sdt.h (package systemtap-sdt-dev) is not installed')
    return path


@pytest.fixture
def loop(root, tmp_path):
    """A loop device of 8 MiB."""
    if not command.has('losetup') or not os.path.exists('/dev/loop-control'):
        pytest.skip('this system has no loop devices')
    image = tmp_path / 'disk'
    image.write_bytes(bytes(8 << 20))
    device = subprocess.check_output(['losetup', '-f', '--show', image], text=True).strip()
    yield device
    subprocess.run(['losetup', '-d', device], check=True)


@pytest.fixture
def sysctl(root):
    """sysctl('kernel.x', 3) sets a value for the duration of the test."""
    before = {}

    def set_value(name, value):
        path = Path('/proc/sys') / name.replace('.', '/')
        before.setdefault(path, path.read_text())
        path.write_text(f'{value}\n')

    yield set_value
    for path, value in before.items():
        path.write_text(value)


@pytest.fixture
def spawn():
    """spawn(command...) starts a process that is killed after the test, with its children."""
    processes = []

    def start(*args, **kwargs):
        kwargs.setdefault('stdin', subprocess.DEVNULL)
        kwargs.setdefault('stdout', subprocess.DEVNULL)
        if not kwargs.get('start_new_session'):
            kwargs.setdefault('process_group', 0)
        processes.append(subprocess.Popen([str(a) for a in args], **kwargs))
        return processes[-1]

    yield start
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # the group may outlive its leader
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def busy_cpus(spawn):
    """
    A process of the lowest priority keeps each CPU busy: in some virtual machines timers of idle
    CPUs fire late, and events in the idle task are not delivered.
    """
    for cpu in os.sched_getaffinity(0):
        spawn('nice', '-n', '19', 'taskset', '-c', cpu, sys.executable, '-c', 'while True: pass')


@pytest.fixture
def open_dir(tmp_path_factory):
    """A folder that every user may read, with the tested command and the given workloads."""
    folder = Path(f'/tmp/attar-test-{os.getpid()}')
    folder.mkdir(mode=0o755)

    def put(*names):
        for name in names:
            shutil.copy(command.ATTAR if name == 'attar' else command.workload(name), folder / name)
        return folder

    put('attar')
    put.path = folder
    yield put
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=['v2', 'v1'])
def cgroup(request, root, tmp_path):
    """A new control group; for v1 in a hierarchy that is mounted for this test only."""
    with hierarchy.alone(), contextlib.ExitStack() as stack:
        where = hierarchy.hierarchies().get(request.param)
        if request.param == 'v2' and not (where and hierarchy.in_v2()):
            pytest.skip(
                'no v2 hierarchy is mounted, or the perf_event controller is bound to a v1 '
                'hierarchy')
        if not where:
            where = tmp_path
            stack.enter_context(hierarchy.v1_hierarchy(where))
        group = where / f'attar-test-{os.getpid()}'
        group.mkdir()
        stack.callback(hierarchy.remove, group)
        yield group
