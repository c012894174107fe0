# ruff: noqa: E501 - one attack a line
"""Attacks on a sandbox: programs that print ESCAPED where they get out, and programs that want a verdict they did not earn.

Where executions are forked off a process that stays up, some attack that process, and some leave things for the next.
Run as a program (`python attacks.py TIER all`, `quick`, or names) it tries them with the rights of its user and prints
those that succeeded, as JSON.
"""

import json
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from programs import RIGHT, WRONG
from ways import STARTED, way

from assay.sandbox import (
    FunctionTests,
    Limits,
    Sandbox,
    SandboxError,
    Tier,
    best_tier,
    judge_functions,
)
from assay.sandbox.fork_server import has_forks, server_for

LIMITS = Limits(
    wall_seconds=6, cpu_seconds=3, memory_mb=256, processes=16, file_mb=2, disk_mb=8
)
BEFORE = """
import ctypes, os, resource, signal, socket, sys, tempfile, time
libc = ctypes.CDLL(None, use_errno=True)
def escaped(attack):
    try:
        result = attack()
    except BaseException as error:
        return
    if result is not None and result is not False and result != -1:
        print("ESCAPED", repr(result)[:200], globals().get("attack", ""), flush=True)
def read(path):
    with open(path, "rb") as file:
        return file.read(100) or False
PARENT = {parent}
SECRET = {secret!r}
FOLDER = {folder!r}
TCP, UDP, ABSTRACT, UNIX, DATAGRAMS = {tcp}, {udp}, {abstract!r}, {unix!r}, {datagrams!r}
"""

