# SPDX-License-Identifier: MIT
"""The same tree on other kernels: from Linux 5.10 to the newest, and on arm64 with a CPU PMU."""
import itertools
import json
import re
import subprocess

import pytest

import guest
import unit_tests
from command import BUILD, Profile, has, perf, run, share_is
from scripts import rows_of

KERNELS = ['debian', 'debian5', 'debian7', 'arm64']
pytestmark = pytest.mark.guest


def build_for(kernel):
    """Return the build directory whose programs run there."""
    return guest.cross_build() if kernel == 'arm64' else BUILD


PROFILE = """
rm -f /run/attar/no-pmu
{attar} profile -F 997 -g --exclude-kernel -o {out}/out.json -- {work}/split7030 800
"""

COMMANDS = """
{attar} doctor --json >{out}/doctor.json
{attar} list --json >{out}/list.json
{attar} list sched:sched_switch >{out}/fields
{attar} trace -e sched:sched_wakeup help >{out}/help
{attar} stat -q -r 2 -o {out}/stat.json -e '{{page-faults,task-clock}},kprobe:do_exit,{probe},sched:sched_process_exec' -- {faults}
{attar} stat -q --per-cpu -d 300ms -o {out}/cpus.json
{attar} stat -q -o {out}/forks.json -e 'kprobe:do_exit' -- sh -c '/bin/true; /bin/true; true'
{attar} trace -g -e 'kprobe:do_exit,{probe},sched:sched_process_exec' -- {faults} >{out}/trace
{attar} user-events --json >{out}/user.json || true
"""

PROFILERS = """
{attar} top -q -o {out}/top.json -e raw_syscalls:sys_enter -k id -- {work}/flood 1234
{attar} trace -q -m 512 -o {out}/trace.json -e syscalls:sys_enter_getppid -- {work}/flood 321
{attar} syscalls -q -o {out}/syscalls.json -- {work}/sleeps 10 20 100 37
{attar} multi-trace -q -a -m 2048 -o {out}/pairs.json \
    -e 'sched:sched_wakeup/comm=="sleeper"/key=pid/' \
    -e 'sched:sched_switch/next_comm=="sleeper"/key=next_pid/' -- {work}/wakeups23
{attar} rundelay -q --perins -m 2048 -o {out}/rundelay.json -a -- {work}/wakeups23
{attar} task-state -q --perins -o {out}/states.json -- {work}/sleeps 10 20
{attar} stat -q -o {out}/calls.json -e syscalls:sys_enter_getppid -- {work}/flood 777
{attar} trace -q -m 512 -o {out}/wakeups.json \
    -e 'sched:sched_wakeup/comm=="sleeper"/' -- {work}/wakeups23
{attar} record -q -o {out}/data -e syscalls:sys_enter_getppid -- {work}/flood 456
"""

# What the perf of this machine and that of Debian 11 write, for attar to read on another kernel.
EVENTS = 'syscalls:sys_enter_getppid,sched:sched_switch,sched:sched_process_exec'
RECORDINGS = f"""
{{perf}} record -q -m 4M -o {{out}}/{{version}}-events.data -g -a -e {EVENTS} -- {{work}}/flood 200
{{perf}} record -q -m 4M -o {{out}}/{{version}}-clock.data -F 997 -g -e cpu-clock:u -- \
    {{work}}/split7030 300
{{perf}} record -q -m 4M -o - -g -a -e {EVENTS} -- {{work}}/flood 200 >{{out}}/{{version}}-pipe.data
"""

SECTIONS = {'profile': PROFILE, 'commands': COMMANDS, 'profilers': PROFILERS,
            'recordings': RECORDINGS, 'old_recordings': RECORDINGS}


WITH_PERF = ('debian', 'debian5')
VERSIONS = ('5.10', 'machine')


