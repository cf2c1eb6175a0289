#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python programs do, each once: `tools/learn-profiles` learns the profile python-narrow from it, tests run it under that."""
import asyncio
import contextlib
import ctypes
import fcntl
import http.server
import mmap
import multiprocessing
import os
import pathlib
import pty
import resource
import select
import selectors
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor


def files(top):
    one = pathlib.Path(top, "one")
    one.write_text("text", encoding="utf-8")
    for make in (lambda: os.link(one, top + "/linked"), lambda: os.symlink("one", top + "/soft"), lambda: os.mkfifo(top + "/fifo")):
        make()
    os.chmod(one, 0o640)
    os.chown(one, os.getuid(), os.getgid())
    os.utime(one, (1, 2))
    with contextlib.suppress(OSError):
        os.setxattr(one, "user.a", b"b")
    with contextlib.suppress(OSError):
        print(os.getxattr(one, "user.a"), os.listxattr(one), file=sys.stderr)
    with open(one, "r+b") as file:
        os.posix_fallocate(file.fileno(), 0, 8192)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
        file.truncate(4096)
        os.fsync(file.fileno())
        os.fdatasync(file.fileno())
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_UN)
        os.preadv(file.fileno(), [bytearray(8)], 0)
        os.pwritev(file.fileno(), [b"12"], 0)
        with mmap.mmap(file.fileno(), 4096) as memory:
            memory[0] = 1
            memory.flush()
        with open(top + "/copy", "wb") as copy:
            os.sendfile(copy.fileno(), file.fileno(), 0, 100)
            with contextlib.suppress(OSError):
                os.copy_file_range(file.fileno(), copy.fileno(), 100)
    os.makedirs(top + "/deep/er")
    os.rename(top + "/deep", top + "/deeper")
    os.statvfs(top)
    shutil.copytree(top + "/deeper", top + "/again")
    with tarfile.open(top + "/all.tar.gz", "w:gz") as tar:
        tar.add(one)
    shutil.rmtree(top + "/again")
    os.chdir(top)
    os.fchdir(os.open(".", os.O_RDONLY))
    list(os.scandir("."))
    os.sync()
    with tempfile.NamedTemporaryFile(dir=top) as file:
        file.write(b"x")


def database(top):
    base = sqlite3.connect(top + "/base")
    base.execute("pragma journal_mode=wal")
    base.execute("create table t(a)")
    base.executemany("insert into t values(?)", [(n,) for n in range(100)])
    base.commit()
    base.close()


def processes():
    subprocess.run("ls -la; mkdir -p d/e && cp -a d f && rm -rf d f; git --version || :", shell=True, check=True, cwd=tempfile.gettempdir(),
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cat"], input="x" * 200000, text=True, capture_output=True, check=True, start_new_session=True)
    with subprocess.Popen(["sleep", "60"], process_group=0) if sys.version_info >= (3, 11) else subprocess.Popen(["sleep", "60"]) as one:
        one.terminate()
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED)
    os.posix_spawn(shutil.which("true"), ["true"], os.environ)
    os.wait()
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(os.pidfd_open(os.getpid()), 0)
    master, slave = pty.openpty()
    os.close(master)
    os.close(slave)
    print(os.getpgid(0), os.getsid(0), os.getgroups(), os.getpriority(os.PRIO_PROCESS, 0), os.nice(0), os.times(), os.getloadavg(),
          os.sched_getaffinity(0), os.sched_getscheduler(0), resource.getrusage(resource.RUSAGE_SELF), os.cpu_count(), file=sys.stderr)
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    with multiprocessing.Pool(2) as pool:
        pool.map(abs, range(10))
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(abs, range(10)))
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=100) if hasattr(multiprocessing, "shared_memory") else None
    if shared:
        shared.close()
        shared.unlink()


def signals():
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    signal.alarm(0)
    os.kill(os.getpid(), 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.sigtimedwait([signal.SIGUSR1], 1)


def network():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/") as answer:
        answer.read()
    server.shutdown()
    server.server_close()
    one, other = socket.socketpair()
    one.sendmsg([b"x"])
    other.recvmsg(10)
    packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    packets.bind(("127.0.0.1", 0))
    packets.sendto(b"x", packets.getsockname())
    packets.recvfrom(10)
    with contextlib.suppress(OSError):
        socket.getaddrinfo("localhost", 80)
    for kind in (selectors.SelectSelector, selectors.PollSelector, selectors.EpollSelector):
        with kind() as selector:
            selector.register(one, selectors.EVENT_READ)
            selector.select(0)
    select.select([one], [], [], 0)


async def awaited():
    child = await asyncio.create_subprocess_exec("true")
    await child.wait()
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    await reader.read()
    writer.close()
    server.close()
    await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0)


def libraries():
    """What extensions such as numpy's call, which may not be installed."""
    libc = ctypes.CDLL(None, use_errno=True)
    memory = ctypes.create_string_buffer(4096)
    libc.mlock(memory, 4096)
    libc.munlock(memory, 4096)
    libc.get_nprocs()
    with contextlib.suppress(AttributeError, OSError):
        os.close(os.memfd_create("x"))
    with contextlib.suppress(AttributeError, OSError):
        os.close(os.eventfd(0))
    numbers = {"x86_64": (239, 237), "aarch64": (236, 235)}.get(os.uname().machine, ())
    for number in numbers:
        libc.syscall(number, 0, 0, 0, 0, 0, 0)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(time.sleep, [0] * 8))


if __name__ == "__main__":
    import multiprocessing.shared_memory  # noqa: F401
    with tempfile.TemporaryDirectory() as place:
        here = os.getcwd()
        files(place)
        database(place)
        os.chdir(here)
        processes()
        signals()
        network()
        asyncio.run(awaited())
        libraries()
    print("done")
