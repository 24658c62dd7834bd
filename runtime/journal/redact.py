"""Removes the text of the conversation from records."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping
from typing import Any, Literal

__all__ = ["PRIVATE", "Redact", "Redactor"]

Redact = Literal["leave_out", "hash"]

PRIVATE = frozenset(
    {
        *("text", "transcript", "words", "content", "instructions", "arguments", "output"),
        *("result", "message"),
    }
)
"""The keys of ``data``, at any depth, under which an entry or a note has text of the
conversation."""


class Redactor:
    """Removes the text of the conversation from records.

    Args:
        how: ``leave_out`` drops the value. ``hash`` keeps a keyed hash of it: equal texts in one
            journal have equal hashes, and the texts cannot be guessed, because the key is not
            written. None changes nothing.
        private: The keys whose values are removed.
    """

    __slots__ = ("_key", "how", "private")

    def __init__(self, how: Redact | None, private: Collection[str] = PRIVATE) -> None:
        if how not in ("leave_out", "hash", None):
            raise ValueError(f"redact={how!r}; give 'leave_out', 'hash' or None")
        self.how = how
        self.private = frozenset(private)
        self._key = secrets.token_bytes(32)

    def __call__(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """The redacted record. A header gets the way of redaction."""
        if self.how is None:
            return record
        if "journal" in record:
            return {**record, "redacted": {"how": self.how, "keys": sorted(self.private)}}
        return {**record, "data": self._clean(record["data"])} if record.get("data") else record

    def _clean(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            items = value.items()
            if self.how == "leave_out":
                return {k: self._clean(v) for k, v in items if k not in self.private}
            return {k: self._hash(v) if k in self.private else self._clean(v) for k, v in items}
        if isinstance(value, list | tuple):
            return [self._clean(item) for item in value]
        return value

    def _hash(self, value: Any) -> str:
        text = value if isinstance(value, str) else repr(value)
        said = text.encode("utf-8", "surrogatepass")
        return "hash:" + hashlib.blake2b(said, digest_size=8, key=self._key).hexdigest()
