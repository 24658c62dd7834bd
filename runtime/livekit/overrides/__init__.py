"""Overrides of livekit-agents; no other module uses its private names.

Each override turns what LiveKit is about to do into a question to the conductor, or what it has
done into a report. `contract` checks the names at import. An override stays only while a scenario
fails without it (tests/livekit/test_ablation.py).
"""

from .activity import GovernedActivity, activity_of
from .recognition import turn_of
from .run import GovernedRun
from .session import GovernedSession
from .speech import GovernedHandle, current_speech, govern
from .tools import REFUSED, TurnContext, running_call

__all__ = [
    "REFUSED",
    "GovernedActivity",
    "GovernedHandle",
    "GovernedRun",
    "GovernedSession",
    "TurnContext",
    "activity_of",
    "current_speech",
    "govern",
    "running_call",
    "turn_of",
]
