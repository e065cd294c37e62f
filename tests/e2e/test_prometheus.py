# SPDX-License-Identifier: MIT
"""Metrics: files and --listen, as the real promtool and Prometheus read them."""
import contextlib
import http.client
import json
import math
import re
import signal
import socket
import ssl
import subprocess
import urllib.parse
import urllib.request
from decimal import Decimal

import pytest

from command import ATTAR, BUILD, has, profile, run, share_is, wait_until, workload, write_secret

# One wait of 1 ms, and one of 100 ms.
WAITS = '''# attar script
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:s64 \
next_comm:char[16] next_pid:pid_t next_prio:int
event sched:sched_wakeup comm:char[16] pid:pid_t
1.000 0 0/0 swapper sched:sched_wakeup pid=100
1.001 0 0/0 swapper sched:sched_switch next_pid=100
1.500 0 100/100 worker sched:sched_switch prev_pid=100 prev_state=1
2.000 0 0/0 swapper sched:sched_wakeup pid=100
2.100 0 0/0 swapper sched:sched_switch next_pid=100
2.200 0 100/100 worker sched:sched_switch prev_pid=100 prev_state=1
'''
TOKEN = 'a-token-of-26-characters-x'


def metrics(text):
    """Return {name and labels: value}."""
    lines = [line for line in text.splitlines() if line and not line.startswith('#')]
    found = {line.rpartition(' ')[0]: float(line.rpartition(' ')[2]) for line in lines}
    assert len(found) == len(lines), 'a series appears twice'
    return found


def check(text):
    if not has('promtool'):
        pytest.skip('promtool (package prometheus) is not installed')
    done = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr


PROFILERS = pytest.mark.parametrize('words', [
    ['profile', '-g'], ['stat'], ['top', '-e', 'sched:sched_switch'], ['runqlat'], ['rundelay'],
    ['percpu-stat', '-i', '100ms'], ['task-state'], ['wall'], ['page-faults'], ['syscalls']],
    ids=lambda words: words[0])


@PROFILERS
def test_promtool_accepts_the_metrics(root, tmp_path, words):
    path = tmp_path / 'x.prom'
    done = run(*words, '-q', '-d', '300ms', '-o', path)
    assert done.returncode == 0, done.stderr
    text = path.read_text()
    check(text)
    assert metrics(text)[
        f'attar_info{{profiler="{words[0]}",version="{run("--version").stdout.split()[1]}"}}'] == 1
    assert not re.search(r'[{,]p?t?id="', text)


def openmetrics(text):
    """Return the names of samples and their values, as the reference parser of OpenMetrics does."""
    parser = pytest.importorskip('prometheus_client.openmetrics.parser')
    return sorted((sample.name, sample.value)
                  for family in parser.text_string_to_metric_families(text)
                  for sample in family.samples)


@PROFILERS
def test_the_parser_of_openmetrics_accepts_the_metrics(root, tmp_path, words):
    """It finds the same samples as in the other format."""
    done = run(*words, '-q', '-d', '300ms', '-o', tmp_path / 'x.om', '-o', tmp_path / 'x.prom')
    assert done.returncode == 0, done.stderr
    found = openmetrics((tmp_path / 'x.om').read_text())
    assert len(found) > 5
    assert found == sorted((name.partition('{')[0], value) for name, value
                           in metrics((tmp_path / 'x.prom').read_text()).items())


def test_values_of_a_table(tmp_path):
    path = tmp_path / 'x.prom'
    found = profile('--exclude-kernel', '-o', path, command=[workload('split7030')])
    series = metrics(path.read_text())
    heavy, = found.pick('heavy')
    labels = f'{{comm="split7030",dso="{heavy["dso"]}",symbol="heavy"}}'
    assert series['attar_profile_functions_samples' + labels] == heavy['samples']
    assert math.isclose(series['attar_profile_functions_self_ratio' + labels], heavy['self'] / 100)
    assert series['attar_events_seen_total'] == found.notes['seen']
    assert [p.name for p in tmp_path.iterdir()] == ['x.prom']


