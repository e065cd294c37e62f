# SPDX-License-Identifier: MIT
"""attar fleet: real ssh to servers on loopback; each host runs programs with a known result."""
import gzip
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import faults
from command import ATTAR, BUILD, run, share_is, wait_until, workload
from scripts import rows_of
from firefox import load  # noqa: F401 (fixture)
from fleet_hosts import hosts  # noqa: F401 (fixture)
from test_firefox import functions
from test_outputs import SLEEP

WRITES = ['-e', 'syscalls:sys_enter_write//num=count/']
# Writes of 1 to 100 bytes on host one, and of 1 to 1000 bytes on host two.
SIZES = ['--', 'sh', '-c',
         f'[ $FLEET_HOST = one ] && n=100; exec {shlex.quote(workload("sizes1000"))} ${{n:-1000}}']


def section(report, name):
    s, = [s for s in report['sections'] if s['name'] == name]
    return rows_of(s)


def reports(done, status=0):
    assert done.returncode == status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def host_rows(report):
    return {row['host']: row for row in section(report, 'hosts')}


def powers(count):
    """The buckets of the numbers 1 to count."""
    return {2 ** i: min(2 ** i, count + 1 - 2 ** i) for i in range(count.bit_length())}


def processes_with(text):
    """Return {pid: command line} of the processes with this text in it."""
    found = {}
    for path in Path('/proc').glob('[0-9]*/cmdline'):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if text.encode() in words:
            found[int(path.parent.name)] = words
    return found


def test_tables_and_histograms_are_sums(hosts):  # noqa: F811
    """Exactly, with hosts that start at the same second by their clocks."""
    done = hosts.fleet('one,two', '--attar', ATTAR, 'num-dist', *WRITES, '--format', 'json', *SIZES)
    report, = reports(done)
    assert report['profiler'] == 'num-dist'
    row, = section(report, 'numbers')
    assert (row['count'], row['total'], row['min'], row['max']) == (1100, 500500 + 5050, 1, 1000)
    assert not {'p50', 'p99'} & set(row)
    assert any('p50, p95, p99; --by-host' in remark for remark in report['remarks'])
    found, = [s for s in report['sections'] if s['kind'] == 'histogram']
    assert {low: n for low, _, n in found['rows']} == {
        low: n + powers(100).get(low, 0) for low, n in powers(1000).items()}
    assert found['summary'] == {'count': 1100, 'sum': 505550, 'min': 1, 'max': 1000}
    median = next(q['value'] for q in found['quantiles'] if q['share'] == 0.5)
    assert 256 <= median <= 512  # 450, in this bucket
    rows = host_rows(report)
    assert {h: (r['state'], r['seen']) for h, r in rows.items()} == {
        'one': ('ended', 100), 'two': ('ended', 1000)}
    assert report['notes']['seen'] == 1100
    for row in rows.values():  # the same machine: the true offset is 0
        assert abs(row['clock offset']) <= row['clock error'] + 1000
        assert row['start delay'] >= 0


def test_each_host_by_itself(hosts):  # noqa: F811
    done = hosts.fleet('one,two', '--by-host', '--attar', ATTAR, 'num-dist', *WRITES, '--format',
                       'json', *SIZES)
    report, = reports(done)
    rows = {r['host']: r for r in section(report, 'numbers')}
    assert {h: (r['count'], r['max']) for h, r in rows.items()} == {
        'one': (100, 100), 'two': (1000, 1000)}
    assert abs(rows['two']['p50'] - 500) <= 500 / 128
    for host, count in ('one', 100), ('two', 1000):
        found = section(report, f'{host}: syscalls:sys_enter_write')
        assert {r['low']: r['count'] for r in found} == powers(count)


