# SPDX-License-Identifier: MIT
"""Rows by container, unit, control group, user and process: --by."""
import contextlib
import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import containers
import guest
from command import ATTAR, is_waiting, run, share_is, wait_until, workload
from scripts import lacks_events, of_script, report, rows

ID = '0123456789abcdef' * 4
LOOP = 'i=0; while [ $i -lt %d ]; do i=$((i+1)); done'

needs_runc = pytest.mark.skipif(not shutil.which('runc'), reason='runc is not installed')


@pytest.fixture(name='container')
def fixture_container(root, tmp_path):
    """container(name, script, group) prepares one of runc, which is deleted afterwards."""
    made = []

    def make(name, script, group=None):
        name = f'{name}-{os.getpid()}'
        folder = tmp_path / name
        folder.mkdir()
        made.append(containers.Container(name, folder, group or f'/attar-test-{name}', script))
        return made[-1]

    yield make
    for it in made:
        it.delete()
        where, _, _ = containers.accounting()
        for mount in {where.parent, *where.parent.iterdir()}:  # also of empty parents
            group = mount / it.group.strip('/').split('/')[0]
            with contextlib.suppress(OSError):
                group.rmdir()


def watch(spawn, *args):
    """Start attar, and wait until its events are enabled."""
    attar = spawn(ATTAR, *args, '--format', 'json', '-m', '1024', stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE, text=True)
    wait_until(lambda: is_waiting(attar), 'attar waits')
    return attar


def result(attar):
    attar.send_signal(signal.SIGINT)
    out, err = attar.communicate(timeout=30)
    assert attar.returncode == 0, err
    return json.loads(out.splitlines()[-1])


@needs_runc
@pytest.mark.parametrize('words, table', [
    (['top', '-e', 'sched:sched_switch', '-a'], 'top'), (['task-state'], 'task-state'),
    (['offcpu'], 'blocked'), (['rundelay'], 'pairs'), (['blame'], 'blame'),
    (['profile', '-e', 'cpu-clock'], 'tasks'), (['syscalls', '-a'], 'system calls'),
    (['wall'], 'tasks'), (['oncpu'], 'oncpu'), (['page-faults'], 'tasks'),
], ids=lambda words: words[0] if isinstance(words, list) else '')
def test_containers_of_runc(words, table, container, spawn):
    """A container that runs when attar starts, and one that is created later."""
    early, late = (container(name, LOOP % 300000 + '; sleep 0.01', f'/attar-{name}/{name}')
                   for name in ('early', 'late'))
    early.create()
    attar = watch(spawn, *words, '--by', 'container')
    late.create()
    for it in early, late:
        it.start()
        wait_until(lambda it=it: it.state()['status'] == 'stopped', 'it has ended')
    names = {row['container'] for row in rows(result(attar), table)}
    assert {early.name, late.name, '[none]'} <= names


@needs_runc
def test_cpu_time_is_that_of_the_group(container, spawn):
    """Within the cost of moving the first task, and what the kernel counts differently."""
    for i in range(5):
        box = container(f'box{i}', LOOP % 1000000).create()
        attar = watch(spawn, 'task-state', '--by', 'container')
        before = box.cpu_ns()
        box.start()
        wait_until(lambda box=box: box.state()['status'] == 'stopped', 'it has ended')
        used, found = box.cpu_ns() - before, result(attar)
        ran = next(row['total'] for row in rows(found, 'task-state')
                   if row['container'] == box.name and row['state'] == 'R')
        if not lacks_events(found):
            break
    assert used > 20e6 and ran == pytest.approx(used, rel=0.05)


@needs_runc
def test_a_container_of_50_ms(container, spawn):
    brief = container('brief', 'sleep 0.05')
    attar = watch(spawn, 'task-state', '--by', 'container')
    brief.run()
    assert brief.state()['status'] == 'none'
    assert brief.name in {row['container'] for row in rows(result(attar), 'task-state')}


