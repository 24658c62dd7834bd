"""Guesses what was meant: other tools' names for our keys, and values of the wrong kind."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import quoted

__all__ = [
    "as_value",
    "colon_meant",
    "comma_meant",
    "key_meant",
    "mismatch_remedy",
    "moved",
    "noun",
    "value_meant",
]


@cache
def _synonyms() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("synonyms.toml").read_text(encoding="utf-8"))


def key_meant(kind: str, word: str) -> str | None:
    """The key of a class for which people write this word."""
    return _meant(_synonyms()["keys"].get(kind, {}), word)


def value_meant(word: str) -> str | None:
    """The value for which people write this word."""
    return _meant(_synonyms()["values"], word)


def _meant(table: Mapping[str, str], word: str) -> str | None:
    return next((name for name, words in table.items() if word.casefold() in words.split()), None)


def moved(kind: str, key: str) -> str | None:
    """What to do instead of writing a key that belongs elsewhere, or nowhere."""
    remedy: str | None = _synonyms()["moved"].get(kind, {}).get(key)
    return remedy


def noun(kind: type) -> str:
    """What a class is called in a message."""
    return str(_synonyms()["nouns"].get(kind.__name__, f"a {kind.__name__.lower()}"))


def comma_meant(finding: Finding) -> str:
    """The remedy if a key is the rest of a value with a comma, as in `{say: Well, hello}`."""
    at = finding.column - 1
    before, rest = finding.text[:at], finding.text[at:]
    found = re.search(r"(\w+): ([^\s,{}\[\]\"'][^,{}\[\]\"']*),(\s*)$", before)
    more = re.match(r"[^:,{}\[\]]*(?=[,}])", rest)
    if found is None or more is None:
        return ""
    key, value, space = found.groups()
    if f"{value}{more[0]}".isdigit() and not space:
        return f"write a decimal point: {key}: {value}.{more[0]}"
    return f'a text with a comma needs quotes: {key}: "{value},{space}{more[0].strip()}"'


def colon_meant(key: str) -> str:
    """The remedy if a key and its value were written without a space."""
    name, colon, rest = key.partition(":")
    return f"put a space after the colon: '{name}: {rest}'" if colon and len(key) < 60 else ""


def as_value(text: str) -> str:
    """A text as it is written in `{key: VALUE}`, shortened if it is long."""
    shown = quoted(text)
    return shown[1:-1] if re.fullmatch(r"\w[^,:{}\[\]#\\\"]*", shown[1:-1]) else shown


_PLAIN = {
    "a mapping": "write 'name: value' lines below the key",
    "a text or a list of texts": "write one text, or [TEXT, TEXT]",
    "a whole number": "write it as digits, such as 2",
    "true or false": "write true or false",
    **dict.fromkeys(("a filler", "a filler or a list of fillers"), "write {say: TEXT}"),
    **dict.fromkeys(("a reprompt", "a reprompt or a list of reprompts"), "write {say: TEXT}"),
}
"""What to write if nothing is known about what was meant."""

_UNITS = {"ms": 0.001, "s": 1, "sec": 1, "seconds": 1, "m": 60, "min": 60, "minutes": 60}


def mismatch_remedy(expected: str, value: Any) -> str:
    """What to write instead of a value of the wrong kind; empty if that is unknown."""
    if isinstance(value, str):
        return _for_text(expected, value) or _PLAIN.get(expected, "")
    if expected == "text" and isinstance(value, (bool, int, float)):
        shown = str(value).lower() if isinstance(value, bool) else value
        return f"write it in quotes: {quoted(shown)}"
    if "transition" in expected:
        return "write '{}' if it is taken and nothing follows"
    return _for_collection(expected, value) or _PLAIN.get(expected, "")


def _for_text(expected: str, value: str) -> str:
    if expected == "text":
        return "write it, or remove it"
    if re.fullmatch(r"[A-Za-z_]\w*:\S+", value):
        return f"put a space after the colon: {quoted(value.replace(':', ': ', 1))}"
    if expected == "a number":
        return _seconds(value)
    if expected == "true or false" and value.casefold() in {"yes", "on", "y", "no", "off", "n"}:
        return f"write {'true' if value.casefold() in {'yes', 'on', 'y'} else 'false'}"
    if "filler" in expected or "reprompt" in expected:
        return f"write {{after: {1.5 if 'filler' in expected else 8}, say: {as_value(value)}}}"
    if "transition" in expected:
        return f"write {{dest: {value}}}" if value.isidentifier() else "write {dest: STATE}"
    return "begin each item with '- '" if expected == "a list" else ""


def _seconds(value: str) -> str:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", value)
    if match and match[2] in _UNITS and len(value) < 20:
        return f"write {float(match[1]) * _UNITS[match[2]]:g}: it is seconds"
    return "write the seconds as a number"


def _for_collection(expected: str, value: Any) -> str:
    if value is None:
        return "write it, or remove the key"
    if expected == "text":
        return "write one text"
    if expected == "a mapping" and isinstance(value, list):
        return "write 'name: value' lines without the dashes"
    if expected == "a list":
        return "begin each item with '- '"
    if "list of names" in expected:
        return "write [name, name]" if value else "name one, or remove the key"
    return "write the seconds as a number" if expected == "a number" else ""
