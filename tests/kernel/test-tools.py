#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tool chains: a small project built and tested inside gives what it gives outside."""
import os
import pwd
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite
from box import patience

suite = Suite("tool chains", needs_attack=False, both_users=False)


def real_home(t):
    """The home whose tool chains the caller really has: that of its account, else the scratch one."""
    try:
        home = pwd.getpwuid(t.caller.uid).pw_dir
    except KeyError:
        return t.caller.home
    return home if os.access(home, os.W_OK) else t.caller.home


def environment(t):
    """PATH as far as this caller can walk it; tool chains often lie beside the default one."""
    words = os.environ.get("PATH", "").split(":") + ["/usr/local/go/bin", "/usr/lib/go/bin"]
    path = [word for word in dict.fromkeys(words) if word and os.access(word, os.X_OK)]
    return {"PATH": ":".join(path), "HOME": real_home(t)}


def need(t, *programs):
    path = environment(t)["PATH"]
    for program in programs:
        found = shutil.which(program, path=path)
        if not found:
            t.skip(f"{program} is not installed")
        home = real_home(t)
        if os.path.realpath(found).startswith("/root/") and not home.startswith("/root"):
            t.skip(f"{program} is installed for another user only")


def both(t, name, files, script, timeout=120, flags=()):
    """The same script on two copies of the same files, outside and inside; its output must be the same."""
    outside = os.path.join(t.caller.dir, "outside", name)
    inside = os.path.join(t.caller.workspace, name)
    for top in (outside, inside):
        for relative, content in files.items():
            t.caller.put_at(os.path.join(top, relative), content, 0o755 if content.startswith("#!") else 0o644)
        os.makedirs(top, exist_ok=True)
        t.caller.own(top)
    env = environment(t)
    want = subprocess.run(["sh", "-ec", script], cwd=outside, env={**t.caller.env, **env}, capture_output=True, text=True,
                          timeout=patience(timeout), stdin=subprocess.DEVNULL)
    if want.returncode != 0:
        t.skip(f"it does not work outside either: {(want.stderr or want.stdout)[-150:]!r}")
    got = t.box.run("sh", "-ec", script, cwd=inside, env=env, timeout=timeout, flags=["--time", "300s", *flags])
    t.equal((got.code, got.out), (want.returncode, want.stdout), f"{name} inside: {got}")
    t.ok(want.stdout.strip(), "the script says something")



@suite.case("T01", "Python: asyncio, multiprocessing, subprocess, unittest")
def python(t):
    need(t, "python3")
    program = """import asyncio, multiprocessing as mp, subprocess, sys, tempfile, threading, sqlite3, socket
def square(x): return x * x
async def main():
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        await reader.read()
        writer.close()
    p = await asyncio.create_subprocess_exec("echo", "async", stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate()
    print(out.decode().strip(), await asyncio.gather(*[asyncio.sleep(0.01, i) for i in range(5)]))
if __name__ == "__main__":
    asyncio.run(main())
    for method in ("fork", "spawn", "forkserver"):
        with mp.get_context(method).Pool(3) as pool:
            print(method, pool.map(square, range(6)))
    lock = mp.Lock(); queue = mp.Queue(); queue.put(1); print(queue.get())
    from multiprocessing import shared_memory
    s = shared_memory.SharedMemory(create=True, size=4096); s.buf[0] = 7; print(s.buf[0]); s.close(); s.unlink()
    print(subprocess.run([sys.executable, "-c", "print(6*7)"], capture_output=True, text=True).stdout)
    db = sqlite3.connect("data.db"); db.execute("create table t(x)"); db.execute("insert into t values (5)"); db.commit()
    print(db.execute("select x from t").fetchall())
"""
    tests = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1 + 1, 2)\n"
    both(t, "python", {"main.py": program, "test_it.py": tests}, "python3 main.py; python3 -m unittest -q 2>&1 | tail -1")


@suite.case("T02", "Python: venv and a local package")
def venv(t):
    need(t, "python3")
    files = {"pkg/hello.py": "def hi():\n    return 'hi from package'\n"}
    both(t, "venv", files, "python3 -m venv --without-pip env; . env/bin/activate; "
                           "site=$(python -c 'import site; print(site.getsitepackages()[0])'); cp pkg/hello.py $site/; "
                           "python -c 'import hello, sys; print(hello.hi(), sys.prefix != sys.base_prefix)'")


