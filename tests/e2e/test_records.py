# SPDX-License-Identifier: MIT
"""attar's record parser and perf's on the same perf.data: compare with `perf script -D`."""
import json
import re
import subprocess

import pytest

from command import BUILD, perf, run, workload

pytestmark = pytest.mark.usefixtures('needs_perf')

SAMPLE_BITS = {
    'IP': 0, 'TID': 1, 'TIME': 2, 'ADDR': 3, 'READ': 4, 'CALLCHAIN': 5, 'ID': 6, 'CPU': 7,
    'PERIOD': 8,
    'STREAM_ID': 9, 'RAW': 10, 'BRANCH_STACK': 11, 'REGS_USER': 12, 'STACK_USER': 13, 'WEIGHT': 14,
    'DATA_SRC': 15, 'IDENTIFIER': 16, 'TRANSACTION': 17, 'REGS_INTR': 18, 'PHYS_ADDR': 19,
    'AUX': 20,
    'CGROUP': 21, 'DATA_PAGE_SIZE': 22, 'CODE_PAGE_SIZE': 23, 'WEIGHT_STRUCT': 24}
ALL = (1 << 25) - 1
ONE_WEIGHT = ALL & ~(1 << SAMPLE_BITS['WEIGHT_STRUCT'])
NONE = 0xffffffff


def signed(number):
    return number - (1 << 32) if number >= 1 << 31 else number


def page_size(bytes_):
    """Format page sizes as perf does."""
    if not bytes_:
        return 'N/A'
    unit = 0
    while bytes_ // 1024 > 1 and unit < 3:
        bytes_ //= 1024
        unit += 1
    return f'{bytes_}{"BKMG"[unit]}'


def blocks(text):
    """Return each record of perf: file offset, type, rest of the line, lines below."""
    start = re.compile(
        r'(?:(-?\d+) )?(?:(\d+) )?0x([0-9a-f]+)(?:@\S+)? \[0x[0-9a-f]+\]: PERF_RECORD_(\w+)(.*)')
    found = []
    for line in text.splitlines():
        if m := start.match(line):
            found.append((int(m[3], 16), m[4], m[5], []))
        elif found and line.startswith(('.', ' .', '\t')) and not re.match(r'\.( |$)', line):
            found[-1][3].append(line)
    return found


def expected_sample(line, below):
    """Return the fields of a sample that perf prints."""
    m = re.match(
        r'\(IP, 0x([0-9a-f]+)\): (-?\d+)/(-?\d+): (?:0x)?([0-9a-f]+) period: (\d+) addr: '
        r'(?:0x)?([0-9a-f]+)', line)
    want = {'misc': int(m[1], 16), 'pid': int(m[2]), 'tid': int(m[3]), 'ip': int(m[4], 16),
            'period': int(m[5]), 'addr': int(m[6], 16)}
    part = None
    for text in below:
        if m := re.match(r'\.\.\. (?:FP|LBR) chain: nr:(\d+)|\.\.\. branch stack: nr:(\d+)', text):
            part = 'callchain' if m[1] else 'branches'
            want[part] = []
        elif m := re.match(r'\.\.\. (user|intr) regs: mask 0x[0-9a-f]+ ABI (\S+)', text):
            part = f'regs_{m[1]}'
            want[part] = []
            want[f'{part}_abi'] = {'none': 0, '32-bit': 1, '64-bit': 2}[m[2]]
        elif m := re.match(r'\.\.\.\.\. +\d+: ([0-9a-f]+) -> ([0-9a-f]+) (\d+) cycles (.)(.)(.)(.)',
                           text):
            want['branches'].append([int(m[1], 16), int(m[2], 16), int(m[3]), int(m[4] == 'M'),
                                     int(m[5] == 'P'), int(m[7] == 'T'), int(m[6] == 'A')])
        elif m := re.match(r'\.\.\.\.\. +\d+: ([0-9a-f]+)$', text):
            want['callchain'].append(int(m[1], 16))
        elif m := re.match(r'\.\.\.\. (\w+) +0x([0-9a-f]{16})$', text):
            want[part].append(int(m[2], 16))
        elif m := re.match(r'\.\.\. ustack: size (\d+)', text):
            want['stack_size'] = int(m[1])
        elif m := re.match(r'\.\.\. weight: (\d+)(?:,0x([0-9a-f]+),0x([0-9a-f]+))?', text):
            # Of WEIGHT_STRUCT perf keeps the parts that the machine's PMUs provide: two on x86.
            if m[2] is None:
                want['weight'] = int(m[1])
            else:
                want['weight_parts'] = [int(m[1]), int(m[2], 16)]
        elif m := re.match(r' \. data_src: 0x([0-9a-f]+)', text):
            want['data_src'] = int(m[1], 16)
        elif m := re.match(r' \.\. phys_addr: 0x([0-9a-f]+)', text):
            want['phys_addr'] = int(m[1], 16)
        elif m := re.match(r' \.\. (data|code) page size: (\S+)', text):
            want[f'{m[1]}_page_size'] = m[2]
        elif m := re.match(r'\.\.\. transaction: ([0-9a-f]+)', text):
            want['transaction'] = int(m[1], 16)
        else:
            expected_read(text, want)
    return want


