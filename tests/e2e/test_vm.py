# SPDX-License-Identifier: MIT
"""The guests: the properties that tests in guests rely on."""
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import guest

HERE = guest.ROOT / 'tests/vm'


WORDS = ['', 'two words', "it's", '$HOME `id` "quoted"', 'new\nline', '*']


@pytest.fixture(scope='module')
def passed(tmp_path_factory):
    """One boot: return the shared folder in which the command ran, and the finished command."""
    folder = tmp_path_factory.mktemp('passed')
    (folder / 'seen').write_text('by the guest')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ATTAR_TEST_WORD', "a 'b' $c")
        return folder, guest.boot('x86', 'sh', '-c', f'''
            pwd; cat seen; echo; echo "$ATTAR_TEST_WORD"; printf "<%s>" "$@"; echo; echo ==
            echo kept >"{folder}/result"; ! echo lost 2>&- >"{HERE}/result" || exit 1
            seq 100000; echo "to stderr" >/dev/stderr; exit 7''', 'sh', *WORDS, cwd=folder,
            share=[folder])


@pytest.mark.guest('x86')
def test_exit_status_and_output_are_passed_on(passed):
    _, done = passed
    assert done.returncode == 7
    assert done.stdout.split('==\n')[1] == ''.join(f'{i}\n' for i in range(1, 100001))
    assert done.stderr == 'to stderr\n'


@pytest.mark.guest('x86')
def test_arguments_environment_and_folder_are_passed_on(passed):
    folder, done = passed
    assert done.stdout.split('==\n')[0] == \
        f"{folder}\nby the guest\na 'b' $c\n" + ''.join(f'<{w}>' for w in WORDS) + '\n'


@pytest.mark.guest('x86')
def test_only_shared_folders_are_writable(passed):
    folder, _ = passed
    assert (folder / 'result').read_text() == 'kept\n'
    assert not (HERE / 'result').exists()


@pytest.mark.guest('x86')
def test_a_checkout_below_tmp_is_visible():
    """Also outside the current folder, although the guest has a /tmp of its own."""
    with tempfile.TemporaryDirectory(dir='/tmp') as folder:
        checkout = Path(folder) / 'checkout'
        shutil.copytree(HERE, checkout / 'tests/vm')
        (checkout / 'src').mkdir()
        done = subprocess.run([checkout / 'tests/vm/run', 'x86', '--', 'sh', '-c',
                               'ls ../tests/vm/init; ! touch ../written'],
                              cwd=checkout / 'src', capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, '../tests/vm/init\n'), done.stderr


@pytest.mark.guest('x86')
def test_hanging_guest_is_killed():
    begin = time.monotonic()
    done = guest.boot('x86', 'sleep', 1000, timeout=6)
    assert done.returncode == 124
    assert 'vm: the x86 guest was killed after 6 s' in done.stderr
    assert 6 <= time.monotonic() - begin < 30


@pytest.mark.guest('x86')
def test_panic_is_reported():
    done = guest.boot('x86', 'sh', '-c', 'echo c >/proc/sysrq-trigger; sleep 100')
    assert done.returncode == 125
    assert 'the kernel of the x86 guest died: Kernel panic - not syncing: sysrq triggered crash' in \
        done.stderr


@pytest.mark.guest('x86')
def test_missing_command_has_status_127():
    done = guest.boot('x86', 'no-such-command')
    assert done.returncode == 127
    assert 'no-such-command' in done.stderr


@pytest.mark.guest('x86')
def test_background_processes_do_not_delay_power_off():
    begin = time.monotonic()
    assert guest.boot('x86', 'sh', '-c', 'sleep 1000 & echo done').stdout == 'done\n'
    assert time.monotonic() - begin < 60


