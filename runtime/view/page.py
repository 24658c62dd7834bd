"""Builds the page: one HTML file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

__all__ = ["build_page", "embedded"]

SCRIPTS = (
    *("recording", "lanes", "picture", "waits", "timeline", "log", "panels", "evidence", "source"),
    *("player", "sessions", "live", "editor", "backends", "studio", "app"),
)
"""The parts of the script, in the order in which they build on each other."""


def build_page(data: Mapping[str, Any], sound: bytes = b"", sound_type: str = "") -> str:
    """Build one HTML page that shows some JSON data, and plays a recording of a media type.

    Its security policy allows its own script, the worker that the data names, and nothing else. It
    connects only to the server that it came from.
    """
    script = _script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    workers = "worker-src 'self'; " if "worker" in data else ""
    parts = {
        "POLICY": (
            f"default-src 'none'; script-src 'sha256-{digest}'; {workers}"
            "style-src 'unsafe-inline'; img-src data:; media-src blob:; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'"
        ),
        "TITLE": escape(str(data.get("title") or "turnfsm")),
        "STYLE": _asset("page.css"),
        "DATA": embedded(data),
        "SOUND": base64.b64encode(sound).decode(),
        "SOUND_TYPE": escape(sound_type),
        "SCRIPT": script,
    }
    return re.sub(r"@([A-Z_]+)@", lambda found: parts[found[1]], _asset("page.html"))


def embedded(data: Any) -> str:
    """JSON for a script element: it contains no markup."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, default=str)
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


@cache
def _script() -> str:
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'"use strict";\n{parts}'


@cache
def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text("utf-8")