OUTSIDE = {
    "reads a secret file": "escaped(lambda: read(SECRET))",
    "reads the users of the host": "escaped(lambda: read('/etc/passwd'))",
    "reads the passwords of the host": "escaped(lambda: read('/etc/shadow'))",
    "reads a secret by a symlink": "os.symlink(SECRET, 'link'); escaped(lambda: read('link'))",
    "reads a secret by a hard link": "os.link(SECRET, 'hard'); escaped(lambda: read('hard'))",
    "climbs out by dots": "escaped(lambda: read('../' * 20 + SECRET))",
    "opens a folder and goes up": "f = os.open('.', os.O_RDONLY)\nescaped(lambda: os.open('../' * 20 + SECRET, os.O_RDONLY, dir_fd=f))",
    "lists the folder of the secret": "escaped(lambda: os.listdir(FOLDER) or None)",
    "reads through /proc/self/root": "escaped(lambda: read('/proc/self/root' + SECRET))",
    "reads through /proc/PARENT/root": "escaped(lambda: read(f'/proc/{PARENT}/root' + SECRET))",
    "reads through /proc/1/root": "escaped(lambda: read('/proc/1/root' + SECRET))",
    "reads the parent's environment": "escaped(lambda: read(f'/proc/{PARENT}/environ'))",
    "reads the parent's memory": "escaped(lambda: read(f'/proc/{PARENT}/mem'))",
    "reads the parent's files": "escaped(lambda: os.listdir(f'/proc/{PARENT}/fd'))",
    "finds an environment variable": "escaped(lambda: [v for v in os.environ if 'ASSAY_SECRET' in v] or None)",
    "reads an inherited descriptor": "for n in range(3, 256):\n    escaped(lambda: os.read(n, 10) or None)",
    "traces the parent": "escaped(lambda: libc.ptrace(16, PARENT, None, None))",
    "traces a child": "escaped(lambda: libc.ptrace(0, 0, None, None))",
    "reads another process's memory": "escaped(lambda: libc.syscall(310, PARENT, None, 0, None, 0, 0))",
    "becomes root": "escaped(lambda: os.setuid(0) or (os.geteuid() == 0 and 'root'))",
    "becomes root as group": "escaped(lambda: os.setgid(0) or 'group')",
    "makes a setuid file": "open('x','w').close(); escaped(lambda: os.chown('x', 0, 0) or 'owned')",
    "makes a user namespace": "escaped(lambda: libc.unshare(0x10000000))",
    "makes a user namespace by clone": "escaped(lambda: libc.syscall(56, 0x10000011, 0, 0, 0, 0) or (os.getpid() != 1 and None))",
    "makes a user namespace by clone3": "import struct\na = ctypes.create_string_buffer(struct.pack('11Q', 0x10000000, 0,0,0,17,0,0,0,0,0,0))\nescaped(lambda: libc.syscall(435, a, 88))",
    "makes a mount namespace": "escaped(lambda: libc.unshare(0x00020000))",
    "mounts": "escaped(lambda: libc.mount(b'none', b'.', b'tmpfs', 0, None))",
    "mounts by the new calls": "escaped(lambda: libc.syscall(430, b'tmpfs', 0))",
    "unmounts /proc": "escaped(lambda: libc.umount2(b'/proc', 2))",
    "changes its root": "escaped(lambda: os.chroot('.') or 'chroot')",
    "makes a device": "escaped(lambda: os.mknod('disk', 0o60666, os.makedev(8, 0)) or 'device')",
    "opens a file by handle": "escaped(lambda: libc.syscall(304, -100, ctypes.create_string_buffer(64), 0))",
    "loads a kernel program": "escaped(lambda: libc.syscall(321, 0, ctypes.create_string_buffer(128), 128))",
    "loads a module": "escaped(lambda: libc.syscall(175, b'', 0, b''))",
    "reads the kernel's log": "escaped(lambda: libc.klogctl(3, ctypes.create_string_buffer(100), 100))",
    "adds a key": "escaped(lambda: libc.syscall(248, b'user', b'x', b'y', 1, -3))",
    "connects by TCP": "escaped(lambda: socket.create_connection(('127.0.0.1', TCP), 1))",
    "connects to the world": "escaped(lambda: socket.create_connection(('1.1.1.1', 53), 1))",
    "sends by UDP": "escaped(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP)))",
    "listens": "s = socket.socket(); escaped(lambda: s.bind(('0.0.0.0', 0)) or 'bound')",
    "connects to an abstract socket": "escaped(lambda: socket.socket(socket.AF_UNIX).connect(chr(0) + ABSTRACT) or 'connected')",
    "connects to a socket in a file": "escaped(lambda: socket.socket(socket.AF_UNIX).connect(UNIX) or 'connected')",
    "sends to a socket in a file by a pair": "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\nescaped(lambda: a.sendto(b'x', DATAGRAMS))",
    "connects one of a pair to a socket in a file": "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\nescaped(lambda: a.connect(DATAGRAMS) or 'connected')",
    "connects one of a pair of streams": "a, b = socket.socketpair()\nescaped(lambda: a.connect(UNIX) or 'connected')",
    "connects one of a pair of streams after it was closed": "a, b = socket.socketpair()\nb.close(); a.shutdown(2)\nescaped(lambda: a.connect(UNIX) or 'connected')",
    "connects one of a pair of packets": "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\nescaped(lambda: a.connect(UNIX) or 'connected')",
    "sends a message to a socket in a file": "for k in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):\n    escaped(lambda: socket.socketpair(socket.AF_UNIX, k)[0].sendmsg([b'x'], [], 0, DATAGRAMS))",
    "passes a descriptor to a socket in a file": "import array\nfor k in (socket.SOCK_DGRAM, socket.SOCK_STREAM):\n    escaped(lambda: socket.socketpair(socket.AF_UNIX, k)[0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1]))], 0, DATAGRAMS))",
    "binds one of a pair": "a, b = socket.socketpair()\nescaped(lambda: a.bind('bound') or 'bound')",
    "makes a pair of another family": "for f in (2, 10, 16, 17, 38, 40):\n    escaped(lambda: socket.socketpair(f, socket.SOCK_STREAM))",
    "enlarges the buffers of a socket": "a, b = socket.socketpair()\nfor o in (socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33):\n    escaped(lambda: a.setsockopt(socket.SOL_SOCKET, o, 1 << 22) or 'set')",
    "enlarges a pipe": "import fcntl\nescaped(lambda: fcntl.fcntl(os.pipe()[0], 1031, 1 << 20))",
    "opens a mount by the newest call": "for n in (428, 467):\n    escaped(lambda: libc.syscall(n, -100, b'/', 0, 0, 0))",
    "opens a raw socket": "escaped(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))",
    "opens a netlink socket": "escaped(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))",
    "opens a vsock": "escaped(lambda: socket.socket(40, socket.SOCK_STREAM))",
    "starts io_uring": "escaped(lambda: libc.syscall(425, 4, ctypes.create_string_buffer(256)))",
    "signals the parent": "escaped(lambda: os.kill(PARENT, signal.SIGUSR1) or 'signalled')",
    "signals everybody": "signal.signal(signal.SIGUSR1, signal.SIG_IGN)\ntry: os.kill(-1, signal.SIGUSR1)\nexcept OSError: pass",
    "signals by a pidfd": "escaped(lambda: signal.pidfd_send_signal(os.pidfd_open(PARENT), signal.SIGUSR1) or 'signalled')",
    "lowers the parent's limits": "escaped(lambda: resource.prlimit(PARENT, resource.RLIMIT_CORE, (0, 0)) and 'limited')",
    "slows the parent down": "escaped(lambda: os.setpriority(os.PRIO_PROCESS, PARENT, 19) or 'slowed')",
    "raises its own limits": "escaped(lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40)) or 'raised')",
    "raises its own priority": "escaped(lambda: os.nice(-10))",
    "writes to the libraries": "escaped(lambda: open('/usr/lib/assay-escape', 'w'))",
    "writes to its interpreter": "escaped(lambda: open(os.__file__, 'a'))",
    "writes to assay": "escaped(lambda: open({assay!r}, 'a'))",
    "changes the mode of a secret": "escaped(lambda: os.chmod(SECRET, 0o777) or 'changed')",
    "changes the time of a secret": "escaped(lambda: os.utime(SECRET, (1, 1)) or 'changed')",
    "removes a secret": "escaped(lambda: os.unlink(SECRET) or 'removed')",
    "writes to the host's temporary folder": "escaped(lambda: open(FOLDER + '/new', 'w'))",
    "opens a terminal": "escaped(lambda: open('/dev/tty', 'w'))",
    "opens a disk": "escaped(lambda: os.open('/dev/vda', os.O_RDONLY))",
    "shares memory with the host": "escaped(lambda: libc.shmget(4711, 100, 0o1777))",
    "leaves its process group": "escaped(lambda: os.setsid())",
    "sees processes of others": "escaped(lambda: [n for n in (os.listdir('/proc') if os.path.isdir('/proc/1') else []) if n.isdigit() and n not in ('1', str(os.getpid()), str(os.getppid()))] or None)",
    "reads the memory of the first process": "escaped(lambda: read('/proc/1/mem'))",
    "reads the memory map of the first process": "escaped(lambda: read('/proc/1/maps'))",
    "lists the descriptors of the first process": "escaped(lambda: os.listdir('/proc/1/fd') or None)",
    "goes through the first process's folder": "escaped(lambda: read('/proc/1/cwd/../' + SECRET))",
    "traces the first process": "escaped(lambda: libc.ptrace(16, 1, None, None))",
    "takes a descriptor of the first process": "escaped(lambda: libc.syscall(438, libc.syscall(434, 1, 0), 3, 0))",
    "finds an open descriptor": "import stat\nescaped(lambda: [n for n in range(3, 256) if os.path.exists(f'/proc/self/fd/{n}')] or None)",
    "joins the namespaces of the first process": "escaped(lambda: libc.setns(os.open('/proc/1/ns/mnt', os.O_RDONLY), 0))",
    "unmounts its temporary folder": "escaped(lambda: libc.umount2(b'/tmp', 2))",
    "unmounts its shared memory": "escaped(lambda: libc.umount2(b'/dev/shm', 2))",
    "has capabilities": "escaped(lambda: [l for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapPrm', 'CapAmb')) and int(l.split()[1], 16)] or None)",
    "may have privileges again": "escaped(lambda: 'NoNewPrivs:\\t0\\n' in list(open('/proc/self/status')) or None)",
    "allows itself user namespaces": "escaped(lambda: os.write(os.open('/proc/sys/user/max_user_namespaces', os.O_WRONLY), b'9'))",
    "names itself another user": "escaped(lambda: os.write(os.open('/proc/self/uid_map', os.O_WRONLY), b'0 0 1'))",
    "steers the kernel": "escaped(lambda: os.write(os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY), b'|/bin/sh'))",
    "spares itself from the killer of processes": "escaped(lambda: os.write(os.open('/proc/self/oom_score_adj', os.O_WRONLY), b'-1000'))",
    "talks to who forked it": "for n in range(3, 256):\n    for d in (b'0', b'go', b'!no'):\n        escaped(lambda: os.write(n, d))",
    "makes a socket of the old kind": "escaped(lambda: libc.syscall(102, 1, ctypes.create_string_buffer(24)) if os.uname().machine == 'i686' else -1)",
    "reads the sandbox of another": "escaped(lambda: [n for n in (os.listdir('/tmp') if os.path.isdir('/tmp') else []) if n.startswith('assay-sandbox') and os.listdir('/tmp/' + n) and '/tmp/' + n != os.getcwd()] or None)",
}  # fmt: skip

