# SPDX-License-Identifier: MIT
"""Members of kernel structs in probes: offsets as pahole has them, and values in a guest."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import guest
from command import ATTAR, BUILD, run

TYPES = Path('/sys/kernel/btf/vmlinux')
STRUCTS = ['sock', 'sk_buff', 'task_struct', 'file', 'dentry', 'inode', 'tcp_sock', 'inet_sock',
           'request', 'bio', 'net_device', 'mm_struct', 'vm_area_struct', 'cred', 'super_block']
MEMBER = re.compile(r'(\w+)(?:\[[^]]*\])*(?::(\d+))?;\s*/\*\s*(\d+)(?::\s*(\d+))?\s+\d+\s*\*/')
POINTER = re.compile(r'\(\*(\w+)\)\(.*;\s*/\*\s*(\d+)\s+(\d+)\s*\*/')


def compiled(lines, types=TYPES, base=None):
    """What tracefs reads for each (function, expression)."""
    files = [base, types] if base else [types]
    done = subprocess.run([BUILD / 'tests/e2e/fetch_dump', *files], capture_output=True, text=True,
                          input=''.join(f'{f}\t{text}\n' for f, text in lines), timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def members(text):
    """The members in the output of pahole: name, bit, and width of a bit field or 0."""
    levels, found = [], []
    for line in text.splitlines()[1:]:
        part = line.strip()
        if re.match(r'(struct|union)( \w+)? \{', part):
            levels.append(found)
            found = []
        elif part.startswith('}') and levels:
            name = re.match(r'\} *(\w*)( __attribute__\S*)?;', part)
            inner, found = found, levels.pop()
            if name and name[1]:
                inner = [(f'{name[1]}.{member}', *place) for member, *place in inner]
            if name:  # an array of structs is left out
                found += inner
        elif pointer := POINTER.search(part):
            found.append((pointer[1], int(pointer[2]) * 8, 0))
        elif member := MEMBER.search(part):
            name, width, byte, bit = member.groups()
            found.append((name, int(byte) * 8 + int(bit or 0), int(width or 0)))
    return found


def place_of(fetch):
    """The bit and the width in "+8($arg1):b3@2/8" or "+8($arg1):u8"."""
    offset, width, bit = re.fullmatch(r'\+(\d+)\(\$arg1\):(?:b(\d+)@(\d+)/\d+|u8)', fetch).groups()
    return int(offset) * 8 + int(bit or 0), int(width or 0)


def compare(struct, types=TYPES):
    text = subprocess.run(['pahole', '-F', 'btf', '-C', struct, types], capture_output=True,
                          text=True, timeout=60).stdout
    truth = members(text)
    found = compiled([('', f'((struct {struct} *)$arg1)->{name}' + ('' if width else ':u8'))
                      for name, _, width in truth], types)
    assert [place_of(fetch) for fetch in found] == [(bit, width) for _, bit, width in truth]
    return truth


@pytest.mark.skipif(not TYPES.exists(), reason='this kernel has no BTF')
@pytest.mark.skipif(not shutil.which('pahole'), reason='pahole is not installed')
def test_offsets_are_those_of_pahole():
    all_members = [member for struct in STRUCTS for member in compare(struct)]
    assert len(all_members) > 1000 and sum(width > 0 for _, _, width in all_members) > 50


@pytest.mark.skipif(not TYPES.exists(), reason='this kernel has no BTF')
def test_functions_and_chains():
    port, name, absent, parameter = compiled([
        ('tcp_connect', 'sk->__sk_common.skc_dport'), ('vfs_open', 'path->dentry->d_name.name'),
        ('tcp_connect', 'sk->__sk_common.skc_dprot'), ('vfs_open', 'fille->f_flags')])
    assert re.fullmatch(r'\+\d+\(\$arg1\):u16', port)
    assert re.fullmatch(r'\+0\(\+\d+\(\+\d+\(\$arg1\)\)\):string', name)
    assert "struct sock_common has no member 'skc_dprot': did you mean 'skc_dport'?" in absent
    assert "no parameter 'fille': did you mean 'file'?" in parameter


def test_errors(root, tmp_path):
    damaged = tmp_path / 'types'
    damaged.write_bytes(b'\x9f\xeb\x01' + bytes(50))
    event = 'kprobe:tcp_connect//args=(p=sk->sk_family)/'
    for file, words in ((damaged, 'invalid type information (BTF)'),
                        (tmp_path / 'none', 'No such file')):
        done = run('trace', '--btf', file, '-e', event, '--', 'true')
        assert done.returncode in (1, 2) and words in done.stderr
    done = run('trace', '-e', 'uprobe:malloc//args=(p=sk->sk_family)/', '--', 'true')
    assert done.returncode == 2 and 'of structs of the kernel, not of programs' in done.stderr
    if TYPES.exists():
        done = run('trace', '-e', 'kprobe:tcp_connect//args=(p=$arg1 q=sk->__sk_common.skc_famly)/',
                   '--', 'true')
        assert done.returncode == 2
        assert "has no member 'skc_famly': did you mean 'skc_family'?" in done.stderr
        excerpt, caret = done.stderr.splitlines()[-2:]
        assert excerpt[caret.index('^'):].startswith('skc_famly')


CONNECT = '''import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
for i in range(3):
    c = socket.create_connection(s.getsockname())
    a, _ = s.accept()
    print("ports", s.getsockname()[1], c.getsockname()[1], flush=True)
    c.close(); a.close()
'''


@pytest.mark.guest('debian')
def test_ports_of_known_connections(tmp_path):
    (tmp_path / 'connect.py').write_text(CONNECT)
    event = ('kprobe:tcp_connect//args=(family=sk->__sk_common.skc_family '
             'hi=((struct sock *)$arg1)->__sk_common.skc_dport:b8@0/16 '
             'lo=sk->__sk_common.skc_dport:b8@8/16 own=sk->__sk_common.skc_num)/')
    done = guest.run('debian', 'sh', '-c', f"ip link set lo up; {ATTAR} trace -e '{event}' -- "
                     f'{guest.PYTHON} {tmp_path}/connect.py')
    assert done.returncode == 0, done.stderr
    ports = [tuple(map(int, line.split()[1:])) for line in done.stdout.splitlines()
             if line.startswith('ports')]
    found = [{key: int(value, 0) for key, value in re.findall(r'(\w+)=(\w+)', line)}
             for line in done.stdout.splitlines() if 'tcp_connect' in line]
    assert [(f['hi'] << 8 | f['lo'], f['own']) for f in found] == ports and len(ports) == 3
    assert all(f['family'] == 2 for f in found)


@pytest.mark.guest('debian')
def test_names_of_known_files(tmp_path):
    (tmp_path / 'known_name').write_text('x')
    done = guest.run('debian', ATTAR, 'trace', '-e', 'kprobe:vfs_open//args=('
                     'name=path->dentry->d_name.name flags=file->f_flags)/', '--', 'cat',
                     tmp_path / 'known_name')
    assert done.returncode == 0, done.stderr
    assert 'name="known_name"' in done.stdout


@pytest.mark.guest('debian')
def test_patterns_of_kernel_functions(tmp_path):
    """Each has its own parameters; what the kernel does not probe is said."""
    (tmp_path / 'known_name').write_text('x')
    done = guest.run('debian', ATTAR, 'trace', '-e', 'kprobe:vfs_{open,read}//args=('
                     'name=file->f_path.dentry->d_name.name)/', '--', 'cat',
                     tmp_path / 'known_name')
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if 'kprobe:vfs_read' in line]
    assert sum('known_name' in line for line in lines) == 2  # the byte, and the end
