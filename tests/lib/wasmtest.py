# SPDX-License-Identifier: Apache-2.0
"""What the suites of the wasm driver share: its engine and languages without fetching, and modules written as text."""
import hmac
import os
import shutil
import struct
import subprocess
import tempfile

# ENOTCAPABLE, and EPERM as the engine says it.
REFUSED = (76, 63)
NOENT = 44


def fetched():
    return os.environ.get("AISBX_WASM") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fetched/wasm")


def seal_anew(data, cache, key=None, own=lambda path: path):
    """Compiled code that was copied, sealed with the secret of the data folder it lies beside now."""
    key = key or os.urandom(32)
    with open(os.open(os.path.join(data, "seal-key"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(key)
    own(os.path.join(data, "seal-key"))
    for name in os.listdir(cache) if os.path.isdir(cache) else []:
        if not name.endswith(".compiled"):
            continue
        path = os.path.join(cache, name)
        about = os.stat(path)
        with open(path + ".seal") as file:
            digest = file.read().split()[-6]
        text = f"{digest} {about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}\n"
        code = hmac.new(key, f"{name} {text}".encode(), "sha256").hexdigest()
        with open(path + ".seal", "w") as file:
            file.write(f"aisbx-seal 2 {code} {text}")
        own(path + ".seal")


def install(caller, languages=True):
    """Gives the caller a copy of what set-up made ready; returns why not, or None."""
    ready = os.path.join(fetched(), "ready")
    if not os.path.isdir(os.path.join(ready, "data", "engine")):
        return "set-up has not fetched the engine (tools/setup-wasm)"
    fresh = not os.path.isdir(os.path.join(caller.env["XDG_DATA_HOME"], "aisbx", "wasm"))
    for name, key in (("data", "XDG_DATA_HOME"), ("cache", "XDG_CACHE_HOME")):
        to = os.path.join(caller.env[key], "aisbx", "wasm")
        if os.path.isdir(to):
            continue
        for part in (os.path.dirname(os.path.dirname(to)), os.path.dirname(to)):
            os.makedirs(part, mode=0o700, exist_ok=True)
        if languages:
            shutil.copytree(os.path.join(ready, name), to)
        elif name == "data":
            os.mkdir(to, 0o700)
            shutil.copytree(os.path.join(ready, name, "engine"), os.path.join(to, "engine"))
        for top in (caller.home + "/.local", caller.home + "/.cache"):
            if os.path.isdir(top):
                for directory, _, files in os.walk(top):
                    os.chmod(directory, 0o700)
                    for file in files:
                        os.chmod(os.path.join(directory, file), 0o644)
                caller.own(top)
    if fresh:
        seal_anew(*(os.path.join(caller.env[key], "aisbx", "wasm") for key in ("XDG_DATA_HOME", "XDG_CACHE_HOME")), own=caller.own)
    return None


def ready(t):
    """Engine and languages for a case, or a reason to skip it."""
    why = install(t.caller)
    if why:
        t.skip(why)
    if not os.path.isdir(os.path.join(t.caller.env["XDG_DATA_HOME"], "aisbx/wasm/python")):
        t.skip("set-up has not installed the languages")


class Caller:
    """Whoever runs the suite, in a home of its own (clitest)."""

    def __init__(self, home):
        self.home = home.path
        self.env = {"XDG_DATA_HOME": home.path + "/.local/share", "XDG_CACHE_HOME": home.path + "/.cache"}

    def own(self, path):
        return path


def assemble(text):
    """Text as a module, by wabt; None where that is not installed."""
    program = shutil.which("wat2wasm")
    if not program:
        return None
    with tempfile.TemporaryDirectory() as place:
        source, module = os.path.join(place, "m.wat"), os.path.join(place, "m.wasm")
        with open(source, "w") as file:
            file.write(text)
        subprocess.run([program, "--enable-all", "--no-check", source, "-o", module], check=True)
        with open(module, "rb") as file:
            return file.read()


IMPORTS = {
    "proc_exit": "(param i32)",
    "fd_write": "(param i32 i32 i32 i32) (result i32)",
    "fd_read": "(param i32 i32 i32 i32) (result i32)",
    "path_open": "(param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)",
    "path_symlink": "(param i32 i32 i32 i32 i32) (result i32)",
    "path_link": "(param i32 i32 i32 i32 i32 i32 i32) (result i32)",
    "path_rename": "(param i32 i32 i32 i32 i32 i32) (result i32)",
    "path_filestat_get": "(param i32 i32 i32 i32 i32) (result i32)",
    "path_readlink": "(param i32 i32 i32 i32 i32 i32) (result i32)",
    "path_unlink_file": "(param i32 i32 i32) (result i32)",
    "fd_prestat_get": "(param i32 i32) (result i32)",
    "sock_accept": "(param i32 i32 i32) (result i32)",
}


def program(body, imports=(), data=(), memory="(memory (export \"memory\") 2)", more=""):
    """A WASI command as text. DATA: pairs of offset and bytes. The body may leave nothing on the stack."""
    lines = ["(module"]
    for name in ("proc_exit", *imports):
        lines.append(f'(import "wasi_snapshot_preview1" "{name}" (func ${name} {IMPORTS[name]}))')
    lines.append(memory)
    for offset, content in data:
        text = "".join(f"\\{byte:02x}" for byte in content)
        lines.append(f'(data (i32.const {offset}) "{text}")')
    lines.append(more)
    lines.append(f'(func (export "_start") (local $i i32) (local $j i32) {body}))')
    return "\n".join(lines)


def hello(text, then=""):
    """Prints TEXT, then does what THEN says."""
    content = text.encode()
    return program(f"(drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 60))) {then}", ("fd_write",),
                   [(0, struct.pack("<II", 100, len(content))), (100, content)])


def opens(path, fd=3, create=False, before=""):
    """Opens PATH relative to descriptor FD, following links; its exit status is the error's number."""
    content = path.encode()
    call = (f"(call $path_open (i32.const {fd}) (i32.const 1) (i32.const 100) (i32.const {len(content)}) "
            f"(i32.const {1 if create else 0}) (i64.const {66 if create else 2}) (i64.const 0) (i32.const 0) (i32.const 60))")
    return program(f"{before} (call $proc_exit {call})", ("path_open", "path_symlink", "path_link", "path_rename"),
                   [(100, content), (1000, b"/etc\0/etc/passwd\0link\0../outside")])
