# SPDX-License-Identifier: MIT
"""--pids and --tids name tasks: another task that gets the number of one is not watched."""
import json
import os
import signal
import subprocess

import pytest

from command import ATTAR, is_waiting, wait_until, workload
from scripts import lacks_events, of_script, rows

# Its child runs a program after it has ended.
PARENT = 'read line; (read line < "$1"; "$2" 5 2; :) & '

# Runs a command with a process ID. Others may take the number at any time.
STRANGER = '''
import os, sys
pid, command = int(sys.argv[1]), sys.argv[2:]
child = 0
while child != pid:
    with open('/proc/sys/kernel/ns_last_pid', 'w') as last:
        last.write(str(pid - 1))
    child = os.fork()
    if child == 0:
        if os.getpid() != pid:
            os._exit(0)
        os.execv(command[0], command)
    if child == pid:
        print('started', flush=True)
    os.waitpid(child, 0)
'''


def names_in(report):
    tables = [section['name'] for section in report['sections'] if 'columns' in section]
    return {row.get('comm') for table in tables for row in rows(report, table)}


def watch(spawn, folder, words, option):
    """Return the report on a parent that ends, while its child and a stranger go on."""
    fifo = folder / 'fifo'
    other = spawn('sleep', '60')
    # a number that is the number of a process group, too, is not used again
    parent = spawn('/bin/sh', '-c', PARENT, 'parent', fifo, folder / 'orphan',
                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=other.pid)
    attar = spawn(ATTAR, *words, option, f'{parent.pid},{other.pid}', '--format', 'json',
                  stdout=subprocess.PIPE, text=True)
    wait_until(lambda: is_waiting(attar), 'attar')
    parent.stdin.write(b'\n')
    parent.stdin.close()
    parent.wait(60)
    subprocess.run(['/usr/bin/python3', '-I', '-S', '-c', STRANGER, str(parent.pid),
                    folder / 'stranger', '5', '2'], check=True, timeout=20,
                   stdout=subprocess.DEVNULL)
    with open(fifo, 'w', encoding='ascii') as lines:
        lines.write('\n')
    assert parent.stdout.read() == b''  # to its end: the child has ended, too
    attar.send_signal(signal.SIGINT)
    return json.loads(attar.communicate(timeout=60)[0].splitlines()[-1])


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
    os.mkfifo(tmp_path / 'fifo')
    for _ in range(5):
        report = watch(spawn, tmp_path, words, option)
        names = names_in(report)
        if 'orphan' in names or option == '-t' or not lacks_events(report):
            break
    assert 'stranger' not in names
    assert option == '-t' or 'orphan' in names, report


@pytest.mark.exclusive
@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('words', [['stat', '-e', 'page-faults'], ['wall']], ids=lambda v: v[0])
def test_the_run_ends_though_another_process_has_the_number(spawn, words):
    """Of two processes, the first ends, and another one gets its number; then the second ends."""
    if not os.path.exists('/proc/sys/kernel/ns_last_pid'):
        pytest.skip('this kernel has no ns_last_pid (CONFIG_CHECKPOINT_RESTORE)')
    first, second = spawn('sleep', '60'), spawn('sleep', '60')
    attar = spawn(ATTAR, *words, '-p', f'{first.pid},{second.pid}', stdout=subprocess.DEVNULL)
    wait_until(lambda: is_waiting(attar), 'attar')
    first.kill()
    first.wait()
    stranger = spawn('/usr/bin/python3', '-I', '-S', '-c', STRANGER, first.pid,
                     '/bin/sleep', '60', stdout=subprocess.PIPE, text=True)
    assert stranger.stdout.readline() == 'started\n'
    second.kill()
    second.wait()
    try:
        assert attar.wait(30) == 0
    finally:
        os.kill(first.pid, signal.SIGKILL)


# 5 starts 6, which starts 7 and ends; 9 starts another 6, which starts 8.
FAMILY = '''event a:b n:u8
1.0 0 5/5 first a:b n=1
1.1 0 5/5 first fork 6/6
1.2 0 6/6 first fork 7/7
1.3 0 6/6 first exit
1.4 0 9/9 other fork 6/6
1.5 0 6/6 other fork 8/8
1.6 0 7/7 first a:b n=7
1.7 0 6/6 other a:b n=6
1.8 0 8/8 other a:b n=8
'''


@pytest.mark.quick
def test_a_child_whose_parent_has_ended(tmp_path):
    """Whoever has the number of the parent."""
    found = of_script(tmp_path, FAMILY, 'top', '-e', 'a:b', '-p', 5)
    assert {row['tid'] for row in rows(found, 'top')} == {5, 7}
