# SPDX-License-Identifier: MIT
"""docs/fleet.md: its queries, on a server whose tables attar has created."""
import re
from datetime import datetime, timedelta, timezone

from clickhouse import server, the_server  # noqa: F401 (fixtures)
from command import ROOT, run

STACKS = {1: ['heavy', 'work', 'main'], 2: ['light', 'work', 'main'], 3: ['light', 'idle', 'main']}
# (host, hour, stack, value): heavy and light have 70 and 30 % before 12:00, and 50 % each after it.
SAMPLES = [('host1', 10, 1, 70), ('host1', 10, 2, 30), ('host2', 10, 1, 70), ('host2', 10, 2, 30),
           ('host1', 13, 1, 60), ('host1', 13, 2, 40), ('host2', 13, 1, 40), ('host2', 13, 2, 50),
           ('host2', 13, 3, 10)]
BUCKETS = [('host1', 0, 1000, 50), ('host1', 1000, 2000, 30), ('host2', 1000, 2000, 10),
           ('host2', 2000, 4000, 10)]
NOW = datetime.now(timezone.utc)
NOON = NOW.replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=40)
DAY = NOON.strftime('%Y-%m-%d')  # instead of the day of the page: more than 30 days ago
COLUMNS = 'date, time, host, service'


def queries(heading):
    """Return the statements of the section by the sentence above each."""
    section = (ROOT / 'docs/fleet.md').read_text().split(f'\n### {heading}\n')[1].split('\n### ')[0]
    blocks = re.findall(r'([^\n]+)\n\n((?:    [^\n]*\n)+)', section)
    return {sentence: re.sub(r'^    ', '', sql, flags=re.M) for sentence, sql in blocks}


ANSWERS = [
    [['heavy', '240'], ['light', '160']],
    [['main', '400'], ['work', '390'], ['heavy', '240'], ['light', '160'], ['idle', '10']],
    [['host1', '0.65'], ['host2', '0.55']],
    [['heavy', '-20'], ['light', '20']],
    [['work', '150'], ['idle', '10']],
    [['main;work;heavy 130'], ['main;work;light 70']],
    [['shop', './shop', '400']],
    [[f'{DAY} 10:00:00', 'shop', '200'], [f'{DAY} 13:00:00', 'shop', '200']],
    [['1000', '0.5'], ['2000', '0.9'], ['4000', '1']],
    [['host1', '1000', '0', '0.01', '4096'], ['host2', '500', '5', '0.03', '8192']],
]


def fill(server):
    def insert(table, columns, rows):
        values = ', '.join('(' + ', '.join(repr(v) for v in row) + ')' for row in rows)
        server.ask(f'INSERT INTO {table} ({columns}) VALUES {values}', 'perf')

    def common(host, hour=12):
        return DAY, (int(NOON.timestamp()) + (hour - 12) * 3600) * 10**9, host, 'shop'

    insert('attar_stacks', f'{COLUMNS}, hash, names, modules',
           [(*common('host1'), h, names, ['./shop'] * 3) for h, names in STACKS.items()] * 2)
    insert('attar_samples', f'{COLUMNS}, profiler, comm, stack, value',
           [(*common(host, hour), 'profile', 'shop', stack, value)
            for host, hour, stack, value in SAMPLES])
    insert('attar_histograms', f'{COLUMNS}, profiler, low, high, count',
           [(*common(host), 'runqlat', *bucket) for host, *bucket in BUCKETS])
    insert('attar_reports', f'{COLUMNS}, seen, lost, self_cpu, self_rss',
           [(*common('host1'), 1000, 0, 0.01, 4096), (*common('host2'), 500, 5, 0.03, 8192)])


def test_queries_of_the_page(root, server, tmp_path):
    """Each query has the result that follows from the rows. attar creates the tables."""
    url = server.url(tmp_path / 'spool')
    assert run('profile', '-q', '-F', 997, '-g', '-d', '2s', '-o', url, '--', 'sh', '-c',
               'while :; do :; done').returncode in (0, 143)
    assert run('runqlat', '-q', '-a', '-d', '300ms', '-o', url).returncode == 0
    fill(server)
    found = queries('Ten queries')
    assert len(found) == len(ANSWERS) == 10
    for (sentence, query), answer in zip(found.items(), ANSWERS):
        assert server.rows(query.replace('2026-11-20', DAY)) == answer, sentence
    drop, names, sizes = queries('Retention').values()
    assert ['attar_samples', DAY] in server.rows(names)
    server.ask(drop.replace('2026-10-01', DAY), 'perf')
    assert 'attar_samples' not in str(server.rows(names))
    assert ['attar_stacks', f'{NOON:%Y%m}'] in [row[:2] for row in server.rows(sizes)]