def test_groups_of_other_programs(root, spawn, tmp_path):
    """Paths as docker and systemd name them; a moved task; a name with control characters."""
    hostile = 'a\x1b[31m\tb.service'
    paths = {f'/docker/{ID}': ID[:12], '/system.slice/attar-x.service': '[none]',
             f'/user.slice/{hostile}': '[none]'}
    with contextlib.ExitStack() as stack:
        groups = [stack.enter_context(containers.control_group(path)) for path in paths]
        attars = {kind: watch(spawn, 'top', '-a', '-e', 'syscalls:sys_enter_getppid', '--by', kind)
                  for kind in ('container', 'unit', 'cgroup', 'user', 'process')}
        for i, group in enumerate(groups):
            subprocess.run([workload('flood'), str(1000 + i)], check=True,
                           stdout=subprocess.DEVNULL,
                           preexec_fn=lambda group=group: containers.enter(group))
        found = {kind: result(attar) for kind, attar in attars.items()}
    counts = {kind: {row[kind if kind != 'process' else 'comm']: row['syscalls:sys_enter_getppid']
                     for row in rows(it, 'top')} for kind, it in found.items()}
    assert counts['container'][ID[:12]] == 1000 and counts['container']['[none]'] >= 2003
    assert counts['unit'].items() >= {'attar-x.service': 1001, hostile: 1002}.items()
    assert counts['cgroup'].items() >= dict(zip(paths, (1000, 1001, 1002))).items()
    assert counts['user']['root'] >= 3003 and counts['process']['flood'] in (1000, 1001, 1002)


def test_expressions(root, spawn):
    """Keys and filters, of the thread of the event and of a thread that a field names."""
    getppid, end = 'syscalls:sys_enter_getppid', 'sched:sched_process_exit'
    paths = {f'/docker/{ID}': 100, '/system.slice/attar-f.service': 200}
    with contextlib.ExitStack() as stack:
        groups = [stack.enter_context(containers.control_group(path)) for path in paths]
        attars = [watch(spawn, 'top', '-a', '-e', event) for event in (
            f'{getppid}//key={{_unit,_container}}/',
            f'{getppid}/_unit=="attar-f.service"/',
            f'{getppid}/_container ~ "{ID[:4]}*" || _cgroup == "/system.slice/attar-f.service"/',
            f'{getppid}//key=_pod/',
            f'{end}/unit_get(pid) == "attar-f.service"/key=cgroup_get(pid)/')]
        for group, calls in zip(groups, paths.values()):
            subprocess.run([workload('flood'), str(calls)], check=True, stdout=subprocess.DEVNULL,
                           preexec_fn=lambda group=group: containers.enter(group))
        keys, unit, both, pods, ended = (rows(result(attar), 'top') for attar in attars)
    found = {(row['_unit'], row['_container']): row[getppid] for row in keys}
    assert found[('', ID[:12])] == 100 and found[('attar-f.service', '')] == 200
    assert [row[getppid] for row in unit] == [200]
    assert sum(row[getppid] for row in both) == 300
    assert sum(row[getppid] for row in pods if not row['_pod']) >= 300
    assert [row['cgroup_get(pid)'] for row in ended] == ['/system.slice/attar-f.service']


def test_columns_of_sql(root, spawn, tmp_path):
    """Also in the database of the events."""
    select = ('SELECT _cgroup, _unit, _container, _pod, count(*) AS n FROM sys_enter_getppid '
              "WHERE _unit = 'attar-s.service' GROUP BY _cgroup")
    path = '/docker.slice/attar-s.service'
    with containers.control_group(path) as group:
        attars = [watch(spawn, 'sql', '-a', '-e', 'syscalls:sys_enter_getppid', *args)
                  for args in (['--query', select], ['--output2', tmp_path / 'x.db'])]
        subprocess.run([workload('flood'), '70'], check=True, stdout=subprocess.DEVNULL,
                       preexec_fn=lambda: containers.enter(group))
        found = [result(attar) for attar in attars]
    expected = [(path, 'attar-s.service', None, None, 70)]
    assert [tuple(row.values()) for row in rows(found[0], 'query 1')] == expected
    with contextlib.closing(sqlite3.connect(tmp_path / 'x.db')) as db:
        assert db.execute(select).fetchall() == expected


