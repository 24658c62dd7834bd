"""The common parts of SARIF 2.1.0 logs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

__all__ = ["sarif_log", "sarif_place"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_log(rules: Mapping[str, str], results: Sequence[dict[str, Any]]) -> str:
    """A log with one run."""
    ids = sorted(rules)
    described = [{"id": id, "shortDescription": {"text": rules[id]}} for id in ids]
    run = {
        "tool": {"driver": {"name": "turnfsm", "rules": described}},
        "columnKind": "unicodeCodePoints",
        "results": [{**one, "ruleIndex": ids.index(one["ruleId"])} for one in results],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def sarif_place(file: str, line: int = 0, column: int = 0, width: int = 1) -> dict[str, Any]:
    """A location: the file, and the region in it. Without a line it is the file as a whole."""
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(file)}}
    if line:
        place["region"] = {"startLine": line}
        if column:
            place["region"] |= {"startColumn": column, "endColumn": column + width}
    return {"physicalLocation": place}


def _uri(file: str) -> str:
    path = Path(file)
    # A relative path stays relative: the reader's checkout is elsewhere.
    return path.as_uri() if path.is_absolute() else quote(PurePath(file).as_posix())
