"""`TurnGovernor`: Pipecat pipelines whose turns follow a flow.

Needs `pip install 'turnfsm[pipecat]'`.

Example::

    from turnfsm.pipecat import TurnGovernor

    governor = TurnGovernor()
    # give it the parameters of the transport and of the user aggregator, and the processors
"""

from turnfsm.runtime.extras import not_installed

try:
    import pipecat.frames.frames  # noqa: F401
except ModuleNotFoundError as error:
    raise not_installed("turnfsm.pipecat", "pipecat-ai", "pipecat", error) from error

from turnfsm.runtime.conversation.classifying import Transcript, classifier
from turnfsm.runtime.conversation.policies import on_interruption, once, recover_with
from turnfsm.runtime.host.errors import SpeechInterrupted
from turnfsm.runtime.orphaned_call import NotMade, OrphanedCall
from turnfsm.runtime.pipecat.agent import AgentStateChanged
from turnfsm.runtime.pipecat.frame_recorder import FrameRecorder
from turnfsm.runtime.pipecat.governor import TurnGovernor
from turnfsm.runtime.pipecat.rollout import rollout

__all__ = [
    "AgentStateChanged",
    "FrameRecorder",
    "NotMade",
    "OrphanedCall",
    "SpeechInterrupted",
    "Transcript",
    "TurnGovernor",
    "classifier",
    "on_interruption",
    "once",
    "recover_with",
    "rollout",
]


def __dir__() -> list[str]:
    return __all__
