# SPDX-License-Identifier: Apache-2.0
"""Drives a server with the official Python client, of whichever line is on the path: steps in, answers out, as JSON.

The first line of clients shakes hands; the second finds out by itself what the server speaks. Their user says yes to whatever
is asked. A word "$NAME" of a step is what an earlier answer had under that name.
"""
import asyncio
import contextlib
import json
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client


def field(thing, *names):
    """Names changed from one line to the next."""
    return next((getattr(thing, name) for name in names if hasattr(thing, name)), None)


asked, logged = [], []


async def agree(_, params):
    asked.append(params.message)
    return types.ElicitResult(action="accept", content={"approve": True})


async def note(params):
    logged.append(params.data)


@contextlib.asynccontextmanager
async def connect(parameters):
    """(client, version spoken)"""
    try:
        from mcp import Client
    except ImportError:
        async with stdio_client(parameters) as streams, ClientSession(*streams, elicitation_callback=agree,
                                                                      logging_callback=note) as session:
            hello = await session.initialize()
            await session.set_logging_level("notice")
            yield session, hello.protocolVersion
    else:
        async with Client(parameters, elicitation_callback=agree, logging_callback=note, log_level="notice") as client:
            yield client, client.protocol_version


async def main(steps, command):
    say = lambda what: print(json.dumps(what), flush=True)  # noqa: E731
    async with connect(StdioServerParameters(command=command[0], args=command[1:])) as (client, version):
        tools = (await client.list_tools()).tools
        say({"version": version, "tools": [tool.name for tool in tools]})
        seen = {}
        for tool, words in steps:
            words = {key: seen[word[1:]] if isinstance(word, str) and word.startswith("$") else word
                     for key, word in words.items()}
            result = await client.call_tool(tool, words)
            data = field(result, "structuredContent", "structured_content")
            seen.update({key: word for key, word in (data or {}).items() if isinstance(word, str)})
            say({"tool": tool, "error": bool(field(result, "isError", "is_error")), "data": data})
        resources = (await client.list_resources()).resources
        prompts = (await client.list_prompts()).prompts
        read_back = await client.read_resource(resources[0].uri)
        say({"resources": len(resources), "prompts": len(prompts), "read": len(read_back.contents), "asked": len(asked),
             "logged": len(logged)})


asyncio.run(main(json.load(open(sys.argv[1])), sys.argv[2:]))
