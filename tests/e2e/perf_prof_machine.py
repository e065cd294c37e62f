# SPDX-License-Identifier: MIT
"""
A scripted machine (docs/scripts.md), whose events are known: the recording that
test_perf_prof_commands.py gives to documented command lines of perf-prof, and how their answers are
read. Times are in ms.
"""
import json

MS = 1_000_000

DECLARED = '''# attar script
event sched:sched_wakeup comm:char[16] pid:pid_t prio:int target_cpu:int
event sched:sched_wakeup_new comm:char[16] pid:pid_t prio:int target_cpu:int
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:long \
 next_comm:char[16] next_pid:pid_t next_prio:int
event sched:sched_stat_runtime comm:char[16] pid:pid_t runtime:u64
event sched:sched_migrate_task comm:char[16] pid:pid_t prio:int orig_cpu:int dest_cpu:int
event sched:sched_process_exec filename:string pid:pid_t old_pid:pid_t
event irq:softirq_entry vec:u32
event irq:softirq_exit vec:u32
event irq:irq_handler_entry irq:int name:string
event kmem:kmalloc stack call_site:u64 ptr:u64 bytes_req:u64 bytes_alloc:u64
event kmem:kfree call_site:u64 ptr:u64
event block:block_getrq dev:u32 sector:u64 nr_sector:u32 rwbs:char[10] comm:char[16]
event block:block_rq_issue dev:u32 sector:u64 nr_sector:u32 bytes:u32 rwbs:char[10] comm:char[16]
event block:block_rq_complete dev:u32 sector:u64 nr_sector:u32 error:int rwbs:char[10]
event raw_syscalls:sys_enter id:s64
event raw_syscalls:sys_exit id:s64 ret:s64
event kvm:kvm_exit exit_reason:u32 guest_rip:u64 isa:u32 vcpu_id:u32
event kvm:kvm_entry vcpu_id:u32 rip:u64
event timer:hrtimer_expire_entry hrtimer:u64 function:u64
event workqueue:workqueue_execute_start work:u64 function:u64
event skb:kfree_skb location:u64 protocol:u16
event cpu-clock stack
event page-faults stack
wall 1700000000
0 0 0/0 swapper ksymbol register 0xffffffffc0001000 256 hot_alloc
0 0 0/0 swapper ksymbol register 0xffffffffc0002000 256 cold_alloc
0 0 0/0 swapper ksymbol register 0xffffffffc0003000 256 my_timer
0 0 1234/1234 java exec
0 0 2347/2347 python3 exec
0 1 77/77 busy exec
'''.replace('\\\n', '')

HOT, COLD, TIMER = '0xffffffffc0001010', '0xffffffffc0002010', '0xffffffffc0003000'
IDLE, JAVA, PYTHON, BUSY = ('swapper', 0), ('java', 1234), ('python3', 2347), ('busy', 77)
DISK = 254 << 20  # 254:0