def test_call_trees_are_sums(hosts, tmp_path):  # noqa: F811
    """The merged tree has the samples of both, and every output has the merged report."""
    page, folded, each = tmp_path / 'x.html', tmp_path / 'x.folded', tmp_path / 'each.json'
    args = ['--attar', ATTAR, 'profile', '-F', 499, '-g', '-q', '--exclude-kernel']
    command = ['--', workload('split7030'), 400]
    done = hosts.fleet('one,two', *args, '--format', 'json', '-o', page, '-o', folded, *command)
    report, = reports(done)
    functions = section(report, 'functions')
    samples = sum(r['samples'] for r in functions)
    assert samples == report['notes']['seen'] \
        == sum(r['seen'] for r in section(report, 'hosts')) > 50
    nodes = section(report, 'stacks')
    assert sum(n['self'] for n in nodes) == samples
    assert len({(n['parent'], n['name'], n['module'], n['kind']) for n in nodes}) == len(nodes)
    for r in functions:
        own = sum(n['self'] for n in nodes if (n['name'], n['module']) == (r['symbol'], r['dso']))
        assert r['samples'] == own
        assert r['self'] == pytest.approx(100 * r['samples'] / samples)
    assert sum(int(line.rpartition(' ')[2]) for line in folded.read_text().splitlines()) == samples
    assert 'heavy' in page.read_text()
    hosts.fleet('one,two', '--by-host', *args, '-o', each, *command)
    nodes = section(json.loads(each.read_text()), 'stacks')
    assert {n['name'] for n in nodes if n['parent'] in (-1, None)} == {'one', 'two'}


def test_trees_have_the_weight_of_a_single_run(root, hosts, tmp_path):  # noqa: F811
    names = {}
    for who, attar in [('single', run), ('fleet', hosts.fleet)]:
        out, pprof = tmp_path / f'{who}.speedscope.json', tmp_path / f'{who}.pb.gz'
        words = ['one,two', '--attar', ATTAR] if who == 'fleet' else []
        done = attar(*words, 'offcpu', '-q', '-o', out, '-o', pprof, '--', 'sleep', '0.1')
        assert done.returncode == 0, done.stderr
        names[who] = [profile['name'] for profile in json.loads(out.read_text())['profiles']]
        assert b'blocked' in gzip.decompress(pprof.read_bytes())
    assert names['single'] == names['fleet'] == ['blocked']


def spans_of(path):
    """The events of a Chrome trace by the name of their thread, and the ids of the processes."""
    events = json.loads(path.read_text())['traceEvents']
    names = {(e['pid'], e['tid']): e['args']['name'] for e in events if e['name'] == 'thread_name'}
    found = {}
    for e in events:
        if e['ph'] != 'M':
            found.setdefault(names[e['pid'], e['tid']], []).append(e)
    return found


@pytest.mark.parametrize('args, names', [
    (['task-state'], ['task-state']), (['task-state', '-g'], ['task-state', 'functions']),
    (['profile', '-e', 'cpu-clock'], ['functions']),
    (['profile', '-e', 'cpu-clock', '-g'], ['functions', 'stacks'])])
def test_tables_do_not_depend_on_other_outputs(hosts, tmp_path, args, names):  # noqa: F811
    """A page and a flame graph need stacks of the hosts; tables have them with -g only."""
    script = tmp_path / 'x.script'
    script.write_text(SLEEP)
    for others in [], ['x.html', 'x.folded']:
        words = [word for name in ('x.json', 'x.csv', 'x.txt', *others)
                 for word in ('-o', tmp_path / name)]
        done = hosts.fleet('one,two', '--attar', ATTAR, *args, '-q', '--input', script, *words)
        assert done.returncode == 0, done.stderr
        found = json.loads((tmp_path / 'x.json').read_text())
        assert [s['name'] for s in found['sections']] == [*names, 'hosts']
        assert re.findall('^# (.*)', (tmp_path / 'x.csv').read_text(), re.M) == [*names, 'hosts']
        heads = re.findall('^(?:task-state|functions|stacks|hosts)(?=$|, )',
                           (tmp_path / 'x.txt').read_text().partition('\n')[2], re.M)
        assert heads == [*names, 'hosts']
    weight = sum(int(line.rpartition(' ')[2])
                 for line in (tmp_path / 'x.folded').read_text().splitlines())
    assert weight == (2 if args[0] == 'profile' else 2 * 2_000_000_000)
    hosts.fleet('one,two', '--attar', ATTAR, *args, '-q', '--input', script, '--flame-graph',
                os.devnull, '-o', tmp_path / 'x.json')
    assert '"kind":"tree"' in (tmp_path / 'x.json').read_text()


