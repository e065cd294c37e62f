# SPDX-License-Identifier: MIT
"""--push and --pull over vsock, in a guest whose kernel has a loopback (CID 1)."""
import json
import re
from pathlib import Path

import pytest

import guest
from command import ATTAR, workload, write_secret
from test_push import counts

pytestmark = pytest.mark.guest('debian')

CALLS = 5000
CONNECT = f'{guest.PYTHON} {Path(__file__).with_name("vsock_peer.py")}'
LOAD = 'tests/vm/load vsock_loopback && tests/vm/load vhost_vsock'
PUSH = (f'{ATTAR} record -m 1024 -e raw_syscalls:sys_enter/id==110/ --push vsock:910 %s '
        f'-- {workload("flood")} {CALLS}')
PULL = f'{ATTAR} top -q --format json -e raw_syscalls:sys_enter --pull vsock:1:910'


def in_guest(script):
    return guest.run('debian', 'sh', '-c', script, cwd=guest.ROOT)


def said(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize('sender', ['', guest.AS_AGENT], ids=['by hand', 'agent'])
def test_every_event_arrives_once(tmp_path, sender):
    """Also with the sockets of the agent's unit."""
    push = f'{sender} {PUSH % ""}'
    listens = f'until grep -q "as soon as" {tmp_path}/pushed; do sleep 0.1; done'
    done = in_guest(f'{LOAD} && {{ {push} >{tmp_path}/pushed 2>&1 & }} && {listens} && {PULL} && '
                    'wait $!')
    assert counts(json.loads(said(done))) == (CALLS, 0, {'flood': CALLS})
    pushed = (tmp_path / 'pushed').read_text()
    assert f'{CALLS} samples were pushed to 1 receiver at vsock:910' in pushed
    assert 'refused' not in pushed and 'not acknowledged' not in pushed


def test_others_are_refused(tmp_path):
    """Another virtual machine, a program with any port; then all events arrive once."""
    done = in_guest(f'{LOAD} && {{ {PUSH % ""} >{tmp_path}/pushed 2>&1 & }} && {CONNECT} 3 910 && '
                    f'{CONNECT} 1 910 GET / HTTP/1.1 Host: attar.example && {PULL} && wait $!')
    *ends, report = said(done).splitlines()
    assert ends == ['closed', 'closed']
    assert counts(json.loads(report)) == (CALLS, 0, {'flood': CALLS})
    assert ('2 connections were refused: it is not known to be a program of root on this machine '
            'or its host, with a port below 1024: use unix:PATH'
            in (tmp_path / 'pushed').read_text())


def test_a_wrong_key_is_refused(tmp_path):
    """Until the sender has answered in time: on a busy machine, TLS can take the 10 seconds."""
    for digit in '12':
        write_secret(tmp_path / digit, digit * 64)
    refused = ('for i in 1 2 3 4 5; do '
               f'{PULL} --peer-psk {tmp_path}/2 2>{tmp_path}/said && exit 9; '
               f'grep -q "does not respond" {tmp_path}/said || break; done; '
               f'cat {tmp_path}/said >&2')
    done = in_guest(f'{LOAD} && {{ {PUSH % f"--peer-psk {tmp_path}/1"} >{tmp_path}/pushed 2>&1 & '
                    f'}} && {{ {refused}; }} && {PULL} --peer-psk {tmp_path}/1 && wait $!')
    assert counts(json.loads(said(done))) == (CALLS, 0, {'flood': CALLS})
    assert 'vsock:1:910' in done.stderr
    assert 'give both sides the same --peer-psk file' in done.stderr
    assert re.search(r'\d connections? (was|were) refused', (tmp_path / 'pushed').read_text())


def test_what_is_missing_is_named():
    """
    Without the modules, and without a listener: the fix is part of the message. Sockets that an
    earlier test left are closed a moment after its processes have exited.
    """
    unload = ('for i in $(seq 100); do rmmod vhost_vsock vsock_loopback '
              'vmw_vsock_virtio_transport_common vsock 2>/dev/null; '
              '[ -e /sys/module/vsock ] || break; sleep 0.1; done')
    done = in_guest(f'{LOAD} && {unload}; {PUSH % ""}; {PULL}; insmod $ATTAR_VM_MODULES/vsock.ko; '
                    f'{PULL}; {LOAD}; {PULL}; {PULL.replace("vsock:1:", "vsock:")}')
    push, pull, core, nobody, no_cid = done.stderr.splitlines()
    assert "--push: 'vsock:910': this kernel has no vsock: modprobe vsock" in push
    assert "--pull: 'vsock:1:910': this kernel has no vsock: modprobe vsock" in pull
    assert 'no machine with the CID 1 can be reached: ' in core
    assert 'vsock_loopback for CID 1' in core
    assert "no attar pushes events to 'vsock:1:910'" in nobody
    assert "'vsock:910' has no CID: vsock:CID:910" in no_cid