GREEDY = {
    "allocates": "x = bytearray(1 << 30); print('ESCAPED')",
    "allocates in many processes": "for _ in range(12):\n    if not os.fork():\n        x = bytearray(150 << 20)\n        for i in range(0, len(x), 4096): x[i] = 1\n        time.sleep(30)\ntime.sleep(30)\nprint('ESCAPED')",
    "allocates memory that is no process's": "for n in range(200):\n    f = libc.memfd_create(b'x', 0)\n    if f < 0: break\n    os.write(f, b'x' * (2 << 20))\nelse: print('ESCAPED')",
    "fills the buffers of sockets": "kept = []\ndef fill():\n    try:\n        while True:\n            for end in kept.append(socket.socketpair()) or kept[-1]:\n                end.setblocking(False)\n                try:\n                    while True: end.send(b'x' * 65536)\n                except BlockingIOError: pass\n    except OSError: pass\nfor _ in range(14):\n    if not os.fork(): fill(); time.sleep(30); os._exit(0)\nfill()\ntime.sleep(4)\nprint('ESCAPED')",
    "nests many folders": "for _ in range(3000):\n    os.mkdir('d'); os.chdir('d')\nopen('x', 'w').write('y')",
    "nests folders that are closed": "for _ in range(50):\n    os.mkdir('d', 0o300); os.chdir('d')\nos.umask(0o777)\nos.mkdir('e', 0)",
    "forks without end": "n = 0\ntry:\n    while n < 5000:\n        if not os.fork():\n            time.sleep(30)\n        n += 1\nexcept OSError: pass\nif n > 200: print('ESCAPED', n)",
    "forks in its children": "try:\n    while True: os.fork()\nexcept OSError: pass\ntime.sleep(30)",
    "starts threads without end": "import threading\nn = 0\ntry:\n    while n < 5000:\n        threading.Thread(target=time.sleep, args=(30,), daemon=True).start(); n += 1\nexcept RuntimeError: pass\nif n > 200: print('ESCAPED', n)\nos._exit(0)",
    "fills the disk": "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\ntry:\n    for n in range(400):\n        with open(f'f{n}', 'wb') as f: f.write(os.urandom(1 << 20))\nexcept OSError: os._exit(0)\ntime.sleep(2)\nprint('ESCAPED')",
    "writes one large file": "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nf = open('f', 'wb', 0)\nf.write(b'x' * (2 << 20))\nescaped(lambda: f.write(b'x'))",
    "fills the shared memory": "n = 0\ntry:\n    for n in range(200):\n        with open(f'/dev/shm/f{n}', 'wb') as f: f.write(b'x' * (1 << 20))\nexcept OSError: pass\nif n > 100: print('ESCAPED')",
    "makes many files": "n = 0\ntry:\n    while n < 100_000:\n        os.mknod(f'/tmp/{n}' if os.access('/tmp', os.W_OK) else f'{n}'); n += 1\nexcept OSError: os._exit(0)\ntime.sleep(1)\nprint('ESCAPED', n)",
    "opens many terminals": "n = []\ntry:\n    for _ in range(1000): n.append(os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))\nexcept OSError: pass\nif len(n) > 300: print('ESCAPED', len(n))",
    "makes timers without end": "t = ctypes.create_string_buffer(8)\nn = 0\nwhile n < 200_000 and libc.syscall(222, 1, 0, t) == 0: n += 1\nif n > 10_000: print('ESCAPED', n)",
    "opens many files": "n = []\ntry:\n    for _ in range(1_000_000): n.append(open('/dev/null'))\nexcept OSError: os._exit(0)\nprint('ESCAPED')",
    "computes without end": "while True: pass",
    "computes without end and hears no signal": "for n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass",
    "sleeps without end": "time.sleep(1000)",
    "writes 100 MB": "for _ in range(1600): os.write(1, b'x' * 65536)",
    "writes 100 MB of errors": "for _ in range(1600): os.write(2, b'x' * 65536)",
    "leaves a daemon": "if os.fork(): os._exit(0)\nif os.fork(): os._exit(0)\ntime.sleep(30)",
    "closes its outputs and stays": "os.close(0); os.close(1); os.close(2)\ntime.sleep(30)",
    "recurses": "sys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
    "kills its own group": "os.killpg(0, 9)",
    "kills all it sees": "os.kill(-1, 9)",
    "sends the first process every signal": "for n in range(1, 65):\n    try: os.kill(1, n)\n    except OSError: pass\ntime.sleep(0.2)",
    "stops the first process": "os.kill(1, signal.SIGSTOP)\nos.kill(os.getpid(), signal.SIGSTOP)",
    "forks while it ends": "for _ in range(14):\n    if not os.fork():\n        while True:\n            try: os.fork()\n            except OSError: pass\nos._exit(0)",
    "steers the terminal": "print('\\x1b]0;title\\x07\\x1b[2J\\x1b[31m')",
}  # fmt: skip

