# SPDX-License-Identifier: MIT
"""The command lines of perf-prof's page on sql: their answers about known events."""
import json
import os
import shlex
import sqlite3
import sys

import pytest

from command import BUILD, run, workload

pytestmark = pytest.mark.skipif(
    'sql_db.c' not in (BUILD / 'build.ninja').read_text(), reason='attar is built without SQLite')

SCRIPT = '''# attar script
event sched:sched_wakeup comm:char[16] pid:pid_t prio:s32 target_cpu:s32
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t next_comm:char[16] next_pid:pid_t
event sched:sched_stat_runtime comm:char[16] pid:pid_t runtime:u64
wall 1700000000
1.1 0 100/101 waker sched:sched_wakeup comm=perf-a pid=1500 prio=5 target_cpu=0
1.2 1 100/101 waker sched:sched_wakeup comm=perf-b pid=2000 prio=120 target_cpu=1
1.3 0 100/101 waker sched:sched_wakeup comm=bash pid=500 prio=120 target_cpu=2
1.4 4 100/102 other sched:sched_wakeup comm=bash pid=500 prio=120 target_cpu=4
1.5 0 100/102 other sched:sched_wakeup comm=rt pid=60 prio=8 target_cpu=0
1.6 0 500/500 bash sched:sched_switch prev_comm=bash prev_pid=500 next_comm=rt next_pid=60
1.7 5 60/60 rt sched:sched_switch prev_comm=rt prev_pid=60 next_comm=bash next_pid=500
1.8 5 500/500 bash sched:sched_switch prev_comm=bash prev_pid=500 next_comm=perf-a next_pid=1500
1.9 0 500/500 bash sched:sched_stat_runtime comm=bash pid=500 runtime=3000
1.91 0 500/500 bash sched:sched_stat_runtime comm=bash pid=500 runtime=5000
1.92 0 60/60 rt sched:sched_stat_runtime comm=rt pid=60 runtime=1500
'''

FIRST = 1700000001100000000
COUNTS = [['bash', 2], ['perf-a', 1], ['perf-b', 1], ['rt', 1]]
ALL = [[FIRST, 0, 100, 101, 'waker', 1, 0, 0, 'perf-a', 1500, 5, 0],
       [FIRST + 10 ** 8, 1, 100, 101, 'waker', 1, 0, 0, 'perf-b', 2000, 120, 1],
       [FIRST + 2 * 10 ** 8, 0, 100, 101, 'waker', 1, 0, 0, 'bash', 500, 120, 2],
       [FIRST + 3 * 10 ** 8, 4, 100, 102, 'other', 1, 0, 0, 'bash', 500, 120, 4],
       [FIRST + 4 * 10 ** 8, 0, 100, 102, 'other', 1, 0, 0, 'rt', 60, 8, 0]]