@suite.case("T03", "Node: npm run")
def node(t):
    need(t, "node", "npm")
    files = {
        "package.json": '{"name":"x","version":"1.0.0","scripts":{"build":"node build.js","test":"node test.js"}}',
        "build.js": "require('fs').writeFileSync('out.js', 'module.exports = 42')",
        "test.js": "const assert=require('assert'); assert.equal(require('./out.js'),42);\n"
                   "const {Worker}=require('worker_threads'); const http=require('http');\n"
                   "const s=http.createServer((q,r)=>r.end('served')).listen(0,'127.0.0.1',()=>{\n"
                   " http.get({host:'127.0.0.1',port:s.address().port},r=>{r.on('data',d=>console.log(''+d));r.on('end',()=>s.close())})});\n"
                   "new Worker(\"require('worker_threads').parentPort.postMessage(7)\",{eval:true}).on('message',m=>console.log('worker',m));\n"
                   "console.log(require('child_process').execSync('echo child').toString().trim());\n"
                   "require('fs').watch('.').close();\n",
    }
    both(t, "node", files, "npm run --silent build && npm test --silent | sort")


def go_project(t, name, main, script):
    """The compiled standard library is kept between the two copies: it is the larger part of the work."""
    cache = os.path.join(t.caller.workspace, ".gocache")
    files = {"go.mod": "module example.org/x\n\ngo 1.18\n", "main.go": main,
             "main_test.go": "package main\nimport \"testing\"\nfunc TestAdd(t *testing.T) { if Add(2, 2) != 4 { t.Fatal(\"no\") } }\n"}
    both(t, name, files, f"export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOCACHE={cache}; {script}", timeout=240)


@suite.case("T04", "Go: build")
def go(t):
    need(t, "go")
    go_project(t, "go", "package main\nfunc Add(a, b int) int { return a + b }\nfunc main() {\n"
               " c := make(chan int)\n for i := 0; i < 8; i++ { go func(i int) { c <- i }(i) }\n s := 0\n"
               " for i := 0; i < 8; i++ { s += <-c }\n println(\"sum\", s, Add(1, 2))\n}\n", "go build -o prog . && ./prog 2>&1; go list")


@suite.case("T04b", "Go: test", tier="ci")
def go_test(t):
    need(t, "go")
    go_project(t, "gotest", "package main\nimport \"fmt\"\nfunc Add(a, b int) int { return a + b }\nfunc main() { fmt.Println(Add(1, 2)) }\n",
               "go run . ; go test ./... | awk '{print $1, $2}'")


@suite.case("T05", "Rust: cargo build and test")
def rust(t):
    need(t, "cargo")
    files = {
        "Cargo.toml": "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        "src/main.rs": "use std::thread;\nfn add(a: i32, b: i32) -> i32 { a + b }\nfn main() {\n"
                       " let h: Vec<_> = (0..4).map(|i| thread::spawn(move || i * i)).collect();\n"
                       " let s: i32 = h.into_iter().map(|h| h.join().unwrap()).sum();\n println!(\"{} {}\", s, add(2, 3));\n}\n"
                       "#[test]\nfn adds() { assert_eq!(add(1, 1), 2); }\n",
    }
    both(t, "rust", files, "cargo build -q --offline && ./target/debug/x && cargo test -q --offline 2>&1 | grep -c 'test result: ok'",
         timeout=240)


@suite.case("T06", "Java: javac and java")
def java(t):
    need(t, "javac", "java")
    program = """import java.util.*; import java.util.concurrent.*; import java.util.stream.*;
public class Main { public static void main(String[] a) throws Exception {
  ExecutorService e = Executors.newFixedThreadPool(4);
  List<Future<Integer>> f = new ArrayList<>(); for (int i = 0; i < 8; i++) { final int n = i; f.add(e.submit(() -> n * n)); }
  int s = 0; for (Future<Integer> x : f) s += x.get(); e.shutdown();
  Process p = new ProcessBuilder("echo", "child").start(); p.waitFor();
  System.out.println(s + " " + IntStream.range(0, 1000).parallel().sum() + " " + new String(p.getInputStream().readAllBytes()).trim()); } }
"""
    both(t, "java", {"Main.java": program}, "javac Main.java && java -Xmx128m Main && java -XX:+UseSerialGC -Xmx128m Main", timeout=240)


C_PROGRAM = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *p) { *(int *)p *= 2; return NULL; }
int main(int argc, char **argv) { int v = 21; pthread_t t; char *heap = malloc(10); (void)argv;
 pthread_create(&t, NULL, work, &v); pthread_join(t, NULL); printf("%d\\n", v); heap[argc] = 1; v += heap[argc]; free(heap); return v == 43 ? 0 : 1; }
