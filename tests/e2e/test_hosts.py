# SPDX-License-Identifier: MIT
"""Events of several hosts, merged by time: pull= of events, and several --pull."""
import collections
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys

import pytest

from command import ATTAR, run, wait_until, workload
from scripts import rows as table, rows_of
from test_push import gate, listens  # noqa: F401

pytestmark = pytest.mark.usefixtures('root', 'needs_perf')

ENTER = 'raw_syscalls:sys_enter'
GETPPID = f'{ENTER}/id==110/'
FLOOD = f'{ENTER}/id==110 && comm=="flood"/'
TURNS = 200
CALLS = 1000
# Takes turns with another program: each calls getppid(2) when the other one has.
PLAYER = f'''
import os, sys
first, to, back = sys.argv[1] == 'first', sys.argv[2], sys.argv[3]
fds = [os.open(path, os.O_RDWR) for path in (to, back)]
for turn in range({TURNS}):
    if not first:
        os.read(fds[1], 1)
    os.getppid()
    os.write(fds[0], b'x')
    if first:
        os.read(fds[1], 1)
'''


# The first program asks the other one by getpgid(TURN), which naps for NAP_MS and answers with the
# same call. The number of the turn is their key.
GETPGID = f'{ENTER}/id==121/'
NAP_MS = 5
ASKER = f'''
import ctypes, os, sys, time
first, to, back = sys.argv[1] == 'first', sys.argv[2], sys.argv[3]
fds = [os.open(path, os.O_RDWR) for path in (to, back)]
getpgid = ctypes.CDLL(None).getpgid
for turn in range({TURNS}):
    if not first:
        os.read(fds[1], 1)
        time.sleep({NAP_MS} / 1000)
    getpgid(turn + 1)
    os.write(fds[0], b'x')
    if first:
        os.read(fds[1], 1)
'''