# A command line without "perf-prof", and the rows of each of its queries, in any order.
LINES = [
    (r"""sql -e sched:sched_wakeup -i 1000 --query 'SELECT comm, COUNT(*) as count
         FROM sched_wakeup GROUP BY comm ORDER BY count DESC'""", [COUNTS]),
    (r"""sql -e sched:sched_wakeup -i 1000 --verify --query 'SELECT comm, COUNT(*) as count
         FROM sched_wakeup GROUP BY comm ORDER BY count DESC'""", [COUNTS]),
    (r"""sql -e sched:sched_wakeup,sched:sched_switch -i 1000 --query
         'SELECT * FROM sched_wakeup WHERE pid > 1000'""", [ALL[:2]]),
    (r"""sql -e sched:sched_wakeup -i 1000 --query
         'SELECT * FROM sched_wakeup WHERE pid > 1000'""", [ALL[:2]]),
    (r"""sql -e sched:sched_wakeup,sched:sched_switch -i 1000 --query
         'SELECT * FROM sched_wakeup LIMIT 10'""", [ALL]),
    (r"""sql -e 'sched:sched_wakeup//index=pid/' -i 1000 --verify --query
         'SELECT * FROM sched_wakeup WHERE pid > 1000 ORDER BY pid'""", [ALL[:2]]),
    (r"""sql -e sched:sched_wakeup -i 1000 --query 'SELECT comm, COUNT(*) FROM sched_wakeup
         GROUP BY comm; SELECT AVG(prio) FROM sched_wakeup'""", [COUNTS, [[74.6]]]),
    (r"""sql -e sched:sched_wakeup -i 1000 --verify --query 'SELECT COUNT(*) FROM sched_wakeup;
         SELECT comm, AVG(prio) FROM sched_wakeup GROUP BY comm'""",
     [[[5]], [['bash', 120], ['perf-a', 5], ['perf-b', 120], ['rt', 8]]]),
    (r"""sql -e 'sched:sched_wakeup/prio<10/' -i 1000 --query
         'SELECT target_cpu, COUNT(*) FROM sched_wakeup GROUP BY target_cpu'""", [[[0, 2]]]),
    (r"""sql -e 'sched:sched_wakeup/prio<10/' --query
         'SELECT comm, COUNT(*) FROM sched_wakeup GROUP BY comm'""", [[['perf-a', 1], ['rt', 1]]]),
    (r"""sql -e 'sched:sched_wakeup/prio<10/' -i 1000 --query
         'SELECT comm, COUNT(*) FROM sched_wakeup GROUP BY comm'""", [[['perf-a', 1], ['rt', 1]]]),
    (r"""sql -e 'sched:sched_wakeup/pid>1000 && target_cpu<4/' --query 'SELECT comm, target_cpu,
         COUNT(*) FROM sched_wakeup GROUP BY comm, target_cpu'""",
     [[['perf-a', 0, 1], ['perf-b', 1, 1]]]),
    (r"""sql -e 'sched:sched_wakeup/prio<10/alias=high_prio/,"""
     r"""sched:sched_wakeup/prio>=10/alias=low_prio/'
         -i 1000 --query 'SELECT "high_prio" as type, COUNT(*) FROM high_prio
         UNION SELECT "low_prio", COUNT(*) FROM low_prio'""",
     [[['high_prio', 2], ['low_prio', 3]]]),
    (r"""sql -e 'sched:sched_wakeup/prio<100/alias=rt_prio/,"""
     r"""sched:sched_wakeup/prio>=100/alias=normal_prio/'
         -i 1000 --query '
         SELECT "RT" as schedule_class, COUNT(*) as count FROM rt_prio GROUP BY schedule_class
         UNION ALL
         SELECT "NORMAL" as schedule_class, COUNT(*) as count FROM normal_prio
         GROUP BY schedule_class ORDER BY count DESC LIMIT 20'""", [[['NORMAL', 3], ['RT', 2]]]),
    (r"""sql -e 'sched:sched_switch/common_pid>0/cpus=0-3/alias=cpu_0_3/,"""
     r"""sched:sched_switch/common_pid>0/cpus=4-7/alias=cpu_4_7/'
         -i 1000 --query '
         SELECT "CPU 0-3" as cpu_group, COUNT(*) as switches FROM cpu_0_3
         UNION ALL
         SELECT "CPU 4-7" as cpu_group, COUNT(*) as switches FROM cpu_4_7'""",
     [[['CPU 0-3', 1], ['CPU 4-7', 2]]]),
    (r"""sql -e 'sched:sched_wakeup//index=comm/' -i 1000 --query "SELECT comm, COUNT(*)
         FROM sched_wakeup WHERE comm GLOB 'perf*' GROUP BY comm" """, [COUNTS[1:3]]),
    (r"""sql -e 'sched:sched_wakeup//index=comm/' -i 1000 --verify --query 'SELECT comm, COUNT(*)
         FROM sched_wakeup WHERE comm GLOB "perf*" GROUP BY comm'""", [COUNTS[1:3]]),
    (r"""sql -e sched:sched_wakeup -i 1000 --query 'SELECT comm, COUNT(*) as wakeups
         FROM sched_wakeup GROUP BY comm ORDER BY wakeups DESC LIMIT 10'""", [COUNTS]),
    (r"""sql -e sched:sched_switch -i 1000 --query 'SELECT _cpu, COUNT(*) as switches
         FROM sched_switch GROUP BY _cpu'""", [[[0, 1], [5, 2]]]),
    (r"""sql -e sched:sched_switch -m 64 -i 1000 --query 'SELECT prev_comm, COUNT(*)
         FROM sched_switch GROUP BY prev_comm'""", [[['bash', 2], ['rt', 1]]]),
    (r"""sql -e sched:sched_stat_runtime -i 1000 --query 'SELECT comm, AVG(runtime)/1000 as avg_us
         FROM sched_stat_runtime GROUP BY comm'""", [[['bash', 4], ['rt', 1.5]]]),
    (r"""sql -e sched:sched_wakeup -i 1000 --query 'SELECT comm, prio, COUNT(*) FROM sched_wakeup
         GROUP BY comm, prio ORDER BY COUNT(*) DESC'""",
     [[['bash', 120, 2], ['perf-a', 5, 1], ['perf-b', 120, 1], ['rt', 8, 1]]]),
    (r"""sql -e sched:sched_wakeup -i 10000 --query 'SELECT (_time/1000000000) as time_sec, COUNT(*)
         FROM sched_wakeup GROUP BY time_sec'""", [[[1700000001, 5]]]),
    (r"""sql -e sched:sched_wakeup,sched:sched_switch -i 1000 --query
         'SELECT w.comm, COUNT(DISTINCT w.pid) as processes FROM sched_wakeup w, sched_switch s
         WHERE w.pid = s.next_pid GROUP BY w.comm'""", [[['bash', 1], ['perf-a', 1], ['rt', 1]]]),
    (r"""sql -e sched:sched_wakeup,sched:sched_switch -i 1000 --query 'SELECT w.comm, w.pid,
         COUNT(*) FROM sched_wakeup w JOIN sched_switch s ON w.pid = s.next_pid
         GROUP BY w.comm, w.pid'""",
     [[['bash', 500, 2], ['perf-a', 1500, 1], ['rt', 60, 1]]]),
    (r"""sql -e sched:sched_wakeup -i 1000 --query 'SELECT * FROM sched_wakeup
         WHERE _time > 1000000000 AND _time < 2000000000'""", [[]]),
    (r"""sql -e sched:sched_wakeup,sched:sched_switch -i 1000 --query
         'SELECT table_name, sample_count FROM event_metadata'""",
     [[['sched_wakeup', 5], ['sched_switch', 3]]]),
    (r"""sql -e sched:sched_wakeup -i 1000 --query '
         SELECT m.event_system, m.event_name, m.event_id > 0, w.comm, COUNT(*) as count
         FROM sched_wakeup w, event_metadata m WHERE m.table_name = "sched_wakeup"
         GROUP BY w.comm ORDER BY count DESC LIMIT 10'""",
     [[['sched', 'sched_wakeup', 1, *row] for row in COUNTS]]),
    (r"""sql -e sched:sched_wakeup --output2 wakeup.db -i 10000 --query '
         SELECT table_name, first_sample_time, last_sample_time,
         (last_sample_time - first_sample_time) / 1000000000.0 as duration_sec, sample_count,
         sample_count / ((last_sample_time - first_sample_time) / 1000000000.0) as rate_per_sec
         FROM event_metadata'""",
     [[['sched_wakeup', FIRST, FIRST + 4 * 10 ** 8, 0.4, 5, 12.5]]]),
    (r"""sql -e sched:sched_wakeup,sched:sched_switch -i 1000 --query 'SELECT table_name,
         function_list FROM event_metadata WHERE function_list IS NOT NULL'""", [[]]),
]


