"""A host of your own: what a framework must provide so that a flow can govern its turns.

Write the protocols `Session`, `Agent`, `Speech` and `Output` for your framework. `govern` puts a
flow in charge of the session, and returns the `Conductor`, to which you report what happens.
docs/hosts.md has the order of the calls, and `examples/text_host` a host of one file.

Example::

    from turnfsm.host import govern

    conductor = govern(session, "turn")  # your own session
    conductor.start()
    conductor.user_started()  # the user speaks
"""

from turnfsm.fsm.agenda import Item, Part, Request
from turnfsm.fsm.flow import Tuning
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.floor import Step
from turnfsm.runtime.conversation.governing import govern
from turnfsm.runtime.conversation.limits import TurnLimitReached
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
from turnfsm.runtime.conversation.request import request
from turnfsm.runtime.conversation.tool_call import End
from turnfsm.runtime.conversation.tool_calls import Result
from turnfsm.runtime.conversation.waits import TurnWaitsLong

__all__ = [
    "Agent",
    "Conductor",
    "End",
    "FalseInterruption",
    "Item",
    "Output",
    "Part",
    "Phase",
    "Report",
    "Request",
    "Result",
    "Session",
    "Settings",
    "Setup",
    "Source",
    "Speech",
    "Step",
    "Tuning",
    "TurnLimitReached",
    "TurnWaitsLong",
    "UserTurn",
    "govern",
    "on_interruption",
    "once",
    "request",
]


def __dir__() -> list[str]:
    return __all__
