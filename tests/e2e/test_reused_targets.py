# SPDX-License-Identifier: MIT
"""--pids and --tids name tasks: another task that gets the number of one is not watched."""
import json
import os
import signal
import subprocess

import pytest

from command import ATTAR, is_waiting, wait_until, workload
from scripts import rows

# Its child runs a program after it has ended.
PARENT = 'read line; (read line < "$1"; "$2" 5 2; :) & '

# Runs a program with a process ID. Others may take the number at any time.
STRANGER = '''
import os, sys
pid, program = int(sys.argv[1]), sys.argv[2]
child = 0
while child != pid:
    with open('/proc/sys/kernel/ns_last_pid', 'w') as last:
        last.write(str(pid - 1))
    child = os.fork()
    if child == 0:
        if os.getpid() != pid:
            os._exit(0)
        os.execv(program, [program, '5', '2'])
    os.waitpid(child, 0)
'''


def names_in(report):
    tables = [section['name'] for section in report['sections'] if 'columns' in section]
    return {row.get('comm') for table in tables for row in rows(report, table)}


@pytest.mark.exclusive
@pytest.mark.usefixtures('root', 'busy_cpus')
@pytest.mark.parametrize('option, words', [
    ('-p', ['cpudist', '--perins']), ('-p', ['offcpu']), ('-p', ['oncpu']), ('-p', ['wall']),
    ('-p', ['task-state', '--perins', '-S']), ('-t', ['task-state', '--perins', '-S'])],
    ids=lambda v: v if isinstance(v, str) else v[0])
def test_another_task_with_the_number(spawn, tmp_path, option, words):
    if not os.path.exists('/proc/sys/kernel/ns_last_pid'):
        pytest.skip('this kernel has no ns_last_pid (CONFIG_CHECKPOINT_RESTORE)')
    for name in ('orphan', 'stranger'):
        (tmp_path / name).symlink_to(workload('sleeps'))
    fifo = tmp_path / 'fifo'
    os.mkfifo(fifo)
    other = spawn('sleep', '60')
    # a number that is the number of a process group, too, is not used again
    parent = spawn('/bin/sh', '-c', PARENT, 'parent', fifo, tmp_path / 'orphan',
                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=other.pid)
    attar = spawn(ATTAR, *words, option, f'{parent.pid},{other.pid}', '--format', 'json',
                  stdout=subprocess.PIPE, text=True)
    wait_until(lambda: is_waiting(attar), 'attar')
    parent.stdin.write(b'\n')
    parent.stdin.close()
    parent.wait(60)
    subprocess.run(['/usr/bin/python3', '-I', '-S', '-c', STRANGER, str(parent.pid),
                    tmp_path / 'stranger'], check=True, timeout=20)
    with open(fifo, 'w', encoding='ascii') as lines:
        lines.write('\n')
    assert parent.stdout.read() == b''  # to its end: the child has ended, too
    attar.send_signal(signal.SIGINT)
    output = attar.communicate(timeout=60)[0]
    names = names_in(json.loads(output.splitlines()[-1]))
    assert 'stranger' not in names
    assert option == '-t' or 'orphan' in names
