# SPDX-License-Identifier: MIT
"""attar agent: its configuration, its processes, its limits, and its messages to systemd."""
import calendar
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from clickhouse import server, the_server  # noqa: F401 (fixtures)
from command import (ATTAR, BUILD, NOBODY, as_nobody, cpu_seconds, has, run, wait_until,
                     workload)
from faults import sanitized

# CAP_DAC_READ_SEARCH, IPC_LOCK, SYS_PTRACE, SYSLOG, and PERFMON or, before Linux 5.8, SYS_ADMIN
LAST = int(Path('/proc/sys/kernel/cap_last_cap').read_text())
NEEDED = {2, 14, 19, 34, 38 if LAST >= 38 else 21}
EMPTY = '[count]\nrun = stat -e page-faults -i 200ms\n'


def write(tmp_path, text):
    path = tmp_path / 'agent.conf'
    path.write_text(text)
    return path


def series(text):
    """Return {name and labels: value}."""
    lines = [line for line in text.splitlines() if line and not line.startswith('#')]
    found = {line.rpartition(' ')[0]: float(line.rpartition(' ')[2]) for line in lines}
    assert len(found) == len(lines), 'a series appears twice'
    return found


class Agent:
    """A running agent."""

    def __init__(self, spawn, tmp_path, text, *options, program=ATTAR, **kwargs):
        self.config, self.file = write(tmp_path, text), tmp_path / 'agent.prom'
        self.path = tmp_path / 'stderr'
        with open(self.path, 'w') as stderr:
            self.process = spawn(program, 'agent', '-c', self.config, '--metrics', self.file,
                                 *options, stderr=stderr, **kwargs)

    def log(self):
        return self.path.read_text()

    def metrics(self):
        assert self.process.poll() is None, self.log()
        return series(self.file.read_text()) if self.file.exists() else {}

    def value(self, name, section):
        return self.metrics().get(f'attar_agent_{name}{{section="{section}"}}')

    def wait_for(self, condition, what):
        try:
            wait_until(condition, what, seconds=60)
        except AssertionError as e:
            raise AssertionError(f'{e}\n{self.log()}') from None

    def wait_log(self, pattern):
        self.wait_for(lambda: re.search(pattern, self.log()), pattern)

    def wait_reports(self, section, more_than=0):
        key = f'attar_reports_total{{section="{section}"}}'
        self.wait_for(lambda: self.metrics().get(key, 0) > more_than, f'reports of {section}')

    def pids(self):
        """Return {section: pid} of the running profilers."""
        found = {}
        for path in Path('/proc').glob('[0-9]*/stat'):
            try:
                stat = path.read_text().rpartition(')')[2].split()
                words = (path.parent / 'cmdline').read_bytes().decode().split('\0')
            except OSError:
                continue
            if int(stat[1]) == self.process.pid and words[0] == 'attar':
                found[Path(words[words.index('-q') + 2]).stem] = int(path.parent.name)
        return found

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, self.log()


@pytest.fixture
def agent(root, spawn, tmp_path):
    return lambda *args, **kwargs: Agent(spawn, tmp_path, *args, **kwargs)


@pytest.mark.quick
def test_valid_configuration(tmp_path):
    path = write(tmp_path, '# comment\n[agent]\nmax-cpu = 1%\n[cpu]\nrun = profile -F 19 -g\n'
                           '    -i 10s\n\n[own-names]\nrun = top -e "sched:sched_switch" -i 1s\n')
    done = run('agent', '--check', '-c', path)
    assert done.returncode == 0 and done.stdout == f'{path} is valid: cpu, own-names\n'


