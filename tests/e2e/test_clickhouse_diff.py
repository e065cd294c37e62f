# SPDX-License-Identifier: MIT
"""attar diff of two time ranges of a ClickHouse server: as that of the same results in JSON."""
import http.server
import json
import re
import threading

import pytest

from clickhouse import server, the_server  # noqa: F401
from command import run
from test_diff_db import RESULTS

LATER = 1000  # s: how much later the second result was made


def later(script):
    return re.sub(r'^(\d+)(\.)', lambda m: f'{int(m[1]) + LATER}{m[2]}', script, flags=re.M)


@pytest.fixture
def stored(server, tmp_path):  # noqa: F811
    """Make the results of a name: their paths in JSON, and their time ranges on the server."""
    def make(name, **parameters):
        words, *scripts = RESULTS[name]
        paths = []
        for side, text in enumerate([scripts[0], later(scripts[1])]):
            script = tmp_path / f'{name}{side}.script'
            script.write_text(text)
            paths.append(tmp_path / f'{name}{side}.json')
            done = run(*words, '-q', '--input', script, '-o', paths[-1], '-o',
                       server.url(tmp_path / 'spool', **parameters))
            if 'built without' in done.stderr:
                pytest.skip('attar was built without ClickHouse: libcurl4-openssl-dev')
            assert done.returncode == 0, done.stderr
        where = server.url(tmp_path / 'spool')
        return paths, [f'{where}&from=1&to={LATER}', f'{where}&from=1970-01-01T00:16:40']
    return make


def differences(*paths):
    """The sections, of which those of labels are sorted, since a server has no order of rows."""
    done = run('diff', '--format', 'json', *paths)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report['sections']
    return {s['name'].replace('_', ' '): sorted(map(repr, rounded(s['rows'])))
            for s in report['sections']}


def rounded(rows):
    return [[round(cell, 6) if isinstance(cell, float) else cell for cell in row] for row in rows]


@pytest.mark.parametrize('name', RESULTS)
def test_the_same_differences(stored, name):
    paths, ranges = stored(name)
    assert differences(*ranges) == differences(*paths)


def test_one_side_in_a_file(stored):
    paths, ranges = stored('profile')
    assert differences(paths[0], ranges[1]) == differences(*paths)


def test_services_and_profilers_are_distinguished(stored):
    paths, ranges = stored('profile', service='shop')
    stored('histograms', service='bank')
    done = run('diff', *ranges)
    assert done.returncode != 0
    assert "it contains reports of 'profile' and 'runqlat'" in done.stderr \
        or "it contains reports of 'runqlat' and 'profile'" in done.stderr
    assert differences(*(f'{r}&profiler=profile' for r in ranges)) == differences(*paths)
    assert differences(*(f'{r}&service=shop' for r in ranges)) == differences(*paths)
    done = run('diff', *(f"{r}&service=it's" for r in ranges))
    assert done.returncode != 0
    assert 'no reports in this range of time' in done.stderr


@pytest.mark.parametrize('parameters, reason', [
    ('', 'add ?from=TIME'),
    ('&from=yesterday', "'yesterday' is not a time"),
    ('&from=1&to=5', 'no reports in this range of time'),
], ids=['none', 'no time', 'empty'])
def test_ranges_that_cannot_be_read(server, tmp_path, parameters, reason):  # noqa: F811
    where = server.url(tmp_path / 'spool') + parameters
    done = run('diff', where, where)
    if 'not available' in done.stderr:
        pytest.skip('attar was built without ClickHouse: libcurl4-openssl-dev')
    assert done.returncode != 0
    assert reason in done.stderr


@pytest.mark.parametrize('answer', [
    b'1', b'1\t', b'a\tb\tc\n' * 10, b'\\' * 99 + b'\n', b'\t' * 1000 + b'\n', b'\n', b'\0\n',
    b'1\tprofile\t1\t1\t1\t1\n'],
    ids=['no line', 'half', 'columns', 'escapes', 'many', 'empty', 'NUL', 'a report'])
def test_answers_that_are_none_of_clickhouse(answer, tmp_path):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            query = self.rfile.read(int(self.headers['Content-Length']))
            body = b'1\n' if query.startswith(b'EXISTS') else answer
            self.send_response(200)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass
    with http.server.HTTPServer(('127.0.0.1', 0), Handler) as fake:
        thread = threading.Thread(target=fake.serve_forever)
        thread.start()
        where = f'clickhouse://127.0.0.1:{fake.server_address[1]}/perf?from=1&spool={tmp_path}'
        done = run('diff', where, where)
        fake.shutdown()
        thread.join()
    assert done.returncode == 2, done
    assert 'cannot read' in done.stderr or 'not available' in done.stderr
