"""A conversation as lines of text."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .checks import moment

__all__ = ["arguments", "as_text", "transcript"]

_KINDS = ("user_audio", "agent_audio", "tool")


def transcript(records: Iterable[Mapping[str, Any]]) -> str:
    """What was said and what the tools did, in the order in which it began, with times."""
    lines = [(_began(r), r["seq"], as_text(r)) for r in records if r.get("note") in _KINDS]
    return "".join(f"{began:7.2f} s  {text}\n" for began, _, text in sorted(lines))


def as_text(record: Mapping[str, Any]) -> str:
    """One entry as a line, without its time."""
    data = record["data"]
    match record["note"]:
        case "user_audio":
            return f"user   {data['text']}"
        case "agent_audio":
            return f"agent  {data['text']}{' [cut off]' if data['cut'] else ''}"
    return f"tool   {data['name']}({arguments(data['arguments'])}): {data['outcome']}"


def _began(record: Mapping[str, Any]) -> float:
    return float(record["data"]["start"]) if "start" in record["data"] else moment(record)


def arguments(call: str) -> str:
    """The arguments of a call, given as JSON, as a line shows them."""
    return ", ".join(f"{name}={value!r}" for name, value in json.loads(call or "{}").items())