@pytest.mark.quick
@pytest.mark.parametrize('text, message', [
    ('', 'no section has a profiler'),
    ('run = stat\n', '1: .run. is outside a section'),
    ('[cpu]\n\nrun = stat\n', r'3: run: reports need an interval: add -i'),
    ('[cpu]\n', r"1: section 'cpu' has no command line"),
    ('[cpu]\nrun =\n', '2: run: the command line is empty'),
    ('[cpu]\nrun = stta -i 1s\n', "2: run: unknown profiler|2: run: .*'stat'"),
    ('[cpu]\nrun = profile\n    -g\n    -F nine\n    -i 1s\n', '2: run: .*nine'),
    ('[cpu]\nrun = stat -e "x\n', '2: run: missing "'),
    ('[cpu]\nrun = stat -i 1s -- ls\n', '2: run: a command after -- exits'),
    ('[cpu]\nrun = record -o x\n', "2: run: 'record' writes a recording"),
    ('[cpu]\nrun = profile --input x -i 1s\n', '2: run: --input'),
    ('[cpu]\nrun = stat -i 1s -o x.jsno\n', '2: run: --output: no format has the extension .jsno'),
    ('[cpu]\nrun = attar stat -i 1s\n', "2: run: begin with the name of the profiler"),
    ('[cpu]\nfreq = 3\n', "2: no such key 'freq'"),
    ('[cpu]\nrun = profile\n    -i 1s\n[own]\nfreq = 3\n', ":5: no such key 'freq'"),
    ('# text\n    run = stat\n', ":2: 'run' is outside a section"),
    ('[agent]\ninsecure = maybe\n', "2: insecure: 'maybe' is neither yes nor no"),
    (EMPTY + EMPTY, "3: section 'count' already exists in line 1"),
    ('[Cpu]\n', '1: .*lower-case'),
    ('[cpu\n', '1: .*a section header'),
    ('[cpu]\nrun\n', '2: .*KEY = VALUE'),
    ('[agent]\nmax-cpu = lots\n' + EMPTY, '2: max-cpu: .*percentage'),
    ('[agent]\nmax-cpus = 1\n' + EMPTY, "2: .*did you mean 'max-cpu'"),
    ('[agent]\nmax-memory = x\n' + EMPTY, '2: max-memory: .*x'),
    ('[agent]\nlisten =\n' + EMPTY, '2: listen: the value is missing'),
    ('[agent]\nuser = nobody-at-all\n' + EMPTY,
     "user: 'nobody-at-all' is not in /etc/passwd.*adduser"),
    ('[agent]\ncapabilities = cap_fly\n' + EMPTY, 'capabilities: .*cap_fly.*choose from'),
])
def test_invalid_configuration(tmp_path, text, message):
    path = write(tmp_path, text)
    done = run('agent', '--check', '-c', path)
    assert done.returncode == 2 and not done.stdout
    assert re.search(rf'{re.escape(str(path))}.*({message})', done.stderr), done.stderr


