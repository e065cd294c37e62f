# SPDX-License-Identifier: MIT
"""
Profilers compared with scripts of bpftrace and the kernel's own counters for the same question
about the same program.
"""
import re
import shutil
import subprocess
import sys

import pytest

import bpftrace
import guest
from bpftrace import maps, sections
from command import ATTAR, workload
from namespaces import network  # noqa: F401

pytestmark = pytest.mark.usefixtures('root')


# ---- on this machine ----

TURNS = bpftrace.turns(20000) + '''
open(sys.argv[2] + '.schedstat', 'w').write(open('/proc/self/schedstat').read())
'''
ON_CPU = '''
tracepoint:sched:sched_switch {
    if (@since[args->prev_pid]) {
        @n[args->prev_pid] = count();
        @ns[args->prev_pid] = sum(nsecs - @since[args->prev_pid]);
    }
    delete(@since[args->prev_pid]);
    @since[args->next_pid] = nsecs;
}
END { clear(@since); }
'''


def test_cpudist(tmp_path):
    """
    How often and how long a program ran, as a script and the scheduler's statistics say, which
    the program reads before its last switch.
    """
    found, lines, pid = bpftrace.both(tmp_path, 'cpudist', TURNS, ON_CPU, '--perins')
    rows = [r for r in found['pairs'] if r['next_pid'] == pid]  # one for each name
    theirs = maps(lines)
    time, _, turns = map(int, (tmp_path / 'pid.schedstat').read_text().split())
    assert turns > 15000
    if bpftrace.lost(tmp_path / 'attar.json'):
        pytest.skip('attar lost events')
    for n in (theirs['n', str(pid)], turns):
        assert sum(r['calls'] for r in rows) == pytest.approx(n, rel=0.01, abs=20)
    for ns in (theirs['ns', str(pid)], time):
        assert sum(r['total'] for r in rows) == pytest.approx(ns, rel=0.1)


SLOW_READS = '''
path = f'/tmp/attar-slow-{os.getpid()}'  # pipes are left out
os.mkfifo(path)
r = w = os.open(path, os.O_RDWR)
os.unlink(path)
if not os.fork():
    for i in range(10):
        time.sleep(0.02 + i / 200)
        os.write(w, b'x' * (i + 1))
    os._exit(0)
for i in range(10):
    os.read(r, 100)
    open('/proc/self/stat').read()
os.wait()
'''
LONG = '''
tracepoint:syscalls:sys_enter_read { @since[tid] = nsecs; }
tracepoint:syscalls:sys_exit_read /@since[tid]/ {
    $ns = nsecs - @since[tid];
    if ($ns >= 10000000) { printf("slow %d %d %lu\\n", tid, args->ret, $ns); }
    delete(@since[tid]);
}
END { clear(@since); }
'''


def test_fileslower(tmp_path):
    """Ten slow reads among many fast ones; on a busy machine, fast ones can be slow, too."""
    found, lines, pid = bpftrace.both(tmp_path, 'fileslower', SLOW_READS, LONG)
    theirs = [(int(size), int(ns)) for _, tid, size, ns in
              (line.split() for line in lines if line.startswith('slow ')) if int(tid) == pid]
    ours = [(r['BYTES'], r['duration']) for r in found['events']
            if r['tid'] == pid and r['CALL'] == 'read']
    ours = ours[-len(theirs):]  # at first, the process waits for bpftrace
    assert len(theirs) >= 10 and [size for size, _ in ours] == [size for size, _ in theirs]
    for (_, ns), (_, their_ns) in zip(ours, theirs):
        assert ns == pytest.approx(their_ns, rel=0.1, abs=10**6)


PACKETS = '''
import socket, sys
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(500): to.sendto(bytes(1 + i), (sys.argv[1], 9))
'''
QUEUES = '''
tracepoint:net:net_dev_start_xmit /str(args->name) == "cable"/ {
    @tx = count(); @tx_bytes = sum(args->len);
}
tracepoint:net:netif_rx_entry /str(args->name) == "cable"/ {
    @rx = count(); @rx_bytes = sum(args->len);
}
'''
HEADER = 14  # of Ethernet, which received packets no longer have when they are counted


