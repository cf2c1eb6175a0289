# SPDX-License-Identifier: Apache-2.0
"""The code interpreter inside a sandbox of `serve e2b`: contexts, each a process that keeps its state.

aisbx-envd starts this on the first request for the interpreter's port, and passes requests on as lines of JSON; an answer is a
line "CHANNEL STATUS JSON". Status 0 is a line of a stream, 1 its end; any other is that of a whole answer.

    envd <--lines--> this process <--pipes--> a kernel: a fork of this process for Python, else a program

A kernel gets requests at descriptor 3 and reports at 4. What it and its children print goes through pipes of their own, which
are read up to what they hold before a report is passed on: so output keeps its place among the results. Needs the standard
library only; what few contexts use is imported there, because each is a fork of this.
"""

import os
import sys

# A json.py in the directory of the sandbox is for its code, and must not take the place of the library's here.
PATH = sys.path[:]
FOREIGN = {os.path.abspath(place) for place in ["", *os.environ.get("PYTHONPATH", "").split(":")]}
sys.path = [place for place in PATH if os.path.abspath(place) not in FOREIGN]

import ast  # noqa: E402
import base64  # noqa: E402
import codecs  # noqa: E402
import contextlib  # noqa: E402
import fcntl  # noqa: E402
import importlib.util  # noqa: E402
import inspect  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import linecache  # noqa: E402
import re  # noqa: E402
import selectors  # noqa: E402
import shlex  # noqa: E402
import shutil  # noqa: E402
import signal  # noqa: E402
import textwrap  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402
import types  # noqa: E402
import uuid  # noqa: E402

CONTEXTS_MAX = 64
PIPE_BYTES = 65536
PR_SET_PDEATHSIG = 1
# Bytes of one result, as JSON; the agent takes lines of twice that.
REPORT_MAX = 32 << 20
# Kept of each stream for the record.
TAIL_CHARACTERS = 8192
TOO_LONG = {"error": {"name": "ResultTooLong", "value": f"one result has at most {REPORT_MAX} bytes: write it to a file", "traceback": ""}}
NAMES = {"python": "python", "py": "python", "javascript": "javascript", "js": "javascript", "bash": "bash", "sh": "bash"}
PROGRAMS = {"javascript": "node", "bash": "bash"}

# Code and what takes its variables back come ended by NUL, and are run by this very shell. It reports in the loop's condition,
# before it reads: so a `continue` or `break` of the code leads to the report as well. The first report is that of no code.
BASH = " ".join([
    "while :; do",
    r"""while builtin printf '{"end":%d}\n' $? >&4; builtin eval "$__back";""",
    "IFS= builtin read -r -d '' -u 3 __code && IFS= builtin read -r -d '' -u 3 __back || builtin exit;",
    'do builtin eval "$__code" 3>&- 4>&-; done;',
    "done"])