def results(ended):
    """The rows of each query in the intervals."""
    assert ended.returncode == 0, ended.stderr
    reports = [json.loads(line) for line in ended.stdout.splitlines()]
    return [[section['rows'] for section in report['sections']] for report in reports
            if report['sections']]


def in_any_order(queries):
    return [sorted(rows, key=repr) for rows in queries]


@pytest.mark.parametrize('line, expected', LINES, ids=lambda x: ' '.join(x.split())
                         if isinstance(x, str) else '')
def test_answers(tmp_path, line, expected):
    (tmp_path / 'events.script').write_text(SCRIPT)
    ended = run(*shlex.split(line), '--input', 'events.script', '--format', 'json', cwd=tmp_path)
    found, = results(ended)
    assert in_any_order(found) == in_any_order(expected)
    if '--verify' in line:
        assert 'verified' in ended.stdout
    if 'ORDER BY count' in line or 'ORDER BY wakeups' in line:
        counts = [row[-1] for row in found[0]]
        assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize('line, tables', [
    ('sql -e sched:sched_wakeup --output2 events.db -i 10000', {'sched_wakeup': 5}),
    ('sql -e sched:sched_wakeup --output2 wakeup.db -i 60000', {'sched_wakeup': 5}),
    ('sql -e sched:sched_wakeup --output2 wakeup.db -i 150', {'sched_wakeup': 5}),
    ('sql -e sched:* --output2 all_sched.db',
     {'sched_wakeup': 5, 'sched_switch': 3, 'sched_stat_runtime': 3})])
