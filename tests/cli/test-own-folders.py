#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of aisbx itself: nothing that comes out of a sandbox is written to them, by whatever way, and none of it is believed.

Takes the program from AISBX. Speaks TAP.
"""
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from chance import seed_of
from clitest import AISBX, Home, Tap, refused

tap = Tap()
FOLDERS = (".local/share/aisbx", ".local/state/aisbx", ".cache/aisbx", ".config/aisbx", "run/aisbx")
EVERYTHING = ("--allow-path", "*", "--allow-path", "**", "--allow-privilege", "--allow-special")
SEED = seed_of("own-folders")
ROUNDS = int(os.environ.get("AISBX_ROUNDS") or 6)


def start(home, name="box"):
    """A sandbox whose workspace is the home itself."""
    home.env["XDG_RUNTIME_DIR"] = home.path + "/run"
    os.makedirs(home.path + "/run", mode=0o700, exist_ok=True)
    done = home.call("create", name, "-C", home.path)
    tap.equal(done.returncode, 0, "a home as workspace")


def sh(home, script, name="box"):
    return home.call("exec", name, "--", "sh", "-c", script, cwd=home.path)


def found(home, mark):
    """Where the host has files with a name that only the sandbox made; its own layers do not count."""
    done = subprocess.run(["find", home.path, "-name", mark, "-not", "-path", "*/u-*", "-not", "-path", "*/trash/*"], capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_new_names(home):
    """New names in each of the folders, of each kind, whether the host has the folder or not."""
    start(home)
    draw = random.Random(SEED)
    print(f"# AISBX_SEED={SEED}")
    rounds = [(folder, kind) for folder in FOLDERS for kind in ("file", "link", "directory", "hard link", "deep", "case")]
    for folder, kind in draw.sample(rounds, min(ROUNDS, len(rounds))) + [(FOLDERS[2], "file")]:
        sh(home, "rm -rf .local/share/aisbx/* .local/state/aisbx/* .cache/aisbx .config/aisbx run/aisbx")
        at = folder[:-5] + "AISBX" if kind == "case" else folder
        sh(home, f"mkdir -p {at} && cd {at} && " + {
            "file": "echo x >planted", "case": "echo x >planted", "link": "ln -s /etc/passwd planted",
            "directory": "mkdir planted", "hard link": "echo x >../planted2; ln ../planted2 planted",
            "deep": "mkdir -p sbx/b/c; echo x >sbx/b/c/planted"}[kind])
        for flags in ((), EVERYTHING, ("--strategy", "theirs", *EVERYTHING), (at,), (at + "/**", *EVERYTHING)):
            done = home.call("promote", "box", *flags, cwd=home.path)
            if done.returncode != 4 or "folder of aisbx itself" not in done.stderr:
                tap.ok(False, f"{kind} in {folder} {flags}", done)
                break
        else:
            tap.ok(not found(home, "planted"), f"a {kind} in {folder} is refused, whatever is agreed to", found(home, "planted"))
    sh(home, "echo fine >plain")
    done = home.call("promote", "box", "plain", cwd=home.path)
    tap.ok(done.returncode == 0 and os.path.exists(home.path + "/plain"), "what lies beside is promoted by its path", done)


def test_taken_away(home):
    """Neither removed, nor renamed, nor replaced by something else, nor exchanged as a part of a directory."""
    start(home)
    os.makedirs(home.path + "/.cache/aisbx/keep")
    os.makedirs(home.path + "/.config/aisbx", exist_ok=True)
    for script in ("rm -rf .cache", "mv .cache old", "rm -rf .config; ln -s /tmp .config", "rm -rf .config; echo x >.config"):
        sh(home, script)
        path = ".config" if ".config" in script else ".cache"
        done = home.call("promote", "box", path, "--strategy", "theirs", *EVERYTHING, cwd=home.path)
        tap.ok(done.returncode in (3, 4), f"{script}: refused", done)
        tap.ok(os.path.isdir(home.path + "/.cache/aisbx/keep") and os.path.isdir(home.path + "/.config/aisbx"),
               f"{script}: they are there")
        home.call("rollback", "box", cwd=home.path)
    sh(home, "mv .local there")
    done = home.call("promote", "box", ".local", "there", *EVERYTHING, cwd=home.path)
    tap.ok(refused(done, 4, "folder of aisbx itself") and os.path.isdir(home.path + "/.local/share/aisbx"),
           "the directory of the store renamed: refused", done)


def test_led_to(home):
    """A link in the place of a directory that would hold one of the folders, which the host has not."""
    start(home)
    for name in (".cache", ".Cache"):
        sh(home, f"mkdir -p stuff/aisbx/wasm; echo k > stuff/aisbx/wasm/planted; ln -s stuff {name}")
        done = home.call("promote", "box", name, "stuff", *EVERYTHING, cwd=home.path)
        tap.ok(refused(done, 4, "folder of aisbx itself") and not os.path.lexists(home.path + "/" + name),
               f"a link at {name} is refused", done)
        sh(home, f"rm {name}")


def ways(home, folder):
    """Spellings of a place in a folder."""
    os.symlink(folder, home.path + "/link")
    os.symlink(os.path.dirname(folder), home.path + "/above")
    yield folder + "/planted"
    yield folder + "/"
    yield folder
    yield folder + "/none/planted"
    yield home.path + "/link/planted"
    yield home.path + "/link/"
    yield home.path + "/above/aisbx/planted"
    yield folder + "/../aisbx/planted"
    yield folder + "/./planted"
    yield folder.upper().replace(home.path.upper(), home.path) + "/planted"


def test_copies(home):
    """cp, promote --to, promote --target and artifact get, by every spelling."""
    home.call("create", "box")
    home.call("exec", "box", "--", "sh", "-c", "echo x >f; mkdir planted; echo x >planted/f")
    saved = home.rows("artifact", "save", "box", "f")[0]["artifact_id"]
    before = sorted(os.listdir(home.path + "/.local/share/aisbx/sbx"))
    folder = home.path + "/.cache/aisbx"
    os.makedirs(folder + "/wasm", exist_ok=True)
    for way in ways(home, folder):
        for verb in (("cp", "box:f", way), ("promote", "box", "--artifact", "f", "--to", way), ("cp", "box:planted", way),
                     ("artifact", "get", saved, way), ("artifact", "get", saved, way, "--force")):
            done = home.call(*verb)
            if done.returncode not in (2, 3, 4, 5):
                tap.ok(False, " ".join(verb), done)
    tap.equal(sorted(os.listdir(folder)), ["wasm"], "nothing is written to the cache folder, by any spelling")
    done = home.call("promote", "box", "--target", folder + "/wasm")
    tap.ok(refused(done, 4, "folder of aisbx itself"), "nor when it is the target", done)
    done = home.call("promote", "box", "--target", home.path + "/link/wasm")
    tap.ok(refused(done, 4, "folder of aisbx itself"), "nor by a link to it", done)
    done = home.call("promote", "box", "--target", home.path, "--swap")
    tap.ok(done.returncode != 0, "nor is a directory around it exchanged", done)
    done = home.call("artifact", "get", saved, home.path + "/.local/share/aisbx/sbx/new")
    tap.ok(refused(done, 4, "folder of aisbx itself"), "an artifact does not get into the store", done)
    tap.equal(sorted(os.listdir(home.path + "/.local/share/aisbx/sbx")), before, "which is as it was")
    done = home.call("cp", "box:f", home.path + "/.cache/fine")
    tap.ok(done.returncode == 0 and os.path.exists(home.path + "/.cache/fine"), "beside it, all is written", done)


def test_stage(home):
    """A pipeline of the user's own whose target lies in a folder."""
    home.call("create", "box")
    home.call("exec", "box", "--", "sh", "-c", "echo x >planted")
    os.makedirs(home.path + "/.config/aisbx", exist_ok=True)
    os.makedirs(home.path + "/.cache/aisbx/wasm", exist_ok=True)
    pipeline = home.path + "/.config/aisbx/p.yaml"
    with open(pipeline, "w") as file:
        file.write(f"stages:\n  - name: one\n    target: {home.path}/.cache/aisbx/wasm\n")
    done = home.call("stage", "run", "box", "-f", pipeline)
    tap.ok(done.returncode != 0 and not os.listdir(home.path + "/.cache/aisbx/wasm"), "a stage does not write there", done)