def folded(path):
    """Return {(root, task, innermost function): weight}."""
    counts = Counter()
    for line in path.read_text().splitlines():
        stack, weight = line.rsplit(' ', 1)
        frames = stack.split(';')
        counts[frames[0], frames[1], frames[-1]] += int(weight)
    return counts


@pytest.mark.parametrize('recorded', [False, True])
def test_units_are_above_their_stacks(recorded, root, tmp_path):
    """In flame graphs, and as a label in pprof; shares are sums of the functions below."""
    path, unit = tmp_path / 'x.folded', 'attar-r.service'
    command = ['--', workload('split7030')]
    outputs = ['--by', 'unit', '--exclude-kernel', '-o', path, '-o', tmp_path / 'x.pb.gz']
    with containers.control_group(f'/system.slice/{unit}') as group:
        if recorded:
            subprocess.run([ATTAR, 'record', '-g', '-o', tmp_path / 'x.data', *command], check=True,
                           capture_output=True, preexec_fn=lambda: containers.enter(group))
            outputs += ['--input', tmp_path / 'x.data']
        subprocess.run([ATTAR, 'profile', *outputs, *([] if recorded else command)], check=True,
                       capture_output=True, preexec_fn=lambda: containers.enter(group))
    counts = folded(path)
    assert {(top, task) for top, task, _ in counts} == {(unit, 'split7030')}
    share_is(sum(n for (*_, name), n in counts.items() if name == 'heavy'),
             sum(counts.values()), 0.7)
    text = gzip.decompress((tmp_path / 'x.pb.gz').read_bytes())
    assert b'group' in text and unit.encode() in text and b'comm' in text


def test_tasks_of_a_unit_and_without_one(root, tmp_path):
    """The root of other tasks says so; a thread that moves is below both."""
    code = "import os\nfor group in '{}', '{}':\n open(group + '/cgroup.procs', 'w').write('0')\n" \
           " end = os.times().user + 0.3\n while os.times().user < end: pass\n"
    path = tmp_path / 'x.folded'
    with containers.control_group('/attar-u.service') as one:
        code = code.format(one, one.parent)
        subprocess.run([ATTAR, 'profile', '-a', '--by', 'unit', '-o', path, '--', sys.executable,
                        '-c', code], check=True, capture_output=True)
    counts = Counter()
    for (unit, task, _), n in folded(path).items():
        counts[unit, task] += n
    name = Path(sys.executable).name[:15]
    assert counts['attar-u.service', name] > 100 and counts['[none]', name] > 100
    assert {unit for unit, _ in counts} <= {'attar-u.service', '[none]', 'other tasks'}


def test_names_of_docker(root, spawn):
    """The name is in docker's file; attar sees it in a mount namespace of its own."""
    config = {'Name': '/web', 'Config': {'Labels': {}}}
    script = f'''mount -t tmpfs none /var/lib || exit 77
mkdir -p /var/lib/docker/containers/{ID}
echo '{json.dumps(config)}' > /var/lib/docker/containers/{ID}/config.v2.json
exec {ATTAR} top -a -e syscalls:sys_enter_getppid --by container --format json'''
    with containers.control_group(f'/docker/{ID}') as group:
        attar = spawn('unshare', '-m', 'sh', '-c', script, stdout=subprocess.PIPE, text=True)
        wait_until(lambda: 'attar' in Path(f'/proc/{attar.pid}/comm').read_text(), 'it has begun')
        wait_until(lambda: is_waiting(attar), 'attar waits')
        subprocess.run([workload('flood'), '1000'], check=True, stdout=subprocess.DEVNULL,
                       preexec_fn=lambda: containers.enter(group))
        attar.send_signal(signal.SIGINT)
        out, _ = attar.communicate(timeout=30)
    found = {row['container']: row['syscalls:sys_enter_getppid']
             for row in rows(json.loads(out.splitlines()[-1]), 'top')}
    assert found['web'] == 1000