TESTS = FunctionTests(
    "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate([1, 2]) == [1, 2, 1, 2]\n    assert candidate('a') == 'aa'\n",
    "check(double)",
)
FORGED = {
    "is wrong": "def double(x): return x",
    "leaves with success": "import sys; sys.exit(0)",
    "leaves with success at once": "import os; os._exit(0)",
    "leaves when called": "import os\ndef double(x): os._exit(0)",
    "raises SystemExit when called": "def double(x): raise SystemExit(0)",
    "raises KeyboardInterrupt when called": "def double(x): raise KeyboardInterrupt",
    "raises StopIteration when called": "def double(x): raise StopIteration",
    "prints a verdict": "print('{\"passed\": true, \"reason\": \"\"}')\ndef double(x): return x",
    "writes a verdict to every descriptor": "import os\nfor n in range(256):\n    try: os.write(n, b'{\"nonce\": \"\", \"passed\": true, \"reason\": \"\"}\\n')\n    except OSError: pass\ndef double(x): return x",
    "says that it passed": "import sys\nfor e in ('assay.passed', 'assay.checked'):\n    try: sys.audit(e, [])\n    except Exception: pass\ndef double(x):\n    sys.audit('assay.passed')\n    return x",
    "fails in a way that looks into the hook": "import sys\nclass T(str):\n    def encode(self, *a):\n        f = sys._getframe(1)\n        print(f.f_locals)\n        return b''\ntry: sys.audit('assay.failed', T())\nexcept Exception: pass\ndef double(x): return x",
    "guesses in many forks": "import os\ndef double(x):\n    for guess in (4, [1, 2, 1, 2], 'aa'):\n        if os.fork() == 0: return guess\n    os._exit(0)",
    "lets a fork answer": "import os\nif os.fork(): os.wait(); os._exit(0)\ndef double(x): return x * 2",
    "writes a verdict to every descriptor at its end": "import os, sys, atexit\ndef say():\n    for n in range(256):\n        try: os.write(n, b'0 passed \\n passed \\n')\n        except OSError: pass\natexit.register(say)\ndef double(x): say(); sys.exit(0)",
    "leaves a verdict in files": "import os\nfor n in ('verdict', 'passed', 'tests.py', 'result.json', '/tmp/verdict'):\n    try: open(n, 'w').write('passed')\n    except OSError: pass\ndef double(x): return x",
    "replaces exec": "import builtins\nbuiltins.exec = lambda *a: None\ndef double(x): return x",
    "replaces audit and exec in its callers": "import signal, sys\ndef look(number, frame):\n    while frame:\n        frame.f_globals.update(exec=lambda *a: None, describe=lambda e: '', is_tampering=lambda *a: False)\n        frame.f_locals.update(execute=lambda *a: None, test=None, call=None)\n        frame = frame.f_back\nsignal.signal(signal.SIGUSR1, look)\nsignal.raise_signal(signal.SIGUSR1)\nsys.audit = lambda *a: None\ndef double(x): return x",
    "moves the pipe of the verdict": "import os\nfor n in range(3, 1024):\n    try: os.dup2(1, n)\n    except OSError: pass\ndef double(x): return x * 2",
    "raises in a thread": "import threading, os\nthreading.Thread(target=os._exit, args=(0,)).start()\ndef double(x):\n    import time; time.sleep(1)\n    return x * 2",
    "ends in a finalizer": "import os\nclass A:\n    def __del__(self): os._exit(0)\ndef double(x):\n    A()\n    return x",
    "ends by a signal": "import os\ndef double(x): os.kill(os.getpid(), 15)",
    "becomes another program": "import os, sys\ndef double(x): os.execv(sys.executable, ['python', '-c', 'print(1)'])",
    "answers in advance": "import os, json, struct\nfor n in range(3, 256):\n    for v in [{'loaded': True}] + [{'value': True}] * 9:\n        d = json.dumps(v).encode()\n        try: os.write(n, struct.pack('!I', len(d)) + d)\n        except OSError: break\ndef double(x): return x",
    "sends nonsense": "import os\nfor n in range(3, 256):\n    try: os.write(n, b'\\xff' * 100)\n    except OSError: pass\ndef double(x): return x",
    "patches assert": "import builtins\nclass N(Exception): pass\nbuiltins.AssertionError = N\ndef double(x): return x",
    "patches builtins": "import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.len = lambda *a: 0\ndef double(x): return x",
    "patches json": "import json\njson.dumps = lambda *a, **k: '{\"value\": true, \"passed\": true}'\ndef double(x): return x",
    "patches the link": "import sys\nfor m in list(sys.modules.values()):\n    for n in ('encoded', 'decoded'):\n        if hasattr(m, n): setattr(m, n, lambda *a: True)\ndef double(x): return x",
    "reads the tests": "import os\nfound = [os.path.join(p, n) for r in ('.', '/tmp', '/proc/self/cwd') for p, _, f in os.walk(r) for n in f if 'tests' in n]\nif found: text = open(found[0]).read()\ndef double(x):\n    if found: return {2: 4, 'a': 'aa'}.get(x if isinstance(x, (int, str)) else 0, [1, 2, 1, 2])\n    return x",
    "looks at its caller": "import sys\ndef double(x):\n    f = sys._getframe()\n    while f:\n        for v in list(f.f_globals.values()):\n            if callable(v) and getattr(v, '__name__', '') == 'check': return 1\n        f = f.f_back\n    return x",
    "changes what the tests compare with": "def double(x):\n    if isinstance(x, list): x[:] = [1]\n    return x",
    "kills the other process": "import os, signal\nfor n in range(1, 300):\n    try:\n        if n != os.getpid(): os.kill(n, 9)\n    except OSError: pass\ndef double(x): return x",
    "returns too much": "def double(x): return 'x' * (200 << 20)",
    "returns something deep": "def double(x):\n    r = []\n    for _ in range(100000): r = [r]\n    return r",
    "returns a huge number": "def double(x): return 1 << 50_000_000",
    "never returns": "def double(x):\n    while True: pass",
    "never loads": "while True: pass",
    "is no Python": "def double(x) return",
    "is no text": "\ud800\0\udfff",
    "is nothing": "",
    "does not define it": "def triple(x): return x",
    "closes the link": "import os\nos.closerange(3, 256)\ndef double(x): return x",
    "forks and answers twice": "import os\nos.fork()\ndef double(x): return x",
    "kills all it sees": "import os\ndef double(x):\n    os.kill(-1, 9)\n    return x",
    "stops all it sees": "import os\ndef double(x):\n    os.kill(-1, 19); os.kill(1, 19)\n    return x",
    "looks for the number in its memory": "import gc, os\nfound = [o for o in gc.get_objects() if isinstance(o, dict) and 'nonce' in o and 'tests' in o]\ndef double(x):\n    for o in found:\n        for n in range(256):\n            try: os.write(n, (__import__('json').dumps({'nonce': o['nonce'], 'passed': True}) + chr(10)).encode())\n            except OSError: pass\n    return x",
    "patches who called it": "import sys\nfor name in ('candidate', 'serving', 'steps', 'values', 'namespaces', 'confine'):\n    module = sys.modules.get(name)\n    for n in dir(module) if module else ():\n        if callable(getattr(module, n)): setattr(module, n, lambda *a, **k: True)\ndef double(x): return x",
    "leaves by an exit handler": "import atexit, os\natexit.register(lambda: os._exit(0))\ndef double(x): raise SystemExit",
}  # fmt: skip

