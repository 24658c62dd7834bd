"""Overrides of livekit-agents. No other module uses its private names.

An override asks the conductor before LiveKit acts, or reports what LiveKit has done. `contract`
checks the names at import. Each override is necessary: without it a scenario of
tests/livekit/test_ablation.py fails.
"""

from .activity import GovernedActivity
from .components import closed_by, failure_of
from .handing_over import refuse_handoff
from .handoff import frames_of
from .history import begin_with, begins_with, conversation_of, current_conversation
from .left_out import LEFT_OUT
from .recognition import turn_of
from .run import GovernedRun
from .session import GovernedSession
from .speech import GovernedHandle, current_speech, govern, own_id
from .tool_context import TurnContext
from .tools import activity_of, cancel_call, report_result, returned, running_call

__all__ = [
    "LEFT_OUT",
    "GovernedActivity",
    "GovernedHandle",
    "GovernedRun",
    "GovernedSession",
    "TurnContext",
    "activity_of",
    "begin_with",
    "begins_with",
    "cancel_call",
    "closed_by",
    "conversation_of",
    "current_conversation",
    "current_speech",
    "failure_of",
    "frames_of",
    "govern",
    "own_id",
    "refuse_handoff",
    "report_result",
    "returned",
    "running_call",
    "turn_of",
]
