"""`TurnContext`, whose `session` is a `TurnSession` for type checkers.

The class itself is below the session, and cannot name it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from .overrides.tool_context import TurnContext as _TurnContext
    from .session import TurnSession

    Userdata_T = TypeVar("Userdata_T", default=Any)

    class TurnContext(_TurnContext[Userdata_T]):
        @property
        def session(self) -> TurnSession[Userdata_T]: ...
else:
    from .overrides.tool_context import TurnContext

__all__ = ["TurnContext"]