def test_rows_beyond_the_bound_are_other(tmp_path):
    """Rows that differ only in their pids are one; which columns are added."""
    script, path = tmp_path / 'test.script', tmp_path / 'x.prom'
    events = [f'1.{i:03} 0 {i + 1}/{i + 1} t{i // 2} sched:sched_wakeup pid={i}'
              for i in range(100)]
    script.write_text('# attar script\nevent sched:sched_wakeup comm:char[16] pid:pid_t\n'
                      + '\n'.join(events) + '\n')
    done = run('top', '-q', '-e', 'sched:sched_wakeup', '-o', path, '-o', tmp_path / 'x.json',
               '--input', script)
    assert done.returncode == 0, done.stderr
    table = json.loads((tmp_path / 'x.json').read_text().splitlines()[-1])['sections'][0]
    assert len(table['rows']) == 100
    found = {name: value for name, value in metrics(path.read_text()).items()
             if name.startswith('attar_top_') and 'comm="' in name}
    assert sum(found.values()) == 100
    assert sorted(found.values()) == [2] * 20 + [60]
    assert found[next(name for name in found if 'comm="other"' in name)] == 60


def test_hostile_names(tmp_path):
    script, path = tmp_path / 'test.script', tmp_path / 'x.prom'
    script.write_text('# attar script\nevent sched:sched_wakeup comm:char[16] pid:pid_t\n'
                      '1.0 0 1/1 "a\\b} 1 x" sched:sched_wakeup pid=1\n')
    done = run('top', '-q', '-e', 'sched:sched_wakeup', '-o', path, '--input', script)
    assert done.returncode == 0, done.stderr
    check(path.read_text())
    assert r'comm="a\\b} 1 x"' in path.read_text()


KINDS = ['hostile', 'tables', *(f'random {i}' for i in range(1, 9))]


@pytest.mark.parametrize('kind', KINDS)
def test_any_report_is_valid(kind):
    """Names that are equal but for other characters than letters, and hostile help texts."""
    if not has('promtool'):
        pytest.skip('promtool (package prometheus) is not installed')
    word, _, number = kind.partition(' ')
    done = subprocess.run([BUILD / 'tests/e2e/report_demo', word, 'prometheus', number or '1'],
                          capture_output=True, text=True, check=True, timeout=60)
    checked = subprocess.run(['promtool', 'check', 'metrics'], input=done.stdout,
                             capture_output=True, text=True, timeout=60)
    # 3: it is valid, but names, which are random, have parts that look like units.
    assert checked.returncode in (0, 3), checked.stderr
    metrics(done.stdout)


@pytest.mark.parametrize('kind', KINDS)
def test_any_report_is_valid_openmetrics(kind):
    word, _, number = kind.partition(' ')
    done = subprocess.run([BUILD / 'tests/e2e/report_demo', word, 'openmetrics', number or '1'],
                          capture_output=True, text=True, check=True, timeout=60)
    assert openmetrics(done.stdout)


def test_histogram_of_known_times(tmp_path):
    script, path = tmp_path / 'test.script', tmp_path / 'x.prom'
    script.write_text(WAITS)
    done = run('runqlat', '-q', '-o', path, '-o', tmp_path / 'x.om', '--input', script)
    assert done.returncode == 0, done.stderr
    series, name = metrics(path.read_text()), 'attar_runqlat_distribution_seconds'
    buckets = {float(m[1]): value for key, value in series.items()
               if (m := re.fullmatch(name + r'_bucket\{of="times",le="(.*)"\}', key))}
    assert buckets[2 ** 19 / 1e9] == 0
    assert buckets[2 ** 20 / 1e9] == buckets[2 ** 26 / 1e9] == 1
    assert buckets[2 ** 27 / 1e9] == buckets[math.inf] == 2
    assert series[name + '_count{of="times"}'] == 2
    assert math.isclose(series[name + '_sum{of="times"}'], 0.101)
    assert (tmp_path / 'x.om').read_text().endswith('# EOF\n')


def test_bounds_of_sizes_include_themselves(tmp_path):
    """Sizes are often powers of two: each bucket counts exactly the values up to its bound."""
    sizes = [0, 1, 2, 3, 4, 512, *[4096] * 20, 4097, *[8192] * 7, 2 ** 36 - 1, 2 ** 36]
    script, path = tmp_path / 'test.script', tmp_path / 'x.prom'
    script.write_text('# attar script\nevent demo:read size:u64\n' + ''.join(
        f'1.{i:03} 0 7/7 reader demo:read size={size}\n' for i, size in enumerate(sizes)))
    done = run('num-dist', '-q', '-e', 'demo:read//num=size/', '-o', path, '--input', script)
    assert done.returncode == 0, done.stderr
    buckets = {float(m[1]): value for key, value in metrics(path.read_text()).items()
               if (m := re.search(r'_bucket\{.*le="(.*)"', key))}
    assert len(buckets) > 30 and buckets[8191] == 27
    assert buckets == {bound: sum(size <= bound for size in sizes) for bound in buckets}