def test_a_task_that_moves(root, spawn):
    """Its time counts for the group that it is in."""
    with containers.control_group('/attar-one.slice') as one, \
            containers.control_group('/attar-two.slice') as two:
        attar = watch(spawn, 'top', '-a', '-e', 'syscalls:sys_enter_getppid', '--by', 'cgroup')
        pid = os.fork()
        if not pid:
            for group, calls in (one, 300), (two, 500), (one, 7):
                containers.enter(group)
                for _ in range(calls):
                    os.getppid()
            os._exit(0)
        os.waitpid(pid, 0)
        found = {row['cgroup']: row['syscalls:sys_enter_getppid']
                 for row in rows(result(attar), 'top')}
    assert found['/attar-one.slice'] == 307 and found['/attar-two.slice'] == 500


def test_a_task_that_ends_before_its_first_event_is_read(root, spawn):
    """It exists when attar starts, and has no directory in /proc when attar reads the event."""
    code = 'import os, sys; print(flush=True); sys.stdin.read(1); [os.getppid() for _ in range(50)]'
    with containers.control_group('/attar-early.slice/attar-e.service') as group:
        process = spawn(sys.executable, '-c', code, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                        preexec_fn=lambda: containers.enter(group))
        process.stdout.readline()
        attars = [watch(spawn, *GETPPID, '-a', '--by', kind) for kind in ('unit', 'user')]
        for attar in attars:
            attar.send_signal(signal.SIGSTOP)
        process.communicate(b'x', timeout=30)
        for attar in attars:
            attar.send_signal(signal.SIGCONT)
        by_unit, by_user = ({row[kind]: row['syscalls:sys_enter_getppid']
                             for row in rows(result(attar), 'top')}
                            for attar, kind in zip(attars, ('unit', 'user')))
    assert by_unit.get('attar-e.service') == 50
    assert by_user['root'] >= 50 and '[unknown]' not in by_user


GETPPID = ['top', '-e', 'syscalls:sys_enter_getppid']
LISTENS = """
import os, socket, sys, time
server = socket.create_server(('127.0.0.1', 0))
print(server.getsockname()[1], flush=True)
while True:
    os.getppid()
    time.sleep(0.001)
"""


@needs_runc
def test_recordings_have_names(container, root, tmp_path, spawn):
    """Also when the container is gone; rows by container add up to those by thread."""
    box = container('box', 'while :; do sleep 0.001; done').create()
    box.start()
    path = tmp_path / 'x.data'
    ended = run('record', '-a', '-m', '2048', '-d', '300ms', '-o', path, '-e',
                'sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new')
    assert ended.returncode == 0, ended.stderr
    group = f'/attar-test-{box.name}'
    box.delete()
    for name, table in ('task-state', 'task-state'), ('blame', 'blame'), ('rundelay', 'pairs'):
        by = {kind: rows(report(name, '--input', path, '--by', kind), table)
              for kind in ('container', 'cgroup', 'thread', 'user')}
        assert {box.name, '[none]'} <= {row['container'] for row in by['container']}
        assert group in {row['cgroup'] for row in by['cgroup']}
        assert '0' in {row['user'] for row in by['user']}
        assert len({sum(row['total'] for row in found) for found in by.values()}) == 1
    for names, expected in ((group, {group}), (f'x,{group}/', {group}), ('/attar-test-*', {group}),
                            ('/attar-test', set()), (f'{group}/*', set()), ('*-x', set())):
        found = report('task-state', '--input', path, '--cgroups', names, '--by', 'cgroup')
        assert {row['cgroup'] for row in rows(found, 'task-state')} == expected, names
    found = report('task-state', '--input', path, '--cgroups', '/', '--by', 'cgroup')
    assert {row['cgroup'] for row in rows(found, 'task-state')} >= {group, '/'}
    of_box = report('task-state', '--input', path, '--container', box.name, '--by', 'container')
    assert {row['container'] for row in rows(of_box, 'task-state')} == {box.name}


