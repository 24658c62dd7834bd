"""`TurnSession`: LiveKit voice agents whose turns follow a flow."""

from turnfsm.runtime.conversation.classifying import Transcript, classifier
from turnfsm.runtime.conversation.custom import host_fact, turn_action
from turnfsm.runtime.conversation.policies import on_interruption, once, recover_with
from turnfsm.runtime.cut_off_call import CutOffCall, NotMade
from turnfsm.runtime.livekit_contract import SUPPORTED, UnsupportedLiveKit, check
from turnfsm.runtime.observe.telemetry import Telemetry

check(strict=False)  # before anything below imports a name that may be missing

from .errors import SpeechInterrupted  # noqa: E402
from .event_recorder import EventRecorder  # noqa: E402
from .overrides import TurnContext  # noqa: E402
from .rollout import rollout  # noqa: E402
from .session import TurnSession  # noqa: E402

__all__ = [
    "SUPPORTED",
    "CutOffCall",
    "EventRecorder",
    "NotMade",
    "SpeechInterrupted",
    "Telemetry",
    "Transcript",
    "TurnContext",
    "TurnSession",
    "UnsupportedLiveKit",
    "classifier",
    "host_fact",
    "on_interruption",
    "once",
    "recover_with",
    "rollout",
    "turn_action",
]