def test_times_have_the_digits_of_their_nanoseconds(tmp_path):
    """Also the bounds of buckets, which are powers of two."""
    script, path, out = tmp_path / 'test.script', tmp_path / 'x.prom', tmp_path / 'x.json'
    script.write_text(WAITS + '13.194407767 0 0/0 swapper sched:sched_wakeup pid=100\n')
    done = run('runqlat', '-q', '-o', path, '-o', out, '--input', script)
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text())['interval_ns'] == 12194407767
    assert 'attar_interval_seconds 12.194407767\n' in path.read_text()
    bounds = [Decimal(text) * 10 ** 9 for text in re.findall(r'le="([\d.e-]+)"', path.read_text())]
    assert bounds == [2 ** power for power in range(10, 47)]


def test_replaced_file_keeps_its_mode(tmp_path):
    """It is another file, also if the former one may not be written."""
    path = tmp_path / 'x.prom'
    path.write_text('former')
    path.chmod(0o440)
    before = path.stat()
    done = run('stat', '-q', '-e', 'page-faults', '-o', path, '--', 'true')
    assert done.returncode == 0, done.stderr
    assert 'attar_' in path.read_text() and path.stat().st_ino != before.st_ino
    assert path.stat().st_mode == before.st_mode and list(tmp_path.iterdir()) == [path]


def test_file_is_replaced_as_a_whole(spawn, tmp_path):
    """A reader sees complete files only, one for each interval; a link stays one."""
    (tmp_path / 'real.prom').write_text('old')
    (tmp_path / 'x.prom').symlink_to('real.prom')
    process = spawn(ATTAR, 'profile', '-q', '-i', '20ms', '-o', tmp_path / 'x.prom')
    numbers = set()

    def has_seen_many():
        text = (tmp_path / 'x.prom').read_text()
        if text != 'old':
            assert text.startswith('# HELP attar_info') and text.endswith('\n')
            numbers.add(metrics(text)['attar_reports_total'])
        return len(numbers) >= 5

    wait_until(has_seen_many, 'five reports')
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert (tmp_path / 'x.prom').is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ['real.prom', 'x.prom']


def test_unwritable_folder(tmp_path):
    done = run('profile', '-o', '/no/such/x.prom', '-d', '1')
    assert done.returncode == 1
    assert done.stderr == "attar: cannot write '/no/such/x.prom': No such file or directory\n"


# ---- --listen ----

@pytest.fixture
def listening(spawn):
    """Start attar with --listen, and return its port."""
    def start(*args, address='0', expect='127.0.0.1'):
        process = spawn(ATTAR, 'runqlat', '-a', '-i', '50ms', '--listen', address, *args,
                        stderr=subprocess.PIPE, text=True)
        line = next(line for line in process.stderr if 'listening on' in line)
        start.process, start.line = process, line
        assert expect in line
        return int(re.search(r':(\d+)/$', line)[1])
    return start


def get(port, path, method='GET', token=None, tls=None, **headers):
    if token:
        headers['Authorization'] = f'Bearer {token}'
    connection = http.client.HTTPSConnection('127.0.0.1', port, context=tls, timeout=30) \
        if tls else http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.getheader('Content-Type'), text


def test_pages(root, listening):
    port = listening()
    wait_until(lambda: get(port, '/metrics')[0] == 200, 'the first interval')
    status, kind, text = get(port, '/metrics')
    assert (status, kind) == (200, 'text/plain; version=0.0.4; charset=utf-8')
    check(text)
    status, kind, text = get(port, '/metrics', Accept='application/openmetrics-text; version=1.0.0')
    assert kind.startswith('application/openmetrics-text') and openmetrics(text)
    status, kind, text = get(port, '/')
    assert (status, kind) == (200, 'text/html; charset=utf-8')
    assert text.startswith('<!doctype html>')
    assert get(port, '/healthz') == (200, 'text/plain; charset=utf-8', 'ok\n')
    assert get(port, '/etc/passwd')[0] == 404
    assert get(port, '/metrics', 'POST')[0] == 405
    assert get(port, '/metrics', 'HEAD')[::2] == (200, '')
    before = metrics(get(port, '/metrics')[2])['attar_reports_total']
    wait_until(lambda: metrics(get(port, '/metrics')[2])['attar_reports_total'] > before,
               'the next interval')
    listening.process.send_signal(signal.SIGINT)
    assert listening.process.wait(30) == 0