@needs_runc
def test_containers_that_begin_during_a_recording(container, tmp_path, spawn):
    """A process that executes a program in another group than its parent is stored then."""
    path, late = tmp_path / 'x.data', container('late', LOOP % 100000 + '; /bin/true; sleep 0.01')
    attar = spawn(ATTAR, 'record', '-a', '-m', '2048', '-o', path, '-e',
                  'sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new',
                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: is_waiting(attar), 'attar waits')
    late.create()
    before = late.cpu_ns()
    late.start()
    wait_until(lambda: late.state()['status'] == 'stopped', 'it has ended')
    used = late.cpu_ns() - before
    attar.send_signal(signal.SIGINT)
    _, err = attar.communicate(timeout=30)
    assert attar.returncode == 0, err
    found = report('task-state', '--input', path, '--by', 'container')
    ran = sum(row['total'] for row in rows(found, 'task-state')
              if row['container'] == late.name and row['state'] == 'R')
    assert ran == pytest.approx(used, rel=0.25) or lacks_events(found)


@needs_runc
def test_watching_a_container(container, spawn):
    """By a pattern; a process of another one is not watched."""
    one, two = (container(name, 'while :; do sleep 0.001; done').create()
                for name in ('one', 'two'))
    for it in one, two:
        it.start()
    pid = one.state()['pid']
    attar = watch(spawn, 'task-state', '--container', 'on?-*', '--by', 'container')
    found = {row['container'] for row in rows(result(attar), 'task-state')}
    assert found == {one.name}
    counted = run('stat', '-e', 'context-switches', '--container', one.name, '-d', '300ms')
    assert counted.returncode == 0 and Path(f'/proc/{pid}').exists(), counted.stderr


def test_watching_who_listens(root, spawn):
    server, other = (spawn(sys.executable, '-c', LISTENS, stdout=subprocess.PIPE, text=True)
                     for _ in range(2))
    port = int(server.stdout.readline())
    other.stdout.readline()
    found = report(*GETPPID, '--port', port, '-N', 20)
    assert {row['tid'] for row in rows(found, 'top')} == {server.pid}


def test_watching_a_unit(root, spawn):
    with containers.control_group('/system.slice/attar-y.service') as group:
        process = spawn(sys.executable, '-c', LISTENS, stdout=subprocess.PIPE, text=True,
                        preexec_fn=lambda: containers.enter(group))
        process.stdout.readline()
        found = report(*GETPPID, '--unit', 'attar-?.service', '-N', 20)
        process.kill()
        process.wait()
    assert {row['tid'] for row in rows(found, 'top')} == {process.pid}


def test_watching_a_pod(root, spawn, tmp_path):
    """Containers of the same name in two pods of Kubernetes, as containerd describes them."""
    ids = ID, ID[::-1]
    uids = [f'{digit * 8}-1234-1234-1234-{digit * 12}' for digit in 'ab']
    task = '/run/containerd/io.containerd.runtime.v2.task'
    for box, pod in zip(ids, ('web-0', 'db-0')):
        (tmp_path / box).mkdir()
        (tmp_path / box / 'config.json').write_text(json.dumps({'annotations': {
            'io.kubernetes.cri.container-name': 'app', 'io.kubernetes.cri.sandbox-name': pod,
            'io.kubernetes.cri.sandbox-namespace': 'shop'}}))
    with contextlib.ExitStack() as stack:
        pids = []
        for box, uid in zip(ids, uids):
            group = stack.enter_context(containers.control_group(f'/kubepods/pod{uid}/{box}'))
            process = spawn(sys.executable, '-c', LISTENS, stdout=subprocess.PIPE,
                            preexec_fn=lambda group=group: containers.enter(group))
            process.stdout.readline()
            stack.callback(process.wait)
            stack.callback(process.kill)
            pids.append(process.pid)

        def found(*args, events=GETPPID[1:]):
            script = (f'mount -t tmpfs none /run && mkdir -p {task} && '
                      f'ln -s {tmp_path} {task}/k8s.io && exec "$@"')
            ended = subprocess.run(
                ['unshare', '-m', 'sh', '-c', script, 'sh', ATTAR, 'top', '-N', '40', '--format',
                 'json', *events, *args], capture_output=True, text=True, check=False, timeout=60)
            assert ended.returncode == 0, ended.stderr
            return rows(json.loads(ended.stdout.splitlines()[-1]), 'top')

        assert {row['tid'] for row in found('--pod', 'shop/web-?')} == {pids[0]}
        assert {row['tid'] for row in found('--pod', 'db-*')} == {pids[1]}
        assert {row['tid'] for row in found('--container', 'app')} == set(pids)
        assert {row['pod'] for row in found('--container', 'app', '--by', 'pod')} == {
            'shop/web-0', 'shop/db-0'}
        assert {row['container'] for row in found('--container', 'a*', '--by', 'container')} == {
            f'app ({box[:12]})' for box in ids}
        event = f'{GETPPID[2]}/_container=="app" && _pod=="shop/db-0"/key=_container/'
        assert [row['_container'] for row in found('-a', events=['-e', event])[:1]] == ['app']
    ended = run(*GETPPID, '--pod', 'nosuch')
    assert ended.returncode == 1 and "--pod: no process matches 'nosuch'" in ended.stderr