def expected_read(text, want):
    if m := re.match(r'\.+ time (enabled|running) (?:: )?([0-9a-f]+)', text):
        want[f'time_{m[1]}'] = int(m[2], 16)
    elif m := re.match(r'\.+ id ([0-9a-f]+), value ([0-9a-f]+)(?:, lost (\d+))?', text):
        want.setdefault('read', []).append([int(m[1], 16), int(m[2], 16), int(m[3] or 0)])


def expected_read_record(line, below):
    m = re.match(r': (\d+) (\d+) \S+ (\d+)', line)
    want = {'read_pid': int(m[1]), 'read_tid': int(m[2]), 'value': int(m[3])}
    for text in below:
        if m := re.match(r'\.\.\. (time enabled|time running|id|lost) +: (\d+)', text):
            want[m[1].replace(' ', '_')] = int(m[2])
    return want


def expected_mmap(line):
    m = re.match(
        r' (-?\d+)/(-?\d+): \[(?:0x)?([0-9a-f]+)\((?:0x)?([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+)(?: '
        r'([0-9a-f]+):([0-9a-f]+) '
        r'(\d+) (\d+)| <([0-9a-f]*)>)?\]: (\S+) (.*)', line)
    want = {'mmap_pid': int(m[1]), 'mmap_tid': int(m[2]), 'addr': int(m[3], 16),
            'len': int(m[4], 16),
            'pgoff': int(m[5], 16), 'filename': m[12]}
    if m[6] is not None:
        want |= {'maj': int(m[6], 16), 'min': int(m[7], 16), 'ino': int(m[8]),
                 'ino_generation': int(m[9])}
    if m[10] is not None:
        want['build_id'] = m[10]
    if len(m[11]) == 4:
        want['prot'] = sum(bit for bit, c in zip((1, 2, 4), m[11]) if c != '-')
    return want


def expected_namespaces(line, below):
    m = re.match(r' (\d+)/(\d+) - nr_namespaces: (\d+)', line)
    links = {name: [int(dev), int(ino, 16)]
             for name, dev, ino
             in re.findall(r'\d+/(\w+): (\d+)/(?:0x)?([0-9a-f]+)', ''.join(below))}
    assert len(links) == int(m[3])
    return {'of_pid': int(m[1]), 'of_tid': int(m[2]), 'links': links}


def expected(kind, line, below):
    """
    Return the fields that perf prints of a record, named as in record_dump; None for other types.
    """
    if kind == 'SAMPLE':
        return expected_sample(line, below)
    if kind in ('MMAP', 'MMAP2'):
        return expected_mmap(line)
    if kind == 'READ':
        return expected_read_record(line, below)
    if kind == 'NAMESPACES':
        return expected_namespaces(line, below)
    if kind == 'COMM':
        m = re.match(r'( exec)?: (.*):(-?\d+)/(-?\d+)$', line)
        return {'exec': int(bool(m[1])), 'comm': m[2], 'comm_pid': int(m[3]), 'comm_tid': int(m[4])}
    if kind in ('FORK', 'EXIT'):
        m = re.match(r'\((\d+):(\d+)\):\((-?\d+):(-?\d+)\)', line)
        return dict(zip(('task_pid', 'task_tid', 'task_ppid', 'task_ptid'), map(int, m.groups())))
    if kind in ('SWITCH', 'SWITCH_CPU_WIDE'):
        m = re.match(r' (IN|OUT)( preempt)? *(?:(?:prev|next) pid/tid: *(-?\d+)/(-?\d+))?', line)
        want = {'out': int(m[1] == 'OUT'), 'preempt': int(bool(m[2]))}
        if not want['out']:
            del want['preempt']  # perf prints it for OUT only
        return want | ({'other_pid': int(m[3]), 'other_tid': int(m[4])} if m[3] else {})
    if kind in ('LOST', 'LOST_SAMPLES'):
        return {'lost': int(re.search(r'(?:lost|lost samples) ?: ?(\d+)', line)[1])}
    if kind == 'KSYMBOL':
        m = re.match(r' addr ([0-9a-f]+) len (\d+) type (\d+) flags 0x([0-9a-f]+) name (.*)', line)
        return {'addr': int(m[1], 16), 'len': int(m[2]), 'ksym_type': int(m[3]),
                'flags': int(m[4], 16),
                'name': m[5]}
    if kind == 'BPF_EVENT':
        return dict(zip(('bpf_type', 'flags', 'bpf_id'), map(int, re.findall(r'\d+', line))))
    if kind == 'CGROUP':
        m = re.match(r' cgroup: (\d+) (.*)', line)
        return {'cgroup_id': int(m[1]), 'path': m[2]}
    if kind == 'AUX':
        m = re.match(
            r' offset: (?:0x)?([0-9a-f]+) size: (?:0x)?([0-9a-f]+) flags: (?:0x)?([0-9a-f]+)', line)
        return {'aux_offset': int(m[1], 16), 'aux_size': int(m[2], 16), 'flags': int(m[3], 16)}
    return None


