# SPDX-License-Identifier: MIT
"""Rows into ClickHouse: attar's sink compared with clickhouse-client, which inserts the same rows.

Ours (bench/clickhouse_rows.c) writes reports of event lines to the sink and exits when the server
has stored all rows; the time includes creating them. The reference inserts the same rows from a
RowBinary file into the same table, which is emptied before. The server, of Debian, runs on this
machine and takes most of the time of both: the wall time is what a user observes, and the CPU time
is that of attar and clickhouse-client only.
"""
import contextlib
import subprocess
import sys

ROWS = 2_000_000


def client(bench, server, *words, **kwargs):
    command = [bench.peer('clickhouse-client'), '--port', str(server.tcp), '--database', 'perf']
    return [*command, *words] if not kwargs else \
        subprocess.run([*command, *words], check=True, timeout=300, **kwargs)


def run(bench):
    sys.path.append(str(bench.source / 'tests/e2e'))
    import clickhouse
    for name in ('clickhouse-server', 'clickhouse-client'):
        bench.peer(name)
    program, rows = bench.tool('clickhouse_rows'), ROWS // 10 if bench.quick else ROWS
    wall = bench.compare(f'{rows} rows: wall time', 's', 'clickhouse-client', 1 / 0.8)
    cpu = bench.compare(f'{rows} rows: own CPU', 's', 'clickhouse-client', None)
    memory = bench.compare(f'{rows} rows: peak RSS', 'MB', 'clickhouse-client', None)
    path = bench.scratch / 'rows'
    with contextlib.closing(clickhouse.Server(bench.scratch / 'server')) as server:
        server.start()
        url = server.url(bench.scratch / 'spool', timeout='60s')
        for _ in bench.rounds():
            server.ask('DROP TABLE IF EXISTS attar_bench_events', 'perf')
            ours = bench.cost(program, url, str(rows))
            columns = ', '.join(name for name, in server.rows(
                "SELECT name FROM system.columns WHERE table = 'attar_bench_events'"
                " AND default_kind = ''"))
            with path.open('wb') as out:
                client(bench, server, '--query',
                       f'SELECT {columns} FROM attar_bench_events FORMAT RowBinary', stdout=out)
            server.ask('TRUNCATE TABLE attar_bench_events', 'perf')
            theirs = bench.cost('sh', '-c', '"$@" <"$0"', path, *client(
                bench, server, '--query',
                f'INSERT INTO attar_bench_events ({columns}) FORMAT RowBinary'))
            if server.count('attar_bench_events') != rows:
                raise RuntimeError('clickhouse-client did not insert all rows')
            wall.add(ours['wall'], theirs['wall'])
            cpu.add(ours['cpu'], theirs['cpu'])
            memory.add(ours['rss'] / 1e6, theirs['rss'] / 1e6)