@pytest.mark.quick
@pytest.mark.parametrize('first, second, message', [
    ('x.json', 'x.json', "'x.json' is also a file of section 'a'"),
    ('x.json', './x.json', "'./x.json' is the same file as 'x.json' of section 'a'"),
    ('old.json', 'hard.json', "'hard.json' is the same file as 'old.json' of section 'a'"),
    ('x-%H.json --rotate-every 1h', 'x-%H.json --rotate-every 1h', "'x-%H.json' is also a file"),
    ('x.json -o ./x.json', 'y.json', "2: run: './x.json' is the same file as 'x.json'"),
    ('m.prom', 'y.json', "2: run: 'm.prom' is also a file of section 'agent'"),
])
def test_file_of_two_sections_is_refused(tmp_path, first, second, message):
    (tmp_path / 'old.json').touch()
    (tmp_path / 'hard.json').hardlink_to(tmp_path / 'old.json')
    path = write(tmp_path, f'[a]\nrun = stat -i 1s -o {first}\n[b]\nrun = profile -F 9 -i 1s '
                           f'-o {second}\n[agent]\nmetrics = m.prom\n')
    done = run('agent', '--check', '-c', path, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr
    assert ': use a separate file for each output\n' in done.stderr


def test_devices_and_databases_of_two_sections(tmp_path):
    (tmp_path / 'null.json').symlink_to('/dev/null')
    path = write(tmp_path, ''.join(
        f'[{name}]\nrun = stat -i 1s -o null.json -o clickhouse://localhost/x\n' for name in 'ab'))
    done = run('agent', '--check', '-c', path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_check_prints_all_errors(root, tmp_path):
    path = write(tmp_path, '[agent]\nmax-cpus = 1\n[Bad Name]\nrun = stat\n'
                           '[event]\nrun = trace -e cpu-clock,sched:no_such_event -i 1s\n'
                           f'[folder]\nrun = runqlat -i 1s -o {tmp_path}/none/x.csv\n'
                           '[freq]\nrun = profile -F nine -i 1s\n')
    done = run('agent', '--check', '-c', path)
    assert done.returncode == 2 and not done.stdout
    found = [line for line in done.stderr.splitlines() if line.startswith('attar: ')]
    patterns = ["2: .*'max-cpus'", "3: 'Bad Name' is not a section name",
                "6: run: no tracepoint 'sched:no_such_event'",
                "8: run: cannot write '.*': No such file or directory: create",  # may be cut
                '10: run: .*nine', f'{path} is invalid: 5 errors$']
    assert len(found) == len(patterns)
    assert all(re.search(pattern, line) for pattern, line in zip(patterns, found)), found


def test_check_needs_no_rights(root, open_dir):
    """Events that only root can look up are not errors."""
    folder = open_dir()
    path = write(folder, '[a]\nrun = trace -e sched:sched_switch,page-faults -i 1s\n')
    done = as_nobody(folder / 'attar', 'agent', '--check', '-c', path)
    assert done.returncode == 0, done.stderr


@pytest.mark.quick
@pytest.mark.parametrize('text, message', [
    ('[agent]\nlisten = 99999\n' + EMPTY, "2: --listen: '99999' is not PORT"),
    ('[agent]\n\nlisten = 0.0.0.0:1\n' + EMPTY, '3: .*can be reached from other machines: use TLS'),
    ('[agent]\nlisten-token-file = none\nlisten = 19\n' + EMPTY, '3: --listen-token-file: .*none'),
    ('[x]\nrun = stat -i 1s --listen 0.0.0.0:19481\n', '2: run: .*other machines: use TLS'),
    ('[x]\nrun = stat -i 1s --insecure\n', '2: run: .* require --listen'),
    ('[x]\nrun = stat -i 1s --push 0.0.0.0:19482\n', '2: run: .*other machines: use TLS'),
    ('[x]\nrun = stat -i 1s --push 7:8:9\n', '2: run: --push: .* is not an address'),
    ('[x]\nrun = runqlat -i 1s -o z.pb.gz --rotate-every 1s\n',
     '2: run: .*needs aggregated stacks'),
    ('[x]\nrun = stat -i 1s -o z.trace.json\n', '2: run: .*needs time lines'),
    ('[x]\nrun = stat -i 1s --time-lines\n', '2: run: --time-lines needs time lines'),
    ('[x]\nrun = stat -i 1s -o clickhouse://h/d?quota=z\n', "2: run: .*'quota': .*z"),
    ('[x]\nrun = stat -i 1s -o z.csv --rotate-every 1h\n', '2: run: .*same name for the next file'),
    ('[x]\nrun = stat -i 1s --rotate-keep 1M\n', '2: run: --rotate-keep requires'),
    ('[x]\nrun = stat -i 1s --format none\n', "2: run: no format 'none'"),
    ('[x]\nrun = stat -i 1s -d 2s\n', '2: run: --duration ends the profiler.*remove it'),
    ('[x]\nrun = trace -i 1s --count=9\n', '2: run: --count ends the profiler'),
    ('[x]\nrun = profile -i 1s -o z.pb.gz\n', "2: run: 'z.pb.gz' would .*: add --rotate-e"),
    ('[x]\nrun = profile -i 1s --flame-graph z.html\n', "2: run: 'z.html' would only be written"),
])
def test_check_finds_what_would_never_run(tmp_path, text, message):
    path = write(tmp_path, text)
    done = run('agent', '--check', '-c', path, cwd=tmp_path)
    assert done.returncode == 2 and not done.stdout
    assert re.search(rf'{re.escape(str(path))}:({message})', done.stderr), done.stderr


@pytest.mark.quick
@pytest.mark.parametrize('first, second, error', [
    ('--listen 19481', '--listen 127.0.0.1:19481',
     "--listen: '127.0.0.1:19481' is in use by --listen"),
    ('--listen [::]:19481 --insecure', '--listen 19481', "--listen: '19481' is in use by --listen"),
    ('--listen 19481', '--push 19481', "--push: '19481' is in use by --listen"),
    ('--push unix:/run/x', '--push unix:/run/x', "--push: 'unix:/run/x' is in use by --push"),
    ('--listen 19481', '--listen 127.0.0.2:19481', None),
    ('--listen 0', '--listen 0', None),
    ('--push unix:/run/x', '--push unix:/run/y', None),
])
def test_address_of_two_sections_is_refused(tmp_path, first, second, error):
    path = write(tmp_path, f'[a]\nrun = trace -e page-faults -i 1s {first}\n'
                           f'[b]\nrun = trace -e page-faults -i 1s {second}\n')
    done = run('agent', '--check', '-c', path)
    assert done.returncode == (2 if error else 0), done.stderr
    assert not error or f"4: run: {error} of section 'a': choose another" in done.stderr


@pytest.mark.quick
def test_address_of_the_agent_is_refused_for_a_section(tmp_path):
    path = write(tmp_path, '[a]\nrun = stat -i 1s --listen 19481\n[agent]\nlisten = 19482\n')
    assert run('agent', '--check', '-c', path).returncode == 0
    done = run('agent', '--check', '-c', path, '--listen', '127.0.0.1:19481')
    assert done.returncode == 2
    assert "2: run: --listen: '19481' is in use by listen of section 'agent'" in done.stderr


def test_hostile_configuration(tmp_path):
    path = tmp_path / 'agent.conf'
    for text in (b'\0[cpu]', b'[' * 100000, b'=' * 5000, b'[a]\nrun = ' + b'x ' * 5000,
                 b''.join(b'[s%d]\n' % i for i in range(100)), b'[a]\nrun = \'\xff\xfe' * 9):
        path.write_bytes(text)
        assert run('agent', '--check', '-c', path).returncode == 2
    assert run('agent', '--check', '-c', tmp_path).returncode == 2
    assert run('agent', '--check', '-c', tmp_path / 'none').returncode == 2
    assert run('agent').returncode == 2


def test_metrics_of_two_profilers_are_one(agent, tmp_path):
    """In a file and by HTTP; an agent that has exited leaves no files behind."""
    a = agent('[agent]\nlisten = 0\n[faults]\nrun = stat -e page-faults -i 200ms\n'
              '[switches]\nrun = top -e sched:sched_switch -i 200ms\n'
              f'    -o {tmp_path}/switches.csv\n', env={**os.environ, 'TMPDIR': str(tmp_path)})
    for section in ('faults', 'switches'):
        a.wait_reports(section, 2)
    url = re.search(r'http://\S+', a.log())[0]
    with urllib.request.urlopen(url + 'metrics', timeout=30) as answer:
        served = answer.read().decode()
    for text in (served, a.file.read_text()):
        assert text.count('# TYPE attar_reports_total counter') == 1
        found = series(text)
        assert {s for s in ('faults', 'switches')
                if found[f'attar_agent_profiler_running{{section="{s}"}}'] == 1
                and found[f'attar_agent_profiler_starts_total{{section="{s}"}}'] == 1
                and found[f'attar_agent_profiler_memory_bytes{{section="{s}"}}'] > 1 << 20} == {
                    'faults', 'switches'}
        if has('promtool'):
            done = subprocess.run(['promtool', 'check', 'metrics'], input=text, text=True,
                                  capture_output=True, timeout=60)
            assert done.returncode == 0 and not done.stderr, done.stderr
    pids = a.pids()
    assert set(pids) == {'faults', 'switches'}
    a.end()
    assert not [pid for pid in pids.values() if Path(f'/proc/{pid}').exists()]
    assert not list(tmp_path.glob('attar-agent-*'))
    assert (tmp_path / 'switches.csv').stat().st_size


def test_a_killed_agent_leaves_nothing_that_lasts(agent, tmp_path):
    """The next agent removes its directory, and not that of an agent that runs."""
    env = {**os.environ, 'TMPDIR': str(tmp_path)}
    env.pop('RUNTIME_DIRECTORY', None)

    def folders():
        return set(tmp_path.glob('attar-agent-*'))

    def start():
        before = folders()
        a = agent(EMPTY, env=env)
        a.wait_for(lambda: folders() - before, 'its directory')
        new, = folders() - before
        return a, new
    killed, left = start()
    killed.wait_reports('count')
    profiler = killed.pids()['count']
    killed.process.kill()
    killed.process.wait()
    killed.wait_for(lambda: not Path(f'/proc/{profiler}').exists(), 'the end of the profiler')
    (left / 'old.prom').write_text('x')
    first, kept = start()
    assert folders() == {kept}
    second, other = start()
    assert folders() == {kept, other}
    second.end()
    first.end()
    assert not folders()


def test_metrics_are_true_before_the_first_check(agent):
    """The memory is that of the processes; a share of CPU time needs two checks."""
    a = agent('[agent]\nlimit-interval = 1h\n' + EMPTY)
    a.wait_reports('count')
    found = a.metrics()
    assert 'attar_agent_cpu_ratio' not in found
    of_profiler = found['attar_agent_profiler_memory_bytes{section="count"}']
    assert found['attar_agent_memory_bytes'] > of_profiler > 1 << 20
    a.end()
    b = agent('[agent]\nlimit-interval = 1s\n' + EMPTY)
    b.wait_for(lambda: b.metrics().get('attar_agent_cpu_ratio', 0) > 0, 'a check')
    b.end()


def test_costs_include_readers(agent, spawn):
    """Processes that parse files for a profiler, which is stopped so that its costs stay."""
    program = spawn(workload('split7030'), '1000000')
    a = agent('[agent]\nlimit-interval = 1s\n[cpu]\n'
              f'run = profile -F 499 -g -i 200ms -p {program.pid}\n')
    a.wait_reports('cpu')
    pid = a.pids()['cpu']
    readers = Path(f'/proc/{pid}/task/{pid}/children')
    if not readers.exists():
        pytest.skip('the kernel has no CONFIG_PROC_CHILDREN')
    a.wait_for(readers.read_text, 'a reader')
    os.kill(pid, signal.SIGSTOP)
    pids = [pid, *map(int, readers.read_text().split())]
    memory = sum(int(Path(f'/proc/{one}/statm').read_text().split()[1]) for one in pids) * 4096
    cpu = sum(cpu_seconds(one) for one in pids)
    a.wait_for(lambda: a.value('profiler_memory_bytes', 'cpu') >= memory, f'{memory} bytes')
    a.wait_for(lambda: a.value('profiler_cpu_seconds_total', 'cpu') >= cpu, f'{cpu} s')
    os.kill(pid, signal.SIGCONT)
    a.end()


def test_profiler_that_dies_is_started_again(agent):
    a = agent(EMPTY)
    a.wait_reports('count')
    os.kill(a.pids()['count'], signal.SIGKILL)
    a.wait_log(r'\[count\] was killed by SIGKILL; restarting in 1 s')
    a.wait_for(lambda: a.value('profiler_starts_total', 'count') == 2, 'the second start')
    a.wait_reports('count')
    assert a.value('profiler_failures_total', 'count') == 1
    a.end()


def test_restarts_keep_reports(agent, tmp_path):
    """A profiler that is killed, one that is reloaded, and a new agent continue the files."""
    text, fault = tmp_path / 'x.json', 'page-faults'
    section = f'[x]\nrun = stat -e {{}} -i 200ms -o {tmp_path}/x.json -o {tmp_path}/x.csv ' \
              f'-o {tmp_path}/x.db\n[tree]\nrun = profile -F 49 -g -i 200ms -o {tmp_path}/x.pb.gz\n'
    a = agent(section.format(fault))
    for n in range(3):
        a.wait_reports('x')
        a.wait_reports('tree')
        before = text.read_bytes()
        if n == 0:
            os.kill(a.pids()['x'], signal.SIGKILL)
            a.wait_for(lambda: a.value('profiler_starts_total', 'x') == 2, 'the second start')
        elif n == 1:
            a.config.write_text(section.format('minor-faults'))
            a.process.send_signal(signal.SIGHUP)
            a.wait_log(r'configuration was reloaded')
        else:
            a.end()
            a.file.unlink()
            a = agent(section.format(fault))
        table = tmp_path / f'x.{n + 1}.csv'
        a.wait_for(lambda: table.exists() and table.stat().st_size, f'a report in {table}')
        size = len(before)
        a.wait_for(lambda: text.stat().st_size > size, f'a report in {text}')
        assert text.read_bytes().startswith(before)
    a.wait_reports('tree')
    a.end()
    times = [json.loads(line)['time'] for line in text.read_text().splitlines()]
    assert times == sorted(set(times)) and len(times) >= 4
    tables = [(tmp_path / name).read_text().splitlines()
              for name in ('x.csv', 'x.1.csv', 'x.2.csv', 'x.3.csv')]
    assert all(table[0].startswith('time,') for table in tables)
    assert not any(row.startswith('time,') for table in tables for row in table[1:])
    with sqlite3.connect(tmp_path / 'x.db') as db:
        assert [row for row, in db.execute('SELECT time FROM reports ORDER BY id')] == times
        (table,), = db.execute('SELECT name FROM sections')
        assert db.execute(f'SELECT count(DISTINCT report) FROM "{table}"').fetchone() == (
            len(times),)
    assert {path.name for path in tmp_path.glob('x*.pb.gz')} == {'x.pb.gz', 'x.1.pb.gz'}


def test_waits_longer_after_each_failure(agent):
    """The reason is the profiler's message; other profilers keep running."""
    a = agent(EMPTY + '[bad]\nrun = stat -i 1s -o /nonexistent/x.csv\n')
    a.wait_log(r'\[bad\] failed with status 1: cannot write ./nonexistent/x.csv.*restarting in 1 s')
    a.wait_log(r'\[bad\] failed with status 1: .*restarting in 2 s')
    lines = a.log().splitlines()
    assert not [line for line in lines if re.search(r'\[bad\] cannot write', line)]  # once only
    a.wait_reports('count', 2)
    assert a.value('profiler_starts_total', 'count') == 1
    a.wait_for(lambda: a.value('profiler_failures_total', 'bad') >= 2, 'two failures')
    a.end()


def test_a_reason_is_a_message_not_the_place_that_it_marks(agent):
    a = agent(EMPTY + '[bad]\nrun = trace -e nosuch:event -i 1s\n')
    a.wait_log(r"\[bad\] failed with status 2: .*'nosuch:event'.*; restarting in 1 s\n"
               r'.*\[bad\]  +nosuch:event')
    assert not re.search(r"\[bad\] [^f ].*'nosuch:event'", a.log())
    a.end()


def test_reload(agent):
    """A changed section is restarted, an unchanged one keeps its process, an invalid file is
    refused.
    """
    a = agent(EMPTY + '[other]\nrun = stat -e page-faults -i 200ms\n')
    for section in ('count', 'other'):
        a.wait_reports(section)
    before = a.pids()
    a.config.write_text(EMPTY + '[other]\nrun = sat\n')
    a.process.send_signal(signal.SIGHUP)
    a.wait_log('invalid, the old one stays in effect: .*agent.conf:4: run: .*sat')
    assert a.pids() == before
    a.config.write_text(EMPTY + '[other]\nrun = stat -e page-faults -i 100ms\n')
    used = a.value('profiler_cpu_seconds_total', 'other')
    a.process.send_signal(signal.SIGHUP)
    a.wait_for(lambda: a.value('profiler_starts_total', 'other') == 2, 'the second start')
    assert a.value('profiler_cpu_seconds_total', 'other') >= used > 0
    assert a.value('profiler_starts_total', 'count') == 1
    a.wait_for(lambda: a.pids().get('other', before['other']) != before['other'], 'its process')
    a.config.write_text(EMPTY + '[third]\nrun = stat -e page-faults -i 100ms\n'
                        '[agent]\ncapabilities = cap_bpf\n')
    a.process.send_signal(signal.SIGHUP)
    a.wait_log('changes of listen, user and capabilities have no effect until the agent is '
               'restarted')
    a.wait_reports('third')
    a.wait_for(lambda: set(a.pids()) == {'count', 'third'}, 'the end of the removed one')
    assert a.pids()['count'] == before['count']
    found = a.metrics()
    assert found['attar_agent_reloads_total'] == 2
    assert found['attar_agent_failed_reloads_total'] == 1
    a.end()


def test_service_manager_is_notified(agent, tmp_path):
    """READY, WATCHDOG, RELOADING and STOPPING, as the datagrams of sd_notify(3)."""
    notices = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / 'notify'))
        manager.settimeout(0.1)

        def hears(word):
            def listen():
                try:
                    notices.append(manager.recv(4096).decode())
                except TimeoutError:
                    pass
                return any(text.startswith(word) for text in notices)
            return listen

        a = agent(EMPTY, env={**os.environ, 'NOTIFY_SOCKET': str(tmp_path / 'notify'),
                              'WATCHDOG_USEC': '400000'})
        a.wait_for(hears('READY=1'), 'READY')
        a.wait_for(hears('WATCHDOG=1'), 'WATCHDOG')
        notices.clear()
        a.process.send_signal(signal.SIGHUP)
        a.wait_for(hears('READY=1'), 'READY after RELOADING')
        first = next(text for text in notices if not text.startswith('WATCHDOG'))
        assert re.fullmatch(r'RELOADING=1\nMONOTONIC_USEC=\d+', first)
        a.process.send_signal(signal.SIGTERM)
        a.wait_for(hears('STOPPING=1'), 'STOPPING')
        # a full socket would keep it waiting
        a.wait_for(lambda: hears('')() and a.process.poll() is not None, 'its end')
        assert a.process.returncode == 0


