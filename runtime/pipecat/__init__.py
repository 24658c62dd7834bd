"""`TurnGovernor`: Pipecat pipelines whose turns follow a flow."""

from turnfsm.runtime.conversation.classifying import Transcript, classifier
from turnfsm.runtime.conversation.policies import on_interruption, once, recover_with
from turnfsm.runtime.cut_off_call import CutOffCall, NotMade
from turnfsm.runtime.host.errors import SpeechInterrupted

from .frame_recorder import FrameRecorder
from .governor import TurnGovernor

__all__ = [
    "CutOffCall",
    "FrameRecorder",
    "NotMade",
    "SpeechInterrupted",
    "Transcript",
    "TurnGovernor",
    "classifier",
    "on_interruption",
    "once",
    "recover_with",
]