def test_clients_that_never_read(root, listening):
    """They keep neither the profiler nor other clients waiting."""
    port = listening()
    wait_until(lambda: get(port, '/metrics')[0] == 200, 'the first interval')
    with contextlib.ExitStack() as stack:
        for _ in range(50):
            s = stack.enter_context(socket.create_connection(('127.0.0.1', port)))
            s.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                s.sendall(b'GET / HTTP/1.1\r\nHost: x\r\n\r\n' * 1000)
        before = metrics(get(port, '/metrics')[2])['attar_reports_total']
        wait_until(lambda: metrics(get(port, '/metrics')[2])['attar_reports_total'] > before + 3,
                   'further intervals')
    listening.process.send_signal(signal.SIGINT)
    assert listening.process.wait(30) == 0


def test_token(root, listening, tmp_path):
    write_secret(tmp_path / 'token', TOKEN + '\n')
    port = listening('--listen-token-file', tmp_path / 'token')
    for path in ('/metrics', '/', '/healthz', '/no'):
        assert get(port, path)[0] == 401
        for wrong in (TOKEN[:-1], TOKEN + 'x', 'x' * len(TOKEN), TOKEN * 2):
            assert get(port, path, token=wrong)[0] == 401
    assert get(port, '/healthz', token=TOKEN)[0] == 200


def test_tls(root, listening, tmp_path):
    if not has('openssl'):
        pytest.skip('openssl is not installed')
    key, certificate = tmp_path / 'key.pem', tmp_path / 'cert.pem'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1',
                    '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout',
                    key, '-out', certificate], check=True, capture_output=True)
    write_secret(tmp_path / 'token', TOKEN)
    port = listening('--listen-cert', certificate, '--listen-key', key, '--listen-token-file',
                     tmp_path / 'token', address='0.0.0.0:0', expect='https://0.0.0.0')
    trusted = ssl.create_default_context(cafile=certificate)
    assert get(port, '/healthz', tls=trusted)[0] == 401
    assert get(port, '/healthz', tls=trusted, token=TOKEN)[0] == 200
    with pytest.raises(ssl.SSLCertVerificationError):
        get(port, '/healthz', tls=ssl.create_default_context())
    with pytest.raises((http.client.HTTPException, OSError)):
        get(port, '/healthz')


@pytest.mark.parametrize('words, status, sentence', [
    (['--listen', '0'], 2,
     '--listen requires intervals: add -i TIME, for example -i 10s'),
    (['-i', '1s', '--listen', 'http'], 2,
     "--listen: 'http' is not PORT, ADDRESS:PORT or [ADDRESS]:PORT"),
    (['-i', '1s', '--listen', '127.0.0.1:99999'], 2,
     "--listen: '127.0.0.1:99999' is not PORT, ADDRESS:PORT or [ADDRESS]:PORT"),
    (['-i', '1s', '--listen', '0.0.0.0:0'], 2,
     "--listen: '0.0.0.0:0' can be reached from other machines: use TLS (--listen-cert, "
     '--listen-key) and --listen-token-file, or let everybody read the results (--insecure)'),
    (['-i', '1s', '--listen', '0', '--listen-cert', 'x'], 2,
     'TLS needs a certificate and its key: give both --listen-cert FILE and --listen-key FILE'),
    (['-i', '1s', '--insecure'], 2,
     '--listen-token-file, --listen-cert, --listen-key and --insecure require --listen '
     'ADDRESS:PORT'),
    (['-i', '1s', '--listen', '0', '--listen-token-file', '/no/such'], 1,
     "--listen-token-file: cannot open /no/such: No such file or directory"),
    (['-i', '1s', '--listen', '0', '--listen-token-file', '/dev/null'], 2,
     "--listen-token-file: the first line of '/dev/null' has fewer than 16 characters"),
    (['-i', '1s', '--listen', '0', '--listen-cert', '/dev/null', '--listen-key', '/dev/null'], 2,
     '--listen-cert and --listen-key: the file is empty'),
    (['-i', '1s', '--listen', '0', '--listen-cert', '/etc/shadow', '--listen-key', '/etc/shadow'],
     1, '--listen: the server did not start: check that the certificate and the key are valid PEM '
     'files, and that the key belongs to the certificate'),
])
def test_refusals(words, status, sentence):
    done = run('profile', *words, '-d', '1s')
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith(f'attar: {sentence}'), done.stderr


