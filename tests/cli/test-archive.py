#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Retention and the archive: nothing goes that is not safely elsewhere, whatever is killed, full or hostile; all of it comes back.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, with a home of its own.
"""

import contextlib
import glob
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap, refused  # noqa: E402
import s3  # noqa: E402

tap = Tap()
ROUNDS = 200 if os.environ.get("AISBX_LONG") == "1" else 20


class Kept(Home):
    """A home with an archive beside it and a record that is written by hand."""

    def __init__(self, retain="{runs: 1d, logs: 1d}", archive=None):
        super().__init__("aisbx-test-archive.")
        self.state = self.path + "/.local/state/aisbx"
        self.archive = self.path + "/kept" if archive is None else archive
        self.made = 0
        self.configure(f"retain: {retain}\narchive: file:{self.archive}\n")
        self.call("history")
        os.makedirs(self.state + "/logs", mode=0o700, exist_ok=True)

    def configure(self, text):
        os.makedirs(self.path + "/.config/aisbx", exist_ok=True)
        with open(self.path + "/.config/aisbx/config.yaml", "w") as out:
            out.write(text)

    def database(self):
        return contextlib.closing(sqlite3.connect(self.state + "/history.db", timeout=60, isolation_level=None))

    def add(self, count, log=b"o 0.000 6\nhello\n\n", workspace="/w", sandbox=None):
        """Old runs with their output; their ids."""
        ids = [f"01K{self.made + i:023d}" for i in range(count)]
        self.made += count
        with self.database() as db:
            db.execute("BEGIN IMMEDIATE")
            for run_id in ids:
                body = json.dumps({"run_id": run_id, "status": "success", "note": "tab\tline\n\u00e9 \\ \" \U0001f600"})
                db.execute("INSERT INTO runs(run_id,command,workspace,sandbox,driver,status,exit_code,started_ms,duration_ms,denials)"
                           " VALUES(?,?,?,?,?,?,?,?,?,1)", (run_id, '["make","a b"]', workspace, sandbox, "linux", "success", 0, 1750000000000, 1.5))
                db.execute("INSERT INTO results VALUES(?,?)", (run_id, body))
                db.execute("INSERT INTO denials VALUES(?,?,?,?,?,?)", (run_id, "net", "example.org", None, None, 3))
                db.execute("INSERT INTO samples VALUES(?,?,?,?,?,?)", (run_id, 1, 2, 3, 4, 5))
            db.execute("COMMIT")
        for run_id in ids:
            with open(f"{self.state}/logs/{run_id}", "wb") as out:
                out.write(log)
        return ids

    def rows_of(self):
        """Everything on record, to be compared."""
        with self.database() as db:
            return {table: sorted(map(repr, db.execute(f"SELECT * FROM {table}"))) for table in ("runs", "results", "denials", "samples")}

    def runs(self):
        with self.database() as db:
            return sorted(row[0] for row in db.execute("SELECT run_id FROM runs"))

    def logs(self):
        return sorted(os.listdir(self.state + "/logs"))

    def manifests(self):
        return sorted(glob.glob(self.archive + "/manifests/*/*.json"))

    def archived(self, kind):
        """Ids in manifests whose objects are there, read without the program."""
        found = set()
        for path in self.manifests():
            with open(path) as file:
                manifest = json.load(file)
            with open(f"{self.archive}/objects/{manifest['object']}.zst", "rb") as file:
                if hashlib.sha256(file.read()).hexdigest() == manifest["object"]:
                    found |= {item["id"] for item in manifest["items"] if item["kind"] == kind}
        return found

    def forge(self, change):
        """One more manifest with a right name, made of the first one; its path."""
        with open(self.manifests()[0]) as file:
            manifest = json.load(file)
        text = json.dumps(change(manifest) or manifest).encode() if not isinstance(change, bytes) else change
        path = f"{os.path.dirname(self.manifests()[0])}/{hashlib.sha256(text).hexdigest()}.json"
        with open(path, "wb") as out:
            out.write(text)
        return path


def test_round_trip():
    with Kept() as home:
        ids = home.add(5)
        before = home.rows_of()
        done = home.call("gc", "--dry-run", "--json")
        tap.ok("5 runs, 5 logs" in done.stdout and "would go" in done.stdout and not os.path.exists(home.archive), "a dry run shows it and does nothing", done)
        tap.equal(home.runs(), ids, "all runs are there")
        done = home.call("gc", "--json")
        tap.ok(done.returncode == 0 and "5 runs, 5 logs" in done.stdout and "kept" in done.stdout, "gc archives and removes", done)
        tap.equal((home.runs(), home.logs()), ([], []), "they are gone here")
        tap.equal((home.archived("run"), home.archived("log")), (set(ids), set(ids)), "and there")
        # What others left on this machine goes as well, and is told.
        told = [line for line in home.call("gc").stdout.splitlines() if line.split()[0] not in ("KIND", "cgroup", "masks", "orphan")]
        tap.ok(told in ([], ["nothing was left behind"]), "again there is nothing to do", told)
        day = home.rows("archive", "ls")
        tap.ok(len(day) == 1 and day[0]["runs"] == day[0]["logs"] == 5, "a day is listed", day)
        listed = home.rows("archive", "ls", day[0]["day"])
        tap.equal(len(listed), 10, "and what was archived on it")
        shown = home.data("archive", "show", ids[2])
        tap.ok(len(shown["items"]) == 2 and shown["record"]["command"] == '["make","a b"]', "one is shown", shown)
        tap.ok(home.call("archive", "verify").returncode == 0, "all of it is right")
        tap.equal(home.data("archive", "restore", ids[2]), {"runs": 1, "logs": 1}, "one comes back")
        tap.ok(home.call("logs", ids[2]).stdout == "hello\n", "with its output")
        home.call("gc")
        tap.equal((home.runs(), home.logs()), ([ids[2]], [ids[2]]), "and stays, old as it is")
        home.call("archive", "restore", "--day", day[0]["day"])
        tap.equal(home.rows_of(), before, "everything comes back as it was")
        tap.equal(home.data("archive", "restore", "--all"), {"runs": 0, "logs": 0}, "and only once")
        home.call("archive", "unpin", *ids)
        objects = os.listdir(home.archive + "/objects")
        home.call("gc")
        tap.equal((home.runs(), os.listdir(home.archive + "/objects")), ([], objects), "the same again is the same object")
        tap.equal(os.listdir(home.archive + "/drafts"), [], "no draft is left")
        tap.ok("archive" not in {row["name"] for row in home.rows("ls")}, "and no sandbox")


def test_words():
    with Kept() as home:
        for words, code in ((("archive",), 2), (("archive", "lost"), 2), (("archive", "show"), 2), (("archive", "restore"), 2),
                            (("archive", "ls", "yesterday"), 2), (("archive", "ls", "--from", "ftp://x"), 2), (("archive", "ls", "--from", "s3://A/b"), 2)):
            done = home.call(*words)
            tap.ok(refused(done, code), f"aisbx {' '.join(words)}", done)
        tap.ok(refused(home.call("archive", "ls"), 70, home.archive), "an archive that is not there")
        os.mkdir(home.archive)
        tap.ok("nothing" in home.call("archive", "ls").stdout, "an empty one")
        done = home.call("archive", "restore", "01K00000000000000000000000")
        tap.ok(done.returncode != 0 and "not in the archive" in done.stderr, "what is not there", done)
        os.rmdir(home.archive)
        for text in ("retain: {runs: [1d]}", "retain: {artifacts: never}", "retain: {workspaces: {w: {runs: 1d}}}", "retain: {workspaces: 3}",
                     "archive: [a]", "archive: /dir", "retain: {workspaces: {/w: {snapshots: 1d}}}", "retain: {logs: 500m}", "retain: {logs: [1d, 1000000]}"):
            home.configure(text)
            done = home.call("gc")
            tap.ok(done.returncode == 2, f"a configuration with {text}", done)
        home.configure("retain: {runs: 1d}\n")
        tap.ok(refused(home.call("archive", "ls"), 2, "config.yaml"), "without an archive there is nothing to list")
        ids = home.add(1)
        home.call("gc")
        tap.equal((home.runs(), os.path.exists(home.archive)), ([], False), "and gc does what it always did")
        tap.ok(ids, "with an old run")


def test_what_stays():
    with Kept("{runs: 20000d, logs: 20000d, workspaces: {/w/secret: {runs: 1d, logs: 1d}}}".replace("20000d", "3000d")) as home:
        other, below, pinned, named = home.add(1), home.add(1, workspace="/w/secret/x"), home.add(1, workspace="/w/secret"), home.add(1, workspace="/w/secret", sandbox="fix-1")
        promoted, beside = home.add(1, workspace="/w/secret", sandbox="p-1"), home.add(1, workspace="/w/secrets")
        with home.database() as db:
            db.execute("INSERT INTO events(at_ms,kind,sandbox,subject,body) VALUES(?,?,?,?,?)", (int(time.time() * 1000) - 1000, "promote", "p-1", "x", "{}"))
        asked = home.add(1, workspace="/w/secret", sandbox="asked-1")
        os.makedirs(home.state + "/asks", mode=0o700, exist_ok=True)
        home.call("create", "asked-1")
        with open(home.path + "/.local/share/aisbx/sbx/asked-1/meta") as file:
            sandbox_id = dict(line.split(" ", 1) for line in file.read().splitlines() if " " in line)["id"]
        ask = {"request_id": "01K99999999999999999999999", "kind": "promotion", "state": "pending", "sandbox": "asked-1@s1", "owner": "p",
               "sandbox_id": sandbox_id}
        with open(home.state + "/asks/01K99999999999999999999999", "w") as out:
            json.dump(ask, out)
        home.call("archive", "pin", pinned[0], "fix-1")
        home.call("gc")
        tap.equal(home.runs(), sorted(other + pinned + named + promoted + beside + asked), "what is pinned, promoted, asked about or elsewhere stays")
        tap.equal(home.archived("run"), set(below), "the rest of that workspace goes")
        with home.database() as db:
            db.execute("UPDATE events SET at_ms=at_ms-8*24*3600*1000")
        os.unlink(home.state + "/asks/01K99999999999999999999999")
        home.call("archive", "unpin", pinned[0], "fix-1")
        home.call("gc")
        tap.equal(home.runs(), sorted(other + beside), "once that is over, it goes as well")


def test_what_comes_back():
    """What a restore would refuse is not removed, and takes nothing else with it."""
    with Kept() as home:
        ids = home.add(4)
        with home.database() as db:
            db.execute("UPDATE runs SET run_id='odd' WHERE run_id=?", ids[:1])
            db.execute("UPDATE denials SET what=CAST(x'ff41' AS TEXT) WHERE run_id=?", ids[1:2])
            db.execute("UPDATE results SET body=? WHERE run_id=?", (json.dumps({"large": "x" * (17 << 20)}), ids[2]))
        done = home.call("gc")
        tap.ok(done.returncode == 0 and home.runs() == [ids[1], ids[2], "odd"] and "3 runs" in done.stdout, "they stay, and gc says so", done)
        tap.equal(home.data("archive", "restore", "--all"), {"runs": 1, "logs": 4}, "the rest comes back")
    with Kept("{runs: 1d, logs: 1d}") as home:
        ids = home.add(2)
        home.configure("")
        os.mkdir(home.state + "/logs/00")
        tap.ok(refused(home.call("archive", "pin", ids[0][:8]), 2, "several"), "two runs begin so: none is pinned")
        with home.database() as db:
            db.execute("UPDATE runs SET run_id='01KA'||substr(run_id,5) WHERE run_id=?", ids[:1])
        home.call("archive", "pin", "01KA")
        done = home.call("gc")
        tap.equal((done.returncode, home.runs()), (0, ["01KA" + ids[0][4:]]), "a run can be pinned by the beginning of its id")
        tap.equal(home.logs(), ["00"], "and a directory among the logs stops nothing")
        home.call("archive", "unpin", "01KA")
        home.call("gc")
        tap.equal(home.runs(), [], "until it is unpinned in the same words")


def test_runs_leave_it_to_gc():
    """A run holds kept output to its number; where there is an archive, only gc may."""
    with Kept("{runs: 3000d}") as home:
        if not home.can_run(tap, "kept output of runs"):
            return
        names = [f"01K{i:023d}" for i in range(20010)]
        for name in names:
            with open(f"{home.state}/logs/{name}", "w"):
                pass
        home.call("gc", "--logs", "900g")
        tap.ok(set(names[:10]) <= home.archived("log"), "gc archives the oldest beyond their number")
        for name in names[:10]:
            with open(f"{home.state}/logs/{name}", "w"):
                pass
        big = ("run", "--", "head", "-c", "2000000", "/dev/zero")
        home.call(*big, binary=True)
        tap.ok(names[0] in home.logs(), "a run removes none of it")
        home.configure("retain: {runs: 3000d}\n")
        home.call("gc", "--dry-run")
        tap.ok(os.path.exists(home.state + "/archive/on"), "a dry run changes nothing")
        os.unlink(home.state + "/archive/on")
        home.call(*big, binary=True)
        tap.ok(names[0] not in home.logs(), "without an archive it does")


def expect_refusal(home, what, *words):
    """Nothing comes back, in words, and verify says so, too."""
    before = home.rows_of(), home.logs()
    done = home.call("archive", "restore", "--all")
    tap.ok(done.returncode != 0 and done.stderr.startswith("aisbx: ") and all(word in done.stderr for word in words), f"{what}: refused in words", done)
    tap.equal((home.rows_of(), home.logs()), before, f"{what}: nothing is restored")
    checked = home.call("archive", "verify")
    tap.ok(checked.returncode == 1 and " 0 problems" not in checked.stdout, f"{what}: verify finds it", checked)


def test_hostile_manifests():
    with Kept() as home:
        home.add(2)
        home.call("gc")

        def set_item(**fields):
            return lambda manifest: manifest["items"][0].update(fields)

        def set_head(**fields):
            return lambda manifest: manifest.update(fields)

        evil = {
            "a path for an id": set_item(id="../../../../etc/cron.d/x"), "an absolute path": set_item(id="/etc/passwd"),
            "a kind nobody knows": set_item(kind="program"), "a size below nothing": set_item(size=-1),
            "a size that wraps": set_item(size=2**63 - 1), "no digest": set_item(sha256="0"),
            "another digest": set_item(sha256="0" * 64), "an object by a path": set_head(object="../../x"),
            "no such object": set_head(object="0" * 64), "a bomb": set_head(raw_bytes=2**50), "a newer format": set_head(aisbx_archive=2),
            "no items": set_head(items=[]), "items that are none": set_head(items=[1]), "another day": set_head(made="2020-01-01T00:00:00.000Z"),
            "too many items": set_head(items=[{}] * 40000), "a missing one before it": set_head(prev="1" * 64),
            "no JSON": b"{", "nesting": b"[" * 100000, "nothing": b"", "a list": b"[]",
            "long": b'{"aisbx_archive":1,"machine":"' + b"x" * (17 << 20) + b'"}',
        }
        for what, change in evil.items():
            path = home.forge(change)
            if what == "a missing one before it":
                tap.ok(home.call("archive", "verify").returncode == 1, "a missing manifest is noticed")
            else:
                expect_refusal(home, what)
            os.unlink(path)
        name = home.manifests()[0]
        for what, make in (("a fifo", os.mkfifo), ("a link", lambda path: os.symlink("/etc/passwd", path)), ("a directory", os.mkdir)):
            os.rename(name, name + ".away")
            make(name)
            expect_refusal(home, f"{what} for a manifest")
            shutil.rmtree(name) if what == "a directory" else os.unlink(name)
            os.rename(name + ".away", name)
        tap.ok(home.call("archive", "verify").returncode == 0, "without them all is right again")


def test_hostile_objects():
    with Kept() as home:
        ids = home.add(2)
        home.call("gc")
        (name,) = glob.glob(home.archive + "/objects/*.zst")
        with open(name, "rb") as file:
            whole = file.read()
        for what, content in (("a changed bit", whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]), ("cut off", whole[:-9]), ("more behind it", whole + b"x"), ("empty", b"")):
            with open(name, "wb") as out:
                out.write(content)
            expect_refusal(home, what, "objects/")
        with open(name, "wb") as out:
            out.write(whole)

        def pack(content, items):
            """An object with a right name whose manifest has right digests: only what is in it is wrong."""
            packed = subprocess.run(["zstd", "-q", "-c"], input=content, capture_output=True, check=True).stdout
            digest = hashlib.sha256(packed).hexdigest()
            with open(f"{home.archive}/objects/{digest}.zst", "wb") as out:
                out.write(packed)
            return home.forge(lambda manifest: manifest.update(object=digest, bytes=len(packed), raw_bytes=len(content), items=items))

        if not shutil.which("zstd"):
            tap.skip("records that are none", "no zstd here")
            return
        fresh = "01K77777777777777777777777"
        log = {"kind": "log", "id": fresh, "size": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}
        for what, record in (("another run's record", json.dumps({"run_id": ids[0], "status": "success", "command": "[]", "started_ms": 1})), ("no record", "[]"),
                             ("one under way", json.dumps({"run_id": fresh, "command": "[]", "started_ms": 1})),
                             ("a result that is none", json.dumps({"run_id": fresh, "status": "success", "command": "[]", "started_ms": 1, "result": "{"}))):
            record = record.encode()
            item = {"kind": "run", "id": fresh, "size": len(record), "sha256": hashlib.sha256(record).hexdigest()}
            path = pack(b"abc" + record, [log, item])
            before = home.rows_of(), home.logs()
            done = home.call("archive", "restore", fresh)
            tap.ok(refused(done, 2, fresh), f"{what}: refused in words", done)
            tap.equal((home.rows_of(), home.logs()), before, f"{what}: its log is not restored either")
            os.unlink(path)
        zeros = bytes(300 << 20)
        path = pack(zeros, [{"kind": "log", "id": fresh, "size": len(zeros), "sha256": hashlib.sha256(zeros).hexdigest()}])
        expect_refusal(home, "a bomb that tells the truth", "attack")
        os.unlink(path)


def gc_killed(home, after):
    """A gc that is killed AFTER seconds, wherever it is by then."""
    with subprocess.Popen([AISBX, "gc"], cwd=home.work, env=home.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as gc:
        try:
            gc.wait(timeout=after)
        except subprocess.TimeoutExpired:
            os.killpg(gc.pid, signal.SIGKILL)
    return gc.returncode


def test_kills():
    with Kept() as home:
        everything, killed = set(), 0
        noise = random.Random(7)
        begin = time.monotonic()
        home.add(1)
        home.call("gc")
        usual = time.monotonic() - begin
        for number in range(ROUNDS):
            ids = home.add(3, log=noise.randbytes(30000))
            everything |= set(ids)
            killed += gc_killed(home, noise.random() * usual) < 0
            for kind, here in (("run", set(home.runs())), ("log", set(home.logs()))):
                lost = everything - here - home.archived(kind)
                if lost:
                    tap.ok(False, f"round {number}: no {kind} is lost", lost)
        tap.ok(killed > 0, f"{killed} of {ROUNDS} were killed, and nothing was lost")
        done = home.call("gc")
        tap.ok(done.returncode == 0 and home.runs() == [] and home.logs() == [], "the last one goes on where they were killed", done)
        tap.ok(everything <= home.archived("run") & home.archived("log"), "all of it is in the archive")
        tap.ok(home.call("archive", "verify").returncode == 0, "which is right")
        tap.equal(os.listdir(home.state + "/archive/drafts"), [], "no draft is left here")
        killed = home.call("archive", "restore", "--all")
        tap.ok(killed.returncode == 0 and everything <= set(home.runs()) and everything <= set(home.logs()), "and comes back", killed)


def test_at_once():
    """Several machines in one archive; several callers on one of them."""
    with Kept() as one, Kept(archive=one.archive) as two:
        first, second = one.add(200), two.add(200)
        done = []
        callers = [threading.Thread(target=lambda home=home: done.append(home.call("gc"))) for home in (one, two, one, two)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        tap.ok(all(gc.returncode == 0 or "at work on the archive" in gc.stderr for gc in done), "one at a time on each", done)
        one.call("gc")
        two.call("gc")
        tap.equal((one.runs(), two.runs()), ([], []), "both are done")
        tap.equal(set(first) | set(second), one.archived("run"), "and all is there")
        tap.ok(one.call("archive", "verify").returncode == 0, "and right")


def test_faults():
    with Kept() as home:
        ids = home.add(3, log=random.Random(1).randbytes(300000))
        os.mkdir(home.archive)
        if os.geteuid() == 0:
            for what, options in (("a full disk", "size=256k"), ("a disk that is read only", "ro")):
                script = 'mount -t tmpfs -o "$1" none "$2" && shift 2 && exec "$@"'
                done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", options, home.archive, AISBX, "gc"], cwd=home.work, env=home.env,
                                      capture_output=True, text=True, check=False)
                tap.ok(done.returncode != 0 and home.archive in done.stderr, f"{what}: said in words", done)
                tap.equal((home.runs(), home.logs()), (ids, ids), f"{what}: nothing is removed")
        else:
            os.chmod(home.archive, 0o500)
            done = home.call("gc")
            tap.ok(done.returncode != 0 and home.archive in done.stderr, "a directory that is read only: said in words", done)
            tap.equal((home.runs(), home.logs()), (ids, ids), "nothing is removed")
            os.chmod(home.archive, 0o700)
        tap.equal(home.call("gc").returncode, 0, "with room it goes on")
        tap.equal((home.archived("run"), home.runs()), (set(ids), []), "and all is there")
        # An object that is there already, but damaged, is no place to leave the only copy.
        home.call("archive", "restore", "--all")
        home.call("archive", "unpin", *ids)
        for path in glob.glob(home.archive + "/objects/*.zst"):
            with open(path, "r+b") as out:
                out.write(b"damage")
        done = home.call("gc")
        tap.ok(done.returncode != 0 and "damaged" in done.stderr, "a damaged object stops gc", done)
        tap.equal((home.runs(), home.logs()), (ids, ids), "before it removes anything")


class Bucket(Kept):
    """A home whose archive is in S3, with a curl that writes down its words."""

    def __init__(self, server, **env):
        super().__init__()
        self.server = server
        self.url = f"s3://{server.bucket}/machines/one"
        self.configure(f"retain: {{runs: 1d, logs: 1d}}\narchive: {self.url}\n")
        for key in [key for key in self.env if key.startswith("AWS_")]:
            del self.env[key]
        self.env.update(AWS_ENDPOINT_URL=server.url, AWS_ACCESS_KEY_ID=s3.KEY, AWS_SECRET_ACCESS_KEY=s3.SECRET, AWS_REGION=s3.REGION, **env)
        os.mkdir(self.path + "/bin")
        with open(self.path + "/bin/curl", "w") as out:
            out.write(f'#!/bin/sh\nprintf "%s\\n" "$@" >>"{self.path}/words"\n[ -z "$GROWS" ] || echo more >>"$GROWS"\nexec {shutil.which("curl")} "$@"\n')
        os.chmod(self.path + "/bin/curl", 0o755)
        self.env["PATH"] = self.path + "/bin:" + self.env["PATH"]


def test_s3():
    with s3.server() as server, Bucket(server) as home:
        everything = []
        for _ in range(4):
            everything += home.add(2)
            done = home.call("gc")
            tap.ok(done.returncode == 0 and home.runs() == [], "a gc to S3", (done, server.seen[-3:]))
        tap.ok(len(server.store) == 8 and all(path.startswith("/kept-things/machines/one/") for path in server.store), "objects and manifests are there", list(server.store))
        tap.ok(all(hashlib.sha256(body).hexdigest() in path for path, body in server.store.items()), "by their digests")
        tap.equal(home.rows("archive", "ls")[0]["runs"], 8, "all of them are listed, page by page")
        tap.ok(home.call("archive", "verify").returncode == 0, "and right")
        tap.equal(home.data("archive", "restore", "--all").get("runs"), 8, "and come back")
        tap.equal((home.runs(), home.call("logs", everything[0]).stdout), (everything, "hello\n"), "as they were")
        with open(home.path + "/words") as file:
            words = file.read()
        tap.ok(words and s3.SECRET not in words and s3.KEY not in words, "no key is a word of a command", words[:300])
        home.call("archive", "unpin", *everything)
        grows = f"{home.state}/logs/{everything[0]}"
        done = home.call("gc", GROWS=grows)
        tap.ok(done.returncode == 0 and home.logs() == everything[:1], "output that was still written to is not removed", (done, home.logs()))
        home.call("archive", "restore", "--all")
        home.call("archive", "unpin", *everything)
        for fault in ("forgets", "shortens"):
            server.fault = fault
            server.store.clear()
            done = home.call("gc")
            tap.ok(done.returncode != 0 and "archive" in done.stderr or "S3 has another" in done.stderr, f"a server that {fault}: said in words", done)
            tap.equal((home.runs(), home.logs()), (everything, everything), f"a server that {fault}: nothing is removed")
        server.fault = None
        server.store.clear()
        for name, value, word in (("AWS_SECRET_ACCESS_KEY", "wrong", "SignatureDoesNotMatch"), ("AWS_ACCESS_KEY_ID", "other", "InvalidAccessKeyId"),
                                  ("AWS_REGION", "us-east-1", "403"), ("AWS_SECRET_ACCESS_KEY", "a b", "characters"), ("AWS_ACCESS_KEY_ID", "", "keys"),
                                  ("AWS_ENDPOINT_URL", "http://192.0.2.1", "clear text"), ("AWS_ENDPOINT_URL", "ftp://127.0.0.1", "https")):
            done = home.call("gc", **{name: value})
            tap.ok(done.returncode != 0 and word in done.stderr and home.runs() == everything, f"{name}={value}: refused, nothing removed", done)
        server.token = "session-token-1"
        tap.ok("InvalidToken" in home.call("gc").stderr, "a session without its token")
        tap.equal((home.call("gc", AWS_SESSION_TOKEN=server.token).returncode, home.runs()), (0, []), "and with it")
        server.token = None
        os.mkdir(home.path + "/.aws")
        with open(home.path + "/.aws/credentials", "w") as out:
            out.write(f"[default]\naws_access_key_id = x\naws_secret_access_key = y\n[ours]\n# no\naws_access_key_id = {s3.KEY}\naws_secret_access_key={s3.SECRET}\n")
        with open(home.path + "/.aws/config", "w") as out:
            out.write(f"[profile ours]\nregion = {s3.REGION}\n")
        done = home.call("archive", "ls", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="", AWS_REGION="", AWS_PROFILE="ours")
        tap.ok(done.returncode == 0 and "RUNS" in done.stdout, "keys and region of a profile", done)
        tap.ok("missing" in home.call("archive", "verify").stdout, "what the server lost is noticed")
        for fault in ("cuts", "floods"):
            server.fault = fault
            done = home.call("archive", "restore", "--all")
            tap.ok(done.returncode != 0 and done.stderr.startswith("aisbx: ") and home.runs() == [], f"a server that {fault}: nothing is restored", done)
        server.fault = None
        tap.equal(os.listdir(home.state + "/archive/drafts"), [], "no draft is left")


def test_s3_over_tls():
    with Kept() as place:
        made = place.path + "/server.pem"
        done = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                               "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", made + ".key", "-out", made + ".crt"], capture_output=True, check=False)
        if done.returncode != 0:
            tap.skip("S3 over TLS", "openssl makes no certificate here")
            return
        with open(made, "w") as out:
            for part in (".key", ".crt"):
                with open(made + part) as file:
                    out.write(file.read())
        with s3.server(made) as server, Bucket(server) as home:
            ids = home.add(1)
            done = home.call("gc")
            tap.ok(done.returncode != 0 and home.runs() == ids and not server.store, "a certificate of nobody's is refused", done)
            done = home.call("gc", AWS_CA_BUNDLE=made + ".crt")
            tap.ok(done.returncode == 0 and home.runs() == [] and server.store, "one of an authority that the user names is not", done)


def main():
    if sys.argv[1:] == ["real"]:
        if not shutil.which("curl"):
            tap.skip("S3", "no curl here")
        else:
            tap.attempt(test_s3)
            tap.attempt(test_s3_over_tls)
        return tap.done()
    for test in (test_round_trip, test_words, test_what_stays, test_what_comes_back, test_runs_leave_it_to_gc, test_hostile_manifests, test_hostile_objects, test_kills,
                 test_at_once, test_faults):
        tap.attempt(test)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
