# SPDX-License-Identifier: MIT
"""attar user-events, with the program of libperfume's first page, in a guest whose kernel has user_events."""
import json

import guest
from command import ATTAR, BUILD, run

HELLO = BUILD / 'perfume/examples/hello_world'


def test_not_in_this_kernel_is_said(root):
    done = run('user-events')
    if done.returncode == 0:
        return
    assert done.returncode == 4
    assert done.stderr == ('attar: this kernel has no user_events (6.4 or later with CONFIG_USER_EVENTS=y); programs '
                           'that use libperfume still show their events as USDT probes\n')


def test_hello_world_is_listed_and_seen(root):
    script = f'''
        {HELLO} >/dev/null 2>&1 & hello=$!
        until {ATTAR} user-events hello_world_event | grep -q hello_world_event; do :; done
        {ATTAR} user-events watch hello_world_event -q -o /tmp/seen.json -p $hello &
        wait $hello; wait
        {ATTAR} user-events --json
        cat /tmp/seen.json'''
    done = guest.run('x86', 'sh', '-c', script)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]
    rows = [row for report in lines if report['profiler'] == 'trace' for s in report['sections'] for row in s['rows']]
    assert len(rows) == 1
    assert 'hellostr=23' in rows[0]
