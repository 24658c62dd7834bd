"""Where turnfsm meets the private names of livekit-agents; no other room touches them.

Each override turns what LiveKit is about to do into a question to the governor, or what it has
done into a report. `_contract` checks the names at import. An override stays only while a scenario
fails without it (tests/livekit/test_ablation.py).
"""

from .activity import GovernedActivity, activity_of
from .governor import Governor
from .run import GovernedRun
from .session import GovernedSession
from .speech import GovernedHandle, current_speech
from .tools import REFUSED, TurnContext, cancel_call, running_call

__all__ = [
    "REFUSED",
    "GovernedActivity",
    "GovernedHandle",
    "GovernedRun",
    "GovernedSession",
    "Governor",
    "TurnContext",
    "activity_of",
    "cancel_call",
    "current_speech",
    "running_call",
]