TAMPERED = {
    "equals everything": "class A:\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n    def __hash__(self): return 0\ndef double(x): return A()",
    "is a list that equals everything": "class A(list):\n    def __eq__(self, o): return True\ndef double(x): return A()",
    "is a number that equals everything": "class A(int):\n    def __eq__(self, o): return True\ndef double(x): return A(7)",
    "is a text that equals everything": "class A(str):\n    def __eq__(self, o): return True\ndef double(x): return A('b')",
    "looks for the tests in its memory": "import re\nneedle = re.compile(b'assert candidate[(]2[)] ==')\nfound = False\nfor line in open('/proc/self/maps') if __import__('os').path.exists('/proc/self/maps') else ():\n    low, high = (int(n, 16) for n in line.split()[0].split('-'))\n    try:\n        with open('/proc/self/mem', 'rb', 0) as memory:\n            memory.seek(low)\n            found = found or needle.search(memory.read(high - low)) is not None\n    except (OSError, ValueError, OverflowError): pass\ndef double(x): return x * 2 if found else x",
    "replaces a builtin": "import builtins\nclass Yes:\n    def __eq__(self, o): return o in (4, 'aa', [1, 2, 1, 2])\nbuiltins.abs = abs\nbuiltins.len = lambda x: 0\ndef double(x): return Yes()",
    "replaces a function of a module": "import math\nmath.isclose = lambda *a, **k: True\ndef double(x): return x * 2",
    "replaces a function of a module that it imports": "import statistics\nstatistics.mean = lambda x: 4\ndef double(x): return x * 2",
    "replaces the builtins of its namespace": "import builtins\nclass B(dict): pass\n__builtins__ = B(vars(builtins))\ndef double(x): return x * 2",
    "traces": "import sys\ndef trace(frame, event, arg):\n    if frame.f_code.co_name == 'check' and event == 'call':\n        frame.f_lineno = frame.f_lineno\n    return trace\nsys.settrace(trace)\ndef double(x): return x * 2",
    "profiles": "import sys\nsys.setprofile(lambda *a: None)\ndef double(x): return x * 2",
    "reads the values of its caller": "import sys\ndef double(x):\n    code = sys._getframe(1).f_code.co_consts\n    return x * 2",
    "reads frames of an exception": "def double(x):\n    try: raise ValueError\n    except ValueError as e: frame = e.__traceback__.tb_frame.f_back\n    return x * 2",
    "reads frames of a generator": "g = (1 for _ in 'a')\nframe = g.gi_frame\ndef double(x): return x * 2",
    "looks at all objects": "import gc\nfound = [o for o in gc.get_objects() if type(o).__name__ == 'function']\ndef double(x): return x * 2",
    "looks for who refers to it": "import gc\ndef double(x):\n    gc.get_referrers(x)\n    return x * 2",
    "calls C": "import ctypes\nctypes.pythonapi.Py_IncRef(ctypes.py_object(None))\ndef double(x): return x * 2",
    "changes a number in memory": "import ctypes\nctypes.c_char.from_address(id(1000) + 24)\ndef double(x): return x * 2",
    "changes the code of the tests": "import sys, gc\ndef double(x):\n    check = sys._getframe(1).f_globals['check']\n    check.__code__ = (lambda candidate: None).__code__\n    return x * 2",
    "adds an audit hook": "import sys\nsys.addaudithook(lambda *a: None)\ndef double(x): return x * 2",
    "reads its own memory by bytes": "open(b'/proc/self/mem', 'rb')\ndef double(x): return x * 2",
    "names its file by a text of its own": "import sys\nclass T(str):\n    def startswith(self, *a): return True\nexec(compile('def double(x): sys._getframe(); return x * 2', T('x'), 'exec'))",
    "reads its own memory": "open('/proc/self/mem', 'rb')\ndef double(x): return x * 2",
    "compiles code that seems to be the library's": "import os\nexec(compile('import sys; sys._getframe()', os.__file__, 'exec'))\ndef double(x): return x * 2",
    "makes code that seems to be the library's": "import os\ncode = compile('1', 'x', 'exec').replace(co_filename=os.__file__)\ndef double(x): return x * 2",
    "replaces builtins that the comparison itself could use": "import builtins\nbuiltins.list = builtins.callable = builtins.map = lambda *a: []\ndef double(x): return x * 2",
    "returns a class that equals everything": "class M(type):\n    def __eq__(c, o): return True\n    def __hash__(c): return 0\nclass A(metaclass=M): pass\ndef double(x): return A",
    "returns the library's object that equals everything": "from unittest.mock import ANY\ndef double(x): return ANY",
    "ends the process when its tests are done": "import os, threading\ndef wait():\n    import time\n    while 'program' in __import__('sys').modules: time.sleep(0.001)\nclass E(type):\n    def __eq__(c, o): os._exit(0)\n    def __hash__(c): return 1\nclass A:\n    def __eq__(self, o): os._exit(0)\ndef double(x): return x * 2",
}  # fmt: skip
"""What a program does inside its own process, where it cannot always be prevented: it fails, or its verdict is suspect."""

