"""The state that a conversation's reports share."""

from __future__ import annotations

import attrs

from turnfsm.fsm import Verdict
from turnfsm.fsm.flow import Tuning
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.log import Log
from turnfsm.runtime.store.keeping import Keeping
from turnfsm.runtime.turn import TurnRuntime

from .expecting import Expecting
from .floor import Floor
from .pending import Pending
from .ports import Agent, Session
from .progress import Progress
from .replies import Replies
from .sayings import Sayings
from .speech_queue import SpeechQueue
from .tool_calls import ToolCalls
from .user_turns import UserTurns

__all__ = ["Core"]


@attrs.define(eq=False)
class Core:
    """The state of a conversation, and its flow.

    Attributes:
        pending: Retries pending work after a change.
        keeping: Writes to the store, if the session has one.
        turn: Runs the flow.
    """

    session: Session
    ledger: Ledger
    pending: Pending
    log: Log
    replies: Replies
    floor: Floor
    progress: Progress
    speeches: SpeechQueue
    tools: ToolCalls
    turns: UserTurns
    expecting: Expecting
    sayings: Sayings
    keeping: Keeping | None
    turn: TurnRuntime = attrs.field(init=False)

    @property
    def agent(self) -> Agent | None:
        """The active agent."""
        return self.session.activity

    @property
    def closing(self) -> bool:
        """The session closes."""
        return self.session.closing

    @property
    def governs(self) -> bool:
        """The flow still decides: the session has not closed."""
        return not self.turn.closed

    @property
    def tuning(self) -> Tuning:
        """The settings of the current state, with those of the tools that the turn waits for."""
        tuning = self.turn.flow.states[self.turn.state].tuning
        for tool, settings in self.turn.flow.tools.tuning.items():
            if self.tools.blocks((tool,)):
                tuning = settings.over(tuning)
        return tuning

    def post(self, trigger: str, of: str | None = None, /, **data: object) -> Verdict:
        """Post a trigger that every flow of a conversation has."""
        return self.turn.post(trigger, of, **data)

    def offer(self, trigger: str, of: str | None = None, /, **data: object) -> Verdict | None:
        """Post a trigger that only some flows have.

        A request that the flow would refuse is not posted: nobody has asked for it, so the journal
        shows no refusal.

        Returns:
            The verdict; None if nothing was posted.
        """
        triggers = self.turn.flow.triggers
        if trigger not in triggers:
            return None
        if triggers[trigger].kind == "request" and not self.turn.ask(trigger, of):
            return None
        return self.post(trigger, of, **data)