def test_rows_add_up(root, tmp_path):
    """Of one recording: the rows by unit add up all threads; a unit has its own."""
    path, unit = tmp_path / 'x.data', 'attar-a.service'
    with containers.control_group(f'/system.slice/{unit}') as group:
        ended = subprocess.run(
            [ATTAR, 'record', '-m', '1024', '-o', path, '-e',
             'sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,page-faults,cpu-clock',
             '--', workload('split7030')], capture_output=True, check=False,
            preexec_fn=lambda: containers.enter(group))
        assert ended.returncode == 0, ended.stderr

    def found(name, table, kind):
        return rows(report(name, '--input', path, '--by', kind), table)

    for name, table, column in (('oncpu', 'oncpu', 'time'), ('page-faults', 'tasks', 'faults'),
                                ('wall', 'tasks', 'time'), ('wall', 'tasks', 'running')):
        sums = {kind: sum(row[column] for row in found(name, table, kind))
                for kind in ('thread', 'process', 'unit', 'user')}
        assert len(set(sums.values())) == 1 and sums['unit'] > 0, name
        assert {row['unit'] for row in found(name, table, 'unit')} >= {unit}
    for name, paths in ('system.slice', {f'/system.slice/{unit}'}), ('system.slic', set()), (
            'system.*/attar-?.service', {f'/system.slice/{unit}'}):
        below = report('oncpu', '--input', path, '--cgroups', name, '--by', 'cgroup')
        assert {row['cgroup'] for row in rows(below, 'oncpu')} == paths, name
    ended = run('oncpu', '--by', 'unit', '--only-comm', '--input', path)
    assert ended.returncode == 2 and '--by conflicts with --only-comm' in ended.stderr


def test_processes_that_start_later(root, spawn):
    """Profilers that select tasks find them by name; others need one at the start."""
    attar = watch(spawn, 'task-state', '--comm', 'nosuch,sleeps', '--per-comm')
    subprocess.run([workload('sleeps'), '5', '5'], check=True, stdout=subprocess.DEVNULL,
                   timeout=30)
    assert {row['comm'] for row in rows(result(attar), 'task-state')} >= {'sleeps'}
    ended = run(*GETPPID, '--comm', 'nosuch*')
    assert ended.returncode == 1
    assert ended.stderr.startswith("attar: --comm: no process matches 'nosuch*': start it first")


