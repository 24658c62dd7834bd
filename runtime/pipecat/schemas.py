"""Pipecat's schemas of tools, whose modules 1.14 has moved."""

from __future__ import annotations

try:
    from pipecat.adapters.llm.schemas.direct_function import DirectFunctionWrapper, tool_options
    from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
    from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
except ModuleNotFoundError:  # pipecat-ai 1.13
    from pipecat.adapters.schemas.direct_function import DirectFunctionWrapper, tool_options
    from pipecat.adapters.schemas.function_schema import FunctionSchema
    from pipecat.adapters.schemas.tools_schema import ToolsSchema

__all__ = ["DirectFunctionWrapper", "FunctionSchema", "ToolsSchema", "tool_options"]