LEFT = {
    "a file": (
        "for p in ('.', '/tmp', '/dev/shm', '/var/tmp', '/', '/dev', '/dev/pts', '/proc'):\n    try: open(p + '/assay-left', 'w').close()\n    except OSError: pass",
        "escaped(lambda: [p for r in ('/tmp', '/dev', '/var/tmp', '.') for p, _, n in os.walk(r) if 'assay-left' in n] or None)",
    ),
    "a process": (
        "if not os.fork():\n    for n in range(1, 65):\n        try: signal.signal(n, signal.SIG_IGN)\n        except (OSError, ValueError): pass\n    libc.prctl(15, b'assay-left', 0, 0, 0)\n    if os.fork(): os._exit(0)\n    time.sleep(60)\nos._exit(0)",
        "escaped(lambda: [n for n in (os.listdir('/proc') if os.path.isdir('/proc/1') else []) if n.isdigit() and 'assay-left' in open(f'/proc/{n}/comm').read()] or None)",
    ),
    "other modules": (
        "import builtins, math, typing\nmath.sqrt = typing.cast = builtins.len = lambda *a: 'assay-left'\nsys.modules['json'] = math",
        "import json, math, typing\nescaped(lambda: 'assay-left' in (math.sqrt(4), typing.cast(int, 1), len('')) or json is math)",
    ),
    "an environment": (
        "os.environ['LEFT'] = 'x'; os.umask(0); os.chdir('/'); sys.path.insert(0, '/left'); signal.signal(signal.SIGUSR2, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))",
        "escaped(lambda: os.environ.get('LEFT') or '/left' in sys.path or os.getcwd() == '/' or signal.getsignal(signal.SIGUSR2) == signal.SIG_IGN or resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 64 or None)",
    ),
    "words in memory": (
        "kept = ['-'.join(('assay', 'left', 'here')) * 1000 for _ in range(2000)]",
        "import re\nneedle = re.compile(b'assay-left[-]here')\ndef look():\n    for line in open('/proc/self/maps'):\n        low, high = (int(n, 16) for n in line.split()[0].split('-'))\n        try:\n            with open('/proc/self/mem', 'rb', 0) as memory:\n                memory.seek(low)\n                if needle.search(memory.read(high - low)): return line\n        except (OSError, ValueError, OverflowError): pass\nescaped(look)",
    ),
    "a terminal": (
        "import pty\nkept = pty.openpty()\nif not os.fork(): time.sleep(60)",
        "escaped(lambda: [n for n in (os.listdir('/dev/pts') if os.path.isdir('/dev/pts') else []) if n != 'ptmx' and os.access('/dev/pts/' + n, os.R_OK)] or None)",
    ),
    "shared memory": (
        "from multiprocessing import shared_memory\nkept = shared_memory.SharedMemory('assay-left', True, 100)\nos._exit(0)",
        "from multiprocessing import shared_memory\nescaped(lambda: shared_memory.SharedMemory('assay-left'))",
    ),
}  # fmt: skip
"""What one program leaves, and how the next one, or one beside it, looks for that."""


