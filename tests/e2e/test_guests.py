# SPDX-License-Identifier: MIT
"""Faults that a test must not cause on the machine it runs on are caused in guests."""
import json
import re

import pytest

import guest
from command import ATTAR, Profile, perf, run, share_is, workload
from scripts import rows_of

PERMISSION = 3
AS_NOBODY = 'setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all'


def shell(kernel, tmp_path, script):
    """
    Run the script in the guest, in a writable folder, with $attar set; every line must succeed.
    """
    done = guest.run(kernel, 'sh', '-ec', f'attar={ATTAR}; chmod 777 .; {script}', cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def found(path):
    return Profile(path.read_text())


def counts(path):
    section = json.loads(path.read_text())['sections'][0]
    return rows_of(section)


# ---- privileges ----

REFUSED = (
    r"attar: not permitted to open '[\w-]+' {place}: kernel.perf_event_paranoid is {level}, which "
    r"requires "
    r'CAP_PERFMON for all events; run as root, or run: sysctl kernel.perf_event_paranoid=2 \(own '
    r'processes, user code\), =-1 '
    r'\(everything\)')


@pytest.mark.guest('debian')
def test_debian_refuses_everything_at_3(tmp_path):
    """
    Debian's kernels have a level 3, unlike mainline: users may watch nothing, not even themselves.
    """
    runs = {'own': f'profile -- {workload("split7030")} 100', 'system': 'profile -d 100ms',
            'stat': f'stat -e cpu-clock -- {workload("split7030")} 100',
            'trace': 'trace -e page-faults -d 100ms'}
    script = ''
    for level in (3, 4):
        script += f'echo {level} >/proc/sys/kernel/perf_event_paranoid\n'
        for name, words in runs.items():
            script += f'{AS_NOBODY} $attar {words} >{name}{level} 2>&1 && exit 9; ' \
                      f'echo $? >>{name}{level}\n'
    shell('debian', tmp_path, script)
    for level in (3, 4):
        for name, words in runs.items():
            place = r'on thread \d+' if '--' in words else r'system-wide on CPU \d+'
            *_, last, status = (tmp_path / f'{name}{level}').read_text().splitlines()
            assert re.fullmatch(REFUSED.format(level=level, place=place), last), last
            assert int(status) == PERMISSION


@pytest.mark.parametrize('kernel', ['x86', 'debian7'])
@pytest.mark.guest
def test_user_code_with_stacks_at_2(tmp_path, kernel):
    """This is always permitted to users; kernels differ in the call chains that they allow."""
    done = shell(kernel, tmp_path,
                 f'cp $attar {workload("split7030")} .; echo 2 '
                 '>/proc/sys/kernel/perf_event_paranoid; '
                 f'{AS_NOBODY} ./attar profile -F 997 -g -o out.json -- ./split7030 1000')
    assert "only user code is monitored, because " \
           "kernel.perf_event_paranoid is 2" in done.stderr
    profile = found(tmp_path / 'out.json')
    share_is(profile.own('heavy'), profile.samples, 0.7, slack=0.05)
    assert profile.total('main') > 80


# ---- throttling ----

@pytest.mark.guest('x86')
def test_throttling_is_counted(tmp_path):
    """The limit is set below the frequency of a run: the notes count each throttling."""
    done = shell('x86', tmp_path,
                 '$attar profile -F 5000 --exclude-kernel -d 3s -o out.json -o out.txt -- '
                 f'{workload("split7030")} 1000000 & '
                 'while ! grep -q perf_event /proc/$!/maps; do sleep 0.1; done; sleep 1; '
                 'echo 300 >/proc/sys/kernel/perf_event_max_sample_rate; wait $!')
    profile = found(tmp_path / 'out.json')
    assert profile.notes['throttled'] > 20, done.stderr
    assert profile.notes['seen'] < 0.75 * 3 * 5000
    assert re.search(r' lost, [\d,]+ throttled;',
                     (tmp_path / 'out.txt').read_text().splitlines()[-1])
    share_is(profile.own('heavy'), profile.samples, 0.7, slack=0.05)


# ---- CPU hotplug ----

CPU = '/sys/devices/system/cpu/cpu1/online'


@pytest.mark.guest('x86')
def test_cpu_goes_offline_and_online(tmp_path):
    """The other CPUs are watched all the time; attar does not hang, and it ends as usual."""
    shell('x86', tmp_path, f'''
taskset -c 0 {workload("split7030")} 1000000 &
$attar profile -F 997 --exclude-kernel -d 4s -o profile.json & profile=$!
$attar stat -a -e cpu-clock -d 4s --format json >stat.json & stat=$!
sleep 1; echo 0 >{CPU}; sleep 1; echo 1 >{CPU}
wait $profile; wait $stat
''')
    profile = found(tmp_path / 'profile.json')
    share_is(profile.own('heavy', comm='split7030'), profile.own(comm='split7030'), 0.7, slack=0.05)
    assert profile.notes['lost'] == 0 and \
        (tmp_path / 'stat.json').read_text().startswith('{"schema":"attar/1"')


def exec_on_a_cpu_that_returned(tmp_path, command):
    """
    While the command, which notes in notes.txt what it does, is stopped, CPU 1 goes offline and
    returns, and split7030 is started on it: its exec has no record.
    """
    shell('debian', tmp_path, f'''
ticks() {{ set -- $(cat /proc/$1/stat); echo ${{14}}; }}
taskset -pc 0 $$ >taskset.txt # its FORK records are not missing
{command} & attar=$!
until grep -q perf_event /proc/$attar/maps && grep -q "^232 " /proc/$attar/syscall # epoll_wait
do sleep 0.1; done
kill -STOP $attar; until grep -q "^State:.T" /proc/$attar/status; do sleep 0.1; done
echo 0 >{CPU}; echo 1 >{CPU}
taskset -c 1 {workload("split7030")} 1000000000 & split=$!
until [ $(ticks $split) -gt 0 ]; do sleep 0.1; done
kill -CONT $attar; until grep -q "CPU 1 came online" notes.txt; do sleep 0.1; done
end=$(($(ticks $split) + 100)); until [ $(ticks $split) -ge $end ]; do sleep 0.1; done
kill -TERM $attar; wait $attar
''')


def have_split7030(*profiles):
    heavy, all_of_it = (sum(p.own(symbol, comm='split7030') for p in profiles)
                        for symbol in ('heavy', None))
    share_is(heavy, all_of_it, 0.7, slack=0.05)


@pytest.mark.guest('debian')
@pytest.mark.parametrize('prefix', ['', guest.AS_AGENT], ids=['by hand', 'agent'])
def test_a_cpu_that_returns_before_attar_looks(tmp_path, prefix):
    """
    It is watched again, since it was announced by netlink, which the agent's unit allows. The
    names of a program that was started on it meanwhile are known, without a record of its exec.
    """
    exec_on_a_cpu_that_returned(tmp_path, f'{prefix} $attar profile -F 997 --exclude-kernel '
                                          '-d 100s -o profile.json 2>notes.txt')
    have_split7030(found(tmp_path / 'profile.json'))


def recorded(option, path):
    done = run('profile', option, path, '--format', 'json')
    assert done.returncode == 0, done.stderr
    return Profile(done.stdout)


@pytest.mark.guest('debian')
@pytest.mark.parametrize('options', ['', '-z', '--max-size 60K --rotate 99', '--push ./pushed'],
                         ids=['file', 'compressed', 'rotated', 'pushed'])
def test_a_recording_has_names_of_a_cpu_that_returned(tmp_path, options):
    exec_on_a_cpu_that_returned(tmp_path, '$attar record -F 997 --exclude-kernel -d 100s -o x.data '
                                          f'{options} 2>notes.txt')
    files = list(tmp_path.glob('x.data*'))
    assert (len(files) > 1) == ('--rotate' in options)
    profiles = [recorded('--input', file) for file in files]
    have_split7030(*profiles)
    for file, profile in zip(files, profiles):
        names = perf('script', '-i', file, '-F', 'comm').split()
        assert names.count('split7030') == profile.own(comm='split7030')
    if 'push' in options:
        have_split7030(recorded('--pull', tmp_path / 'pushed'))


@pytest.mark.guest('debian')
def test_a_pushing_profiler_sends_names_of_a_cpu_that_returned(tmp_path):
    exec_on_a_cpu_that_returned(tmp_path, '$attar profile -F 997 --exclude-kernel -d 100s '
                                          '--push ./pushed -o profile.json 2>notes.txt')
    have_split7030(found(tmp_path / 'profile.json'))
    have_split7030(recorded('--pull', tmp_path / 'pushed'))


@pytest.mark.guest('x86')
def test_cpu_that_comes_online_late(tmp_path):
    """What runs on it first has not run there since the start."""
    shell('x86', tmp_path, f"""
echo 0 >{CPU}
$attar oncpu -a -q -o oncpu.json -- sh -c 'now() {{ cut -d" " -f1 /proc/uptime; }}
    now; sleep 1; now; echo 1 >{CPU}; taskset -c 1 {workload("flood")} 300000' >times.txt
""")
    before, until = map(float, (tmp_path / 'times.txt').read_text().split()[:2])
    report = json.loads((tmp_path / 'oncpu.json').read_text())
    table = next(s for s in report['sections'] if s['name'] == 'cpus')
    time = {row[0]: row[1] for row in table['rows']}[1]
    assert 0 < time <= report['interval_ns'] - (until - before) * 1e9


@pytest.mark.guest('x86')
def test_cpu_goes_offline_and_online_repeatedly(tmp_path):
    shell('x86', tmp_path, f'''
$attar profile -F 997 -g -i 200 -d 4s -o profile.json & profile=$!
for i in 1 2 3 4 5 6 7 8; do echo 0 >{CPU}; $attar stat -a -e cpu-clock -d 50ms -q; echo 1 >{CPU}; done
wait $profile
echo 0 >{CPU}; $attar profile -F 99 -d 300ms -o offline.json; $attar profile -C 1 -d 300ms 2>refused && exit 9; echo $? >status
''')
    reports = found(tmp_path / 'profile.json').reports
    assert len(reports) > 2 and sum(r['notes']['seen'] for r in reports) > 0
    assert found(tmp_path / 'offline.json').notes['seen'] > 0
    assert (tmp_path / 'refused').read_text().splitlines()[-1] == 'attar: CPU 1 is offline'
    assert (tmp_path / 'status').read_text() == '1\n'


@pytest.mark.guest('x86')
def test_cpu_that_comes_online_in_a_pipe(tmp_path):
    """Its events have other ids then; perf would end at the first record with one."""
    calls = f'taskset -c 1 {workload("flood")}'
    shell('x86', tmp_path, f'''
$attar record -q -a -e syscalls:sys_enter_getppid -o - -- sh -c 'exec >/dev/null
    {calls} 1000; echo 0 >{CPU}; sleep 0.3; echo 1 >{CPU}
    for i in $(seq 20); do sleep 0.2; {calls} 100; done' | tee x.pipe |
    $attar trace -q -e syscalls:sys_enter_getppid --input - --format json -o calls.json
perf script -i - <x.pipe >script.txt
''')
    rows = [dict(zip((c['name'] for c in section['columns']), row))
            for line in (tmp_path / 'calls.json').read_text().splitlines()
            for section in json.loads(line)['sections'] for row in section['rows']]
    cpus = [row['cpu'] for row in rows if row['comm'] == 'flood']
    assert set(cpus) == {1} and 1000 < len(cpus) <= 3000
    script = (tmp_path / 'script.txt').read_text()
    assert script.count('getppid') == len(rows)


# ---- threads that start during a run ----

@pytest.mark.parametrize('kernel', ['x86', 'debian7', 'debian'])
@pytest.mark.guest
def test_threads_of_a_command_are_counted_separately(kernel, tmp_path):
    """Each thread is counted exactly, or they are counted together and attar says so."""
    flood = workload('flood')
    shell(kernel, tmp_path, f'''
$attar stat --per-thread -e raw_syscalls:sys_enter/id==110/,page-faults,task-clock --format json -o stat.json -- \
    sh -c '{flood} 1000; {flood} 2000 & {flood} 3000; wait' 2>notes
''')
    calls = {row['tid']: row for row in counts(tmp_path / 'stat.json')
             if row['event'].startswith('raw_syscalls')}
    notes, remarks = (tmp_path / 'notes').read_text(), json.loads(
        (tmp_path / 'stat.json').read_text()).get('remarks', [])
    if kernel == 'debian7':
        assert sorted(row['value'] for row in calls.values()
                      if row['comm'] == 'flood') == [1000, 2000, 3000]
        assert '--per-thread' not in notes and not remarks
        return
    assert 6000 <= sum(row['value'] for row in calls.values()) < 6005
    if kernel == 'debian':
        assert len(calls) == 1 and 'separate counts require Linux 6.12 or newer' in notes
    else:
        rest = calls[None]
        assert (rest['comm'], rest['value'], rest['quality']) == ('[unassigned]', 6000, 'partial')
        assert remarks[0].startswith('3 exited threads have no counts of their own: this kernel')


# ---- control groups of v1 ----

@pytest.mark.guest('debian')
def test_cgroup_v1_is_watched(tmp_path):
    """
    Only tasks in the group of the perf_event hierarchy are sampled; an empty group has none. In a
    boot of its own, because a kernel keeps a hierarchy that has groups.
    """
    done = guest.boot('debian', 'sh', '-ec', f'''
attar={ATTAR}
mkdir /tmp/groups; mount -t cgroup -o perf_event none /tmp/groups; mkdir /tmp/groups/one /tmp/groups/none
sh -c 'echo $$ >/tmp/groups/one/cgroup.procs; exec {workload("split7030")} 1000000' &
{workload("chain5")} 1000000 &
until grep -qs split7030 /proc/$(cat /tmp/groups/one/cgroup.procs)/comm; do sleep 0.1; done
for seconds in 10 40; do  # few timers expire in a guest on a busy machine
    $attar profile -F 97 --exclude-kernel --cgroups one -d ${{seconds}}s -o one.json
    ! grep -qE '"seen": ?[0-9]{{3}}' one.json || break
done
$attar profile -F 997 --exclude-kernel --cgroups none -d 500ms -o none.json
$attar stat -e cpu-clock --cgroups one,none -d 1s --format json >stat.json
''', cwd=tmp_path, share=[tmp_path])
    assert done.returncode == 0, done.stderr
    one = found(tmp_path / 'one.json')
    share_is(one.own('heavy'), one.samples, 0.7, slack=0.05)
    assert {f['comm'] for f in one.functions} == {'split7030'}
    assert found(tmp_path / 'none.json').samples == 0
    stat = {row['cgroup']: row['value'] for row in counts(tmp_path / 'stat.json')}
    assert stat['one'] > 100 and stat['none'] == 0


# ---- idle machine ----

@pytest.mark.guest('x86')
def test_idle_cpus_are_left_out(tmp_path):
    """Samples of idle CPUs are counted, but are in no table, stack or page."""
    shell('x86', tmp_path,
          '$attar profile -F 97 -g -d 3s -o out.json -o out.txt -o out.csv -o out.folded -o '
          'out.html')
    report = found(tmp_path / 'out.json')
    remark = re.fullmatch(r'excluded (\d+) of (\d+) samples that were taken on idle CPUs',
                          report.remarks[0])
    idle, whole = map(int, remark.groups())
    assert whole == report.notes['seen'] > 100 and idle > whole / 2
    assert report.samples == whole - idle
    assert f'note: {remark[0]}' in (tmp_path / 'out.txt').read_text()
    lines = (tmp_path / 'out.folded').read_text().splitlines()
    assert sum(int(line.rsplit(' ', 1)[1]) for line in lines) == whole - idle
    assert not [line for line in lines
                if re.search(r'(default_idle|safe_halt)(_\[k\])? \d+$', line)]
    assert (tmp_path / 'out.csv').read_text() and (tmp_path / 'out.html').read_text()


# ---- probes after a killed run ----

PROBES = '/sys/kernel/tracing/dynamic_events'


@pytest.mark.guest('x86')
def test_probes_of_a_killed_run_are_removed(tmp_path):
    """
    Without a PMU for probes they are created in tracefs. A run that ends by any signal but SIGKILL
    removes them; the next run removes those that a killed run left.
    """
    shell('x86', tmp_path, f'''
mount -t tmpfs none "$(readlink -f /sys/bus/event_source/devices/kprobe)"
started() {{ while ! grep -q do_exit {PROBES} || ! grep -q perf_event /proc/$run/maps; do sleep 0.1; done; }}
for signal in INT TERM HUP QUIT; do
    env --default-signal=INT,QUIT $attar trace -e kprobe:do_exit -d 60s >/dev/null & run=$!
    started; kill -$signal $run; wait $run || true; cat {PROBES} >after_$signal
done
$attar trace -e kprobe:do_exit -d 60s >/dev/null & run=$!
started; kill -KILL $run; wait $run || echo $? >status; cat {PROBES} >left
$attar trace -e kprobe:do_exit -d 100ms >/dev/null; cat {PROBES} >clean
ls /sys/kernel/tracing/instances >instances
''')
    assert (tmp_path / 'status').read_text() == '137\n'
    assert 'do_exit' in (tmp_path / 'left').read_text()
    for name in ('after_INT', 'after_TERM', 'after_HUP', 'after_QUIT', 'clean', 'instances'):
        assert (tmp_path / name).read_text() == '', name