class Boot:
    """What the commands of each section did; one boot for all sections."""

    def __init__(self, kernel, out):
        self.kernel, self.out, self.build = kernel, out, build_for(kernel)
        sections = dict(SECTIONS, units=self.unit_tests())
        old_perf = None
        if kernel not in WITH_PERF or not has('perf'):
            del sections['recordings'], sections['old_recordings']
        else:
            old_perf = guest.old_perf()
        work = self.build / 'tests/workloads'
        words = {'attar': self.build / 'src/cli/attar', 'out': out, 'work': work,
                 'faults': work / 'faults1000', 'probe': f'uprobe:main@"{work}/faults1000"'}
        for name, text in sections.items():
            words['perf'] = old_perf if name == 'old_recordings' else 'perf'
            words['version'] = VERSIONS[words['perf'] == 'perf']
            (out / f'{name}.sh').write_text('set -e\n' + text.format(**words))
        script = ''.join(f'sh {name}.sh >{name}.out 2>{name}.err; echo $? >{name}.status\n'
                         for name in sections)
        self.ended = guest.run(kernel, 'sh', '-c', script, cwd=out, timeout=1800)

    def unit_tests(self):
        self.tests = unit_tests.for_guest(self.build, self.kernel)
        # counts are exact only under -icount, where the tests of hardware counters run
        icount = 'ATTAR_ICOUNT=1' if self.kernel == 'arm64' else ''
        return f'{unit_tests.SHARE} {icount} {guest.VM}/units {" ".join(map(str, self.tests))}'

    def section(self, name):
        """Check that the section ran, and return its output."""
        status = self.out / f'{name}.status'
        assert status.exists(), self.ended.stdout + self.ended.stderr
        output = (self.out / f'{name}.out').read_text()
        self.stderr = (self.out / f'{name}.err').read_text()
        assert status.read_text() == '0\n', output + self.stderr
        return output


@pytest.fixture(scope='module', name='kernel',
                params=[pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in KERNELS])
def fixture_kernel(request):
    return request.param


@pytest.fixture(scope='module')
def boot(kernel, tmp_path_factory):
    return Boot(kernel, tmp_path_factory.mktemp(kernel))


def test_unit_tests(boot):
    if not boot.tests:
        pytest.skip(f'no unit tests in {boot.build} (package libcmocka-dev)')
    assert boot.section('units').splitlines() == [f'ok - {path.name}' for path in boot.tests]


def test_profile_of_known_truth(boot):
    """70% of the time is in heavy(): with cpu-clock, and on arm64, which has a PMU, with cycles."""
    boot.section('profile')
    note = ('sampling cpu-clock instead, which does not sample code that runs with interrupts '
            'disabled')
    assert (note in boot.stderr) == (boot.kernel != 'arm64'), boot.stderr
    found = Profile((boot.out / 'out.json').read_text())
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.03)
    share_is(found.own('light'), found.samples, 0.3, slack=0.03)


def test_every_command(boot):
    """
    Debian's kernels have kprobes and all of tracefs: each command runs once, with a known result.
    """
    boot.section('commands')
    kernel, tmp_path = boot.kernel, boot.out
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
    exits, = table(tmp_path / 'forks.json', 'counts')
    assert exits['value'] == 3, 'a shell and two programs that it starts'
    cpus = {row['cpu'] for row in table(tmp_path / 'cpus.json', 'counts')}
    assert cpus == ({0} if kernel == 'arm64' else {0, 1})

    traced = (tmp_path / 'trace').read_text()
    order = re.findall(r'^\S+ +\S+ +\d+ +\d+ +(sched:sched_process_exec|uprobe|kprobe)', traced,
                       re.M)
    assert order == ['sched:sched_process_exec', 'uprobe', 'kprobe'], traced
    assert re.search(r'^ +ffff[0-9a-f]+ do_exit\+', traced,
                     re.M) and re.search(r'^ +[0-9a-f]+ main\+', traced, re.M), traced


