"""A host of your own: what a framework must provide so that a flow can govern its turns.

Derive from `Host` if model and output are in your process. Otherwise write the protocols `Session`,
`Agent`, `Speech` and `Output`. `govern` puts a flow in charge, and returns the `Conductor`, to
which you report what happens. docs/hosts.md says how, and `examples/text_host` is a host of one
file.

Example::

    from turnfsm.host import Host

    class Chat(Host):  # with `say` and `add_user_message`
        def __init__(self):
            super().__init__()
            self.govern("turn")

    chat = Chat()
    chat.start()
    chat.user_typed("Good morning.")
"""

from turnfsm.fsm.agenda.projection import Item, Part
from turnfsm.fsm.flow import Tuning
from turnfsm.runtime.conversation.classifying import Transcript, classifier
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.floor import Step
from turnfsm.runtime.conversation.governing import govern
from turnfsm.runtime.conversation.policies import on_interruption, once
from turnfsm.runtime.conversation.ports import (
    Agent,
    FalseInterruption,
    Output,
    Phase,
    Report,
    Session,
    Settings,
    Setup,
    Source,
    Speech,
    UserTurn,
)
from turnfsm.runtime.conversation.tool_call import End
from turnfsm.runtime.conversation.tool_calls import Result
from turnfsm.runtime.conversation.waits import TurnLimitReached, TurnWaitsLong
from turnfsm.runtime.host.agent import Host
from turnfsm.runtime.host.calls import FINAL, Calls, OpenCall
from turnfsm.runtime.host.errors import SpeechInterrupted
from turnfsm.runtime.host.output import PausableOutput
from turnfsm.runtime.host.reply import Reply
from turnfsm.runtime.host.request import request
from turnfsm.runtime.host.turns import Turn

__all__ = [
    "FINAL",
    "Agent",
    "Calls",
    "Conductor",
    "End",
    "FalseInterruption",
    "Host",
    "Item",
    "OpenCall",
    "Output",
    "Part",
    "PausableOutput",
    "Phase",
    "Reply",
    "Report",
    "Result",
    "Session",
    "Settings",
    "Setup",
    "Source",
    "Speech",
    "SpeechInterrupted",
    "Step",
    "Transcript",
    "Tuning",
    "Turn",
    "TurnLimitReached",
    "TurnWaitsLong",
    "UserTurn",
    "classifier",
    "govern",
    "on_interruption",
    "once",
    "request",
]


def __dir__() -> list[str]:
    return __all__