def test_netqtop(tmp_path, network):
    """Packets over a link, whose device counts them, too."""
    if not shutil.which('bpftrace'):
        pytest.skip('bpftrace is not installed')
    program, script, out = (tmp_path / n for n in ('program.py', 'tool.bt', 'attar.json'))
    program.write_text(PACKETS)
    script.write_text(QUEUES)
    before = counters(network)
    command = network.on('one', ATTAR, 'netqtop', '-q', '-m', 1024, '-o', out, '--', 'bpftrace',
                         '-c', f'{sys.executable} -I -S {program} {network.addresses["two"]}',
                         script)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if ended.returncode:
        pytest.skip(f'bpftrace does not work here: {ended.stderr.strip()[-200:]}')
    truth = {name: n - before[name] for name, n in counters(network).items()}
    theirs = maps(ended.stdout.splitlines())
    rows = [r for r in sections(out)['netqtop'] if r['name'] == 'cable']
    ours = {name: sum(r[name] for r in rows)
            for name in ('tx_packets', 'tx_bytes', 'rx_packets', 'rx_bytes')}
    assert ours['tx_packets'] >= 500
    # the devices can send packets of their own before attar or bpftrace starts
    assert ours['tx_packets'] == pytest.approx(theirs['tx'], abs=10)
    assert ours['rx_packets'] == pytest.approx(theirs['rx'], abs=10)
    assert ours['tx_bytes'] == pytest.approx(theirs['tx_bytes'], rel=0.01)
    assert ours['rx_bytes'] == pytest.approx(theirs['rx_bytes'], rel=0.01)
    assert truth['tx_packets'] - 10 <= ours['tx_packets'] <= truth['tx_packets']
    assert ours['tx_bytes'] == pytest.approx(truth['tx_bytes'], rel=0.01)
    assert ours['rx_packets'] == pytest.approx(truth['rx_packets'], abs=10)
    assert ours['rx_bytes'] + HEADER * ours['rx_packets'] == pytest.approx(
        truth['rx_bytes'], rel=0.01)


def counters(network):
    """The counters of both ends of the link."""
    found = {}
    for name in network.spaces:
        for file in ('tx_packets', 'tx_bytes', 'rx_packets', 'rx_bytes'):
            command = network.on(name, 'cat', f'/sys/class/net/cable/statistics/{file}')
            n = int(subprocess.run(command, capture_output=True, check=True).stdout)
            found[file] = found.get(file, 0) + n
    return found


# ---- in a guest ----

SPINNERS = 4
SPIN_S = 3
SPIN = f'''
import os, time
os.sched_setaffinity(0, {{0}})
for _ in range({SPINNERS}):
    if os.fork() == 0:
        end = time.monotonic() + {SPIN_S}
        while time.monotonic() < end: pass
        os._exit(0)
for _ in range({SPINNERS}): os.wait()
'''

PAGES = 3 << 8  # of a file of 3 MiB

# As cachestat of bcc counts them.
CACHE = '''
kprobe:folio_mark_accessed /comm == "readpages"/ { @accessed = count(); }
kprobe:filemap_add_folio /comm == "readpages"/ { @added = count(); }
kprobe:mark_buffer_dirty /comm == "readpages"/ { @buffers = count(); }
tracepoint:writeback:writeback_dirty_folio /comm == "readpages"/ { @dirtied = count(); }
'''

# Other tasks, such as khugepaged and bpftrace itself, may reclaim memory, too.
RECLAIMS = '''
tracepoint:vmscan:mm_vmscan_direct_reclaim_begin /comm == "greedy"/ {
    @since[tid] = nsecs; @order[tid] = args->order;
}
tracepoint:vmscan:mm_vmscan_direct_reclaim_end /@since[tid]/ {
    printf("reclaim %d %d %lu %lu\\n", tid, @order[tid], args->nr_reclaimed, nsecs - @since[tid]);
    delete(@since[tid]); delete(@order[tid]);
}
END { clear(@since); clear(@order); }
'''

# Huge pages, until the task itself has reclaimed the page cache for them several times. To go on to
# the end would drop the pages of all programs, which are slow to read again.
GREEDY = '''
def stalls():
    return sum(int(line.split()[1]) for line in open('/proc/vmstat') if line[:10] == 'allocstall')

def set_huge_pages(n): open('/proc/sys/vm/nr_hugepages', 'w').write(str(n))

open('/proc/self/comm', 'w').write('greedy')
all, before = int(open('/proc/meminfo').readline().split()[1]) // 2048, stalls()
for n in range(0, all, 4):
    set_huge_pages(n)
    if stalls() >= before + 10: break
set_huge_pages(0)
'''

SWAP = '''
[ -e /dev/ram0 ] || tests/vm/load brd
mkswap -f /dev/ram0 >/dev/null 2>&1 && swapon /dev/ram0
trap 'swapoff /dev/ram0' EXIT
echo 0 >/proc/sys/vm/page-cluster
'''


def file(mib):
    """Lines that create /tmp/disk/file, of this size, in a file system of its own; cold."""
    return f'''
grep -q ext4 /proc/filesystems || tests/vm/load ext4
[ -e /dev/loop-control ] || tests/vm/load loop
truncate -s {mib + 50}M /tmp/disk.img && mkfs.ext4 -q -F -O ^has_journal /tmp/disk.img
mkdir -p /tmp/disk && mount -o loop /tmp/disk.img /tmp/disk
dd if=/dev/zero of=/tmp/disk/file bs=1M count={mib} status=none
umount /tmp/disk && mount -o loop /tmp/disk.img /tmp/disk && ls /tmp/disk >/dev/null
'''