def test_frequency_is_lowered_before_a_profiler_is_paused(agent):
    a = agent('[agent]\nmax-cpu = 0.001%\nlimit-interval = 1s\n'
              '[cpu]\nrun = profile -F 4 -i 500ms\n')
    a.wait_log(r'\[cpu\] paused')
    log = a.log()
    steps = [log.index(text) for text in ('[cpu] lowered to 2 Hz (-F 4 is configured)',
                                          '[cpu] lowered to 1 Hz', '[cpu] paused')]
    assert steps == sorted(steps)
    assert re.search(r'\[cpu\] paused: [\d.]+% of a CPU is used, max-cpu is 0\.00%, and no running '
                     'profiler has a frequency above 1 Hz\n', log)
    a.wait_for(lambda: a.value('profiler_paused', 'cpu') == 1, 'paused')
    found = a.metrics()
    assert found['attar_agent_steps_total{section="cpu",step="lower"}'] == 2
    assert found['attar_agent_steps_total{section="cpu",step="pause"}'] == 1
    assert found['attar_agent_profiler_frequency_hertz{section="cpu"}'] == 1
    assert found['attar_agent_profiler_configured_frequency_hertz{section="cpu"}'] == 4
    a.end()


COUNT = ('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2500000) '
         'SELECT count(*) FROM c')