@pytest.mark.parametrize('kernel', ['x86', 'debian5'])
@pytest.mark.guest
def test_version_2_alone(tmp_path, kernel):
    """Without hierarchies of version 1: names by the events of moves, and the CPU time."""
    name, root = f'/docker/{ID}', '/sys/fs/cgroup'
    script = f"""mountpoint -q {root} || mount -t cgroup2 none {root}
grep -q '^0::' /proc/self/cgroup; ! grep -v '^0::' /proc/self/cgroup
mkdir -p {root}{name} {root}/system.slice/attar-g.service
enter='echo 0 >{root}'
{ATTAR} top -a -e syscalls:sys_enter_getppid --by cgroup -o top.json -- sh -ec "
(eval $enter{name}/cgroup.procs; exec {workload('flood')} 500 >/dev/null)
(eval $enter/system.slice/attar-g.service/cgroup.procs; exec {workload('flood')} 300 >/dev/null)"
{ATTAR} task-state --by container -o state.json -- sh -ec "
cat {root}{name}/cpu.stat >before
(eval $enter{name}/cgroup.procs; exec {workload('split7030')} 1000)
cat {root}{name}/cpu.stat >after"
"""
    done = guest.run(kernel, 'sh', '-ec', script, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {row['cgroup']: row['syscalls:sys_enter_getppid']
              for row in rows(json.loads((tmp_path / 'top.json').read_text()), 'top')}
    assert counts[name] == 500 and counts['/system.slice/attar-g.service'] == 300
    before, after = (int((tmp_path / file).read_text().split()[1]) for file in ('before', 'after'))
    found = json.loads((tmp_path / 'state.json').read_text())
    ran = next(row['total'] for row in rows(found, 'task-state')
               if row['container'] == ID[:12] and row['state'] == 'R')
    assert after - before > 10000 and ran == pytest.approx((after - before) * 1000, rel=0.05)


@pytest.mark.quick
class TestScripts:
    TEXT = '''event syscalls:sys_enter_getppid __syscall_nr:int
0.9 0 1/1 init fork 100/100
0.9 0 100/100 init fork 100/101
1.0 0 100/100 init syscalls:sys_enter_getppid
1.1 0 100/101 init syscalls:sys_enter_getppid
1.2 0 200/200 other syscalls:sys_enter_getppid
'''

    def test_processes(self, tmp_path):
        found = of_script(tmp_path, self.TEXT, 'top', '--by', 'process')
        assert {row['pid']: row['syscalls:sys_enter_getppid'] for row in rows(found, 'top')} == {
            100: 2, 200: 1}

    def test_without_names(self, tmp_path):
        """A script has no control groups."""
        found = of_script(tmp_path, self.TEXT, 'top', '--by', 'container')
        assert [(row['container'], row['syscalls:sys_enter_getppid'])
                for row in rows(found, 'top')] == [('[none]', 3)]

    def test_groups_are_not_in_a_script(self, tmp_path):
        for words in (['--cgroups', '/a'], ['--by', 'container'], ['--unit', 'x']):
            found = of_script(tmp_path, self.TEXT, 'top', *words)
            assert 'the recording does not say in which control groups tasks are: attar record ' \
                   'stores them' in found['remarks'], words
        found = of_script(tmp_path, self.TEXT, 'top', '--comm', 'init')
        assert 'control groups' not in str(found.get('remarks'))

    def test_names_of_a_recording(self, tmp_path):
        """Children are watched, too."""
        found = of_script(tmp_path, self.TEXT, 'top', '--comm', 'ot?er')
        assert [row['tid'] for row in rows(found, 'top')] == [200]
        found = of_script(tmp_path, self.TEXT, 'top', '--comm', 'init')
        assert {row['tid'] for row in rows(found, 'top')} == {100, 101}

    @pytest.mark.parametrize('words, sentence', [
        (['task-state', '--comm', 'x', '-a'], '--comm conflicts with --all-cpus'),
        (['task-state', '--unit', 'x', '--', 'true'], '--unit conflicts with a command'),
        (['task-state', '--port', 'x'], '--port'),
        (['top', '-e', 'sched:sched_switch', '--by', 'x'], "--by: 'x' is not thread, process"),
        (['top', '-e', 'sched:sched_switch', '--by', 'pod', '-k', 'prev_pid'],
         '--by conflicts with --key'),
        (['task-state', '--by', 'pod', '--perins'], 'mutually exclusive'),
        (['multi-trace', '-a', '-e', 'irq:softirq_entry', '-e', 'irq:softirq_exit', '--by', 'user'],
         '--by requires keys that are threads'),
    ])
    def test_usage(self, root, words, sentence):
        ended = run(*words)
        assert ended.returncode == 2 and sentence in ended.stderr