def test_time_lines_have_the_threads_of_all_hosts(hosts, tmp_path):  # noqa: F811
    """Each write is an instant, with its stack, in a thread of its host."""
    trace, page = tmp_path / 'x.trace.json', tmp_path / 'x.html'
    done = hosts.fleet('one,two', '--attar', ATTAR, 'trace', '-g', '-q', '-e',
                       'syscalls:sys_enter_write', '-o', trace, '--', workload('sizes1000'), 5)
    assert done.returncode == 0, done.stderr
    found = spans_of(trace)
    assert sorted(found) == ['one: sizes1000', 'two: sizes1000']
    for events in found.values():
        assert len(events) == 5 and len({e['pid'] for e in events}) == 1
        assert all(e['args']['stack'].startswith('write < ') for e in events), events[0]
    pids = {name: events[0]['pid'] for name, events in found.items()}
    assert pids['one: sizes1000'] < 10 ** 7 < pids['two: sizes1000']
    done = hosts.fleet('one,two', '--attar', ATTAR, 'trace', '-q', '--spans', '3', '-e',
                       'syscalls:sys_enter_write', '-o', trace, '--', workload('sizes1000'), 5)
    assert done.returncode == 0, done.stderr
    assert [len(events) for events in spans_of(trace).values()] == [3, 3]
    assert re.search(r'one: the time line has the first 3 .*; 2 later ones', trace.read_text())
    done = hosts.fleet('one,two', '--attar', ATTAR, 'wall', '-q', '-o', page, '--',
                       workload('split7030'), 200)
    assert done.returncode == 0, done.stderr
    assert re.search(r'"states":\[\{.*"one: split7030".*"two: split7030"', page.read_text(), re.S)


def test_samples_of_all_hosts_have_their_times(hosts, load, tmp_path):  # noqa: F811
    """In a profile for the Firefox Profiler: a thread for each thread of each host."""
    path = tmp_path / 'x.json.gz'
    done = hosts.fleet('one,two', '--attar', ATTAR, 'profile', '-F', 499, '-q', '--exclude-kernel',
                       '--format', 'json', '-o', path, '--', workload('split7030'), 1000)
    report, = reports(done)
    threads = json.loads(gzip.decompress(path.read_bytes()))['threads']
    assert sorted(t['name'] for t in threads) == ['one: split7030', 'two: split7030']
    samples = sum(r['samples'] for r in section(report, 'functions'))
    assert sum(sum(t['samples']['weight']) for t in threads) == samples > 200
    for t in threads:
        times = t['samples']['time']
        assert len(times) > 100 and times == sorted(times) and len(set(times)) == len(times)
    load(path)
    found = functions(load.ask('thread', 'functions', '--limit', '0', '--thread', 't-0'))
    other = functions(load.ask('thread', 'functions', '--limit', '0', '--thread', 't-1'))
    share_is(found['heavy'][0] + other['heavy'][0], samples, 0.7)


def test_results_of_hosts_are_served(hosts, spawn):  # noqa: F811
    """--listen: the sum of what both hosts count, interval by interval."""
    process = spawn(ATTAR, 'fleet', '-H', 'one,two', '--ssh', hosts.ssh(), '--attar', ATTAR, 'stat',
                    '-e', 'page-faults', '-i', '200ms', '--listen', '0', '--', 'sh', '-c',
                    f'while :; do {shlex.quote(workload("faults1000"))}; done',
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    port = int(re.search(r':(\d+)', next(line for line in process.stderr
                                         if 'listening on' in line))[1])

    def metric(pattern):
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics') as answer:
                return re.findall(pattern, answer.read().decode(), re.M)
        except urllib.error.HTTPError:  # before the first interval
            return []

    hosts_seen = r'^attar_stat_hosts_reports\{host="(\w+)".*\} [1-9]'
    wait_until(lambda: {'one', 'two'} <= set(metric(hosts_seen)), 'both hosts are served')
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/') as answer:
        assert 'page-faults' in answer.read().decode()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) in (0, 1)


def test_event_lines_have_a_host(hosts):  # noqa: F811
    """Each write of both hosts is a line with the host, in the time of the clock here."""
    before = time.time_ns()
    done = hosts.fleet('one,two', '--attar', ATTAR, 'trace', '-e', 'syscalls:sys_enter_write',
                       '--format', 'json', '--', workload('sizes1000'), 5)
    found = reports(done)
    lines = [row for r in found for s in r['sections'] if s['kind'] == 'events'
             for row in section(r, s['name'])]
    assert sorted(row['host'] for row in lines) == ['one'] * 5 + ['two'] * 5
    assert all(before < row['time'] < time.time_ns() for row in lines)
    assert {r['seen'] for r in host_rows(found[-1]).values()} == {5}