def test_every_profiler(boot):
    """Each profiler runs once on a workload whose numbers are known."""
    boot.section('profilers')
    kernel, tmp_path = boot.kernel, boot.out
    number = 173 if kernel == 'arm64' else 110 # of getppid()
    keys = {row['id']: row['raw_syscalls:sys_enter'] for row in table(tmp_path / 'top.json')}
    assert keys[number] == 1234
    assert len(table(tmp_path / 'trace.json', 'events')) == 321
    calls = {row['syscall'].partition('(')[0]: row
             for row in table(tmp_path / 'syscalls.json', 'system calls')}
    sleeps = calls.get('clock_nanosleep') or calls['nanosleep']
    assert sleeps['calls'] == 10 and sleeps['min'] >= 20e6
    # the dynamic loader of arm64 tries paths that do not exist
    assert calls['close']['errors'] == 37 <= calls['openat']['errors'] < 50
    assert kernel == 'arm64' or calls['openat']['errors'] == 37
    # More than 23: the thread is also woken from reads of its pages over 9p.
    pairs, = table(tmp_path / 'pairs.json', 'pairs')
    assert 23 <= pairs['calls'] < 92
    assert any(23 <= row['calls'] < 92 for row in table(tmp_path / 'rundelay.json', 'pairs')
               if row['start'] == 'sched:sched_wakeup')
    states = {row['state']: row for row in table(tmp_path / 'states.json', 'task-state')
              if row['comm'] == 'sleeps'}
    # a sleep begins after its timer: the emulated CPU may be late
    assert states['S']['count'] >= 10 and states['S']['total'] >= 0.95 * 200e6
    counts = {row['event']: row['value'] for row in table(tmp_path / 'calls.json', 'counts')}
    assert counts['syscalls:sys_enter_getppid'] == 777
    ended = run('top', '--format', 'json', '--input', tmp_path / 'data', '-e',
                'syscalls:sys_enter_getppid', '-k', '_pid>0')
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1])['notes']['seen'] == 456


def test_events_of_two_tasks(boot):
    """Linux 5.10 delivers a wakeup to both tasks, also if both are watched; attar says so."""
    boot.section('profilers')
    reports = [json.loads(line) for line in (boot.out / 'wakeups.json').read_text().splitlines()]
    said = [r for report in reports for r in report.get('remarks', []) if 'seen twice' in r]
    assert len(said) == (boot.kernel == 'debian5')
    if said:
        rows = [row for report in reports for s in report['sections'] for row in s['rows']]
        assert 23 < len(rows) <= 2 * 92


# ---- recordings of perf ----

def with_perf(test):
    """Run the test with each perf on each kernel that has recordings."""
    kernels = [pytest.param(k, marks=pytest.mark.xdist_group(k)) for k in WITH_PERF]
    test = pytest.mark.parametrize('version', VERSIONS)(test)
    test = pytest.mark.parametrize('kernel', kernels, indirect=True, scope='module')(test)
    return pytest.mark.usefixtures('needs_perf')(test)


def recording(boot, version, name):
    boot.section('old_recordings' if version == '5.10' else 'recordings')
    return boot.out / f'{version}-{name}.data'


def frame(line):
    """Return address, file and function of a frame. perf has the recorded kernel's modules."""
    address, symbol, dso = re.fullmatch(r'([0-9a-f]+) (.*) \((.*)\)', line.strip()).groups()
    return int(address, 16), '[kernel]' if int(address, 16) >> 63 else dso, symbol


def frames(lines):
    """
    Return the frames before the first one that is in no mapping. attar ends a stack there; perf
    continues, and what follows may be in a mapping by chance: the vdso's address on the stack.
    """
    return list(itertools.takewhile(lambda found: found[1] != '[unknown]', map(frame, lines)))


def addresses(events, modulo=1 << 64):
    """
    Return the events in order of time; modulo: of addresses of user code. A thread that is within
    execve() has a new name, and its user code is that of the program before, whose mappings attar
    no longer has: only its kernel frames are returned.
    """
    exec_of = {tid: (comm, time) for comm, tid, time, event, _ in events
               if event == 'sched:sched_process_exec'}
    found = []
    for comm, tid, time, event, stack in events:
        name, until = exec_of.get(tid, (None, 0))
        is_in_exec = comm == name and time <= until
        found.append((comm, tid, time, event, [
            (address if dso == '[kernel]' else address % modulo, dso) for address, dso, _ in stack
            if dso == '[kernel]' or not is_in_exec]))
    return sorted(found)