def test_mounts(home):
    """Second names by mounts: of a folder, of a part of it, of a directory above it."""
    if os.geteuid() != 0:
        tap.skip("a mount of a folder", "needs root")
        return
    home.call("create", "box")
    home.call("exec", "box", "--", "sh", "-c", "echo x >f")
    folder = home.path + "/.cache/aisbx"
    os.makedirs(folder + "/wasm/deep", exist_ok=True)
    place = home.path + "/second"
    os.mkdir(place)
    for source, way in ((folder, "f"), (folder + "/wasm", "f"), (folder + "/wasm/deep", "f"), (home.path + "/.cache", "aisbx/f")):
        script = f"mount --bind {source} {place} && exec {AISBX} cp box:f {place}/{way}"
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, env=home.env, cwd=home.work,
                              timeout=300, check=False)
        tap.ok(refused(done, 4, "folder of aisbx itself"), f"a mount of {source[len(home.path):]}", done)
    tap.equal([n for _, _, names in os.walk(folder) for n in names], [], "nothing is written")


def test_homes(home):
    """Root in the home of another account: what is written there is read by that account's aisbx."""
    if os.geteuid() != 0:
        tap.skip("the home of another account", "needs root")
        return
    target = home.path + "/passwd"
    shutil.copy("/etc/passwd", target)
    other = home.path + "/other"
    os.mkdir(other)
    with open(target, "a") as file:
        file.write(f"somebody:x:54399:54399::{other}:/bin/sh\n")
    script = f"mount --bind {target} /etc/passwd && {AISBX} create box -C {other} && " \
        f"{AISBX} exec box -- sh -c 'mkdir -p .local/share/aisbx/sbx; echo x >.local/share/aisbx/sbx/planted' && " \
        f"{AISBX} promote box; echo status $?; {AISBX} rm box"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, env=home.env, cwd=other,
                          timeout=300, check=False)
    tap.ok("status 4" in done.stdout and "folder of aisbx itself" in done.stderr, "the home of another account", done)
    tap.equal(found(home, "planted"), [], "nothing is written")