def test_profiler_that_fails_does_not_pause_others(agent):
    """Each start of it needs more CPU time than the limit allows between two checks."""
    a = agent('[agent]\nmax-cpu = 4%\nlimit-interval = 5s\n'
              '[count]\nrun = stat -e page-faults -i 1s\n'
              f'[bad]\nrun = sql -e page-faults -i 10s -d 10ms --query "{COUNT}"\n')
    a.wait_for(lambda: (a.value('profiler_failures_total', 'bad') or 0) >= 4, 'four failures')
    found = a.metrics()
    assert found['attar_agent_profiler_cpu_seconds_total{section="bad"}'] / 4 > 0.04 * 5
    assert 'paused' not in a.log() and a.value('profiler_paused', 'count') == 0
    a.end()


def test_step_is_taken_back(agent):
    """The frequency is raised again after a reload with a higher limit."""
    text = '[agent]\nmax-cpu = {}%\nlimit-interval = 1s\n[cpu]\nrun = profile -F 2 -i 500ms\n'
    a = agent(text.format('0.001'))
    a.wait_log(r'\[cpu\] lowered to 1 Hz')
    a.config.write_text(text.format('100000'))
    a.process.send_signal(signal.SIGHUP)
    a.wait_log(r'\[cpu\] raised to 2 Hz|\[cpu\] resumed')
    a.wait_log(r'\[cpu\] raised to 2 Hz')

    def has_frequency():
        try:
            return any(b'-F\0002\0' in Path(f'/proc/{pid}/cmdline').read_bytes()
                       for pid in a.pids().values())
        except OSError:  # it has ended
            return False

    a.wait_for(has_frequency, 'a process with -F 2')
    a.end()