@pytest.mark.guest('debian')
class TestInAGuest:
    @pytest.fixture
    def beside(self):
        """beside(line, ...) runs lines of a shell in the guest, and returns what they print."""
        if not shutil.which('bpftrace'):
            pytest.skip('bpftrace is not installed')

        def in_guest(*lines):
            ended = guest.run('debian', 'sh', '-ec', '\n'.join(lines), cwd=guest.ROOT)
            assert ended.returncode == 0, ended.stdout + ended.stderr
            return ended.stdout.splitlines()
        return in_guest

    def test_runqlen(self, tmp_path, beside):
        """How many samples of CPU 0 there are while all spinners but one wait for it."""
        script = bpftrace.TOOLS / 'runqlen.bt'
        if not script.exists():
            pytest.skip(f'{script} is not installed')
        copy, program, out = (tmp_path / n for n in ('tool.bt', 'program.py', 'attar.json'))
        copy.write_text(script.read_text().replace('profile:hz:99', 'profile:hz:99 /cpu == 0/'))
        program.write_text(SPIN)
        lines = beside(f"{ATTAR} runqlen -q --perins -F 99 -o {out} -- bpftrace -c "
                       f"'{guest.PYTHON} {program}' {copy}")
        theirs = bpftrace.histogram(lines)
        ours = {r['waiting']: r['samples'] for r in sections(out)['runqlen'] if r['cpu'] == 0}
        long = [sum(n for length, n in lengths.items() if length >= SPINNERS - 1)
                for lengths in (ours, theirs)]
        assert min(long) > 50  # an emulated CPU misses timers
        assert long[0] == pytest.approx(long[1], rel=0.2)

    def test_swapin(self, tmp_path, beside):
        """
        Pages read from swap by a program, which prints how many are not in memory: the kernel
        does not always move all of them. The kernel's pswpin, and the tool's count, which loses
        what happens between print() and clear().
        """
        script = bpftrace.TOOLS / 'swapin.bt'
        if not script.exists():
            pytest.skip(f'{script} is not installed')
        out = tmp_path / 'attar.json'
        lines = beside(
            SWAP, 'grep pswpin /proc/vmstat',
            f"{ATTAR} swapin -e kprobe:swap_readpage -q -o {out} -- bpftrace -c "
            f"'{workload('swapped')} 500' {script}", 'grep pswpin /proc/vmstat')
        before, after = (int(line.split()[1]) for line in lines if line.startswith('pswpin'))
        theirs = sum(int(n) for n in re.findall(r'^@\[swapped, \d+\]: (\d+)$', '\n'.join(lines),
                                                re.M))
        ours, = (r['kprobe:swap_readpage'] for r in sections(out)['swapin']
                 if r['comm'] == 'swapped')
        absent, = (int(line) for line in lines if line.isdecimal())
        assert 450 <= absent <= 500
        assert ours == absent and absent / 2 <= theirs <= absent
        assert absent <= after - before < absent + 100

    def test_cachestat(self, tmp_path, beside):
        """
        The tool counts the program's own events; attar counts those of the whole system while the
        program runs: its start and end, too.
        """
        script, out = tmp_path / 'tool.bt', tmp_path / 'attar.json'
        script.write_text(CACHE)
        lines = beside(
            file(3),
            f"bpftrace -c '{ATTAR} cachestat -q -o {out} -- {workload('readpages')} "
            f"/tmp/disk/file 10' {script} 2>&1")
        theirs = {name: 0 for name in ('accessed', 'added', 'buffers', 'dirtied')} | maps(lines)
        misses = theirs['added'] - theirs['dirtied']
        hits = theirs['accessed'] - theirs['buffers'] - misses
        row, = sections(out)['page cache']
        assert PAGES * 0.98 <= misses and 9 * PAGES * 0.98 <= hits
        assert misses <= row['misses'] <= 1.1 * misses
        assert hits - 10 <= row['hits'] <= hits + 1500

    def test_drsnoop(self, tmp_path, beside):
        """Each direct reclaim of a program; the kernel counts at least as many."""
        script, program, out = (tmp_path / n for n in ('tool.bt', 'program.py', 'attar.json'))
        script.write_text(RECLAIMS)
        program.write_text(GREEDY)
        lines = beside(
            file(50), 'cat /tmp/disk/file >/dev/null', 'grep allocstall /proc/vmstat',
            f"{ATTAR} drsnoop -q -m 1024 -o {out} -- bpftrace -c "
            f"'{guest.PYTHON} {program}' {script}",
            'grep allocstall /proc/vmstat', 'umount /tmp/disk')
        stalls = [int(line.split()[1]) for line in lines if line.startswith('allocstall')]
        half = len(stalls) // 2
        theirs = [tuple(map(int, line.split()[1:])) for line in lines
                  if line.startswith('reclaim ')]
        ours = [(r['tid'], r['ORDER'], r['PAGES'], r['duration'])
                for r in sections(out).get('events', []) if r['comm'] == 'greedy']
        assert len(theirs) >= 5
        assert [row[:3] for row in ours] == [row[:3] for row in theirs]
        # the program of bpftrace runs before attar's event at the start, and at the end
        times = sum(row[3] for row in ours), sum(row[3] for row in theirs)
        assert max(times) < 3 * min(times)
        assert len(ours) <= sum(stalls[half:]) - sum(stalls[:half])