def test_clock_that_is_ahead(hosts, tmp_path):  # noqa: F811
    """The clock of host two is an hour ahead: it starts in time, and its times are corrected."""
    if faults.sanitized():
        pytest.skip('fault injection by LD_PRELOAD does not work with sanitizers')
    program = tmp_path / 'attar'
    program.write_text('#!/bin/sh\n[ $FLEET_HOST = one ] || export FAULT_CLOCK_AHEAD=3600 '
                       f'LD_PRELOAD={BUILD}/tests/faults/fault_clock.so\nexec {ATTAR} "$@"\n')
    program.chmod(0o755)
    before = time.time_ns()
    done = hosts.fleet('one,two', '--attar', program, 'trace', '-e', 'syscalls:sys_enter_write',
                       '--format', 'json', '--', workload('sizes1000'), 5)
    found, after = reports(done), time.time_ns()
    rows = host_rows(found[-1])
    assert abs(rows['two']['clock offset'] - 3600e9) <= rows['two']['clock error'] + 1000
    assert 0 <= rows['two']['start delay'] < 60e9
    times = {row['host']: row['time'] for r in found for s in r['sections']
             if s['kind'] == 'events' for row in section(r, s['name'])}
    assert set(times) == {'one', 'two'}
    assert all(before < t < after for t in times.values())
    assert before < found[-1]['time'] < after


def test_intervals_of_hosts_are_merged(hosts):  # noqa: F811
    """In each interval, the same number of faults on both hosts is counted twice."""
    done = hosts.fleet('one,two', '--attar', ATTAR, 'stat', '-e', 'page-faults', '-i', '500ms',
                       '--format', 'json', '--', 'sh', '-c',
                       f'sleep 1.2; exec {shlex.quote(workload("faults1000"))}')
    found = reports(done)
    assert len(found) >= 3
    per_host = hosts.fleet('one,two', '--by-host', '--attar', ATTAR, 'stat', '-e', 'page-faults',
                           '--format', 'json', '--', workload('faults1000'))
    counts = section(reports(per_host)[0], 'counts')
    assert {r['host'] for r in counts} == {'one', 'two'}
    assert all(r['value'] >= 1000 for r in counts)
    assert sum(section(r, 'counts')[0]['value'] for r in found if len(r['sections']) > 1) >= 2000


def test_failed_hosts_are_rows(hosts):  # noqa: F811
    """A host that refuses the connection, and one without attar: the report has the other host."""
    done = hosts.fleet('one,three', '--attar', ATTAR, 'num-dist', *WRITES, '--format', 'json',
                       *SIZES)
    report, = reports(done, status=1)
    assert section(report, 'numbers')[0]['count'] == 100
    rows = host_rows(report)
    assert rows['one']['state'] == 'ended'
    assert rows['three']['state'] == 'failed' and 'refused' in rows['three']['reason']


def test_attar_fails_on_a_host(hosts, tmp_path):  # noqa: F811
    program = tmp_path / 'attar'
    program.write_text(f'#!/bin/sh\n[ $FLEET_HOST = one ] && exec {ATTAR} "$@"\n'
                       'echo "attar: the reason" >&2; exit 3\n')
    program.chmod(0o755)
    report, = reports(hosts.fleet('one,two', '--attar', program, 'num-dist', *WRITES, '--format',
                                  'json', *SIZES), status=1)
    rows = host_rows(report)
    assert (rows['two']['state'], rows['two']['reason']) == ('failed', 'the reason')
    assert rows['one']['state'] == 'ended'
    report, = reports(hosts.fleet('two', '--attar', ATTAR, 'trace', '-e', 'nothing:here',
                                  '--format', 'json', '-d', '1s'), status=1)
    assert 'nothing:here' in host_rows(report)['two']['reason']


def test_missing_attar_is_copied(hosts, tmp_path):  # noqa: F811
    """The copy is removed."""
    done = hosts.fleet('one', 'stat', '-e', 'page-faults', '--format', 'json', '--', 'true')
    if done.returncode == 0:
        pytest.skip('attar is installed')
    report, = reports(done, status=1)
    assert '--copy' in host_rows(report)['one']['reason']
    done = hosts.fleet('one', '--copy', ATTAR, 'stat', '-e', 'page-faults', '--format', 'json',
                       '--', 'true')
    report, = reports(done)
    assert section(report, 'counts')[0]['value'] > 0
    done = hosts.fleet('one', '--copy', ATTAR, 'stat', '-e', 'page-faults', '--', 'sh', '-c',
                       'readlink /proc/$(ps -o ppid= -p $$ | tr -d " ")/exe >&2')
    copy = re.search(r'one: (/\S+/attar)', done.stderr)
    assert copy and not Path(copy[1]).parent.exists(), done.stderr
    text = tmp_path / 'text'
    text.write_text('no program\n')
    report, = reports(hosts.fleet('one', '--copy', text, 'stat', '--format', 'json'), status=1)
    assert host_rows(report)['one']['state'] == 'failed'