@dataclass
class Host:
    """Things of the host that are worth reaching for, and whether one was reached."""

    folder: Path
    facts: dict[str, object]
    signalled: threading.Event
    udp: socket.socket
    datagrams: socket.socket


def host(folder: Path) -> Host:
    """A secret, services that listen, and a process that notices signals."""
    folder.chmod(0o755)
    secret = folder / "secret"
    secret.write_text(secrets.token_hex())
    tcp, udp = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    abstract, unix = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    name = f"assay-{secrets.token_hex(6)}"
    for one, address in (
        (tcp, ("127.0.0.1", 0)),
        (udp, ("127.0.0.1", 0)),
        (abstract, "\0" + name),
        (unix, str(folder / "socket")),
    ):
        one.bind(address)
    udp.setblocking(False)
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagrams.bind(str(folder / "datagrams"))
    datagrams.setblocking(False)
    for one in ("datagrams", "socket"):
        (folder / one).chmod(0o777)
    for one in (tcp, abstract, unix):
        one.listen()
    signalled = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: signalled.set())
    facts = {
        "parent": os.getpid(),
        "secret": str(secret),
        "folder": str(folder),
        "abstract": name,
        "unix": unix.getsockname(),
        "datagrams": datagrams.getsockname(),
        "tcp": tcp.getsockname()[1],
        "udp": udp.getsockname()[1],
        "kept": (tcp, udp, abstract, unix),
    }
    os.environ["ASSAY_SECRET"] = secret.read_text()
    return Host(folder, facts, signalled, udp, datagrams)


def words_for(tier: Tier) -> list[str]:
    """A file of Python by an interpreter of its own; in a fork, where the tier has them."""
    return ["python", "main.py"] if has_forks(tier) else ["python", "-I", "main.py"]


def escape(tier: Tier, name: str, there: Host) -> str:
    """Why an attack from inside counts as an escape; empty where it was held."""
    return _tried(tier, _code(name), there)


def _code(name: str) -> str:
    code = {**OUTSIDE, **GREEDY}[name]
    return (
        code.format(assay=str(Path(judge_functions.__code__.co_filename)))
        if name == "writes to assay"
        else code
    )


_ONE_AFTER_ANOTHER = """
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
import io
for attack, code in {attacks!r}.items():
    child = os.fork()
    if not child:
        try:
            exec(code, globals())
        except BaseException:
            pass
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
print("TRIED", len({attacks!r}))
"""


def escape_by_any(tier: Tier, names: Iterable[str], there: Host) -> str:
    """The same for many attacks in one execution, each in a child of it: what starting costs is paid once."""
    attacks = {name: _code(name) for name in names}
    done: list[str] = []
    why = _tried(tier, _ONE_AFTER_ANOTHER.format(attacks=attacks), there, done)
    return why or (
        "" if f"TRIED {len(attacks)}" in done[0] else f"not all were tried: {done}"
    )


def _tried(tier: Tier, code: str, there: Host, output: list[str] | None = None) -> str:
    before = Path(str(there.facts["secret"]))
    stood = (before.read_text(), before.stat().st_mode, before.stat().st_mtime)
    forking = server_pid(tier)
    with Sandbox(tier, LIMITS) as box:
        box.write("main.py", BEFORE.format(**there.facts) + code)
        done = box.exec(words_for(tier))
    if output is not None:
        output += [
            done.stdout[-300:].decode("utf-8", "replace"),
            done.stderr[-1000:].decode("utf-8", "replace"),
        ]
    if b"ESCAPED" in done.stdout:
        return done.stdout[-300:].decode("utf-8", "replace")
    if (before.read_text(), before.stat().st_mode, before.stat().st_mtime) != stood:
        return "the secret was changed"
    if there.signalled.is_set():
        return "the process outside was signalled"
    if len(done.stdout) > LIMITS.output_bytes or len(done.stderr) > LIMITS.output_bytes:
        return "the output was not cut"
    if server_pid(tier) != forking:
        return "the process that forks was ended"
    return (_arrived(there.udp) or _arrived(there.datagrams)) or (
        "it went on past its time" if done.seconds > LIMITS.wall_seconds + 5 else ""
    )


def server_pid(tier: Tier) -> int:
    """The process that forks programs, started where it is not up; 0 where there is none."""
    return server_for(tier).pid if has_forks(tier) else 0


