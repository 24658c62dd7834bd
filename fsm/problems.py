"""Makes findings from their catalogue, `problems.toml`."""

from __future__ import annotations

import string
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path as FilePath
from typing import Any

from .diagnostics import Finding
from .errors import quoted
from .source import Path, Source

__all__ = ["problem"]


@cache
def _catalogue() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    file = FilePath(__file__).with_suffix(".toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


class _Words(string.Formatter):
    """`{name!q}` is quoted, and shortened if it is long."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return quoted(value) if conversion == "q" else super().convert_field(value, conversion)


_WORDS = _Words()


def problem(source: Source, path: Path, name: str, /, **values: object) -> Finding:
    """A finding of the catalogue.

    Args:
        path: Its place: a key, or a value if the catalogue says so.
        name: ``CODE.PROBLEM``.
        values: What stands in braces in its sentences.
    """
    code, _, which = name.partition(".")
    entry = _catalogue()[code][which]
    message, remedy = (_WORDS.vformat(entry[key], (), values) for key in ("message", "remedy"))
    at = source.at if "at" in entry else source.at_key
    return at(path, message, remedy, code=code, severity=entry.get("severity", "error"))