def test_words_reach_the_host_unchanged(hosts):  # noqa: F811
    words = ["it's", 'a b', '$(exit 9)', '`exit 9`', '"; exit 9 #', '\\', '*', '\n', '', '-x', '~',
             '!!', '%n', '--', 'ä']
    done = hosts.fleet('one', '--attar', ATTAR, 'stat', '-e', 'page-faults', '--', 'python3', '-c',
                       'import sys; print(ascii(sys.argv[1:]), file=sys.stderr)', *words)
    assert f'one: {ascii(words)}\n' in done.stderr


def test_path_of_attar_is_quoted(hosts, tmp_path):  # noqa: F811
    program = tmp_path / "it's $(exit 9) \"a b\"" / 'attar'
    program.parent.mkdir()
    program.symlink_to(ATTAR)
    report, = reports(hosts.fleet('one', '--attar', program, 'stat', '-e', 'page-faults',
                                  '--format', 'json', '--', 'true'))
    assert host_rows(report)['one']['state'] == 'ended'


@pytest.mark.parametrize('args, message', [
    (['profile'], 'requires hosts'),
    (['-H', 'one'], 'requires a profiler'),
    (['-H', '-oProxyCommand=x', 'profile'], 'is not a host name'),
    (['-H', 'one,,two', 'profile'], 'is not a host name'),
    (['-H', 'a b', 'profile'], 'a space'),
    (['-H', 'one,one', 'profile'], 'twice'),
    (['-H', 'one', '--frob', 'profile'], 'no such option --frob'),
    (['-H', 'one', 'profil'], "did you mean 'profile'"),
    (['-H', 'one', 'profile', '--frob'], 'no such option --frob'),
    (['-H', 'one', 'record'], 'nothing to merge'),
    (['-H', 'one', 'profile', '-i', '1s', '-o', '/nonexistent/x.html'], 'nonexistent'),
    (['-H', 'one', '--copy', '/nonexistent', 'profile'], 'nonexistent'),
    (['-H', 'one', '--timeout', 'x', 'profile'], 'x'),
])
def test_refusals(args, message):
    done = run('fleet', *args)
    assert done.returncode == 2
    assert message in done.stderr


def test_ssh_is_missing():
    report, = reports(run('fleet', '-H', 'x', '--ssh', '/nonexistent/ssh', 'stat', '--format',
                          'json'), status=1)
    assert 'openssh-client' in host_rows(report)['x']['reason']


def test_output_of_whole_runs_with_intervals(tmp_path):
    done = run('fleet', '-H', 'one', 'profile', '-i', '1s', '-o', tmp_path / 'x.html')
    assert done.returncode == 2 and 'leave out -i' in done.stderr
    assert not (tmp_path / 'x.html').exists()


def host_of(pid):
    """The variable that the host's sshd sets."""
    try:
        environment = Path(f'/proc/{pid}/environ').read_bytes()
    except OSError:  # it has just ended
        return None
    return dict(word.partition(b'=')[::2] for word in environment.split(b'\0')).get(b'FLEET_HOST')


def commands(mark):
    """
    The number of hosts on which the command of endless() runs. A shell that has just been forked
    has the words of its parent.
    """
    return len({host_of(pid) for pid, words in processes_with(mark).items()
                if words.startswith(b'sh\0-c\0')} - {None})


def endless(hosts, spawn, mark, *args, **kwargs):  # noqa: F811
    """Start a run on both hosts that does not end, whose processes there have the mark."""
    process = spawn(ATTAR, 'fleet', '-H', 'one,two', '--ssh', hosts.ssh(), '--attar', ATTAR,
                    'stat', '-e', 'page-faults', '--format', 'json', *args, '--', 'sh', '-c',
                    f'sleep 1000; : {mark}', stdout=subprocess.PIPE, text=True, **kwargs)
    wait_until(lambda: process.poll() is not None or commands(mark) == 2,
               'both hosts run the command', seconds=60)
    assert process.poll() is None
    return process


