# SPDX-License-Identifier: MIT
"""The systemd unit, the Debian packages and the static program."""
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

import builds
import guest
from command import ATTAR, BUILD, ROOT, has, run, share_is
from faults import sanitized


@pytest.fixture
def unit(tmp_path):
    """The unit as it is installed, with the tested command."""
    if not has('systemd-analyze'):
        pytest.skip('systemd-analyze (package systemd) is not installed')
    text = (BUILD / 'packaging/attar-agent.service').read_text()
    path = tmp_path / 'attar-agent.service'
    path.write_text(re.sub(r'/\S+/bin/attar ', f'{ATTAR} ', text))
    return path


def test_unit_is_valid(unit):
    done = subprocess.run(['systemd-analyze', 'verify', '--man=no', unit], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if 'attar-agent' in line], done.stderr


def test_unit_is_hardened(unit):
    """The exposure that systemd computes is at most 3.3 of 10; profilers need the remaining rights,
    0.2 of them sockets of netlink and vsock.
    """
    done = subprocess.run(['systemd-analyze', 'security', '--offline=yes', '--threshold=33', unit],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_example_configuration_is_valid():
    done = run('agent', '--check', '-c', ROOT / 'packaging/agent.conf')
    assert done.returncode == 0, done.stderr


# ---- the static program ----

def build_static(arch, build):
    """Return the static program, which is linked from the objects of a build directory."""
    for tool in ('ninja', 'dpkg'):
        if not has(tool):
            pytest.skip(f'{tool} is not installed')
    with open(build / '.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # others build there, too
        done = subprocess.run([ROOT / 'tools/static', arch, build], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=1800)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return ROOT / done.stdout.strip()


def libraries_of(program):
    """Return what `attar version` prints: {kind: names}."""
    done = run('version', program=program)
    assert done.returncode == 0, done.stderr
    return {kind: set(names.split(', '))
            for kind, names in re.findall(r'^libraries ([\w ]+): (.*)$', done.stdout, re.M)}


def static_workload(folder):
    """Compile a program that needs no library either; skip without the C library's archive."""
    path = folder / 'split7030'
    source = ROOT / 'tests/workloads/split7030.c'
    done = subprocess.run(['cc', '-static', '-D_GNU_SOURCE', '-O2', '-fno-omit-frame-pointer',
                           source, '-o', path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope='module')
def static():
    if sanitized():
        pytest.skip('sanitizers are shared libraries')
    arch = subprocess.run(['dpkg', '--print-architecture'], capture_output=True, text=True,
                          check=True).stdout.strip()
    return build_static(arch, BUILD)


def test_static_program_needs_no_library(static):
    done = subprocess.run(['readelf', '-d', '-l', static], capture_output=True, text=True,
                          check=True)
    assert 'NEEDED' not in done.stdout and 'INTERP' not in done.stdout
    names, others = libraries_of(static), libraries_of(ATTAR)
    assert 'loaded on demand' not in names
    assert names['linked'] == others['linked']
    assert names['missing'] == \
        others['loaded on demand'] | others.get('missing', set())


def test_static_program_loads_no_library(static):
    """Not even one of this machine, which has the same C library."""
    done = run('stat', '-i', '1s', '-d', '1s', '--listen', '0', program=static)
    assert done.returncode == 4, done.stderr
    assert 'needs the library libmicrohttpd' in done.stderr
    assert 'this attar is static and cannot load libraries' in done.stderr


def test_static_program_in_an_empty_folder(root, static, tmp_path):
    """Only /proc and /sys are there. 70% of the time of a static program is in heavy()."""
    for name in ('proc', 'sys'):
        (tmp_path / name).mkdir()
    shutil.copy(static, tmp_path / 'attar')
    static_workload(tmp_path)
    (tmp_path / 'agent.conf').write_text('[faults]\nrun = stat -e page-faults -i 100ms\n')
    script = (f'mount -t proc proc {tmp_path}/proc && mount --rbind /sys {tmp_path}/sys && '
              f'chroot {tmp_path} /attar profile -q -F 997 -o /x.json -o /x.db '
              '-- /split7030 1000 && '
              f'(TMPDIR=/ chroot {tmp_path} /attar agent -c /agent.conf --metrics /x.prom & '
              'pid=$!; '
              f'while kill -0 $pid && ! grep -qs attar_reports_total {tmp_path}/x.prom; '
              'do sleep 0.1; done; '
              'kill $pid; wait $pid)')
    done = subprocess.run(['unshare', '-m', 'sh', '-c', script], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / 'x.json').read_text())
    table = next(s for s in report['sections'] if s['name'] == 'functions')
    columns = [column['name'] for column in table['columns']]
    samples = {row[columns.index('symbol')]: row[columns.index('samples')]
               for row in table['rows']}
    share_is(samples['heavy'], samples['heavy'] + samples['light'], 0.7)


@pytest.mark.guest('arm64')
def test_static_program_for_arm64():
    program = build_static('arm64', guest.cross_build())
    ended = guest.run('arm64', 'sh', '-c',
                      f'{program} version && {program} profile --format json -F 99 -d 2s')
    assert ended.returncode == 0, ended.stderr
    assert 'static: cannot load shared libraries' in ended.stdout
    assert json.loads(ended.stdout.splitlines()[-1])['profiler'] == 'profile'


# ---- the source ----

@pytest.fixture(scope='module')
def dist(tmp_path_factory):
    if not has('git') or subprocess.run(['git', '-C', ROOT, 'rev-parse', 'HEAD'],
                                        capture_output=True).returncode:
        pytest.skip('not a clone of the repository')
    folder = tmp_path_factory.mktemp('dist')
    subprocess.run([ROOT / 'tools/dist', folder], check=True, capture_output=True)
    return folder


def test_source_has_the_committed_files(dist):
    subprocess.run(['sha256sum', '--check', '--strict', 'SHA256SUMS'], cwd=dist, check=True,
                   capture_output=True)
    archive, = dist.glob('*.tar.gz')
    top = archive.name.removesuffix('.tar.gz')
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
    names = subprocess.run(['git', '-C', ROOT, 'ls-tree', '-r', '--name-only', '-z', 'HEAD'],
                           check=True, capture_output=True, text=True).stdout.split('\0')[:-1]
    assert [member.name for member in members] == sorted(f'{top}/{name}' for name in names)
    assert {member.mode for member in members} == {0o644, 0o755}
    assert {(member.uid, member.uname) for member in members} == {(0, 'root')}
    assert (dist / 'SHA256SUMS').read_text().count('\n') == 2


def test_source_is_the_same_in_another_folder(dist, tmp_path):
    subprocess.run(['git', 'clone', '-q', ROOT, tmp_path / 'clone'], check=True)
    subprocess.run([tmp_path / 'clone/tools/dist', tmp_path / 'out'], check=True,
                   capture_output=True, env={**os.environ, 'TZ': 'Asia/Tokyo'})
    for path in dist.iterdir():
        assert (tmp_path / 'out' / path.name).read_bytes() == path.read_bytes(), path.name


def test_list_of_the_source_is_valid(dist):
    """The rules of SPDX 2.3 for the fields that the list has; all checksums are computed again."""
    path, = dist.glob('*.spdx.json')
    listing = json.loads(path.read_text())
    archive = dist / path.name.replace('.spdx.json', '.tar.gz')
    assert listing['spdxVersion'] == 'SPDX-2.3' and listing['dataLicense'] == 'CC0-1.0'
    assert listing['SPDXID'] == 'SPDXRef-DOCUMENT'
    assert re.fullmatch(r'https?://[^#]+', listing['documentNamespace'])
    assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', listing['creationInfo']['created'])
    assert all(re.match('Tool: ', creator) for creator in listing['creationInfo']['creators'])
    package, = listing['packages']
    ids = [element['SPDXID'] for element in (package, *listing['files'])]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r'SPDXRef-[A-Za-z0-9.-]+', name) for name in ids)
    assert {(r['spdxElementId'], r['relationshipType'], r['relatedSpdxElement'])
            for r in listing['relationships']} == {
        ('SPDXRef-DOCUMENT', 'DESCRIBES', 'SPDXRef-Package'),
        *(('SPDXRef-Package', 'CONTAINS', name) for name in ids[1:])}
    assert package['checksums'] == [{
        'algorithm': 'SHA256', 'checksumValue': hashlib.sha256(archive.read_bytes()).hexdigest()}]
    sums = []
    with tarfile.open(archive) as tar:
        top = tar.next().name.partition('/')[0]
        rows = {f'{top}/{row["fileName"].removeprefix("./")}': row for row in listing['files']}
        assert set(rows) == {member.name for member in tar if member.isfile()}
        for name, row in rows.items():
            data = tar.extractfile(name).read()
            sums.append(hashlib.sha1(data).hexdigest())
            assert row['checksums'] == [
                {'algorithm': 'SHA1', 'checksumValue': sums[-1]},
                {'algorithm': 'SHA256', 'checksumValue': hashlib.sha256(data).hexdigest()}]
    assert package['packageVerificationCode']['packageVerificationCodeValue'] == \
        hashlib.sha1(''.join(sorted(sums)).encode()).hexdigest()
    licenses = {name.partition('/')[2]: row['licenseConcluded'] for name, row in rows.items()}
    assert licenses['perfume/perfume.h'] == licenses['perfume/LICENSE'] == 'CC0-1.0'
    assert licenses['src/cli/main.c'] == licenses['README.md'] == 'MIT'
    assert set(licenses.values()) == {'MIT', 'CC0-1.0'}
    assert package['licenseConcluded'] == 'CC0-1.0 AND MIT'


