"""A conversation as lines of text."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .checks import moment

__all__ = ["arguments", "as_text", "transcript"]

_KINDS = ("user_audio", "agent_audio", "tool")


def transcript(records: Iterable[Mapping[str, Any]]) -> str:
    """What was said and what the tools did, in the order in which it began, with times."""
    kept = [record for record in records if record.get("note") in _KINDS]
    lines = [(r["data"].get("start", moment(r)), r["seq"], as_text(r)) for r in kept]
    return "".join(f"{began:7.2f} s  {text}\n" for began, _, text in sorted(lines))


def as_text(record: Mapping[str, Any]) -> str:
    """One entry as a line, without its time."""
    data = record["data"]
    match record["note"]:
        case "user_audio":
            return f"user   {data['text']}"
        case "agent_audio":
            return f"agent  {data['text']}{' [interrupted]' if data['interrupted'] else ''}"
    return f"tool   {data['name']}({arguments(data['arguments'])}): {data['outcome']}"


def arguments(call: str) -> str:
    """The arguments of a call, given as JSON, as a line shows them."""
    return ", ".join(f"{name}={value!r}" for name, value in json.loads(call or "{}").items())
