# SPDX-License-Identifier: MIT
"""The Python package as a wheel in a virtual environment, its stubs, and the example."""
import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
import zipfile
from pathlib import Path

import pytest

from command import BUILD, ROOT, compiler, has, workload
from faults import sanitized
from python_package import PYTHON, environment, needs_package

pytestmark = needs_package


def build_wheel(folder):
    shutil.copytree(ROOT / 'python', folder / 'python')
    done = subprocess.run(
        [PYTHON, '-m', 'pip', 'wheel', '--quiet', '--no-build-isolation', '--no-index',
         '--no-deps', '--wheel-dir', folder, folder / 'python'], text=True, capture_output=True,
        env={**os.environ, 'PKG_CONFIG_PATH': str(BUILD / 'meson-uninstalled'),
             'PIP_DISABLE_PIP_VERSION_CHECK': '1'}, timeout=300)
    assert done.returncode == 0, done.stderr
    return next(folder.glob('*.whl'))


@pytest.fixture(scope='module')
def wheel(tmp_path_factory):
    """The wheel, built as `pip install ./python` does, without network."""
    for module in ('pip', 'setuptools', 'wheel', 'venv'):
        if not importlib.util.find_spec(module):
            pytest.skip(f'python3-{module} is not installed')
    if sanitized() or not has('pkg-config'):
        pytest.skip('the wheel is built without sanitizers, with pkg-config')
    return build_wheel(tmp_path_factory.mktemp('wheel'))


def test_contents_of_the_wheel(wheel):
    sources = {f'{package}/{path.name}' for package in ('attar', 'kperf', 'ksym')
               for path in (ROOT / 'python' / package).iterdir()
               if path.name.endswith(('.py', '.pyi', '.typed'))}
    names = {name for name in zipfile.ZipFile(wheel).namelist() if '.dist-info/' not in name}
    assert names == sources | {'attar/_attar.abi3.so'}
    version = re.search(r"version: '([^']*)'", (ROOT / 'meson.build').read_text())[1]
    assert re.fullmatch(rf'attar-{version}-cp39-abi3-linux_\w+\.whl', wheel.name)
    folder = f'attar-{version}.dist-info'
    assert zipfile.ZipFile(wheel).read(f'{folder}/LICENSE') == (ROOT / 'LICENSE').read_bytes()
    metadata = zipfile.ZipFile(wheel).read(f'{folder}/METADATA').decode().splitlines()
    assert {'Name: attar', f'Version: {version}', 'License: MIT', 'Requires-Python: >=3.9',
            'Classifier: Typing :: Typed', 'License-File: LICENSE'} <= set(metadata)


def test_the_wheel_is_the_same_in_another_folder(wheel, tmp_path):
    """The files that are copied there have another time, too."""
    again = build_wheel(tmp_path)
    assert again.name == wheel.name and again.read_bytes() == wheel.read_bytes()
    assert {info.date_time for info in zipfile.ZipFile(again).infolist()} == {
        (1980, 1, 1, 0, 0, 0)}