def test_interrupt_ends_all_hosts(hosts, spawn):  # noqa: F811
    mark = f'fleet-interrupt-{time.monotonic_ns()}'
    process = endless(hosts, spawn, mark)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    report = json.loads(out)
    assert section(report, 'counts')[0]['value'] > 0
    assert {r['state'] for r in section(report, 'hosts')} == {'ended'}
    assert not processes_with(mark)


def test_nothing_remains_after_a_kill(hosts, spawn):  # noqa: F811
    mark = f'fleet-kill-{time.monotonic_ns()}'
    process = endless(hosts, spawn, mark)
    process.kill()
    process.wait()
    wait_until(lambda: not processes_with(mark), 'all processes on the hosts ended', seconds=60)


def test_host_killed_in_the_middle(hosts, spawn):  # noqa: F811
    """The other host is in the report; the one whose connection is lost has a row."""
    mark = f'fleet-lost-{time.monotonic_ns()}'
    process = endless(hosts, spawn, mark)
    clients = [int(p) for p in Path(f'/proc/{process.pid}/task/{process.pid}/children')
               .read_text().split()]
    for pid in clients:
        if b'\0two\0' in Path(f'/proc/{pid}/cmdline').read_bytes():
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: commands(mark) == 1, 'the command of host two ends', seconds=60)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    rows = host_rows(json.loads(out.splitlines()[-1]))
    assert rows['one']['state'] == 'ended'
    assert rows['two']['state'] == 'failed'
    # the second, if ssh had not passed on yet that the profiler had started
    assert re.search('connection was closed|ssh was killed by SIGKILL', rows['two']['reason'])
    wait_until(lambda: not processes_with(mark), 'all processes on the hosts ended', seconds=60)


GREETING = 'echo attar-fleet 1 x; for i in 1 2 3 4 5 6 7 8; do read l; echo clock 5; done; read l; '


@pytest.mark.parametrize('says, reason', [
    ('exec cat /dev/urandom', 'does not follow|too long|not a report'),
    ('exec yes x', 'does not follow'),
    ('echo hello; echo world', "its output is not that of attar, beginning with 'hello'"),
    ('printf hello', "its output is not that of attar, beginning with 'hello'"),
    ('exit 0', 'ssh exited with status 0'),
    ('exec tr "\\0" a </dev/zero', 'too long'),
    ('echo attar-fleet 9 x; cat', 'another version'),
    ('echo attar-fleet 1 x; exec sleep 100', 'within --timeout'),
    (GREETING + 'echo started 5; exec tr "\\0" "{" </dev/zero', 'too long'),
    (GREETING + 'echo started 5; echo "{}"; cat', 'not a report'),
    (GREETING + 'echo started 5; echo "{\\"schema\\":\\"attar/1\\",\\"sections\\":[[[["; cat',
     'not a report'),
    (GREETING + """echo started 5; python3 -c "print('{\\"schema\\":\\"attar/1\\",\\"sections\\":['
        + '{\\"name\\":\\"x\\",\\"kind\\":\\"table\\",\\"columns\\":['
        + ','.join(['{\\"name\\":\\"a\\",\\"unit\\":\\"count\\"}'] * 10000)
        + '],\\"rows\\":[]}]}')"; cat""", 'too many sections or columns'),
    (GREETING + 'echo started 99999999999999999999; exec cat', 'did not start within'),
    (GREETING + 'echo ended 0', '.'),
    ('echo attar-missing; echo attar-missing; exec cat', 'not installed'),
    (r'printf "\033[31mred\033[0m\n" >&2; exit 1', r'\\x1b\[31mred'),
])
def test_hostile_host(tmp_path, says, reason):
    """A program in place of ssh prints arbitrary text."""
    peer = tmp_path / 'ssh'
    peer.write_text(f'#!/bin/sh\n{says}\n')
    peer.chmod(0o755)
    done = run('fleet', '-H', 'x', '--ssh', peer, '--timeout', '3s', 'stat', '-d', '100ms',
               '--format', 'json')
    row = host_rows(reports(done, status=1)[-1])['x']
    assert row['state'] in ('failed', 'timed out')
    assert re.search(reason, row['reason']), row