NODE = r"""
// In a function: the names are the code's.
(() => {
const fs = require('fs'), util = require('util'), inspector = require('inspector');
const session = new inspector.Session();
session.connect();
const send = (report) => fs.writeSync(4, JSON.stringify(report) + '\n');
const post = (method, params) => new Promise((resolve, reject) =>
  session.post(method, params, (error, result) => error ? reject(error) : resolve(result)));
const show = (value) => send({result: {text: typeof value === 'string' ? value : util.inspect(value), is_main_result: true}});
globalThis[Symbol.for('aisbx.show')] = show;
// The evaluator takes no import declarations.
const required = (code) => code
  .replace(/^\s*import\s+\*\s+as\s+(\w+)\s+from\s+(['"][^'"]+['"])/gm, 'const $1 = require($2)')
  .replace(/^\s*import\s+(\{[^}]*\})\s+from\s+(['"][^'"]+['"])/gm, (_, names, from) => `const ${names.replace(/\s+as\s+/g, ': ')} = require(${from})`)
  .replace(/^\s*import\s+(\w+)\s+from\s+(['"][^'"]+['"])/gm, 'const $1 = (m => m.default ?? m)(require($2))');
async function run({code, env}) {
  const before = Object.keys(env).map((name) => [name, process.env[name]]);
  Object.assign(process.env, env);
  const {result, exceptionDetails: failed} = await post('Runtime.evaluate',
    {expression: required(code), replMode: true, awaitPromise: true});
  for (const [name, value] of before)
    if (value === undefined) delete process.env[name]; else process.env[name] = value;
  if (failed) {
    const text = String(failed.exception?.description ?? failed.exception?.value ?? failed.text);
    const name = failed.exception?.className ?? 'Error', line = text.split('\n')[0];
    send({error: {name, value: line.startsWith(name + ': ') ? line.slice(name.length + 2) : line, traceback: text}});
  } else if (result.objectId) {
    await post('Runtime.callFunctionOn', {objectId: result.objectId,
      functionDeclaration: "function() { globalThis[Symbol.for('aisbx.show')](this) }"});
  } else if (result.type !== 'undefined') {
    show('value' in result ? result.value : result.unserializableValue);
  }
  send({end: 0});
}
process.on('uncaughtException', (error) => console.error(error));
let waits = Promise.resolve();
require('readline').createInterface({input: fs.createReadStream(null, {fd: 3})})
  .on('line', (line) => { waits = waits.then(() => run(JSON.parse(line))); });
})();
"""


def split(rest, data):
    """The lines that DATA ends; REST, a bytearray, keeps what has no end yet."""
    *lines, last = data.split(b"\n")
    if lines:
        lines[0] = bytes(rest) + lines[0]
        rest.clear()
    rest += last
    return lines


def reply(channel, status, answer=None):
    text = answer if isinstance(answer, str) else "" if answer is None else json.dumps(answer)
    LINK.write(f"{channel} {status} {text}\n".encode())
    LINK.flush()


def end_with(parent):
    """A kernel that is busy does not see the end of its requests: it is killed when the interpreter ends."""
    with contextlib.suppress(Exception):  # not every python3 has it, or may load it
        import ctypes
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def is_text(value):
    try:
        value.encode()
        return True
    except UnicodeEncodeError:
        return False


class Refused(Exception):
    """A status and a sentence for the client."""