def test_memory_is_limited(agent):
    a = agent('[agent]\nmax-memory = 1M\nlimit-interval = 1s\n' + EMPTY)
    a.wait_log(r'\[count\] paused: \d+ MiB are used, max-memory is 1 MiB\n')
    a.wait_for(lambda: not a.pids(), 'its end')
    a.end()


@pytest.mark.parametrize('step', [-3600, 86400])
def test_the_clock_is_set_during_a_run(agent, tmp_path, step):
    """Each interval is reported once, and from then on by the new time."""
    if sanitized():
        pytest.skip('a preloaded clock does not work with sanitizers')
    out, by = tmp_path / 'x.json', tmp_path / 'step'
    a = agent(f'[count]\nrun = stat -e page-faults -i 100ms\n    -o {out}\n',
              env={**os.environ, 'LD_PRELOAD': str(BUILD / 'tests/faults/fault_clock.so'),
                   'FAULT_CLOCK_STEP': str(by)})

    def found():
        lines = out.read_text().splitlines() if out.exists() else []
        return [json.loads(line) for line in lines if line.endswith('}')]

    a.wait_for(lambda: len(found()) > 10, 'reports')
    (tmp_path / 'new').write_text(str(step))
    (tmp_path / 'new').rename(by)
    before, set_at = len(found()), time.time()
    a.wait_for(lambda: len(found()) > before + 10, 'reports after the step')
    assert a.value('profiler_failures_total', 'count') == 0, a.log()
    a.end()
    ends = [(r['time'] - r['interval_ns'], r['time']) for r in found()]
    jumps = [begin - end for (_, end), (begin, _) in zip(ends, ends[1:])]
    far = [jump for jump in jumps if abs(jump) > 10 ** 9]
    assert len(far) == 1 and abs(far[0] - step * 10 ** 9) < 10 ** 9, far
    assert all(abs(jump) < 20 * 10 ** 6 for jump in jumps if jump not in far), jumps
    assert abs(ends[-1][1] / 1e9 - step - set_at) < 60