# ---- Debian packages ----

def build_packages(folder):
    """What is tested is the packages: without optimization, they are built sooner."""
    done = subprocess.run([*builds.LOW_PRIORITY, ROOT / 'tools/deb', folder],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=1800,
                          env=builds.environment(DEB_BUILD_OPTIONS='noopt'))
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope='module')
def packages(tmp_path_factory):
    """The Debian packages, and a folder into which they are unpacked."""
    for tool in ('dpkg-buildpackage', 'dh'):
        if not has(tool):
            pytest.skip(f'{tool} (packages dpkg-dev and debhelper) is not installed')
    folder = tmp_path_factory.mktemp('deb')
    build_packages(folder)
    for deb in folder.glob('*.deb'):
        subprocess.run(['dpkg', '-x', deb, folder / 'root'], check=True)
    return folder


@pytest.mark.xdist_group('packages')
@pytest.mark.slow
def test_packages_can_be_used(packages, tmp_path):
    below = packages / 'root'
    names = {path.name.split('_')[0] for path in packages.glob('*.deb')}
    assert names == {'attar', 'attar-perf-prof', 'libattar1', 'libattar-dev',
                     'libattar-run1', 'libattar-run-dev', 'libperfume1', 'libperfume-dev'}
    assert (below / 'usr/lib/attar/perf-prof').readlink() == Path('../../bin/attar')
    attar = below / 'usr/bin/attar'
    assert run('--version', program=attar).stdout == run('--version').stdout
    needed = subprocess.run(['ldd', attar], capture_output=True, text=True, check=True).stdout
    assert 'not found' not in needed and 'libsqlite3' in needed
    example = below / 'usr/share/doc/attar/examples/agent.conf'
    done = run('agent', '--check', '-c', example, program=attar)
    assert done.returncode == 0, done.stderr
    unit, = below.glob('**/attar-agent.service')
    assert 'ExecStart=/usr/bin/attar agent -c /etc/attar/agent.conf' in unit.read_text()
    library, = below.glob('usr/lib/*/libattar.so')
    source = tmp_path / 'x.c'
    source.write_text('#include <attar/attar.h>\n#include <stdio.h>\n'
                      'int main(void) { puts(attar_version()); }\n')
    subprocess.run(['cc', source, f'-I{below}/usr/include', '-o', tmp_path / 'x', library],
                   check=True)
    done = subprocess.run([tmp_path / 'x'], capture_output=True, text=True,
                          env={**os.environ, 'LD_LIBRARY_PATH': str(library.parent)})
    assert f'attar {done.stdout}' == run('--version').stdout


@pytest.mark.xdist_group('packages')
@pytest.mark.slow
def test_lintian_finds_nothing(packages):
    """
    No error and no warning. The 500 pages of libattar are left out of the check of manual pages,
    which formats each: test_manual.py formats all pages, too.
    """
    if not has('lintian'):
        pytest.skip('lintian is not installed')
    pages = 'documentation/manual'
    for words in (['--dont-check-part', pages, *packages.glob('*.changes')],
                  ['--check-part', pages, *packages.glob('attar_*.deb'),
                   *packages.glob('libperfume*.deb')]):
        done = subprocess.run([*builds.LOW_PRIORITY, 'lintian', '--allow-root', '--fail-on',
                               'error,warning', *words],
                              capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, done.stdout + done.stderr
