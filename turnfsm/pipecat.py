"""`TurnGovernor`: Pipecat pipelines whose turns follow a flow.

Needs `pip install 'turnfsm[pipecat]'`.

Example::

    from turnfsm.pipecat import TurnGovernor

    governor = TurnGovernor()
    # give it the parameters of the transport and of the user aggregator, and the processors
"""

from turnfsm.runtime.pipecat import (
    CutOffCall,
    FrameRecorder,
    NotMade,
    SpeechInterrupted,
    Transcript,
    TurnGovernor,
    classifier,
    on_interruption,
    once,
    recover_with,
)

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


def __dir__() -> list[str]:
    return __all__
