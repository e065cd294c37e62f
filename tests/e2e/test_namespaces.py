# SPDX-License-Identifier: MIT
"""Events between two network namespaces: a real TCP connection, which can be interrupted."""
import json
import re
import signal
import subprocess

import pytest

from command import ATTAR, wait_until, workload, write_secret
from fleet_hosts import serve
from namespaces import ip, network, two_hosts  # noqa: F401
from test_fleet import SIZES, WRITES, host_rows, reports
from test_push import gate  # noqa: F401

pytestmark = pytest.mark.usefixtures('root', 'needs_perf')

PORT = 9100
CALLS = 200000  # more than a connection and a queue of 8 MiB hold
GETPPID = 'raw_syscalls:sys_enter/id==110 && comm=="flood"/'


@pytest.fixture
def key(tmp_path):
    write_secret(tmp_path / 'key', '0123456789abcdef' * 4 + '\n')
    return ['--peer-psk', tmp_path / 'key']


@pytest.fixture
def push(network, spawn, key):  # noqa: F811
    """Start to push the calls of a command on host one."""
    def start(*command, pages=1024):
        process = spawn(*network.on('one', ATTAR, 'record', '-m', pages, '-e', GETPPID, '--push',
                                    f'{network.addresses["one"]}:{PORT}', *key, '--', *command),
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wait_until(lambda: network.answers('one', PORT) or process.poll() is not None,
                   'a listener')
        return process
    return start


@pytest.fixture
def pull(network, spawn, key):  # noqa: F811
    """Start to pull them on host two."""
    def start(profiler, *args, **kwargs):
        return spawn(*network.on('two', ATTAR, profiler, '-q', '--format', 'json', '-e',
                                 'raw_syscalls:sys_enter', '--pull',
                                 f'{network.addresses["one"]}:{PORT}', *key, *args), text=True,
                     stderr=subprocess.PIPE, **kwargs)
    return start


def said(process, seconds=60):
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, (out, err)
    return out


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found[1].replace(',', '')) if found else 0


def test_every_event_arrives_once(push, pull):
    pushing = push(workload('flood'), 5000)
    report = json.loads(said(pull('top', stdout=subprocess.PIPE)))
    row, = report['sections'][0]['rows']
    names = [c['name'] for c in report['sections'][0]['columns']]
    assert dict(zip(names, row))['raw_syscalls:sys_enter'] == 5000
    assert (report['notes']['seen'], report['notes']['lost']) == (5000, 0)
    assert ('the clock offset of one at 192.0.2.1:9100 has an error of'
            in ' '.join(report['remarks']))
    assert '5000 samples were pushed to 1 receiver' in said(pushing)


def test_a_cut_in_the_middle_of_a_frame(push, pull, gate, network, tmp_path):  # noqa: F811
    """
    The receiver is stopped, so that frames fill the sockets; then the link goes down. Samples
    that are not received are counted on both sides, and none arrives twice.
    """
    made, out = tmp_path / 'made', tmp_path / 'out'
    calls = ' '.join(map(str, gate.command(CALLS)))
    pushing = push('sh', '-c', f'{workload("flood")} 1; {calls}; touch {made}', pages=16384)
    with open(out, 'w', encoding='utf-8') as file:
        pulling = pull('trace', stdout=file)
    wait_until(lambda: out.stat().st_size, 'the first call, which follows formats and names')
    pulling.send_signal(signal.SIGSTOP)
    gate.open()
    wait_until(made.exists, 'all calls', 60)
    network.cable('down')
    pulling.send_signal(signal.SIGCONT)
    pushed = said(pushing)
    said(pulling)
    events, last = [], None
    for line in out.read_text().splitlines():
        last = json.loads(line)
        events += [row for section in last['sections'] for row in section['rows']]
    taken = number(r'(\d+) samples were pushed', pushed)
    lost = number(r'(\d+) pushed samples were lost', pushed)
    unconfirmed = number(r'(\d+) pushed samples were not acknowledged', pushed)
    assert taken + number(r'([\d,]+) lost', pushed) == 1 + CALLS
    received = len(events)
    assert taken - lost - unconfirmed <= received < taken - lost
    assert len({(row[0], *row[2:4]) for row in events}) == received  # time, tid, CPU
    assert last['notes']['seen'] == received
    ended = re.search(r'events after the first (\d+) are incomplete', ' '.join(last['remarks']))
    assert int(ended[1]) <= received


def test_fleet_of_two_namespaces(network, tmp_path):  # noqa: F811
    """Each sshd is reached through the network only."""
    with serve(tmp_path, network) as hosts:
        done = subprocess.run(
            network.on('one', ATTAR, 'fleet', '-H', 'one,two', '--ssh', hosts.ssh(), '--attar',
                       ATTAR, 'num-dist', *WRITES, '--format', 'json', *SIZES),
            capture_output=True, text=True, timeout=60)
    report, = reports(done)
    rows = host_rows(report)
    assert {host: (row['state'], row['seen']) for host, row in rows.items()} == {
        'one': ('ended', 100), 'two': ('ended', 1000)}
    for row in rows.values():  # one machine has one clock
        assert abs(row['clock offset']) <= row['clock error'] + 1000


def test_a_failure_leaves_nothing():
    with pytest.raises(ZeroDivisionError), two_hosts() as made:
        spaces = set(made.spaces.values())
        assert spaces <= set(ip('netns', 'list').stdout.split())
        made.cable(1 // 0)
    assert not spaces & set(ip('netns', 'list').stdout.split())