def test_port_in_use():
    with socket.create_server(('127.0.0.1', 0)) as other:
        address = f'127.0.0.1:{other.getsockname()[1]}'
        done = run('profile', '-i', '1s', '--listen', address, '-d', '1s')
    assert done.returncode == 1
    assert done.stderr == (f"attar: --listen: the port of '{address}' is in use: choose another "
                           'port, or stop the program that uses it\n')


def test_all_users_may_read_with_insecure(root, listening):
    port = listening('--insecure', address='0.0.0.0:0', expect='http://0.0.0.0')
    assert get(port, '/healthz')[0] == 200


# ---- a real Prometheus ----

def free_port():
    with socket.create_server(('127.0.0.1', 0)) as s:
        return s.getsockname()[1]


def query(port, text):
    url = f'http://127.0.0.1:{port}/api/v1/query?' + urllib.parse.urlencode({'query': text})
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)['data']['result']
    except OSError:
        return []


@pytest.fixture
def scraping(spawn, tmp_path):
    """Start a Prometheus that scrapes a port, and return its own."""
    if not has('prometheus'):
        pytest.skip('prometheus is not installed')

    def start(source):
        port = free_port()
        (tmp_path / 'p.yml').write_text(
            'global: {scrape_interval: 200ms, scrape_timeout: 200ms}\n'
            'scrape_configs: [{job_name: attar, static_configs: [{targets: '
            f"['127.0.0.1:{source}']}}]}}]\n")
        spawn('prometheus', f'--config.file={tmp_path}/p.yml',
              f'--storage.tsdb.path={tmp_path}/data', f'--web.listen-address=127.0.0.1:{port}',
              stderr=subprocess.DEVNULL)
        return port
    return start


def test_prometheus_has_the_shares(root, spawn, scraping):
    """70 % and 30 %, of an interval of 500 samples at least."""
    attar = spawn(ATTAR, 'profile', '--exclude-kernel', '-F', '997', '-i', '2s', '--listen', '0',
                  '--', workload('split7030'), 20000, stdout=subprocess.DEVNULL,
                  stderr=subprocess.PIPE, text=True)
    line = next(line for line in attar.stderr if 'listening on' in line)
    port = scraping(re.search(r':(\d+)/$', line)[1])
    name = 'attar_profile_functions_samples{comm="split7030"}'
    wait_until(lambda: len(query(port, name)) >= 2 and sum(
        float(r['value'][1]) for r in query(port, name)) > 500, 'a profile', seconds=60)
    samples = {r['metric']['symbol']: float(r['value'][1]) for r in query(port, name)}
    share_is(samples['heavy'], sum(samples.values()), 0.7)


def test_prometheus_scrapes_and_answers_a_quantile(root, listening, scraping, tmp_path):
    """The count is that of the first reports; the quantile lies in their bucket."""
    out = tmp_path / 'x.json'
    port = scraping(listening('-o', out))
    name = 'attar_runqlat_distribution_seconds'
    wait_until(lambda: any(float(r['value'][1]) > 50 for r in query(port, f'{name}_count')),
               '50 values in Prometheus', seconds=60)
    assert query(port, 'up')[0]['value'][1] == '1'
    url = f'http://127.0.0.1:{port}/api/v1/metadata?metric=attar'
    with urllib.request.urlopen(url, timeout=30) as answer:  # it asks for OpenMetrics, which has:
        assert json.load(answer)['data']['attar'][0]['type'] == 'info'
    listening.process.send_signal(signal.SIGINT)
    assert listening.process.wait(30) == 0
    wait_until(lambda: query(port, 'up') and query(port, 'up')[0]['value'][1] == '0',
               'Prometheus sees that attar has ended', seconds=60)
    moment = query(port, f'timestamp(last_over_time({name}_count[5m]))')[0]['value'][1]
    count = int(query(port, f'last_over_time({name}_count[5m])')[0]['value'][1])
    half = float(query(port, f'histogram_quantile(0.5, last_over_time({name}_bucket[5m]))')
                 [0]['value'][1])
    assert float(moment) > 0
    seen, total = {}, 0
    for line in out.read_text().splitlines():
        for section in json.loads(line)['sections']:
            if section['kind'] == 'histogram' and total < count:
                for low, high, n in section['rows']:
                    seen[low, high] = seen.get((low, high), 0) + n
                    total += n
    assert total == count
    below = 0
    for (low, high), n in sorted(seen.items()):
        below += n
        if below >= count / 2:
            break
    if high <= 1024:
        low, high = 0, 1024
    assert low * 1e-9 <= half <= high * 1e-9 * 1.000001
