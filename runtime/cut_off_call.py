"""A tool call whose worker has died: what its tool's `recover_with` function gets and raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from turnfsm.fsm import TurnfsmError

__all__ = ["CutOffCall", "NotMade"]


class NotMade(TurnfsmError):
    """The call never took effect and may be made again. For the function of `recover_with`."""


@attrs.frozen
class CutOffCall:
    """A tool call that was running when its worker died.

    Attributes:
        key: The key of this call, unique over all sessions; the same as its `TurnContext.call_key`.
        name: The tool's name.
        arguments: The arguments by name, as the model gave them.
    """

    key: str
    name: str
    arguments: Mapping[str, Any]