def first_difference(ours, theirs):
    """Return the first pair that differs, or None: pytest compares long lists for minutes."""
    return next((pair for pair in itertools.zip_longest(ours, theirs) if pair[0] != pair[1]), None)


def functions(events):
    """
    Return the start of the function at each address that has a name. Of several names of a function
    perf and attar may choose different ones.
    """
    return {(dso, address): address - int(symbol.rpartition('+')[2], 16)
            for event in events for address, dso, symbol in event[4]
            if '+0x' in symbol and not symbol.startswith(dso.rpartition('/')[2] + '+')}


def in_call(stack):
    """
    Return frames of perf script without the names that attar does not show: callers in the kernel
    are named by the call, a byte before the return address.
    """
    return stack[:1] + [
        (address, dso, '' if dso == '[kernel]' and symbol.partition('+')[2] in ('', '0x0')
         else symbol) for address, dso, symbol in stack[1:]]


def of_perf(data, program):
    fields = 'comm,tid,time,event,ip,sym,symoff,dso'
    text = subprocess.run([program, 'script', '--ns', '-i', data, '-F', fields], check=True,
                          capture_output=True, text=True, errors='replace').stdout
    for block in text.split('\n\n'):
        first, *stack = block.strip().splitlines() or ['']
        if first:
            m = re.fullmatch(r'(.*?)\s+(\d+)\s+(\d+)\.(\d{9}):\s+(\S+):\s*', first)
            yield m[1], int(m[2]), int(m[3]) * 10**9 + int(m[4]), m[5], in_call(frames(stack))


@with_perf
@pytest.mark.parametrize('name', ['events', 'pipe'])
def test_events_of_a_recording_of_perf(boot, version, name):
    """
    Events, times, names and stacks on this kernel are those of perf script. attar names functions
    of files whose build ID was recorded: perf records those of files with samples.
    """
    data = recording(boot, version, name)
    ended = run('trace', '-g', '--format', 'json', '--input', data, '-e', EVENTS)
    assert ended.returncode == 0, ended.stderr
    reports = [json.loads(line) for line in ended.stdout.splitlines()]
    ours = [(row['comm'], row['tid'], row['time'], row['event'], frames(row.get('detail', [])))
            for report in reports for section in report['sections'] for row in rows_of(section)]
    old = version == '5.10' and name == 'pipe' # which newer perf cannot read
    theirs = list(of_perf(data, guest.old_perf() if old else 'perf'))
    calls = [row for row in ours if row[3] == 'syscalls:sys_enter_getppid']
    assert [row[0] for row in calls] == ['flood'] * 200
    assert any('recorded by another kernel' in remark for remark in reports[-1]['remarks'])
    if old: # prints addresses in memory, not in files
        assert first_difference(addresses(ours, 4096), addresses(theirs, 4096)) is None
    else:
        assert first_difference(addresses(ours), addresses(theirs)) is None
    if name == 'pipe': # has no build IDs
        return
    named = functions(ours)
    assert {dso for dso, _ in named if dso.endswith('/libc.so.6')}
    nameless = {(dso, address) for event in theirs for address, dso, symbol in event[4]
                if not symbol}
    assert {at: start for at, start in named.items() if at not in nameless}.items() \
        <= functions(theirs).items()


@with_perf
def test_profile_of_a_recording_of_perf(boot, version):
    """Functions have the samples that perf script gives them."""
    data = recording(boot, version, 'clock')
    ended = run('profile', '--format', 'json', '--input', data)
    assert ended.returncode == 0, ended.stderr
    found = Profile(ended.stdout)
    lines = perf('script', '-G', '-i', data, '-F', 'ip,sym').splitlines()
    theirs = [line.split()[-1] for line in lines]
    assert found.samples == len(theirs) > 50
    for name in ('heavy', 'light'):
        assert found.own(name) == theirs.count(name) > 10


def table(path, name=None):
    """Return the rows of the sections with this name, of all reports in the file."""
    return [row for line in path.read_text().splitlines()
            for section in json.loads(line)['sections'] if name in (None, section['name'])
            for row in rows_of(section)]
