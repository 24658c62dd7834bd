"""Overrides of livekit-agents; no other module uses its private names.

Each override turns what LiveKit is about to do into a question to the conductor, or what it has
done into a report. `contract` checks the names at import. An override stays only while a scenario
fails without it (tests/livekit/test_ablation.py).
"""

from .activity import GovernedActivity, activity_of
from .conductor import Conductor
from .run import GovernedRun
from .session import GovernedSession
from .speech import GovernedHandle, current_speech
from .tools import REFUSED, TurnContext, cancel_call, running_call

__all__ = [
    "REFUSED",
    "Conductor",
    "GovernedActivity",
    "GovernedHandle",
    "GovernedRun",
    "GovernedSession",
    "TurnContext",
    "activity_of",
    "cancel_call",
    "current_speech",
    "running_call",
]