def stored(server, service):
    """The times of the reports of a service in the database."""
    return [int(row[0]) for row in server.rows(
        f"SELECT time FROM attar_reports WHERE service = '{service}' ORDER BY time")]


def test_two_agents_on_one_host(root, spawn, server, tmp_path):  # noqa: F811
    """
    They share a spool, which drains while the server is killed and started again: each report of
    both is stored once.
    """
    agents, spool = {}, tmp_path / 'spool'
    for name in 'one', 'two':
        (tmp_path / name).mkdir()
        url = server.url(spool, service=name, timeout='60s')
        agents[name] = Agent(spawn, tmp_path / name, '[count]\nrun = stat -e page-faults -i 50ms\n'
                             f'    -o {tmp_path}/{name}.json -o "{url}"\n')

    def times(name):
        path = tmp_path / f'{name}.json'
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line)['time'] for line in lines if line.endswith('}')]

    def wait_for_reports(more):
        before = {name: len(times(name)) for name in agents}
        for name, a in agents.items():
            a.wait_for(lambda: len(times(name)) >= before[name] + more, f'reports of {name}')

    wait_for_reports(20)
    for _ in range(2):  # the second time, while what waits is being sent
        server.kill()
        wait_for_reports(20)
        server.start()
        agents['one'].wait_for(lambda: server.count('attar_reports') > 20, 'rows')
    for a in agents.values():
        a.end()
    trace_one = run('stat', '-e', 'page-faults', '-o', server.url(spool, service='last'), '--',
                    'true')
    assert re.search(' stored, 0 dropped', trace_one.stderr), trace_one.stderr
    for name in agents:
        assert stored(server, name) == times(name)


def capabilities(text):
    return {n for n in range(64) if int(text, 16) >> n & 1}