@pytest.fixture
def host(spawn, tmp_path):
    """Start a host of this name, which pushes the calls of a command."""
    def start(name, *command, event=GETPPID):
        where = f'unix:{tmp_path}/{name}'
        process = spawn('unshare', '--uts', 'sh', '-c', 'hostname "$0" && exec "$@"', name, ATTAR,
                        'record', '-m', '1024', '-e', event, '--push', where, '--',
                        *map(str, command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                        text=True)
        wait_until(lambda: listens(where) or process.poll() is not None, 'a listener')
        return where, process
    return start


def pulled(where, event=ENTER):
    return f'{event}//pull="{where}"/'


def read_events(text):
    """The events in the reports of trace that are complete, and the last of these."""
    rows, last = [], None
    for line in text.splitlines(keepends=True):
        if not line.endswith('\n'):
            break
        last = json.loads(line)
        for section in last['sections']:
            rows += rows_of(section)
    return rows, last


class Trace:
    """A trace of several hosts, whose own command runs until end() is called."""

    def __init__(self, spawn, folder, *args, profiler='trace'):
        self.out, self.end_pipe = folder / 'out', folder / 'end'
        os.mkfifo(self.end_pipe)
        begun = folder / 'begun'
        with open(self.out, 'w', encoding='utf-8') as out:
            self.process = spawn(ATTAR, profiler, '-q', '-m', '1024', '--format', 'json',
                                 *map(str, args[:-1]), '--', 'sh', '-c',
                                 f'touch {begun}; {args[-1]}; read line <{self.end_pipe}',
                                 stdout=out, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: begun.exists() or self.process.poll() is not None, 'the command')

    def seen(self):
        """The events of the intervals up to now."""
        return sum(json.loads(line)['notes']['seen']
                   for line in self.out.read_text().splitlines(keepends=True)
                   if line.endswith('\n'))

    def rows(self):
        """The events up to now."""
        return read_events(self.out.read_text())[0]

    def end(self):
        self.end_pipe.write_text('\n')
        _, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return read_events(self.out.read_text())


def by_host(rows):
    return collections.Counter(row['host'] for row in rows)


def test_two_hosts_and_this_one(host, gate, spawn, tmp_path):  # noqa: F811
    one, first = host('one', *gate.command(2000))
    two, second = host('two', *gate.command(3000))
    trace = Trace(spawn, tmp_path, '-e', f'{pulled(one)},{pulled(two)}', '-e',
                  f'{ENTER}/id==110 && comm=="flood"/', ' '.join(map(str, gate.command(1000))))
    gate.open()
    wait_until(lambda: len(trace.rows()) >= 6000, 'all events', 60)
    rows, last = trace.end()
    assert by_host(rows) == {'one': 2000, 'two': 3000, socket.gethostname(): 1000}
    times = [row['time'] for row in rows]
    assert times == sorted(times)
    assert (last['notes']['seen'], last['notes']['lost']) == (6000, 0)
    for pushing, calls in (first, 2000), (second, 3000):
        assert f'{calls} samples were pushed to 1 receiver' in pushing.communicate(timeout=60)[0]


def test_answers_follow_their_calls(host, spawn, tmp_path):
    """Two programs take turns on two hosts: the order is right within the errors of the clocks."""
    for name in 'ball', 'back':
        os.mkfifo(tmp_path / name)
    player = tmp_path / 'player.py'
    player.write_text(PLAYER)
    one, _ = host('one', sys.executable, player, 'first', tmp_path / 'ball', tmp_path / 'back')
    two, _ = host('two', sys.executable, player, 'second', tmp_path / 'back', tmp_path / 'ball')
    pulling = spawn(ATTAR, 'trace', '-q', '--format', 'json', '-e', ENTER, '--pull', one, '--pull',
                    two, stdout=subprocess.PIPE, text=True)
    out, _ = pulling.communicate(timeout=60)
    assert pulling.returncode == 0
    rows, last = read_events(out)
    calls, answers = ([row['time'] for row in rows if row['host'] == name]
                      for name in ('one', 'two'))
    assert len(calls) == len(answers) == TURNS
    errors = [float(re.search(r'has an error of ([0-9.]+) us', remark)[1])
              for remark in last['remarks']]
    assert len(errors) == 2
    slack = 1000 * sum(errors) + 2
    turns = list(zip(calls, answers))
    assert all(answer > call - slack for call, answer in turns)
    assert all(call > answer - slack for (_, answer), (call, _) in zip(turns, turns[1:]))


@pytest.fixture
def silent(host, gate, spawn, tmp_path):  # noqa: F811
    """
    Return the function that runs attar with events of a host and of this machine. The host is
    stopped while programs make CALLS there and then here, until the latter are `shown`, and then
    for its own.
    """
    def start(profiler, here, *args, shown):
        one, first = host('one', 'sh', '-c',
                          f'{shlex.join(map(str, gate.command(CALLS)))}; touch {tmp_path}/made',
                          event=FLOOD)
        trace = Trace(spawn, tmp_path, '-e', pulled(one) + 'key=id/', '-e', here, *args,
                      f'until [ -e {tmp_path}/made ]; do sleep 0.1; done; '
                      f'{workload("flood")} {CALLS}', profiler=profiler)
        first.send_signal(signal.SIGSTOP)
        gate.open()
        wait_until(lambda: shown(trace), 'the events of this machine', 60)
        first.send_signal(signal.SIGCONT)
        return trace
    return start


def test_a_silent_host_does_not_delay_others(silent):
    """Events of others are shown after 2 seconds, and its own get the time of these."""
    trace = silent('trace', FLOOD, shown=lambda trace: len(trace.rows()) >= CALLS)
    wait_until(lambda: len(trace.rows()) >= 2 * CALLS, 'those of the other', 60)
    rows, last = trace.end()
    assert by_host(rows) == {'one': CALLS, socket.gethostname(): CALLS}
    times = [row['time'] for row in rows]
    assert times == sorted(times)
    assert (f'{CALLS} events of one arrived after newer events of other hosts had been shown, '
            'and were given the newest time') in last['remarks']


def test_late_events_of_a_silent_host_are_in_no_pair(silent):
    """They would be pairs with the last call of this machine."""
    trace = silent('multi-trace', FLOOD + 'key=id/', '--cycle', '-i', '100ms',
                   shown=lambda trace: trace.seen() >= CALLS)
    wait_until(lambda: trace.seen() >= 2 * CALLS, 'those of the other', 60)
    _, last = trace.end()
    assert (f'{CALLS} events of one arrived after newer events of other hosts had been processed: '
            'they and pairs that began before them are left out') in last['remarks']
    assert table(last, 'pairs') == []


@pytest.mark.parametrize('guest, reason', [
    ('1', 'process 1 runs no KVM guest'), ('1-2', 'no process runs a KVM guest with -uuid 1-2')])
def test_a_guest_that_is_none(host, guest, reason):
    one, _ = host('one', workload('flood'), 100)
    done = run('trace', '-e', f'{pulled(one)}vm={guest}/')
    assert done.returncode and f'--event: vm=: {reason}' in done.stderr


def test_an_expression_of_another_host(host):
    """Its fields, filter and names are those of the host."""
    one, _ = host('one', workload('flood'), 100)
    text = 'exec=printf("%s %d\\n",comm_get(_tid),id)'
    done = run('trace', '-N', '100', '-e', f'{ENTER}/id==110/pull="{one}"/alias=call/{text}/')
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(bool(re.search(r'\bflood 110$', line)) for line in lines) == 100
    assert sum(' one ' in line and ' call ' in line for line in lines) == 100


def pulling(*addresses):
    return ['fleet', *(word for address in addresses for word in ('--pull', address))]


def test_any_profiler_of_two_hosts(host):
    """Each host is analysed by itself, and the results are added."""
    one, first = host('one', workload('flood'), 2000)
    two, second = host('two', workload('flood'), 3000)
    done = run(*pulling(one, two), 'top', '-e', f'{ENTER}//key=id/', '--format', 'json')
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    row, = [row for row in table(report, report['sections'][0]['name']) if 110 in row.values()]
    assert 5000 in row.values(), row
    assert report['notes']['seen'] == 5000 and report['notes']['lost'] == 0
    hosts = table(report, 'hosts')
    assert [(h['host'], h['state'], h['seen'], h['clock offset']) for h in hosts] == [
        (one, 'ended', 2000, None), (two, 'ended', 3000, None)]
    assert any(r.startswith(f'{one}: the clock offset of one at ') for r in report['remarks'])
    for pushing, calls in (first, 2000), (second, 3000):
        assert f'{calls} samples were pushed to 1 receiver' in pushing.communicate(timeout=60)[0]


@pytest.mark.parametrize('words', [
    ['top', '-e', f'{ENTER}//key=id/'], ['num-dist', '-e', f'{ENTER}//num=id/'],
    ['profile', '-e', ENTER], ['syscount']], ids=lambda words: words[0])
def test_several_pulls_of_a_profiler(host, words):
    """As attar fleet: each host by itself, and the sum of both."""
    one, _ = host('one', workload('flood'), 2000)
    two, _ = host('two', workload('flood'), 3000)
    done = run(*words, '--pull', one, f'--pull={two}', '--format', 'json')
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert [(h['host'], h['state'], h['seen']) for h in table(report, 'hosts')] == [
        (one, 'ended', 2000), (two, 'ended', 3000)]
    results, = (s for s in report['sections'] if s['name'] != 'hosts' and s['kind'] == 'table')
    assert any(5000 in row for row in results['rows']), results


def test_several_pulls_of_a_profiler_without_events():
    done = run('cpu-util', '--pull', 'unix:/a', '--pull', 'unix:/b')
    assert done.returncode == 2 and 'no such option --pull' in done.stderr


def test_two_hosts_by_host(host):
    one, _ = host('one', workload('flood'), 2000)
    two, _ = host('two', workload('flood'), 3000)
    done = run(*pulling(one, two), '--by-host', 'top', '-e', f'{ENTER}//key=id/', '--format',
               'json')
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    rows = {row['host']: row for row in table(report, report['sections'][0]['name'])
            if 110 in row.values()}
    assert 2000 in rows[one].values() and 3000 in rows[two].values()


def test_a_host_that_pushes_nothing_is_a_row(host, tmp_path):
    one, _ = host('one', workload('flood'), 100)
    nobody = f'unix:{tmp_path}/nobody'
    done = run(*pulling(one, nobody), 'top', '-e', f'{ENTER}//key=id/', '--format', 'json')
    report = json.loads(done.stdout.splitlines()[-1])
    states = {h['host']: (h['state'], h['reason']) for h in table(report, 'hosts')}
    assert done.returncode == 1 and report['notes']['seen'] == 100
    assert states[one] == ('ended', '')
    assert states[nobody][0] == 'failed' and 'no attar pushes events' in states[nobody][1]


@pytest.fixture
def asking(host, tmp_path):
    """The addresses of two hosts, on which programs ask each other."""
    for name in 'ball', 'back':
        os.mkfifo(tmp_path / name)
    asker = tmp_path / 'asker.py'
    asker.write_text(ASKER)
    one, _ = host('one', sys.executable, asker, 'first', tmp_path / 'ball', tmp_path / 'back',
                  event=GETPGID)
    two, _ = host('two', sys.executable, asker, 'second', tmp_path / 'back', tmp_path / 'ball',
                  event=GETPGID)
    return one, two


def test_pairs_of_events_of_two_hosts(asking):
    """A question on one host and its answer on another."""
    question, answer = (f'{pulled(where)}key=args[0]/alias={name}/'
                        for where, name in zip(asking, ('question', 'answer')))
    done = run('multi-trace', '-e', question, '-e', answer, '--detail=samekey', '--format', 'json')
    assert done.returncode == 0, done.stderr
    rows, last = read_events(done.stdout)
    (pairs,) = table(last, 'pairs')
    error = 1000 * sum(float(re.search(r'has an error of ([0-9.]+) us', remark)[1])
                       for remark in last['remarks'] if 'has an error of' in remark)
    assert (pairs['start'], pairs['end'], pairs['calls']) == ('question', 'answer', TURNS)
    assert pairs['min'] >= NAP_MS * 1_000_000 - error
    assert last['notes']['seen'] == 2 * TURNS
    parts = [(row['host'], row['event'], row['part']) for row in rows if 'part' in row]
    assert parts == [('one', 'question', 'start'), ('two', 'answer', 'end')] * TURNS


def test_the_default_key_is_the_cpu(host):
    """Also of another host: the last call of a program and the first one of the next are a pair."""
    flood = f'taskset 1 {workload("flood")} 100'
    one, _ = host('one', 'sh', '-c', f'{flood}; {flood}', event=FLOOD)
    done = run('multi-trace', '--cycle', '-e', pulled(one), '--format', 'json')
    assert done.returncode == 0, done.stderr
    (pairs,) = table(json.loads(done.stdout.splitlines()[-1]), 'pairs')
    assert pairs['calls'] == 199


def test_keys_of_two_hosts(asking):
    """Threads and CPUs of different hosts are different."""
    events = [word for where in asking for word in ('-e', pulled(where))]
    done = run('multi-trace', *events)
    assert done.returncode == 2
    assert 'of different hosts, whose threads and CPUs can have' in done.stderr
    done = run('multi-trace', *events, '-k', 'args[0]', '--tasks')
    assert done.returncode == 2 and '--tasks selects threads of this machine' in done.stderr


@pytest.mark.parametrize('args, reason', [
    (['profile', '--pull', 'unix:/a', '--pull', 'unix:/a'], "'unix:/a' is given twice"),
    (['record', '--pull', 'unix:/a', '--pull', 'unix:/b'], 'nothing to merge'),
    (['top', '-e', pulled('unix:/a')], "'top' cannot distinguish"),
    (['top', '-e', ENTER, '--pull', '/tmp'], "--pull: '/tmp' is a directory: write the path of"),
    (['stat', '-e', pulled('unix:/a')], 'pull= requires live events of'),
    (['trace', '-e', f'{ENTER}//vm=1/'], 'vm= requires events that are pulled from a guest'),
    (['trace', '-e', f'{ENTER}//pull="unix:/a"/push="unix:/b"/'], 'no attar pushes events'),
    (['trace', '-e', ENTER, '--pull', 'nonsense:x', '--pull', 'unix:/b'], 'nonsense'),
    (['trace', '-e', f'{ENTER}//pull=unix:/a/'], 'a path needs quotes, as in pull="unix:/run/x"'),
    ([*pulling('unix:/a', 'unix:/a'), 'top'], "--pull: 'unix:/a' is given twice"),
    ([*pulling('unix:/a'), 'stat', '--', 'true'], 'no command can run on hosts that push'),
], ids=['sampler', 'recorder', 'keys', 'directory', 'counts', 'vm', 'nobody', 'address', 'quotes',
        'twice', 'command'])
def test_what_cannot_be_is_refused(args, reason):
    done = run(*args)
    assert done.returncode != 0
    assert reason in done.stderr
