# SPDX-License-Identifier: MIT
"""Builds the C part of the package with the installed libattar: pip install ./python."""
import os
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).resolve().parent


def flags_of(*libraries):
    """What pkg-config says, by the prefix of each word: {'-I': [...], '-L': [...], ...}."""
    command = ['pkg-config', '--cflags', '--libs', *libraries]
    try:
        words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    except FileNotFoundError:
        sys.exit('attar: pkg-config is missing: install the package of this name')
    except subprocess.CalledProcessError as error:
        sys.exit(f'attar: libattar and libperfume are not installed ({error.stderr.strip()}): '
                 "run 'make install' first, or set PKG_CONFIG_PATH")
    return {prefix: [word[2:] for word in words if word.startswith(prefix)]
            for prefix in ('-I', '-L', '-l')}


def native():
    flags = flags_of('attar-run', 'perfume')
    return Extension(
        'attar._attar', [str(path.relative_to(HERE)) for path in sorted(HERE.glob('src/*.c'))],
        depends=['src/native.h'],
        define_macros=[('Py_LIMITED_API', '0x03090000'), ('_GNU_SOURCE', None)],
        extra_compile_args=['-std=gnu17', '-fvisibility=hidden', f'-ffile-prefix-map={HERE}=.'],
        extra_link_args=['-Wl,-z,relro,-z,now'],
        include_dirs=flags['-I'], library_dirs=flags['-L'], libraries=flags['-l'],
        runtime_library_dirs=flags['-L'], py_limited_api=True)


# The same sources give the same wheel: files in it have this time, not the time of the build.
os.environ.setdefault('SOURCE_DATE_EPOCH', '315532800')  # 1980-01-01, the first that zip can have
setup(ext_modules=[native()], options={'bdist_wheel': {'py_limited_api': 'cp39'}})