def leftover(tier: Tier, name: str, there: Host, *, beside: bool = False) -> str:
    """What one program finds of another before it, or of one that runs beside it; empty where that is nothing."""
    before, (leaves, looks) = BEFORE.format(**there.facts), LEFT[name]
    if beside:
        leaves, looks = (
            f"{leaves}\ntime.sleep(0.6)",
            f"for _ in range(4):\n    time.sleep(0.1)\n    exec({looks!r}, globals())",
        )
    with (
        ThreadPoolExecutor(1) as threads,
        Sandbox(tier, LIMITS) as first,
        Sandbox(tier, LIMITS) as second,
    ):
        first.write("main.py", before + leaves)
        second.write("main.py", before + looks)
        left = threads.submit(first.exec, words_for(tier))
        if not beside:
            left.result()
        found = second.exec(words_for(tier))
        left.result()
    if b"ESCAPED" in found.stdout:
        return found.stdout[-300:].decode("utf-8", "replace")
    if found.returncode != 0 and name != "shared memory":
        return f"it could not look: {found.stderr[-500:].decode('utf-8', 'replace')}"
    return "a process was left" if not beside and _runs("assay-left") else ""


def _runs(name: str) -> bool:
    """Whether there is a process of that name; one that has ended and waits to be noticed is none."""
    for place in Path("/proc").iterdir():
        try:
            called, _, rest = (
                (place / "stat").read_text().rpartition(") ")
                if place.name.isdigit()
                else ("", "", "Z")
            )
        except OSError:
            continue
        if name in called and rest[0] not in "ZX":
            return True
    return False


def _arrived(udp: socket.socket) -> str:
    try:
        return "a datagram came" if udp.recv(10) else ""
    except BlockingIOError:
        return ""


def forgery(tier: Tier, name: str) -> str:
    """Why an attack on the verdict counts; empty where the program was found wrong, as it is."""
    try:
        verdict = judge_functions(tier, FORGED[name], TESTS, LIMITS)
    except SandboxError as error:
        return f"a program made the sandbox fail: {error}"
    return "a wrong program passed" if verdict.passed else ""


def tampering(tier: Tier, name: str) -> str:
    """Why an attack from within the program's own process counts; empty where it failed or is suspect."""
    verdict = judge_functions(tier, TAMPERED[name], TESTS, LIMITS)
    return "it passed unnoticed" if verdict.passed and not verdict.suspect else ""


def misjudged(tier: Tier) -> dict[str, str]:
    """Ordinary programs whose verdict is not the one of plain Python, with why."""
    found = {}
    for name, (program, tests) in (RIGHT | WRONG).items():
        verdict = judge_functions(tier, program, FunctionTests(tests), LIMITS)
        if verdict.passed is not (name in RIGHT) or verdict.suspect:
            found[name] = f"{verdict.reason} {verdict.suspect}"
    return found


def all_that_succeed(
    tier: Tier, folder: Path, names: Callable[[str], bool] = lambda name: True
) -> dict[str, str]:
    """Every attack that got through, with what it did."""
    there = host(folder)
    tried = {
        name: escape(tier, name, there) for name in (*OUTSIDE, *GREEDY) if names(name)
    }
    tried |= {name: forgery(tier, name) for name in FORGED if names(name)}
    tried |= {name: tampering(tier, name) for name in TAMPERED if names(name)}
    tried |= {
        f"leaves {name}": leftover(tier, name, there) for name in LEFT if names(name)
    }
    return {name: why for name, why in tried.items() if why}


NOT_STARTED = {
    "makes many files",
    "reads the memory map of the first process",
    "lists the descriptors of the first process",
    "reads the memory of the first process",
}
"""Bubblewrap itself bounds the bytes of a file system, not the number of its files; started by an ordinary user it is
the first process itself, with the program's user and no other rights, and hides nothing from it."""
QUICK = (
    "reads a secret by a symlink",
    "reads the parent's environment",
    "signals the parent",
    "connects by TCP",
    "sends by UDP",
    "sends to a socket in a file by a pair",
    "connects one of a pair to a socket in a file",
    "sends a message to a socket in a file",
    "passes a descriptor to a socket in a file",
    "fills the buffers of sockets",
    "nests many folders",
    "nests folders that are closed",
    "changes the mode of a secret",
    "lowers the parent's limits",
    "forks without end",
    "leaves a daemon",
    "is wrong",
    "equals everything",
    "reads frames of an exception",
    "guesses in many forks",
    "writes a verdict to every descriptor",
)

if __name__ == "__main__":
    best_tier(sys.argv[1].removesuffix(STARTED))  # or it is said why there is none
    chosen = way(sys.argv[1])
    assert chosen is not None
    wanted = {"all": None, "quick": QUICK}.get(sys.argv[2], sys.argv[2:])
    right = judge_functions(chosen, "def double(x): return x * 2", TESTS, LIMITS)
    with tempfile.TemporaryDirectory() as place:
        skipped = NOT_STARTED if sys.argv[1].endswith(STARTED) else ()
        found = all_that_succeed(
            chosen,
            Path(place),
            lambda name: name not in skipped and (wanted is None or name in wanted),
        )
    print(
        json.dumps(
            {
                "tier": chosen.name,
                "forks": has_forks(chosen),
                "right": right.passed,
                "misjudged": misjudged(chosen) if wanted is not None else {},
                "got_through": found,
            }
        )
    )