def test_installed_in_a_virtual_environment(wheel, tmp_path):
    subprocess.run([PYTHON, '-m', 'venv', tmp_path / 'env'], check=True, timeout=120)
    python = tmp_path / 'env/bin/python'
    subprocess.run([python, '-m', 'pip', 'install', '--quiet', '--no-index', '--no-deps', wheel],
                   check=True, timeout=120,
                   env={**os.environ, 'PIP_DISABLE_PIP_VERSION_CHECK': '1'})
    script = tmp_path / 'test.script'
    script.write_text('# attar script\nevent a:b n:u32\n1.0 0 1/1 c a:b n=23\n')
    code = f'import attar; print(attar.__file__, [e.n for e in attar.open({str(script)!r})])'
    done = subprocess.run([python, '-c', code], text=True, capture_output=True, timeout=60,
                          cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    path, numbers = done.stdout.split(' ', 1)
    assert path.startswith(str(tmp_path / 'env')) and numbers == '[23]\n'
    done = subprocess.run([python, '-c', 'import kperf; print(kperf.__file__, kperf.enable(-1))'],
                          text=True, capture_output=True, timeout=60, cwd=tmp_path,
                          env={**os.environ, 'LD_LIBRARY_PATH': str(BUILD / 'kperf')})
    path, code = done.stdout.split()
    assert path.startswith(str(tmp_path / 'env')) and code == '1006', done.stderr


def test_the_module_uses_no_private_symbols():
    """No symbol of the module is private to a version of CPython, and libpython is not needed."""
    module = next((BUILD / 'python/attar').glob('_attar*.so'))
    needed = subprocess.check_output(['objdump', '-p', module], text=True)
    assert 'libpython' not in needed
    for library in ('src/libattar-run.so', 'src/cli/attar'):
        assert 'libpython' not in subprocess.check_output(['objdump', '-p', BUILD / library],
                                                          text=True)
    symbols = subprocess.check_output(['nm', '-D', '--undefined-only', module], text=True)
    private = {name for name in re.findall(r' U (_Py\w+)', symbols)}
    assert private <= {'_Py_NoneStruct', '_Py_TrueStruct', '_Py_FalseStruct', '_Py_Dealloc',
                       '_PyObject_New', '_PyArg_ParseTuple_SizeT',
                       '_PyArg_ParseTupleAndKeywords_SizeT', '_Py_BuildValue_SizeT',
                       '_PyObject_CallFunction_SizeT', '_PyObject_CallMethod_SizeT'}


def test_all_symbols_are_in_the_limited_api():
    """All its symbols are declared by the headers of the limited API of CPython 3.9."""
    include = sysconfig.get_path('include', vars={'installed_base': '/usr'})
    if not Path(include, 'Python.h').exists():
        pytest.skip('there is no Python.h (package python3-dev)')
    text = subprocess.run([*compiler(), '-E', '-P', '-DPy_LIMITED_API=0x03090000',
                           '-DPY_SSIZE_T_CLEAN', f'-I{include}',
                           '-include', 'Python.h', '-xc', '/dev/null'], check=True, text=True,
                          capture_output=True).stdout
    declared = set(re.findall(r'\b_?Py\w+', text))
    assert 'PyType_FromSpec' in declared and 'PyType_GetQualName' not in declared
    module = next((BUILD / 'python/attar').glob('_attar*.so'))
    symbols = subprocess.check_output(['nm', '-D', '--undefined-only', module], text=True)
    needed = set(re.findall(r' U (_?Py\w+)', symbols))
    assert len(needed) > 40
    assert needed - declared == set()


@pytest.mark.parametrize('minor', range(9, 16))
def test_another_cpython(minor):
    """The same module counts in every CPython of the machine."""
    name = shutil.which(f'python3.{minor}')
    if not name or subprocess.run([name, '-c', ''], capture_output=True).returncode:
        pytest.skip(f'python3.{minor} is not installed')
    code = ("import attar, kperf, ksym, mmap, sys\n"
            "area = mmap.mmap(-1, 100 * mmap.PAGESIZE)\n"
            "area.madvise(mmap.MADV_NOHUGEPAGE)\n"
            "with attar.count('page-faults:u', thread=True) as c:\n"
            "    for at in range(0, len(area), mmap.PAGESIZE):\n"
            "        area[at] = 1\n"
            "print(sys.version_info.minor, c.value >= 100)\n")
    done = subprocess.run([name, '-c', code], text=True, capture_output=True, timeout=60,
                          env=environment())
    assert done.stdout == f'{minor} True\n', done.stderr


def test_stubs_have_every_option():
    tree = ast.parse((ROOT / 'python/attar/profilers.pyi').read_text())
    keywords = {node.name: {word.arg for item in node.body if isinstance(item, ast.FunctionDef)
                            for word in item.args.kwonlyargs}
                for node in tree.body if isinstance(node, ast.ClassDef)}
    for name in ('profile', 'trace', 'bpf_kvm_exit', 'multi_trace'):
        assert {'command', 'stacks', 'pids', 'duration', 'input'} <= keywords[f'_{name}']
    assert 'freq' in keywords['_profile'] - keywords['_trace']
    assert 'than' in keywords['_rundelay']


def test_types_of_a_program(tmp_path):
    """A type checker finds options and results."""
    if not has('mypy'):
        pytest.skip('mypy is not installed')
    shutil.copytree(ROOT / 'python/attar', tmp_path / 'attar')
    (tmp_path / 'program.py').write_text('''
import attar
with attar.profile(freq=997, stacks=True, duration=5) as run:
    for report in run:
        reveal_type(report)
        reveal_type(report['functions'].dicts())
for event in attar.events('sched:sched_switch', duration=1):
    reveal_type(event)
reveal_type(attar.open('x.data').profile(stacks=True))
reveal_type(attar.count('page-faults').value)
report.to_pandas(), report['functions'].to_pandas(), len(report), 'functions' in report
with attar.count('page-faults') as counters:
    counters.disable()
    counters.reset()
    counters.enable()
    counters.close()
with attar.Event('order_placed', id='u64') as order_placed:
    order_placed(id=1)
    order_placed.close()
attar.profile(frequ=1)
attar.profile(freq='often')
''')
    done = subprocess.run(['mypy', '--strict', '--ignore-missing-imports',
                           '--cache-dir', tmp_path / 'cache', 'program.py'], cwd=tmp_path,
                           text=True, capture_output=True, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith('program.py')]
    assert re.findall(r'Revealed type is "([^"]*)"', '\n'.join(lines)) == [
        'attar._report.Report', 'builtins.list[builtins.dict[builtins.str, Any]]',
        'attar._attar.TraceEvent', 'attar._run.Run', 'builtins.int'], done.stdout
    errors = [line for line in lines if ' error: ' in line]
    assert len(errors) == 2, done.stdout
    assert 'Unexpected keyword argument "frequ"' in errors[0]
    assert 'incompatible type "str"; expected "int"' in errors[1]


def test_installed_by_make(tmp_path):
    """The module finds the library that it is installed with."""
    if sanitized():
        pytest.skip('a sanitizer has to be loaded before Python')
    subprocess.run(['meson', 'install', '-C', BUILD, '--no-rebuild', '--quiet', '--destdir',
                    tmp_path], check=True, capture_output=True, timeout=300)
    module = next(tmp_path.rglob('_attar.abi3.so'))
    library = next(tmp_path.rglob('libattar.so.1')).parent
    paths = re.findall(r'R(?:UN)?PATH +(\S+)',
                       subprocess.check_output(['objdump', '-p', module], text=True))
    assert paths == [f'/{library.relative_to(tmp_path)}']
    installed = {path.name for path in module.parent.iterdir()}
    assert {'__init__.py', 'script.py', 'profilers.pyi', '_attar.pyi', 'py.typed'} <= installed
    done = subprocess.run([PYTHON, '-c', 'import attar; print(attar.__file__)'], text=True,
                          capture_output=True, timeout=60,
                          env={**os.environ, 'PYTHONPATH': str(module.parent.parent),
                               'LD_LIBRARY_PATH': str(library)})
    assert done.stdout == f'{module.parent}/__init__.py\n', done.stderr


def test_missing_libraries_are_named(tmp_path):
    shutil.copytree(ROOT / 'python', tmp_path / 'python')
    if not importlib.util.find_spec('setuptools') or not has('pkg-config'):
        pytest.skip('setuptools or pkg-config is not installed')
    done = subprocess.run([PYTHON, 'setup.py', '--version'], cwd=tmp_path / 'python', text=True,
                          capture_output=True, timeout=60,
                          env={**os.environ, 'PKG_CONFIG_LIBDIR': '/nowhere',
                               'PKG_CONFIG_PATH': ''})
    assert done.returncode == 1
    assert 'attar: libattar and libperfume are not installed' in done.stderr
    assert "run 'make install' first, or set PKG_CONFIG_PATH" in done.stderr


def test_the_example_runs(tmp_path):
    page = tmp_path / 'cpu.html'
    done = subprocess.run([PYTHON, ROOT / 'examples/28-python.py', page, workload('split7030')],
                          text=True, capture_output=True, timeout=120, env=environment())
    assert done.returncode == 0, done.stderr
    assert re.search(r'%  heavy$', done.stdout, re.M)
    assert re.search(r'^\d+ wakeups, 0 lost$', done.stdout, re.M)
    assert int(re.search(r'(\d+) page faults', done.stdout)[1]) >= 1
    assert '<html' in page.read_text()[:200].lower()