def test_hidden(home):
    """New names below a directory that masks hide are conflicts, even where the host has none of that name."""
    os.makedirs(home.path + "/.ssh")
    start(home)
    sh(home, "mkdir -p .ssh; echo x >.ssh/fresh; mkdir .ssh/d; echo x >.ssh/d/fresh")
    done = home.call("promote", "box", ".ssh", *EVERYTHING, cwd=home.path)
    tap.ok(refused(done, 3, "conflict"), "new names in a hidden directory are conflicts", done)
    tap.equal(os.listdir(home.path + "/.ssh"), [], "and are not written")
    done = home.call("promote", "box", ".ssh", "--strategy", "ours", *EVERYTHING, cwd=home.path)
    tap.ok(done.returncode == 0 and not os.listdir(home.path + "/.ssh"), "the host's side leaves them out", done)


def test_brought(home):
    """A project that brings a store with records of sandboxes, or a cache: none of it is used."""
    home.call("create", "box")
    data = home.work + "/.data"
    shutil.copytree(home.path + "/.local/share/aisbx", data + "/aisbx", symlinks=True)
    for key in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        for words in (("run", "--", "true"), ("exec", "box", "--", "true")) + ((("ls",), ("rm", "box")) if "DATA" in key else ()):
            done = home.call(*words, **{key: data})
            tap.ok(done.returncode in (4, 125) and "may have come with it" in done.stderr, f"{key} in the workspace: {words[0]}",
                   done)
    elsewhere = home.path + "/elsewhere"
    os.mkdir(elsewhere)
    done = home.call("run", "-C", home.work, "--", "true", cwd=elsewhere, XDG_CACHE_HOME=data)
    tap.ok(done.returncode == 125 and "may have come with it" in done.stderr, "named by -C", done)
    tap.equal(home.call("run", "--", "true", cwd=elsewhere, XDG_CACHE_HOME=home.path + "/c").returncode, 0, "control: outside of it")


def test_programs(home):
    """An installation in the workspace, as a package manager makes it: not replaced, not taken away, nothing planted beside it."""
    for place, name in (("bin", "aisbx"), ("libexec/aisbx", "aisbx-full")):
        os.makedirs(f"{home.work}/node_modules/aisbx/{place}")
        shutil.copy(f"{os.path.dirname(os.path.realpath(AISBX))}/{name}", f"{home.work}/node_modules/aisbx/{place}/{name}")
    before = home.tree()
    own = home.work + "/node_modules/aisbx/bin/aisbx"
    call = lambda *words: subprocess.run([own, *words], capture_output=True, text=True, env=home.env, cwd=home.work, timeout=300,
                                         check=False)
    trip = "printf '#!/bin/sh\\necho tripwire\\n' >"
    replace = f"cd node_modules/aisbx/bin; rm aisbx; {trip} aisbx; chmod +x aisbx"
    done = call("run", "--write", "workspace", "--", "sh", "-c", replace)
    tap.ok(home.tree() == before and "of aisbx itself" in done.stderr, "--write does not replace the program that runs", done)
    scripts = (replace, "rm node_modules/aisbx/libexec/aisbx/aisbx-full", "mv node_modules away", "rm -r node_modules",
               f"mkdir -p x node_modules/bin; {trip} node_modules/bin/aisbx-http", f"{trip} node_modules/aisbx/bin/aisbx-full",
               f"{trip} node_modules/aisbx/libexec/aisbx/aisbx-http",
               f"mkdir -p node_modules/aisbx/libexec/libexec/aisbx; {trip} node_modules/aisbx/libexec/libexec/aisbx/aisbx-http")
    for number, script in enumerate(scripts):
        call("run", "--keep", f"p{number}", "--", "sh", "-c", script)
        done = call("promote", f"p{number}", "--ignored", *EVERYTHING)
        tap.ok(refused(done, 4, "of aisbx itself") and home.tree() == before, f"refused: {script}", done)
    call("run", "--keep", "copy", "--", "sh", "-c", "echo x >f")
    done = call("cp", "copy:f", own)
    tap.ok(refused(done, 4, "of aisbx itself") and home.tree() == before, "nor is it the target of a copy", done)
    done = home.call("promote", "p0")
    tap.ok(done.returncode == 4 and "program that holds sandboxes" in done.stdout + done.stderr and home.tree() == before,
           "another installation than the one that runs: asked about", done)
    done = home.call("run", "--write", "workspace", "--", "sh", "-c", replace + "; echo fine >../../../plain")
    tap.ok(home.read("plain") == "fine\n" and os.stat(own).st_size > 1000, "and left by --write", done)


def main():
    for test in (test_programs, test_new_names, test_taken_away, test_led_to, test_copies, test_stage, test_mounts, test_homes, test_hidden, test_brought):
        with Home("aisbxtest-own-") as home:
            if not home.can_run(tap, "folders of aisbx itself"):
                break
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
