"""The stable code of each kind of finding, and its meaning."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

__all__ = ["LOADER_CODES", "PROOF_CODES"]

_CODES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

LOADER_CODES: Mapping[str, str] = MappingProxyType(_CODES["loader"])
"""The meaning of each code; `docs/diagnostics.md` has an example of each."""

PROOF_CODES: Mapping[str, str] = MappingProxyType(_CODES["proof"])
"""The codes of findings of a proof. A broken property has its own name as code."""
