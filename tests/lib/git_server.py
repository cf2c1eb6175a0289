# SPDX-License-Identifier: Apache-2.0
"""Git over HTTP for tests: git's own program behind a server of the library."""
import os
import subprocess


def make_repository(home, place, text):
    """A bare repository with one commit, of a README that says TEXT."""
    tree = place + ".tree"
    git = ["git", "-C", tree, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    os.makedirs(tree)
    with open(tree + "/README", "w", encoding="utf-8") as out:
        out.write(text + "\n")
    for words in (["init", "-q", "-b", "main"], ["add", "README"], ["commit", "-q", "-m", "one"], ["clone", "-q", "--bare", ".", place]):
        subprocess.run([*git, *words], check=True, env=home.env)
    subprocess.run(["git", "-C", place, "config", "http.receivepack", "true"], check=True, env=home.env)


def answer_git(handler, top, body, may_push):
    """Answers /git/REPOSITORY/... of repositories below TOP; a push that may not be is asked for a password."""
    path, _, query = handler.path.partition("?")
    if "git-receive-pack" in handler.path and not may_push:
        handler.send_response(401)
        handler.send_header("WWW-Authenticate", 'Basic realm="git"')
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": top, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path[len("/git"):], "QUERY_STRING": query,
           "REQUEST_METHOD": handler.command, "CONTENT_TYPE": handler.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
           "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""), "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
           "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", "HOME": top}
    done = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env=env, check=False)
    head, _, text = done.stdout.partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
    handler.send_response(int(fields.pop("Status", "200").split()[0]))
    for name, value in fields.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(text)))
    handler.end_headers()
    handler.wfile.write(text)
