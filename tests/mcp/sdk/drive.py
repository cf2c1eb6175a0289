"""Drives a server with the official Python client, of whichever line is on the path: steps in, answers out, as JSON."""
import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def field(thing, *names):
    """Names changed from one line to the next."""
    return next((getattr(thing, name) for name in names if hasattr(thing, name)), None)


async def main(steps, command):
    async with stdio_client(StdioServerParameters(command=command[0], args=command[1:])) as (read, write):
        async with ClientSession(read, write) as session:
            hello = await session.initialize()
            tools = (await session.list_tools()).tools
            print(json.dumps({"version": field(hello, "protocolVersion", "protocol_version"),
                              "tools": [tool.name for tool in tools]}), flush=True)
            for tool, arguments in steps:
                result = await session.call_tool(tool, arguments)
                print(json.dumps({"tool": tool, "error": bool(field(result, "isError", "is_error")),
                                  "data": field(result, "structuredContent", "structured_content")}), flush=True)
            resources = (await session.list_resources()).resources
            prompts = (await session.list_prompts()).prompts
            read_back = await session.read_resource(resources[0].uri)
            print(json.dumps({"resources": len(resources), "prompts": len(prompts), "read": len(read_back.contents)}))


asyncio.run(main(json.load(open(sys.argv[1])), sys.argv[2:]))