PEER = f'''#!/usr/bin/python3
"""A host whose report has a time series, by a clock that is ahead."""
import json, sys, time
host = sys.argv[1]
ahead = {{'one': 0, 'two': 3600}}[host] * 10 ** 9
print('attar-fleet 1 x', flush=True)
while not (line := sys.stdin.readline()).startswith('run '):
    print('clock', time.time_ns() + ahead, flush=True)
_, start, n = line.split()
sys.stdin.read(int(n))
start = int(start)
time.sleep(max(0, (start - ahead - time.time_ns()) / 1e9))
print('started', time.time_ns() + ahead)
step = 10 ** 6 * (2 if host == 'one' else 3)
rows = [[start + i * step, i, None if i == 1 else i * 12.5] for i in range(4)]
print(json.dumps({{'schema': 'attar/1', 'version': 'x', 'profiler': 'stat',
                  'time': start + 10 ** 9, 'interval_ns': 10 ** 9, 'remarks': [], 'sections': [
                      {{'name': 'load', 'kind': 'time-series', 'columns': [
                          {{'name': 'time', 'unit': 'time'}}, {{'name': 'tasks', 'unit': 'count'}},
                          {{'name': 'share', 'unit': 'percent'}}], 'rows': rows}}]}}))
print('ended 0', flush=True)
'''


def test_time_series_of_hosts_are_in_one_clock(tmp_path):
    """The labels of each host are columns, and its times are those of the local clock."""
    peer, out = tmp_path / 'ssh', tmp_path / 'x.csv'
    peer.write_text(PEER.replace('sys.argv[1]', "next(w for w in sys.argv if w in ('one', 'two'))"))
    peer.chmod(0o755)
    before = time.time_ns()
    done = run('fleet', '-H', 'one,two', '--ssh', peer, 'stat', '--format', 'json', '-o', out)
    report, = reports(done)
    rows = section(report, 'load')
    first = min(row['time'] for row in rows)
    assert before < first < time.time_ns()
    errors = {row['host']: row['clock error'] for row in section(report, 'hosts')}
    seen = {'one': [], 'two': []}
    for row in rows:
        assert row['time'] >= first
        for host, values in seen.items():
            if row[f'{host}: tasks'] is not None:
                values.append((row['time'], row[f'{host}: tasks'], row[f'{host}: share']))
    assert [row['time'] for row in rows] == sorted(row['time'] for row in rows)
    for host, step in ('one', 2e6), ('two', 3e6):
        values = seen[host]
        assert [value[1:] for value in values] == [(0, 0), (1, None), (2, 25), (3, 37.5)]
        assert [value[0] - values[0][0] for value in values] == [0, step, 2 * step, 3 * step]
    assert abs(seen['one'][0][0] - seen['two'][0][0]) <= sum(errors.values()) + 2000
    assert len(out.read_text().splitlines()) > 8


SPANS = '''late = {'one': 0, 'two': 1500}[host] * 10 ** 6
begin = start + late
names = 'time duration pid tid thread cpu category name'.split()
row = [begin + 10 ** 6, 5000, 7, 7, 'comm', 0, 'state', 'sleeping']
print(json.dumps({'schema': 'attar/1', 'version': 'x', 'profiler': 'task-state',
                  'time': begin + 10 ** 9, 'interval_ns': 10 ** 9, 'remarks': [], 'sections': [
                      {'name': 'time line', 'kind': 'spans',
                       'columns': [{'name': name} for name in names], 'rows': [row]}]}))
'''


def test_time_line_begins_with_the_first_host(tmp_path):
    """The second host starts 1.5 s later and ends last."""
    peer, trace, out = tmp_path / 'ssh', tmp_path / 'x.trace.json', tmp_path / 'x.json'
    text = PEER.replace('sys.argv[1]', "next(w for w in sys.argv if w in ('one', 'two'))")
    peer.write_text(text[:text.index('step =')] + SPANS + "print('ended 0', flush=True)\n")
    peer.chmod(0o755)
    done = run('fleet', '-H', 'one,two', '--ssh', peer, 'task-state', '-q', '-o', trace, '-o', out)
    assert done.returncode == 0, done.stderr
    report = json.loads(out.read_text())
    error = sum(row['clock error'] for row in section(report, 'hosts')) + 2000
    assert abs(report['interval_ns'] - 2.5e9) <= error
    found = spans_of(trace)
    starts = [found[f'{host}: comm'][0]['ts'] * 1000 for host in ('one', 'two')]
    assert abs(starts[0] - 1e6) <= error and abs(starts[1] - 1501e6) <= error