@pytest.mark.guest('x86')
def test_commands_in_one_boot_do_not_see_each_other(tmp_path):
    """Processes, files, mounts and settings of a command are gone when the next one runs."""
    def state():
        script = ('cat /proc/sys/kernel/perf_event_paranoid /sys/devices/system/cpu/online; '
                  'ls /tmp /dev/shm; grep -c /mnt /proc/mounts; ps -e | grep -c sleep; '
                  'cat /sys/kernel/tracing/dynamic_events')
        return guest.run('x86', 'sh', '-c', script).stdout

    before = state()
    done = guest.run('x86', 'sh', '-c', '''
        echo 4 >/proc/sys/kernel/perf_event_paranoid; echo 0 >/sys/devices/system/cpu/cpu1/online
        touch /tmp/left /dev/shm/left; mount -t tmpfs none /mnt; setsid sleep 1000 &
        echo p:left do_exit >/sys/kernel/tracing/dynamic_events
        pwd; echo kept >result; echo "to stderr" >/dev/stderr; exit 7''', cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (7, f'{tmp_path}\n', 'to stderr\n')
    assert (tmp_path / 'result').read_text() == 'kept\n'
    assert state() == before


@pytest.mark.guest('x86')
def test_a_crash_fails_one_of_the_commands_in_a_boot():
    done = guest.run('x86', 'sh', '-c', 'echo c >/proc/sysrq-trigger; sleep 100')
    assert done.returncode == 125
    assert 'Kernel panic - not syncing: sysrq triggered crash' in done.stderr
    assert guest.run('x86', 'echo', 'after').stdout == 'after\n'
    done = guest.run('x86', 'sleep', 1000, timeout=5)
    assert done.returncode == 124 and 'was not finished after 5 s' in done.stderr
    assert guest.run('x86', 'echo', 'after').stdout == 'after\n'


BOOTED_ONCE = 'dmesg | head -n 40; date +%s >&2; head -c 16 /dev/urandom | od -An -tx1 >&2'


@pytest.mark.parametrize('kernel', ['x86', 'arm64'])
@pytest.mark.guest
def test_a_command_continues_the_snapshot_of_a_boot(kernel):
    """
    Messages of the boot have the same times, which differ between boots. The clock is the host's,
    and random numbers differ.
    """
    begin = time.time()
    first, second = (guest.boot(kernel, 'sh', '-c', BOOTED_ONCE) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert 'Linux version' in first.stdout and first.stdout == second.stdout
    (time_1, random_1), (time_2, random_2) = (done.stderr.splitlines() for done in (first, second))
    assert begin - 2 < int(time_1) <= int(time_2) < time.time() + 2
    assert random_1 != random_2


def test_wrong_usage_and_unavailable_guest(tmp_path):
    def status(*words, **kwargs):
        return subprocess.run([HERE / 'run', *words], capture_output=True, text=True, **kwargs)

    assert status('x86').returncode == 2
    assert status('vax', '--', 'true').returncode == 2
    assert status('x86', '--share', '/no/such/folder', '--', 'true').returncode == 2
    done = status('x86', '--', 'true', env={'PATH': str(tmp_path)})
    assert done.returncode == 77
    assert done.stderr == 'vm: qemu-system-x86_64 is not installed, which the x86 guest needs\n'


def lines(kernel, command):
    done = guest.run(kernel, 'sh', '-c', command)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.guest('x86')
def test_x86_has_features_missing_in_debian():
    version, *found = lines(
        'x86', 'uname -r; ls /sys/bus/event_source/devices /sys/kernel/tracing; ls /proc/kcore')
    assert version.startswith('6.12.') and version.endswith('-attar')
    assert {'kprobe', 'uprobe', 'user_events_data', 'dynamic_events', '/proc/kcore'} <= set(found)
    assert lines('x86', 'cd /sys/kernel/tracing && echo "u:hello u32 x" >>dynamic_events && '
                 'grep user_events available_events') == ['user_events:hello']


@pytest.mark.guest('x86')
def test_x86_counts_kprobe():
    """Ten shells exit, so a kprobe on do_exit() counts ten calls."""
    hits = lines('x86', 'cd /sys/kernel/tracing && echo p:exits do_exit >kprobe_events && '
                 'echo 1 >events/kprobes/exits/enable && for i in 1 2 3 4 5 6 7 8 9 10; do (:) ; '
                 'done; '
                 'echo 0 >events/kprobes/exits/enable; grep -c "sh-.*exits:" trace')
    assert hits == ['10']


@pytest.mark.parametrize('kernel', ['debian', 'debian5'])
@pytest.mark.guest
def test_modules_are_loaded_with_those_they_need(kernel):
    found = lines(kernel, f'load={HERE}/load; $load null_blk nr_devices=2; $load kvm-amd; '
                          '$load sch_netem; ls /dev/nullb1 /dev/kvm; '
                          'cat /sys/module/null_blk/parameters/nr_devices; ! $load vax 2>&1')
    assert found == ['/dev/kvm', '/dev/nullb1', '2', "load: this guest has no module 'vax'"]


@pytest.mark.guest('statuspage')
def test_statuspage_has_the_status_page_interface():
    version, status, active, *_ = lines(
        'statuspage', 'uname -r; ls /sys/kernel/tracing/user_events_status; '
        'grep Active /sys/kernel/tracing/user_events_status')
    assert version.startswith('6.1.')
    assert (status, active) == ('/sys/kernel/tracing/user_events_status', 'Active: 0')


@pytest.mark.parametrize('kernel, oldest, newest',
                         [('debian', (6, 1), (6, 1)), ('debian5', (5, 10), (5, 10)),
                          ('debian7', (7, 0), (99, 0))])
@pytest.mark.guest
def test_debian_kernels_boot(kernel, oldest, newest):
    version, *devices = lines(kernel, 'uname -r; ls /sys/bus/event_source/devices')
    assert oldest <= tuple(map(int, version.split('.')[:2])) <= newest
    assert {'kprobe', 'uprobe', 'software', 'tracepoint'} <= set(devices)


@pytest.mark.guest('arm64')
def test_arm64_counts_exactly(tmp_path):
    """
    A loop of twice the length has twice the instructions, except for a constant, in every run.
    """
    if not shutil.which('aarch64-linux-gnu-gcc'):
        pytest.skip('aarch64-linux-gnu-gcc (package gcc-aarch64-linux-gnu) is not installed')
    subprocess.run(['aarch64-linux-gnu-gcc', '-O2', '-static', '-o', tmp_path / 'loop',
                    HERE / 'loop.c'], check=True)
    done = guest.run('arm64', './loop', 1_000_000, 2_000_000, 4_000_000, 2_000_000, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    constant = {instructions - 2 * turns for turns, instructions, _ in found}
    assert len(found) == 4 and len(constant) == 1 and constant.pop() < 100
    assert all(cycles > 0 for _, _, cycles in found)


@pytest.mark.skipif(not shutil.which('shellcheck'), reason='no shellcheck here')
def test_scripts_pass_shellcheck():
    scripts = ['arm64-sysroot', 'fetch', 'init', 'initrd-init', 'kernel', 'load', 'prepare',
               'serve', 'units']
    done = subprocess.run(['shellcheck', *scripts], cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