def test_rights(agent, open_dir):
    """Another user, few capabilities, no way to gain others; kernel events are recorded."""
    own = re.search(r'CapBnd:\t(.*)', Path('/proc/self/status').read_text())[1]
    if len(NEEDED & capabilities(own)) < 5:
        pytest.skip('this machine does not give the capabilities of profilers')
    folder = open_dir()
    os.chown(folder, NOBODY, NOBODY)
    a = agent(f'[agent]\nuser = {NOBODY}\nmetrics = {folder}/x.prom\nlisten = 0\n'
              '[switches]\nrun = top -e sched:sched_switch -i 200ms\n',
              '--metrics', folder / 'own.prom', program=folder / 'attar')
    a.file = folder / 'own.prom'
    a.wait_reports('switches', 2)
    threads = [path for pid in (a.process.pid, a.pids()['switches'])
               for path in Path(f'/proc/{pid}/task').glob('*/status')]
    assert len(threads) > 2  # that of the server
    for path in threads:
        status = dict(re.findall(r'(\w+):\t(.*)', path.read_text()))
        assert set(status['Uid'].split() + status['Gid'].split()) == {str(NOBODY)}
        assert status['Groups'].strip() == '' and status['NoNewPrivs'] == '1'
        kept = capabilities(status['CapEff'])
        assert kept <= NEEDED and len(kept) == 5
        assert status['CapBnd'] == status['CapPrm'] == status['CapEff']
    assert a.metrics()['attar_events_seen_total{section="switches"}'] > 0
    a.end()


def test_a_month(agent, tmp_path):
    """
    A clock on which 12 seconds are 30 days: hourly files within a quota, a metrics file of
    bounded size, and memory that does not grow.
    """
    if sanitized():
        pytest.skip('a preloaded clock does not work with sanitizers')
    quota, files = 32768, tmp_path / 'files'
    files.mkdir()
    a = agent('[switches]\nrun = top -e sched:sched_switch -i 50ms\n'
              f'    --rotate-every 1h --rotate-keep 32K -o {files}/x-%Y%m%d-%H.json\n'
              '[delay]\nrun = runqlat -i 50ms\n',
              env={**os.environ, 'LD_PRELOAD': str(BUILD / 'tests/faults/fault_clock.so'),
                   'FAULT_CLOCK': str(30 * 86400 // 12),
                   'FAULT_CLOCK_START': str(int(time.time()))})
    names, most, memory = set(), 0, {}

    def day(name):
        hour = name.split('.')[0]  # without the number of a name that is taken
        return calendar.timegm(time.strptime(hour, 'x-%Y%m%d-%H')) / 86400

    def is_over():
        nonlocal most
        sizes = {}
        for path in files.iterdir():
            try:
                sizes[path.name] = path.stat().st_size
            except FileNotFoundError:
                pass
        names.update(sizes)
        # the newest file is still written; another may be new since the folder was listed
        most = max(most, sum(size for name, size in sizes.items() if name < max(sizes)))
        span = day(max(names)) - day(min(names)) if names else 0
        for section in ('switches', 'delay'):
            memory.setdefault(section, {})[int(span // 10)] = a.value(
                'profiler_memory_bytes', section)
        return span >= 30

    a.wait_for(is_over, '30 days')
    assert len(names) > 20, names
    assert most <= quota + 32768, most
    for section, of in memory.items():
        early, late = (of[third] for third in sorted(of)[-2:])
        assert late < early * 1.2 + (4 << 20), (section, of)
    assert a.file.stat().st_size < 1 << 20
    assert a.value('profiler_failures_total', 'switches') == 0, a.log()
    a.end()


def test_a_black_box(agent, tmp_path):
    """Its keys are options. A file is written for a condition, of which there is one in an hour."""
    path, at = tmp_path / 'box.data', 7_000_000_000_000_123
    a = agent(EMPTY + f'[blackbox]\nfile = {path}\nevents = page-faults\nkeep = 1m\n'
              f'when = syscalls:sys_enter_lseek/offset=={at} && whence==0/\nafter = 100ms\n'
              'max-memory = 16M\nat-most = 1/h\nformer-files = 2\n')
    with open('/dev/zero', 'rb') as zero:
        def is_written():
            os.lseek(zero.fileno(), at, 0)
            return f'events in {path}' in a.log()
        wait_until(is_written, 'a file is written')
    a.end()
    done = run('page-faults', '--input', path, '--format', 'json')
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / 'box.data.1').exists()


@pytest.mark.parametrize('text, message', [
    ('[blackbox]\nwhat = 1\n',
     "2: no such key 'what' of [blackbox]: the keys are file, events, keep, max-memory, when"),
    ('[blackbox]\nkeep = 1x\n', '--keep'),
    ('[x]\nrun = record -a\n', 'which grows without a limit: use a profiler with reports, or '
                               '--overwrite, which keeps the newest events'),
])
def test_keys_of_a_black_box(tmp_path, text, message):
    done = run('agent', '--check', '-c', write(tmp_path, text))
    assert done.returncode == 2 and message in done.stderr