def test_databases(tmp_path, line, tables):
    """
    What sqlite3 reads from them, with the names of perf-prof's columns: the events of all
    intervals, and of the second run only.
    """
    (tmp_path / 'events.script').write_text(SCRIPT)
    for _ in range(2):
        ended = run(*shlex.split(line), '--input', 'events.script', cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
    with sqlite3.connect(next(tmp_path.glob('*.db'))) as db:
        names = {name for name, in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
        assert names == {*tables, 'event_metadata'}
        assert dict(db.execute('SELECT table_name, sample_count FROM event_metadata')) == tables
        assert db.execute('SELECT comm, COUNT(*) FROM sched_wakeup GROUP BY comm ORDER BY comm'
                          ).fetchall() == list(map(tuple, COUNTS))
        assert db.execute('SELECT _pid, _tid, _time, _cpu, _period, common_pid FROM sched_wakeup '
                          'WHERE pid = 1500').fetchall() == [(100, 101, FIRST, 0, 1, 101)]
        assert db.execute('SELECT first_sample_time, last_sample_time FROM event_metadata WHERE '
                          "table_name = 'sched_wakeup'").fetchall() == [(FIRST, ALL[-1][0])]


# ---- with the kernel's formats ----

# Timers of user space expire, and datagrams are received in the softirq NET_RX.
ACTIVITY = '''
import socket, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.bind(('127.0.0.1', 0))
    for _ in range(200):
        one.sendto(b'x', one.getsockname())
        one.recv(1)
        time.sleep(0.0001)
with socket.socket() as listener:
    listener.bind(('127.0.0.1', 0))
    listener.listen()
    for _ in range(3):
        with socket.create_connection(listener.getsockname()) as client:
            there, _ = listener.accept()
            client.sendall(b'x' * 100)
            there.recv(100)
            there.close()
'''


def live(line):
    ended = run(*shlex.split(line), '--format', 'json', '--', sys.executable, '-c', ACTIVITY)
    queries = zip(*results(ended))
    return [[row for rows in intervals for row in rows] for intervals in queries]


@pytest.mark.usefixtures('root')
def test_names_of_softirqs():
    names, = live(r"""sql -a -e irq:softirq_entry -i 1000 --query
        "SELECT symbolic('vec', vec) as name, COUNT(*) FROM softirq_entry GROUP BY vec" """)
    assert sum(n for name, n in names if name == 'NET_RX') >= 200
    some, = live(r"""sql -a -e irq:softirq_entry -i 10000 --query
        "SELECT vec, symbolic('vec', vec) FROM softirq_entry LIMIT 5" """)
    known = ('HI', 'TIMER', 'NET_TX', 'NET_RX', 'BLOCK', 'IRQ_POLL', 'TASKLET', 'SCHED', 'HRTIMER',
             'RCU')
    assert len(some) == 5 and all(known[vec] == name for vec, name in some)


@pytest.mark.usefixtures('root')
def test_tables_of_probes():
    """They have the names of functions: outer() is called 20 times, inner() seven times in each."""
    program = workload('nested')
    line = rf"""sql -e 'uprobe:outer@"{program}",uprobe:{program}:inner'
        -e 'uretprobe:inner@{program},uprobe:middle@{program}//alias=a@b/'
        --format json -i 10000 --query 'SELECT (SELECT COUNT(*) FROM outer),
            (SELECT COUNT(*) FROM inner), (SELECT COUNT(*) FROM inner_2),
            (SELECT COUNT(*) FROM a_b)' -- {program} 20"""
    found, = results(run(*shlex.split(line)))
    assert found == [[[20, 140, 140, 60]]]


@pytest.mark.usefixtures('root')
def test_lists_of_functions():
    lists, = live(r"""sql -e irq:softirq_entry,sched:sched_wakeup -i 10000 --query
        'SELECT table_name, function_list FROM event_metadata WHERE function_list IS NOT NULL' """)
    assert lists == [['softirq_entry', "symbolic('softirq_entry.vec', vec)"]]
    with open('/sys/kernel/tracing/events/sched/sched_wakeup/id', encoding='ascii') as file:
        number = int(file.read())
    ids, = live(r"""sql -e sched:sched_wakeup,sched:sched_switch -i 10000 --query
        'SELECT table_name, event_id, sample_count FROM event_metadata' """)
    assert [(name, i) for name, i, _ in ids][0] == ('sched_wakeup', number)
    assert all(n > 0 for _, _, n in ids)


@pytest.mark.usefixtures('root')
def test_tables_of_profilers():
    """A profiler has one table, and no number."""
    line = rf"""sql -e 'profile/-F 99/,page-faults/-g/,task-state' --format json --query
        'SELECT table_name, event_system, event_name, event_id FROM event_metadata;
         SELECT COUNT(*) FROM page_faults' -- {workload('faults1000')}"""
    (tables,), (((faults,),),) = zip(*results(run(*shlex.split(line))))
    assert tables == [['profile', None, 'profile', None],
                      ['page_faults', None, 'page-faults', None],
                      ['task_state', tables[2][1], 'task-state', None]]
    assert 1000 <= faults < 1200


@pytest.mark.usefixtures('root')
def test_functions_of_timers():
    """The thread's sleeps end in hrtimer_wakeup."""
    each, = live(r"""sql -a -e timer:hrtimer_expire_entry -i 10000 --query
        'SELECT function, ksymbol(function) FROM hrtimer_expire_entry LIMIT 5' """)
    assert len(each) == 5 and all(name and int(str(at), 0) for at, name in each)
    counts, = live(r"""sql -a -e timer:hrtimer_expire_entry -i 10000 --query
        'SELECT ksymbol(function) as func, COUNT(*) FROM hrtimer_expire_entry GROUP BY function'
        """)
    assert dict(counts)['hrtimer_wakeup'] >= 200
    both, = live(r"""sql -a -e irq:softirq_entry,timer:hrtimer_expire_entry -i 10000 --query "
        SELECT 'softirq' as type, symbolic('vec', vec) as name, COUNT(*) as count
        FROM softirq_entry GROUP BY vec
        UNION ALL
        SELECT 'timer' as type, ksymbol(function) as name, COUNT(*) as count
        FROM hrtimer_expire_entry GROUP BY function
        ORDER BY count DESC LIMIT 10" """)
    assert {('softirq', 'NET_RX'), ('timer', 'hrtimer_wakeup')} <= {(a, b) for a, b, _ in both}
    counts = [n for _, _, n in both]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.usefixtures('root')
def test_addresses_of_connections():
    rows, = live(r"""sql -a -e tcp:tcp_probe -i 20000 --query "
        SELECT ipsa_str(saddr) as src, ipsa_str(daddr) as dst, COUNT(*) as packets,
        AVG(srtt) as avg_rtt FROM tcp_probe GROUP BY src, dst ORDER BY packets DESC LIMIT 10" """)
    mine = [(src, dst) for src, dst, _, _ in rows
            if src.startswith('127.0.0.1:') and dst.startswith('127.0.0.1:')]
    assert len(mine) >= 3


@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not os.path.exists('/sys/kernel/tracing/events/kvm/kvm_exit'),
                    reason='the kernel has no KVM')
def test_exits_of_guests():
    """No guest runs: the queries are accepted."""
    lists, = live(r"""sql -e kvm:kvm_exit -i 10000 --query
        "SELECT table_name, function_list FROM event_metadata" """)
    assert lists[0][0] == 'kvm_exit' and "symbolic('kvm_exit.exit_reason'" in lists[0][1]
    live(r"""sql -e kvm:kvm_exit -i 10000 --query "
        SELECT symbolic('exit_reason', exit_reason) as reason, COUNT(*) as count FROM kvm_exit
        GROUP BY exit_reason ORDER BY count DESC LIMIT 10" """)
