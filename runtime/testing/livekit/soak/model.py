"""A model that calls the offered tools, with arguments drawn from their schemas."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from livekit.agents import llm
from livekit.agents.llm.utils import build_legacy_openai_schema

from turnfsm.runtime.testing.livekit.belief import Call
from turnfsm.runtime.testing.livekit.scripted_llm import Reply, Request, ScriptedLLM

__all__ = ["RandomModel", "call_key", "draw_value"]

_DEEPEST = 3
"""How many consecutive requests call tools."""

_CALLS = 0.6
"""The share of requests that call tools, if they may."""

Key = tuple[str, str]
Draw = Callable[[Random, Mapping[str, Any], Mapping[str, Any]], Any]


class RandomModel(ScriptedLLM):
    """Answers with text or tool calls, drawn from the seed and the question.

    The same question gets the same answer on every session. `decided` has the question of each
    call. If a call runs more often than that, it was repeated because its result was not shown.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(otherwise=self._answer)
        self._seed = seed
        self._offered: Mapping[str, Any] = {}
        self.decided: dict[Key, set[str]] = {}

    def ask(
        self, chat_ctx: llm.ChatContext, tools: Iterable[llm.Tool] = (), **how: bool
    ) -> tuple[Request, Reply]:
        tools = list(tools)
        self._offered = llm.ToolContext(tools).function_tools
        return super().ask(chat_ctx, tools, **how)

    def _answer(self, request: Request) -> Reply:
        asked = f"{_last_of_user(request.chat_ctx)} {request.prompt}"
        draws = Random(f"{self._seed} {asked}")
        calls = self._drawn(draws, request.chat_ctx)
        for call in calls:
            key = call_key(call.name, json.dumps(call.arguments))
            self.decided.setdefault(key, set()).add(asked)
        text = "" if calls and draws.random() < 0.5 else _words(draws, draws.randint(1, 14))
        return Reply(text, calls=calls, ttft=draws.choice((0.1, 0.3, 0.3, 1.5)))

    def _drawn(self, draws: Random, chat_ctx: llm.ChatContext) -> list[Call]:
        since = itertools.takewhile(lambda item: not _of_user(item), reversed(chat_ctx.items))
        deep = sum(item.type == "function_call_output" for item in since)
        if not self._offered or deep >= _DEEPEST or draws.random() > _CALLS:
            return []
        names = draws.choices(sorted(self._offered), k=draws.choice((1, 1, 1, 2)))
        return [Call(name, self._arguments(draws, name)) for name in names]

    def _arguments(self, draws: Random, name: str) -> dict[str, Any]:
        schema = _schema(self._offered[name])
        drawn = draw_value(draws, schema, schema.get("$defs", {}))
        return drawn if isinstance(drawn, dict) else {}


def call_key(name: str, arguments: str) -> Key:
    """A key of a call that does not depend on how its arguments are written."""
    try:
        return name, json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except ValueError:
        return name, arguments


def draw_value(draws: Random, schema: Mapping[str, Any], named: Mapping[str, Any]) -> Any:
    """A value that a JSON Schema allows; `named` are its definitions."""
    if "$ref" in schema:
        return draw_value(draws, named.get(schema["$ref"].rpartition("/")[2], {}), named)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return draws.choice(schema["enum"])
    for words in ("anyOf", "oneOf"):
        if schema.get(words):
            return draw_value(draws, draws.choice(schema[words]), named)
    kind = schema.get("type")
    name = draws.choice(kind) if isinstance(kind, list) else kind
    draw: Draw = _DRAWS.get(name or "string", _text)
    return draw(draws, schema, named)


def _object(draws: Random, schema: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    needed = schema.get("required", ())
    return {
        name: draw_value(draws, of, named)
        for name, of in schema.get("properties", {}).items()
        if name in needed or draws.random() < 0.5
    }


def _array(draws: Random, schema: Mapping[str, Any], named: Mapping[str, Any]) -> list[Any]:
    least = schema.get("minItems", 0)
    count = draws.randint(least, min(schema.get("maxItems", least + 3), least + 3))
    return [draw_value(draws, schema.get("items", {}), named) for _ in range(count)]


def _integer(draws: Random, schema: Mapping[str, Any], named: Mapping[str, Any]) -> int:
    least = int(schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1))
    return draws.randint(least, int(schema.get("maximum", least + 100)))


def _number(draws: Random, schema: Mapping[str, Any], named: Mapping[str, Any]) -> float:
    least = float(schema.get("minimum", schema.get("exclusiveMinimum", 0.0)))
    return round(draws.uniform(least, float(schema.get("maximum", least + 100.0))), 2)


def _text(draws: Random, schema: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    return _words(draws, 1)


_DRAWS: dict[str, Draw] = {
    "object": _object,
    "array": _array,
    "integer": _integer,
    "number": _number,
    "string": _text,
    "boolean": lambda draws, schema, named: draws.random() < 0.5,
    "null": lambda draws, schema, named: None,
}


def _schema(tool: Any) -> Mapping[str, Any]:
    if isinstance(tool, llm.RawFunctionTool):
        raw: Mapping[str, Any] = tool.info.raw_schema.get("parameters", {})
        return raw
    built: Mapping[str, Any] = build_legacy_openai_schema(tool)["function"]["parameters"]
    return built


def _words(draws: Random, count: int) -> str:
    number = draws.randrange(10**6)
    return " ".join(f"w{number}{chr(97 + i)}" for i in range(count))


def _of_user(item: Any) -> bool:
    return bool(item.type == "message" and item.role == "user")


def _last_of_user(chat_ctx: llm.ChatContext) -> str:
    items: list[Any] = chat_ctx.items
    said = (item.text_content or "" for item in reversed(items) if _of_user(item))
    return next(said, "")
