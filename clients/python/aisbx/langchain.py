# SPDX-License-Identifier: Apache-2.0
# mypy: no-warn-unused-ignores
"""Tools for LangChain and LangGraph that run in a sandbox.

    from aisbx.langchain import sandbox_tools

    agent = create_agent(model, tools=sandbox_tools(mem="1g", timeout=60))
"""

from __future__ import annotations

import asyncio
from typing import Any, List, Optional

from ._tools import Tool, missing, tools_of
from .sandbox import Sandbox

try:
    from langchain_core.tools import StructuredTool  # type: ignore
except ImportError:
    raise missing("langchain-core") from None


def sandbox_tools(sandbox: Optional[Sandbox] = None, **settings: Any) -> List[Any]:
    """``sandbox_shell`` and ``sandbox_python``, called or awaited.

    With ``sandbox`` they run there and it keeps what they do; without, each call has a throw-away copy of this machine,
    with these settings of ``aisbx.run`` (``timeout``, ``allow``, ``mem``, ``workspace``...). A failure is text for the model.
    """
    shell, python = tools_of(sandbox, settings)

    def run_shell(command: str) -> str:
        return shell.call(command)

    async def run_shell_async(command: str) -> str:
        return await asyncio.to_thread(shell.call, command)

    def run_python(code: str) -> str:
        return python.call(code)

    async def run_python_async(code: str) -> str:
        return await asyncio.to_thread(python.call, code)

    return [_make(shell, run_shell, run_shell_async), _make(python, run_python, run_python_async)]


def _make(tool: Tool, called: Any, awaited: Any) -> Any:
    return StructuredTool.from_function(func=called, coroutine=awaited, name=tool.name, description=tool.description)