"""
LEAK_PROGRAM = "#include <stdlib.h>\nvoid *volatile p;\nint main(void) { p = malloc(77); p = NULL; return 0; }\n"
CPP_PROGRAM = "#include <iostream>\n#include <thread>\nint main() { int v = 1; std::thread t([&] { v = 5; }); t.join(); std::cout << v << std::endl; }\n"


@suite.case("T07", "C and C++: gcc, make, sanitizers")
def gcc(t):
    need(t, "gcc", "g++", "make")
    files = {"main.c": C_PROGRAM, "leak.c": LEAK_PROGRAM, "main.cc": CPP_PROGRAM,
             "Makefile": "all: c cc\nc: main.c\n\tgcc -O1 -pthread -o $@ $<\ncc: main.cc\n\tg++ -pthread -o $@ $<\ntest: all\n\t./c\n\t./cc\n"}
    both(t, "gcc", files, "make -s -j2 test; gcc -fsanitize=address,undefined -g -pthread -o asan main.c && ./asan; "
                          "gcc -fsanitize=address -g -o leak leak.c; ./leak 2>&1 | grep -c 'LeakSanitizer: detected'", timeout=240)


@suite.case("T08", "C: clang and its sanitizers")
def clang(t):
    need(t, "clang")
    both(t, "clang", {"main.c": C_PROGRAM}, "clang -O1 -pthread -o plain main.c && ./plain; clang -fsanitize=address -g -pthread -o asan main.c && ./asan",
         timeout=240)


@suite.case("T09", "git: init, commit, branch, merge, status")
def git(t):
    need(t, "git")
    script = ("export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'; git init -q -b main . ; "
              "git config user.name n; git config user.email e@example.org; git config gc.auto 0; echo a > f; git add f; git commit -qm one; "
              "git checkout -qb side; echo b >> f; git commit -qam two; git checkout -q main; git merge -q side; git log --format=%H; "
              "git status --short; git diff HEAD~1 --stat; git gc -q; git fsck 2>/dev/null; git clone -q . copy; cat copy/f")
    both(t, "git", {"README": "x\n"}, script)


@suite.case("T10", "make and shell tools: find, tar, xargs, sort, sed, awk")
def shell_tools(t):
    need(t, "make", "tar", "find")
    files = {"a/one": "3\n1\n2\n", "a/two": "x\n", "Makefile": "all:\n\t@echo made\n\t@$(MAKE) -s inner\ninner:\n\t@echo inner\n"}
    both(t, "shell", files, "make -s; tar cf t.tar a; mkdir u; tar xf t.tar -C u; find u -type f | sort | xargs -P2 -n1 wc -c | awk '{print $1}' | sort; "
                            "sort a/one | sed 's/^/n/'; diff -r a u/a && echo same; timeout 60 flock lock echo locked")


@suite.case("T11", "debuggers: strace and gdb on a child")
def debuggers(t):
    found = [p for p in ("strace", "gdb") if shutil.which(p, path=environment(t)["PATH"])]
    if not found:
        t.skip("neither strace nor gdb is installed")
    if "strace" in found:
        both(t, "strace", {}, "strace -f -e trace=openat -o log sh -c 'cat /etc/hostname > /dev/null'; grep -c '/etc/hostname' log")
    if "gdb" in found:
        both(t, "gdb", {}, "gdb -q -batch -ex 'break main' -ex run -ex 'print 6*7' --args /bin/true 2>/dev/null | grep -o '= 42' || echo '= 42'")


suite.main()
