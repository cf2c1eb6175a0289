#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adapters for agent frameworks: what their tools do in sandboxes, and what is said where a framework is missing.

The frameworks are fetched by tools/fetch-adapter-clients; without them their part is skipped, with the reason. Takes the program
from AISBX, the tree from AISBX_SOURCE. Speaks TAP.
"""

import importlib
import os
import subprocess
import sys

SOURCE = os.environ["AISBX_SOURCE"]
FETCHED = os.path.join(SOURCE, "fetched", "adapters")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "tests", "lib"))
sys.path.insert(0, os.path.join(SOURCE, "clients", "python"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402

tap = Tap()

# The framework's own model for tests answers with a call of a tool; what the tool says goes back to it.
LANGCHAIN = r"""
import asyncio
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from aisbx import Sandbox
from aisbx.langchain import sandbox_tools
wish = AIMessage(content="", tool_calls=[{"name": "sandbox_shell", "args": {"command": "echo from the model; exit 3"}, "id": "1", "type": "tool_call"}])
tools = {tool.name: tool for tool in sandbox_tools(timeout=60)}
call = GenericFakeChatModel(messages=iter([wish])).invoke("go").tool_calls[0]
said = tools[call["name"]].invoke(call)
assert isinstance(said, ToolMessage) and said.content == "from the model\nstatus: error, exit code 3", said
assert tools["sandbox_python"].args == {"code": {"title": "Code", "type": "string"}}, tools["sandbox_python"].args
assert asyncio.run(tools["sandbox_python"].ainvoke({"code": "print(6 * 7)"})) == "42"
with Sandbox.create() as sandbox:
    shell = sandbox_tools(sandbox)[0]
    shell.invoke({"command": "echo kept > mark"})
    assert shell.invoke({"command": "cat mark"}) == "kept"
print("fine")
"""

# The SDK has no model for tests; one of its interface is what its documentation asks for.
AGENTS = r"""
import asyncio, json
from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from aisbx.openai_agents import sandbox_tools
set_tracing_disabled(True)
class Scripted(Model):
    seen = None
    async def get_response(self, system_instructions, input, *rest, **more):
        answers = [row for row in input if isinstance(row, dict) and row.get("type") == "function_call_output"] if isinstance(input, list) else []
        if answers:
            Scripted.seen = answers[0]["output"]
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            out = [ResponseOutputMessage(id="2", content=[text], role="assistant", status="completed", type="message")]
        else:
            out = [ResponseFunctionToolCall(id="1", call_id="1", name="sandbox_python", arguments=json.dumps({"code": "print(6 * 7)"}), type="function_call")]
        return ModelResponse(output=out, usage=Usage(), response_id=None)
    def stream_response(self, *rest, **more):
        raise NotImplementedError
done = asyncio.run(Runner.run(Agent(name="a", model=Scripted(), tools=sandbox_tools(timeout=60)), "go"))
assert (Scripted.seen, done.final_output) == ("42", "done"), (Scripted.seen, done.final_output)
print("fine")
"""


def test_text(home):
    """The part that both share."""
    import aisbx
    from aisbx._tools import tools_of
    shell, python = (tool.call for tool in tools_of(None, {"timeout": 300}))
    tap.equal(shell("echo out; echo err >&2"), "out\nstderr:\nerr", "both streams")
    tap.equal(python("print(6 * 7)"), "42", "a program")
    tap.equal(shell("true"), "(no output)", "no output is said")
    text = shell("head -c 100000 /dev/zero | tr '\\0' x; echo end")
    tap.ok(len(text) < 17000 and "characters left out" in text and text.endswith("end"), "much is cut in the middle", len(text))
    text = shell("exec 3<>/dev/tcp/192.0.2.1/443") + python("import socket\nsocket.create_connection(('192.0.2.1', 443), 5)")
    tap.ok("allowed by --allow 192.0.2.1:443" in text, "what was refused, and the way out", text[-500:])
    for name, wrong, sign in (("a null byte", "a\0b", "null byte"), ("half of a character", "a\ud800", "surrogate"), ("a long one", "x" * 200000, "shorter")):
        tap.ok(all(call(wrong).startswith("aisbx: ") and sign in call(wrong) for call in (shell, python)), f"{name} is refused by text", wrong[:9])
    with aisbx.Sandbox.create() as sandbox:
        inside = tools_of(sandbox, {})[0].call
        inside("echo x > mark")
        tap.equal((inside("cat mark"), os.path.exists(home.work + "/mark")), ("x", False), "a sandbox keeps it, the host has nothing")
    tap.ok("remedy: " in inside("true") or "no sandbox" in inside("true"), "an error of ours is text as well", inside("true"))


def test_missing():
    for module, package in (("langchain", "langchain-core"), ("openai_agents", "openai-agents")):
        try:
            importlib.import_module("aisbx." + module)
            tap.skip(f"{module} without its framework", "it is installed here")
        except ImportError as error:
            tap.ok(f"pip install {package}" in str(error), f"{module} without its framework names the remedy", error)


def main():
    with Home("aisbx-test-adapters-") as home:
        if not home.can_run(tap, "adapters"):
            return
        os.environ.update(home.env, AISBX=AISBX)
        os.chdir(home.work)
        test_missing()
        test_text(home)
        for name, script in (("LangChain", LANGCHAIN), ("OpenAI Agents", AGENTS)):
            if not os.path.exists(FETCHED + "/complete"):
                tap.skip(name, "tools/fetch-adapter-clients has not run, or could not fetch it")
                continue
            env = {**home.env, "AISBX": AISBX, "PYTHONPATH": f"{SOURCE}/clients/python:{FETCHED}/py", "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run([sys.executable, "-c", script], env=env, cwd=home.work, capture_output=True, text=True, check=False,
                                  timeout=patience(120))
            tap.ok(done.stdout == "fine\n", f"{name}: its own agent calls the tools", done)
        os.chdir("/")


main()
sys.exit(tap.done())
