# SPDX-License-Identifier: Apache-2.0
# mypy: no-warn-unused-ignores
"""Tools for the OpenAI Agents SDK that run in a sandbox.

    from aisbx.openai_agents import sandbox_tools

    agent = Agent(name="coder", tools=sandbox_tools(mem="1g", timeout=60))
"""

from __future__ import annotations

import asyncio
from typing import Any, List, Optional

from ._tools import missing, tools_of
from .sandbox import Sandbox

try:
    from agents import function_tool  # type: ignore
except ImportError:
    raise missing("openai-agents") from None


def sandbox_tools(sandbox: Optional[Sandbox] = None, **settings: Any) -> List[Any]:
    """``sandbox_shell`` and ``sandbox_python``; arguments as of ``aisbx.langchain.sandbox_tools``."""
    shell, python = tools_of(sandbox, settings)

    async def run_shell(command: str) -> str:
        return await asyncio.to_thread(shell.call, command)

    async def run_python(code: str) -> str:
        return await asyncio.to_thread(python.call, code)

    return [function_tool(run_shell, name_override=shell.name, description_override=shell.description),
            function_tool(run_python, name_override=python.name, description_override=python.description)]
