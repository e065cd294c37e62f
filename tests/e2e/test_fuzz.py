# SPDX-License-Identifier: MIT
"""Fuzz the parsers of untrusted bytes with ASan and UBSan: 6 s or 2 s each, after its corpus."""
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import builds
from command import BUILD, ROOT, has

# Input from the kernel, or from users with the largest grammars.
LONG = {'event_spec', 'format', 'pmu', 'record'}
TARGETS = sorted(p.stem.removeprefix('fuzz_') for p in (ROOT / 'fuzz').glob('fuzz_*.c'))


def seconds_for(target):
    return int(os.environ.get('ATTAR_FUZZ_SECONDS', 6 if target in LONG else 2))


@pytest.fixture(scope='session')
def built():
    """Build the fuzz targets in a folder next to the tested build."""
    build = BUILD.parent / f'{BUILD.name}-fuzz'
    if not has('clang'):
        pytest.skip('clang is not installed')
    failed = builds.setup(build, '-Dfuzz=true', '-Dtests=disabled',
                          '-Db_sanitize=address,undefined', '-Db_lundef=false',
                          CC=' '.join(builds.cached('clang')))
    if failed and 'fuzzer' in failed:
        pytest.skip("clang's libFuzzer (package libclang-rt-14-dev) is not installed")
    assert not failed, failed
    done = builds.run('ninja', '-C', build, *(f'fuzz/fuzz_{t}' for t in TARGETS))
    if 'libclang_rt.fuzzer' in done.stdout:
        pytest.skip("clang's libFuzzer (package libclang-rt-14-dev) is not installed")
    assert done.returncode == 0, done.stdout
    return build / 'fuzz'


ENOUGH = 100  # inputs


def executed(done):
    found = re.search(r'stat::number_of_executed_units: (\d+)', done.stderr)
    return int(found[1]) if found else 0


@pytest.fixture(scope='session')
def runs(built, tmp_path_factory):
    """Run all targets one after another: the other CPU is for the tests of the live machine."""
    base = tmp_path_factory.mktemp('fuzz')  # not in the threads: mktemp is not thread-safe

    def fuzz(target, seconds=0):
        scratch = base / target
        scratch.mkdir(exist_ok=True)
        known = ROOT / 'fuzz/corpus' / target
        done = subprocess.run([str(built / f'fuzz_{target}'),
                               f'-max_total_time={seconds or seconds_for(target)}', '-timeout=10',
                               '-rss_limit_mb=1024', '-print_final_stats=1',
                               f'-artifact_prefix={scratch}/', str(scratch),
                               *([str(known)] if known.is_dir() else [])],
                              capture_output=True, text=True, errors='replace', check=False)
        # a slow or busy machine reads the known inputs for as long
        return done if seconds or done.returncode or executed(done) > ENOUGH else fuzz(target, 30)
    with ThreadPoolExecutor(1) as pool:
        yield {target: pool.submit(fuzz, target) for target in TARGETS}


@pytest.mark.parametrize('target', TARGETS)
def test_fuzz_target_finds_no_crash(runs, target):
    done = runs[target].result()
    assert done.returncode == 0, done.stderr[-6000:]
    assert executed(done) > ENOUGH, 'the fuzzer did not get going'