class Machine:
    """The lines of the script. Times begin at one second."""

    def __init__(self):
        self.lines = []

    def at(self, ms, cpu, task, event, **fields):
        comm, pid = task
        tid = fields.pop('tid', pid)
        words = [f'{1 + ms / 1000:.6f} {cpu} {pid}/{tid} {comm} {event}']
        self.lines.append(' '.join(words + [f'{k}={v}' for k, v in fields.items()]))

    def wakeup(self, ms, task, prio=120, cpu=0):
        comm, pid = task
        self.at(ms, 1, BUSY, 'sched:sched_wakeup', comm=comm, pid=pid, prio=prio, target_cpu=cpu)

    def switch(self, ms, cpu, before, after, state=1):
        self.at(ms, cpu, before, 'sched:sched_switch', prev_comm=before[0], prev_pid=before[1],
                prev_prio=120, prev_state=state, next_comm=after[0], next_pid=after[1],
                next_prio=5 if after == JAVA else 120)

    def schedule(self):
        """
        java waits 2 and 1 ms after wakeups and 6 ms after a preemption, python3 5 ms; on CPU 0,
        java runs 8, 14 and 2 ms, python3 20 ms; java is uninterruptible for 20 ms.
        """
        self.wakeup(10, JAVA, prio=5)
        self.switch(12, 0, BUSY, JAVA, state=0)
        self.switch(20, 0, JAVA, BUSY, state=0)
        self.switch(26, 0, BUSY, JAVA, state=0)
        self.switch(40, 0, JAVA, BUSY, state=2)
        self.wakeup(60, JAVA, prio=5)
        self.switch(61, 0, BUSY, JAVA, state=0)
        self.switch(63, 0, JAVA, IDLE)
        self.wakeup(100, PYTHON, cpu=1)
        self.at(103, 1, BUSY, 'sched:sched_migrate_task', comm='python3', pid=2347, prio=120,
                orig_cpu=1, dest_cpu=0)
        self.switch(105, 0, IDLE, PYTHON)
        self.switch(125, 0, PYTHON, IDLE)
        for ms in (130, 140, 150):
            self.wakeup(ms, ('systemd', 1), cpu=1)
        for ms, (comm, pid), runtime in ((160, JAVA, 2_000_000), (161, JAVA, 500_000),
                                         (162, PYTHON, 7_000_000)):
            self.at(ms, 0, (comm, pid), 'sched:sched_stat_runtime', comm=comm, pid=pid,
                    runtime=runtime)
        for i, name in enumerate(('/bin/sh', '/bin/ls', '/usr/bin/python3')):
            self.at(170 + i, 0, ('x', 300 + i), 'sched:sched_process_exec', filename=name,
                    pid=300 + i, old_pid=300 + i)

    def interrupt(self):
        """TIMER on CPU 0 for 1, 2 and 3 ms, NET_RX on CPU 1 for 0.05 and 0.2 ms."""
        for ms, cpu, vec, time in ((200, 0, 1, 1), (210, 0, 1, 2), (220, 0, 1, 3),
                                   (230, 1, 3, .05), (240, 1, 3, .2)):
            self.at(ms, cpu, IDLE, 'irq:softirq_entry', vec=vec)
            self.at(ms + time, cpu, IDLE, 'irq:softirq_exit', vec=vec)
        for ms, irq, name in ((250, 24, 'virtio0-input.0'), (251, 24, 'virtio0-input.0'),
                              (252, 1, 'i8042')):
            self.at(ms, 0, IDLE, 'irq:irq_handler_entry', irq=irq, name=name)

    def allocate(self):
        """hot_alloc: 3 of 2048 bytes, cold_alloc: 2 of 64; one of each is freed after 10 ms."""
        for i in range(5):
            where, task = (HOT, JAVA) if i < 3 else (COLD, PYTHON)
            self.at(300 + i, 0, task, 'kmem:kmalloc', call_site=where, ptr=0x1000 + i,
                    bytes_req=2000 if i < 3 else 60, bytes_alloc=2048 if i < 3 else 64,
                    stack=where)
        self.at(310, 0, JAVA, 'kmem:kfree', call_site=HOT, ptr=0x1000)
        self.at(313, 0, PYTHON, 'kmem:kfree', call_site=COLD, ptr=0x1003)

    def use_disk(self):
        """Reads of 8 sectors in 1 and 15 ms, a write of 2 sectors in 4 ms; 0.1 ms to the issue."""
        for ms, sector, n, rwbs, time in ((400, 8, 8, 'R', 1), (410, 100, 8, 'R', 15),
                                          (430, 200, 2, 'W', 4)):
            what = {'dev': DISK, 'sector': sector, 'nr_sector': n}
            self.at(ms, 0, PYTHON, 'block:block_getrq', **what, rwbs=rwbs, comm='python3')
            self.at(ms + .1, 0, PYTHON, 'block:block_rq_issue', **what, bytes=512 * n, rwbs=rwbs,
                    comm='python3')
            self.at(ms + time, 0, IDLE, 'block:block_rq_complete', **what, error=0, rwbs=rwbs)

    def call(self):
        """java: read() for 12 and 3 ms, write() 1 ms; python3: close() fails, 2 ms, futex()."""
        for ms, task, call, time, ret in ((500, JAVA, 0, 12, 5), (520, JAVA, 0, 3, 5),
                                          (530, JAVA, 1, 1, 5), (540, PYTHON, 3, 2, -9),
                                          (550, PYTHON, 202, 20, 0)):
            self.at(ms, 0, task, 'raw_syscalls:sys_enter', id=call)
            self.at(ms + time, 0, task, 'raw_syscalls:sys_exit', id=call, ret=ret)

    def run_guest(self):
        """Two exits for EPT_VIOLATION (48) of 1 and 3 ms, a HLT (12) of 30 ms."""
        for ms, reason, time in ((600, 48, 1), (610, 48, 3), (620, 12, 30)):
            self.at(ms, 1, ('CPU', 900), 'kvm:kvm_exit', tid=901, exit_reason=reason, guest_rip=1,
                    isa=1, vcpu_id=0)
            self.at(ms + time, 1, ('CPU', 900), 'kvm:kvm_entry', tid=901, vcpu_id=0, rip=1)

    def others(self):
        """Four timers, a work item, three dropped packets; 7 and 3 samples; 4 page faults."""
        for ms in range(660, 664):
            self.at(ms, 0, IDLE, 'timer:hrtimer_expire_entry', hrtimer=1, function=TIMER)
        self.at(670, 0, ('kworker', 9), 'workqueue:workqueue_execute_start', work=1,
                function=TIMER)
        for ms, protocol in ((680, 8), (681, 8), (682, 0x86dd)):
            self.at(ms, 0, IDLE, 'skb:kfree_skb', location=COLD, protocol=protocol)
        for i in range(10):
            task, stack = (JAVA, HOT) if i < 7 else (PYTHON, COLD)
            self.at(700 + i, i % 2, task, 'cpu-clock', stack=stack)
        for i in range(4):
            self.at(720 + i, 1, PYTHON, 'page-faults', stack=HOT)


def write(path):
    """Write the script; return its path."""
    machine = Machine()
    for events in (machine.schedule, machine.interrupt, machine.allocate, machine.use_disk,
                   machine.call, machine.run_guest, machine.others):
        events()
    path.write_text(DECLARED + '\n'.join(machine.lines) + '\n')
    return path


def rows_of(text, section, columns):
    """The rows of all sections of the name that have the columns, in any order."""
    wanted = columns.split('|') if '|' in columns else columns.split()
    found = []
    for line in text.splitlines():
        for s in json.loads(line)['sections']:
            names = [c['name'] for c in s['columns']]
            if s['name'] != section or not all({name, name[:-1]} & set(names) for name in wanted):
                continue
            for row in s['rows']:
                values = []
                for name in wanted:
                    in_ms = name not in names
                    value = row[names.index(name[:-1] if in_ms else name)]
                    if in_ms and value is not None:
                        is_time = value > 10**18
                        value = round((value - 1_700_000_000 * 10**9 if is_time else value) / MS, 6)
                    values.append(value)
                found.append(tuple(values))
    return found
