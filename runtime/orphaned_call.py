"""The argument and the exception of a `recover_with` function: a tool call whose worker has
died."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from turnfsm.fsm import TurnfsmError

__all__ = ["NotMade", "OrphanedCall"]


class NotMade(TurnfsmError):
    """Raised by the `recover_with` function: the call never took effect, and may be made again."""


@attrs.frozen
class OrphanedCall:
    """A tool call that was running when its worker died.

    Attributes:
        key: The key of this call, unique over all sessions; the same as its `TurnContext.call_key`.
        name: The tool's name.
        arguments: The model's arguments, by name.
    """

    key: str
    name: str
    arguments: Mapping[str, Any]