class Context:
    """A language, a directory, and the process that keeps the state, once there is one."""

    def __init__(self, language, cwd):
        # By its id the server, which must know what it is asked about, knows the language.
        self.id, self.language, self.cwd = f"{language}-{uuid.uuid4()}", language, cwd
        self.pid, self.count, self.interrupted, self.queue, self.fds = 0, 0, 0, [], {}
        self.failed, self.tails = False, {"stdout": "", "stderr": ""}

    def describe(self):
        return {"id": self.id, "language": self.language, "cwd": self.cwd}

    def start(self):
        ends = {name: os.pipe() for name in ("in", "report", "stdout", "stderr")}
        parent, self.pid = os.getpid(), os.fork()
        if self.pid == 0:
            try:
                self.become(parent, [ends["in"][0], ends["stdout"][1], ends["stderr"][1], ends["report"][1]])
            finally:
                os._exit(127)
        self.fds = {"in": ends["in"][1], **{name: ends[name][0] for name in ("report", "stdout", "stderr")}}
        for fd in (ends["in"][0], ends["report"][1], ends["stdout"][1], ends["stderr"][1]):
            os.close(fd)
        self.rest, self.is_long = bytearray(), False
        self.decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        for name, fd in self.fds.items():
            os.set_blocking(fd, False)
            if name != "in":
                SELECTOR.register(fd, selectors.EVENT_READ, (self, name))
        self.unsent, self.is_new = b"", self.language == "bash"

    def become(self, parent, ends):
        """Never returns: this is the kernel from here on."""
        os.setsid()
        end_with(parent)
        # Above the numbers that are to be used, whichever these are now.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in ends]
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        for target, fd in ((3, high[0]), (1, high[1]), (2, high[2]), (4, high[3])):
            os.dup2(fd, target)
        os.closerange(5, 65536)
        os.chdir(self.cwd)
        if self.language == "python":
            kernel()
        # Python ignores these, which a program would inherit.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if self.language == "bash":
            os.execvp("bash", ["bash", "-c", BASH])
        os.execvp("node", ["node", "-e", NODE])

    def send(self, code, env):
        if self.language == "bash":
            back = "".join(f"export {name}={shlex.quote(os.environ[name])};" if name in os.environ else f"unset {name};" for name in env)
            head = "".join(f"export {name}={shlex.quote(value)};" for name, value in env.items())
            self.unsent += f"{head}{code}".replace("\0", "").encode() + b"\0" + back.encode() + b"\0"
        else:
            self.unsent += json.dumps({"code": code, "env": env}).encode() + b"\n"
        self.push()

    def push(self):
        try:
            while self.unsent:
                self.unsent = self.unsent[os.write(self.fds["in"], self.unsent[:PIPE_BYTES]):]
        except BlockingIOError:
            pass
        except OSError:
            self.unsent = b""
        is_watched = self.fds["in"] in SELECTOR.get_map()
        if self.unsent and not is_watched:
            SELECTOR.register(self.fds["in"], selectors.EVENT_WRITE, (self, "in"))
        elif not self.unsent and is_watched:
            SELECTOR.unregister(self.fds["in"])

    def stop(self, error):
        """Ends its process; what waits gets ERROR, if that is one."""
        if self.pid:
            for fd in self.fds.values():
                if fd in SELECTOR.get_map():
                    SELECTOR.unregister(fd)
                os.close(fd)
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except OSError:
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.pid, self.count, self.fds = 0, 0, {}
        queue, self.queue = self.queue, []
        for channel, *_ in queue:
            self.send_event(channel, {"type": "error", **error})
            self.send_end(channel)

    def add(self, channel, code, env):
        self.queue.append((channel, code, env))
        if len(self.queue) > 1:
            return
        try:
            self.begin()
        except Exception:
            self.queue.clear()
            raise

    def begin_next(self):
        try:
            self.begin()
        except OSError as error:
            self.stop({"name": "KernelDied", "value": f"no process for this context: {error.strerror}", "traceback": ""})

    def begin(self):
        channel, code, env = self.queue[0]
        if not self.pid:
            self.start()
        self.count += 1
        if channel:
            self.send_event(channel, {"type": "number_of_executions", "execution_count": self.count})
        self.send(code, env)

    def send_event(self, channel, event):
        if event["type"] in ("stdout", "stderr"):
            self.tails[event["type"]] = (self.tails[event["type"]] + event["text"])[-TAIL_CHARACTERS:]
        elif event["type"] == "error":
            self.failed, self.tails["stderr"] = True, (self.tails["stderr"] + event["traceback"])[-TAIL_CHARACTERS:]
        if channel:
            text = json.dumps(event)
            reply(channel, 0, text if len(text) <= REPORT_MAX else json.dumps({"type": "error", **TOO_LONG["error"]}))

    def send_end(self, channel):
        """The end, and for the record how it was and what was printed last."""
        self.send_event(channel, {"type": "end_of_execution"})
        if channel:
            reply(channel, 1, {"failed": self.failed, **self.tails})
        self.failed, self.tails = False, {"stdout": "", "stderr": ""}

    def print(self, name):
        """Passes on what the pipe holds now, and no more: a child may write for ever."""
        try:
            data = os.read(self.fds[name], PIPE_BYTES)
        except BlockingIOError:
            return
        if not data and self.fds[name] in SELECTOR.get_map():
            SELECTOR.unregister(self.fds[name])
        text = self.decoders[name].decode(data)
        if text and self.queue:
            self.send_event(self.queue[0][0], {"type": name, "text": text, "timestamp": time.time_ns() // 1000})

    def ready(self, name):
        try:
            self.pass_on(name)
        except Exception as error:  # the other contexts go on, whatever this one reports
            self.stop({"name": "KernelDied", "value": f"this context was ended, its process reported nonsense: {error!r}", "traceback": ""})

    def pass_on(self, name):
        if name == "in":
            self.push()
            return
        if name != "report":
            self.print(name)
            return
        try:
            data = os.read(self.fds["report"], PIPE_BYTES)
        except BlockingIOError:
            return
        self.print("stdout")
        self.print("stderr")
        if not data:
            self.stop({"name": "KernelDied", "value": "the process of this context has ended; its state is lost", "traceback": ""})
            return
        for line in split(self.rest, data):
            self.report(TOO_LONG if self.is_long else json.loads(line))
            self.is_long = False
        if len(self.rest) > REPORT_MAX:
            self.rest.clear()
            self.is_long = True

    def report(self, report):
        if self.is_new or not self.queue:
            self.is_new = False
            return
        channel = self.queue[0][0]
        if "result" in report:
            self.send_event(channel, {"type": "result", **report["result"]})
        elif "error" in report:
            self.send_event(channel, {"type": "error", **report["error"]})
        elif "end" in report:
            if report["end"]:
                self.send_event(channel, {"type": "error", "name": "", "value": str(report["end"]), "traceback": ""})
            self.send_end(channel)
            self.queue.pop(0)
            if self.queue:
                self.begin_next()

    def cancel(self, channel):
        """Its client has gone: what has not begun never does, what runs is interrupted."""
        place = [entry[0] for entry in self.queue].index(channel)
        if place > 0:
            del self.queue[place]
        elif self.language == "python":
            self.queue[0] = (0, *self.queue[0][1:])
            self.interrupt()
        else:
            # A shell or node has no way back from the middle of its code; those that wait have a new one.
            queue, self.queue = self.queue[1:], []
            self.stop({})
            self.queue = queue
            if queue:
                self.begin_next()

    def interrupt(self):
        self.interrupted = time.monotonic()
        with contextlib.suppress(OSError):  # it has no group yet
            os.killpg(self.pid, signal.SIGINT)


class Contexts:
    """All of them, and what is asked of them."""

    def __init__(self):
        self.all, self.defaults = {}, {}

    def make(self, language, cwd=None):
        name = NAMES.get(str(language or "python").lower())
        if not name:
            raise Refused(400, f"language '{language}' is not served here: it is python, javascript or bash")
        if name in PROGRAMS and not shutil.which(PROGRAMS[name]):
            raise Refused(400, f"language '{name}' needs {PROGRAMS[name]}, which is not installed in this sandbox")
        home = os.path.expanduser("~")
        cwd = os.path.join(home, os.path.expanduser(cwd or ""))
        if not os.path.isdir(cwd):
            raise Refused(400, f"cwd '{cwd}' does not exist")
        if len(self.all) >= CONTEXTS_MAX:
            raise Refused(429, f"there are {CONTEXTS_MAX} contexts already")
        context = Context(name, os.path.normpath(cwd))
        self.all[context.id] = context
        return context

    def default(self, language):
        name = NAMES.get(str(language or "python").lower(), language)
        if self.defaults.get(name) not in self.all:
            self.defaults[name] = self.make(name).id
        return self.all[self.defaults[name]]

    def find(self, name):
        if name not in self.all:
            raise Refused(404, f"context {name} was not found")
        return self.all[name]

    def add_defaults(self):
        """Those that are there from the beginning, as far as a client can tell."""
        self.default("python")
        if shutil.which("node"):
            self.default("javascript")

    def handle(self, channel, method, path, body):
        self.add_defaults()
        words = path.strip("/").split("/")
        if words == ["execute"]:
            env = {str(name): str(value) for name, value in (body.get("env_vars") or {}).items()}
            if not all(re.fullmatch(r"[A-Za-z_]\w*", name, re.A) and "\0" not in value and is_text(value) for name, value in env.items()):
                raise Refused(400, "env_vars are names and texts")
            code = str(body.get("code", ""))
            if not is_text(code):
                raise Refused(400, "the code is no text: it holds half of a character (a lone surrogate)")
            name = body.get("context_id")
            context = self.find(name) if name and name != "default" else self.default(body.get("language"))
            context.add(channel, code, env)
        elif words == ["contexts"] and method == "POST":
            reply(channel, 200, self.make(body.get("language"), body.get("cwd")).describe())
        elif words == ["contexts"] and method == "GET":
            reply(channel, 200, [context.describe() for context in self.all.values()])
        elif len(words) == 2 and method == "DELETE":
            self.find(words[1]).stop({"name": "ContextRemoved", "value": "the context was removed", "traceback": ""})
            del self.all[words[1]]
            reply(channel, 204)
        elif len(words) == 3 and words[2] == "restart" and method == "POST":
            self.find(words[1]).stop({"name": "ContextRestarted", "value": "the context was restarted", "traceback": ""})
            reply(channel, 200, {})
        else:
            raise Refused(404, f"{method} {path} is not served here")

    def cancelled(self):
        """Those that run what no client waits for."""
        return [context for context in self.all.values() if context.queue and not context.queue[0][0]]

    def owner(self, channel):
        return next((context for context in self.all.values() if channel in [entry[0] for entry in context.queue]), None)

    def answer(self, channel, asked):
        try:
            body = json.loads(base64.b64decode(asked["body"]) or b"{}")
            if not isinstance(body, dict):
                raise ValueError
            self.handle(channel, asked["method"], asked["path"], body)
        except Refused as refused:
            reply(channel, refused.args[0], {"code": refused.args[0], "message": refused.args[1]})
        except OSError as error:
            reply(channel, 500, {"code": 500, "message": f"no process for this context: {error.strerror}"})
        except Exception as error:  # nested too deeply, no numbers, no text: the contexts go on
            reply(channel, 400, {"code": 400, "message": f"the body is no JSON object of this call: {error}"})

    def take(self, line):
        asked = json.loads(line)
        channel, action = asked["channel"], asked.get("action")
        if not action:
            self.answer(channel, asked)
            return
        context = self.owner(channel)
        if not context:
            return
        if action == "cancel":
            context.cancel(channel)
        for name in ("stdout", "stderr", "report"):
            fd = context.fds.get(name, -1)
            is_watched = fd in SELECTOR.get_map()
            if action == "pause" and is_watched:
                SELECTOR.unregister(fd)
            elif action in ("resume", "cancel") and fd >= 0 and not is_watched:
                SELECTOR.register(fd, selectors.EVENT_READ, (context, name))


# ---- The Python kernel: everything below runs in the process of a context.


def plain(value):
    """As JSON has it: no numbers that are none, no types of libraries."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if value is None or isinstance(value, (str, int)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


FORMATS = {"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg", "image/png": "png",
           "image/jpeg": "jpeg", "application/pdf": "pdf", "text/latex": "latex", "application/json": "json",
           "application/javascript": "javascript"}


def fields(bundle):
    """A bundle of MIME types as the fields of a result."""
    found = {}
    for kind, value in bundle.items():
        if isinstance(value, (bytes, bytearray)):
            value = base64.b64encode(value).decode()
        if kind in FORMATS:
            found[FORMATS[kind]] = plain(value)
        else:
            found.setdefault("extra", {})[kind] = plain(value)
    return found


def picture(figure):
    out = io.BytesIO()
    figure.savefig(out, format="png", bbox_inches="tight")
    return out.getvalue()


def describe(value):
    """A value as the fields of a result."""
    bundle = {"text/plain": value if isinstance(value, str) else repr(value)}
    figures = sys.modules.get("matplotlib.figure")
    found = {}
    if figures and isinstance(value, figures.Figure):
        bundle["image/png"] = picture(value)
        found["chart"] = plain(chart_of_figure(value))
    for kind, name in FORMATS.items():
        method = getattr(type(value), f"_repr_{name}_", None)
        if name == "text" or not method:
            continue
        try:
            got = method(value)
        except Exception:  # a format that fails is one that is not there
            continue
        if got is not None:
            bundle[kind] = got[0] if isinstance(got, tuple) else got
    if hasattr(type(value), "_repr_mimebundle_"):
        got = value._repr_mimebundle_()
        bundle.update(got[0] if isinstance(got, tuple) else got or {})
    if type(value).__module__.startswith("pandas.") and type(value).__name__ == "DataFrame":
        found["data"] = plain(value.to_dict(orient="list"))
    return {**fields(bundle), **found}


def flush():
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the code may have put anything there
            stream.flush()


def report(message):
    flush()
    data = memoryview(json.dumps(message).encode() + b"\n")
    while data:
        data = data[os.write(4, data):]


def display(*values, raw=False, **_):
    for value in values:
        report({"result": fields(value) if raw else describe(value)})


def show_figures(*_, **__):
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not pyplot:
        return
    for number in pyplot.get_fignums():
        display(pyplot.figure(number))
    pyplot.close("all")


def axis_facts(axis, scale):
    """Ticks, their texts and the kind of one axis, and how a number on it is written."""
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    kind = type(converter).__name__
    kind = "datetime" if "Date" in kind else "categorical" if "Category" in kind else scale
    ticks, labels = [float(tick) for tick in axis.get_ticklocs()], [label.get_text() for label in axis.get_ticklabels()]
    names = dict(zip(ticks, labels))
    if kind == "datetime":
        from matplotlib.dates import num2date
        return kind, [num2date(tick).isoformat() for tick in ticks], labels, lambda number: num2date(number).isoformat()
    if kind == "categorical":
        return kind, ticks, labels, lambda number: names.get(float(number), float(number))
    return kind, ticks, labels, float


def unit_of(label):
    found = re.search(r"\(([^()]*)\)\s*$", label or "")
    return found.group(1) if found else None


def bars(axes):
    found = []
    for group in axes.containers:
        if type(group).__name__ != "BarContainer":
            continue
        lies = getattr(group, "orientation", "") == "horizontal"
        axis = axes.yaxis if lies else axes.xaxis
        names = dict(zip([round(float(tick), 6) for tick in axis.get_ticklocs()], [text.get_text() for text in axis.get_ticklabels()]))
        for bar in group.patches:
            middle = bar.get_y() + bar.get_height() / 2 if lies else bar.get_x() + bar.get_width() / 2
            found.append({"label": names.get(round(float(middle), 6)) or str(round(float(middle), 6)), "group": group.get_label(),
                          "value": bar.get_width() if lies else bar.get_height()})
    return found


def chart_of_axes(axes):
    wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]
    points = [entry for entry in axes.collections if type(entry).__name__ == "PathCollection"]
    chart = {"type": "unknown", "title": axes.get_title() or None, "elements": []}
    x_kind, x_ticks, x_labels, x_text = axis_facts(axes.xaxis, axes.get_xscale())
    y_kind, y_ticks, y_labels, y_text = axis_facts(axes.yaxis, axes.get_yscale())
    x_label, y_label = axes.get_xlabel() or None, axes.get_ylabel() or None
    flat = {"x_label": x_label, "y_label": y_label, "x_unit": unit_of(x_label), "y_unit": unit_of(y_label)}
    full = {**flat, "x_ticks": x_ticks, "x_tick_labels": x_labels, "x_scale": x_kind, "y_ticks": y_ticks, "y_tick_labels": y_labels,
            "y_scale": y_kind}
    if wedges:
        return {**chart, "type": "pie", "elements": [
            {"label": wedge.get_label(), "angle": round(abs(float(wedge.theta2) - float(wedge.theta1)), 4), "radius": float(wedge.r)}
            for wedge in wedges]}
    if getattr(axes, "_aisbx_boxes", None):
        return {**chart, **flat, "type": "box_and_whisker", "elements": [
            {"label": str(box.get("label", "")), "min": box["whislo"], "first_quartile": box["q1"], "median": box["med"],
             "third_quartile": box["q3"], "max": box["whishi"], "outliers": box.get("fliers", [])} for box in axes._aisbx_boxes]}
    if bars(axes):
        return {**chart, **flat, "type": "bar", "elements": bars(axes)}
    if points:
        sets = [(entry.get_label(), entry.get_offsets().tolist()) for entry in points]
    else:
        sets = [(line.get_label(), line.get_xydata().tolist()) for line in axes.lines]
    if not sets:
        return {**chart, **flat}
    return {**chart, **full, "type": "scatter" if points else "line", "elements": [
        {"label": label, "points": [[x_text(x), y_text(y)] for x, y in pairs]} for label, pairs in sets]}


def chart_of_figure(figure):
    try:
        charts = [chart_of_axes(axes) for axes in figure.axes]
    except Exception:  # what cannot be read is a picture all the same
        return {"type": "unknown", "title": None, "elements": []}
    if len(charts) == 1:
        return charts[0]
    title = getattr(figure, "_suptitle", None)
    return {"type": "superchart" if charts else "unknown", "title": title.get_text() if title else None, "elements": charts}


def adapt_matplotlib(module):
    module.use("agg")


def adapt_pyplot(module):
    module.show = show_figures


def adapt_axes(module):
    draw = module.Axes.bxp

    def bxp(self, bxpstats, *args, **kwargs):
        self._aisbx_boxes = list(bxpstats)
        return draw(self, self._aisbx_boxes, *args, **kwargs)
    module.Axes.bxp = bxp


def adapt_pillow(module):
    module.Image.show = lambda self, *_, **__: display(self)


def adapt_display(module):
    module.display = display


class Adapters:
    """Finds modules as ever, and has some adapted once they are loaded."""

    known = {"matplotlib": adapt_matplotlib, "matplotlib.pyplot": adapt_pyplot, "matplotlib.axes._axes": adapt_axes,
             "PIL.Image": adapt_pillow, "IPython.core.display_functions": adapt_display}

    def find_spec(self, name, path, target=None):
        adapt = self.known.get(name)
        if not adapt:
            return None
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)), None)
        if spec and spec.loader:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                adapt(module)
            spec.loader.exec_module = exec_module
        return spec


def offer_display():
    """IPython.display, as much of it as programs use to show things, where there is no IPython."""
    if importlib.util.find_spec("IPython"):
        return
    module, shown = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    for kind, name in (("HTML", "html"), ("Markdown", "markdown"), ("SVG", "svg"), ("Latex", "latex"), ("JSON", "json"),
                       ("Javascript", "javascript")):
        def made(self, data=None, **_):
            self.data = data
        setattr(shown, kind, type(kind, (), {"__init__": made, f"_repr_{name}_": lambda self: self.data}))
    shown.display, shown.clear_output = display, lambda *_, **__: None
    # What libraries look at that find the module: no shell is there.
    module.display, module.get_ipython, module.version_info = shown, lambda: None, (8, 0, 0, "")
    sys.modules.update({"IPython": module, "IPython.display": shown})


class Shell:
    """One Python context: its names, and what an execution does with them."""

    def __init__(self):
        self.main = types.ModuleType("__main__")
        sys.modules["__main__"] = self.main
        self.names = self.main.__dict__
        self.names.update({"display": display, "__builtins__": __builtins__, "_system": self.system})
        self.loop, self.count, self.pid = None, 0, os.getpid()

    @staticmethod
    def system(command):
        import subprocess
        sys.stdout.flush()
        subprocess.run(["/bin/sh", "-c", command], check=False)

    @staticmethod
    def clean(code):
        """Indented as a whole, or with a shell's lines (!ls): as Python has it."""
        code = textwrap.dedent(code.expandtabs(8) if code.startswith("\t") else code)
        return re.sub(r"^([ ]*)!(?!=)(.+)$", lambda found: f"{found[1]}_system({found[2]!r})", code, flags=re.M)

    def parse(self, code, name):
        try:
            return ast.parse(code, name)
        except SyntaxError:
            return ast.parse(self.clean(code), name)

    def evaluate(self, tree, name, mode):
        code = compile(tree, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if not code.co_flags & inspect.CO_COROUTINE:
            return eval(code, self.names)
        import asyncio
        if not self.loop:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(eval(code, self.names))

    def run(self, code):
        self.count += 1
        name = f"<cell {self.count}>"
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        tree = self.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        self.evaluate(tree, name, "exec")
        value = self.evaluate(ast.Expression(last.value), name, "eval") if last else None
        if value is not None and not code.rstrip().endswith(";"):
            self.names["_"] = value
            report({"result": {**describe(value), "is_main_result": True}})

    @staticmethod
    def trace(error):
        frames = error.__traceback__
        while frames and frames.tb_frame.f_code.co_filename == "<interpreter>":
            frames = frames.tb_next
        return "".join(traceback.format_exception(type(error), error, frames))

    def fail(self, error):
        facts = {"name": type(error).__name__, "value": "<this error has no text>", "traceback": ""}
        for name, text_of in (("value", str), ("traceback", self.trace)):
            with contextlib.suppress(BaseException):  # an error of the code's own making may raise another one here
                facts[name] = text_of(error)
        report({"error": facts})

    def leave(self, error):
        """Ends a child that the code has forked and that came to the end of the code."""
        with contextlib.suppress(BaseException):
            code = error.code if isinstance(error, SystemExit) else self.trace(error) if error else None
            if code is not None and not isinstance(code, int):
                print(code, file=sys.stderr)
            flush()
            os._exit(code & 255 if isinstance(code, int) else code is not None)
        os._exit(1)

    def run_in_context(self, code):
        try:
            self.run(code)
        finally:
            # The context is the parent's.
            if os.getpid() != self.pid:
                self.leave(sys.exc_info()[1])

    def execute(self, asked):
        before = {name: os.environ.get(name) for name in asked["env"]}
        os.environ.update(asked["env"])
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                self.run_in_context(asked["code"])
            except SystemExit as error:
                if error.code not in (None, 0):
                    self.fail(error)
            finally:
                show_figures()
        except BaseException as error:  # the context goes on, whatever the code raised
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self.fail(error)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        report({"end": 0})


def detach():
    """A child that the code has forked keeps nothing of the context open, and what it reports goes nowhere."""
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (3, 4):
        os.dup2(null, fd, inheritable=False)
    os.close(null)


def kernel():
    for fd in (3, 4):
        os.set_inheritable(fd, False)
    os.register_at_fork(after_in_child=detach)
    sys.stdin = open(0, closefd=False)
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = io.TextIOWrapper(io.BufferedWriter(io.FileIO(fd, "w", closefd=False)), "utf-8", "backslashreplace", line_buffering=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.path = ["", *filter(None, PATH)]
    sys.argv = [""]
    sys.meta_path.insert(0, Adapters())
    offer_display()
    shell = Shell()
    with open(3, "rb", closefd=False) as requests:
        for line in requests:
            shell.execute(json.loads(line))
    os._exit(0)


def main():
    contexts, rest = Contexts(), bytearray()
    # A kernel inherits this: only code that runs is interrupted.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_blocking(0, False)
    SELECTOR.register(0, selectors.EVENT_READ, None)
    while True:
        events = SELECTOR.select(1 if contexts.cancelled() else None)
        # A kernel that had not begun yet, or code that catches everything, is interrupted again, however much it prints.
        for context in contexts.cancelled():
            if time.monotonic() - context.interrupted >= 1:
                context.interrupt()
        for key, _ in events:
            # One that was stopped meanwhile is no longer there.
            if key.fd not in SELECTOR.get_map():
                continue
            if key.data:
                key.data[0].ready(key.data[1])
                continue
            data = os.read(0, PIPE_BYTES)
            if not data:
                os._exit(0)
            for line in split(rest, data):
                contexts.take(line)


LINK = open(os.dup(1), "wb")
SELECTOR = selectors.DefaultSelector()
main()