def same(ours, want, where):
    for name, value in want.items():
        if name == 'period' and name not in ours:
            continue  # perf takes it from the attributes if samples lack it
        got = ours.get(name)
        if name == 'weight_parts':
            got = [ours['weight'] & 0xffffffff, ours['weight'] >> 32 & 0xffff]
        if name.endswith('page_size'):
            got = page_size(got)
        elif name in ('value', 'lost', 'id') and ours['type'] == 'READ':
            got = ours['read'][0][('id', 'value', 'lost').index(name)]
        elif isinstance(value, int) and value < 0:
            got = signed(got)
        assert got == value, f'{where}: {name}: attar {got!r}, perf {value!r}'


def compare(data):
    """Compare both parsers' results; return the number of compared records by type."""
    done = run(data, program=BUILD / 'tests/e2e/record_dump')
    assert done.returncode == 0, done.stderr
    ours = {record['offset']: record for record in map(json.loads, done.stdout.splitlines())}
    kinds = {}
    for offset, kind, line, below in blocks(perf('script', '-D', '-i', data)):
        want = expected(kind, line, below) if offset in ours else None
        if want is None:
            continue
        assert ours[offset]['type'] == kind
        same(ours[offset], want, f'{kind} at {offset:#x}')
        kinds[kind] = kinds.get(kind, 0) + 1
    samples = sum(record['type'] == 'SAMPLE' for record in ours.values())
    assert kinds.get('SAMPLE', 0) == samples > 0
    return kinds


@pytest.mark.parametrize('bits', [
    *(1 << bit for bit in SAMPLE_BITS.values()), ONE_WEIGHT, ALL & ~(1 << SAMPLE_BITS['WEIGHT'])],
    ids=[*SAMPLE_BITS, 'all-weight', 'all-weight-struct'])
def test_generated_records(tmp_path, bits):
    """Random records with a field that this machine cannot record, and with random other fields."""
    data = tmp_path / 'perf.data'
    always = 1 << SAMPLE_BITS['TID'] | 1 << SAMPLE_BITS['IP'] | 1 << SAMPLE_BITS['TIME']
    for seed, more in ((1, 0), (2, 0x0f0f0f0), (3, 0x0a5b3c6), (4, ONE_WEIGHT)):
        if bits & 1 << SAMPLE_BITS['WEIGHT_STRUCT']:  # the kernel provides one of the two
            more &= ~(1 << SAMPLE_BITS['WEIGHT'])
        subprocess.run([BUILD / 'tests/e2e/record_make', str(seed), hex(bits | always | more),
                        data], check=True)
        kinds = compare(data)
        assert kinds['LOST'] and kinds['SWITCH'] and kinds['SWITCH_CPU_WIDE'], kinds


@pytest.mark.parametrize('options, kinds', [
    (['-e', 'cpu-clock', '-g'], ['MMAP2', 'COMM', 'EXIT', 'FORK']),
    (['-e', 'cpu-clock', '--call-graph', 'dwarf,1024', '-P', '-T', '--sample-cpu'], []),
    (['-e', 'page-faults', '-c', '1', '-d', '--phys-data', '--data-page-size', '--code-page-size'],
     []),
    (['-e', 'cpu-clock,task-clock', '-s'], ['READ']),
    (['-e', '{cpu-clock,page-faults,context-switches}:S'], []),
    (['-e', 'context-switches', '-c', '1', '--switch-events'], ['SWITCH']),
    (['-e', 'cpu-clock', '--switch-events', '-a'], ['SWITCH_CPU_WIDE']),
    (['-e', 'cpu-clock', '--namespaces', '--all-cgroups'], ['NAMESPACES', 'CGROUP']),
    (['-e', 'cpu-clock', '--buildid-mmap'], ['MMAP2']),
    (['-e', 'cpu-clock', '-I', '--user-regs=ip,sp,ax', '-W'], []),
    (['-e', 'sched:sched_process_exec,cpu-clock', '-R', '-c', '1000000'], []),
], ids=lambda value: ' '.join(value) if value and value[0].startswith('-') else '')
def test_recorded_processes(tmp_path, root, options, kinds):
    """Recordings of real processes with every kind of software sampling that perf offers."""
    data = tmp_path / 'perf.data'
    script = f'for i in 1 2 3; do {workload("demo")} 0.1 >/dev/null; done; ' \
             'ls -R /usr/include >/dev/null'
    done = subprocess.run(['perf', 'record', '-q', *options, '-o', data, '--', 'sh', '-c', script],
                          capture_output=True, text=True)
    if done.returncode and re.search('not supported|unknown option|event syntax error',
                                     done.stderr):
        pytest.skip(f'perf record {" ".join(options)}: {done.stderr.strip().splitlines()[0]}')
    assert done.returncode == 0, done.stderr
    found = compare(data)
    assert not set(kinds) - set(found), found
