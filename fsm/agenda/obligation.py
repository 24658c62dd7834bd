"""What the agenda consists of: obligations, and the live replies that claim them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from .settlement import Column, Ending, Fate, Kind

__all__ = ["Obligation", "Reply"]


State = Literal["open", "with_next", "with_turn", "delivered_with_turn", "with_model", "claimed"]

_ANSWERED: Mapping[str, Fate] = {"with_turn": "with_next", "delivered_with_turn": "delivered"}
"""What becomes of an obligation once the interruption of its reply is answered."""


@attrs.frozen
class Obligation:
    """Something that the agent has yet to deliver to the user. When it is delivered or dropped,
    it leaves the agenda.

    Attributes:
        kind: Its kind.
        id: The id of the message or the call.
        state: ``open``: it starts a reply when the floor is free. ``with_next``: the next reply
            delivers it, and none is started for it. ``with_turn``: the same, unless the
            interruption of its reply gets no answer. ``delivered_with_turn``: it is delivered,
            unless that interruption gets no answer. ``with_model``: the next reply delivers it, or
            a realtime model answers it by itself. ``claimed``: the reply `by` delivers it.
        by: The live reply that has claimed it.
        ready: It can be delivered. A running call is not ready.
        requested: The last request of that reply included it.
        made_by: The reply that has made the call.
        background: The framework requests a reply for it.
        cancelled: Its call was cancelled with its turn.
        if_cancelled: Its call may still give a result. If it does not, this becomes of it.
        failures: How many replies that claimed it have failed.
    """

    kind: Kind
    id: str
    state: State = "open"
    by: str | None = None
    ready: bool = True
    requested: bool = False
    made_by: str | None = None
    background: bool = False
    cancelled: bool = False
    if_cancelled: Fate | None = None
    failures: int = 0

    @property
    def waits(self) -> bool:
        """The next reply delivers it, and none is started for it."""
        return self.state in ("with_next", "with_turn")

    @property
    def undecided(self) -> bool:
        """It is not known yet whether the interruption of its reply is answered."""
        return self.state in ("with_turn", "delivered_with_turn")

    @property
    def due(self) -> bool:
        """The next request without its own instructions must deliver it."""
        return self.ready and self.state not in ("claimed", "delivered_with_turn")

    def column(self, own: str | None, *, sole: bool) -> Column:
        """Its column in the table that settles the claims of a reply.

        Args:
            own: The call that has interrupted the reply.
            sole: The last request delivers only one obligation.
        """
        if self.kind == "utterance":
            return "utterance"
        if self.id == own:
            return "own_result"
        if self.cancelled and self.by == self.made_by:
            return "cancelled_result"
        if not self.requested:
            return "background_result" if self.background else "pending_result"
        return "sole_result" if sole else "result"

    def arrived(self, *, cancelled: bool) -> Obligation | None:
        """Its result has arrived. `cancelled`: the result says that its call was cancelled."""
        settled = self.if_cancelled if cancelled else None
        arrived = attrs.evolve(self, ready=True, cancelled=cancelled, if_cancelled=None)
        return arrived if settled is None else arrived.settled(settled)

    def settled(self, fate: Fate) -> Obligation | None:
        """What has claimed it, or interrupted that, is over."""
        if fate == "delivered" or fate == "dropped":
            return None
        failures = self.failures + (fate == "retry")
        if fate == "retry":
            fate = "open" if failures < 2 else "with_next"
        return attrs.evolve(self, state=fate, by=None, requested=False, failures=failures)

    def in_background(self) -> Obligation:
        """The framework requests a reply for it."""
        state: State = "with_next" if self.by is None else "claimed"
        return attrs.evolve(self, state=state, background=True)

    def detached(self) -> Obligation:
        """No framework delivers it. If another reply has claimed it, the claim stands."""
        if self.by not in (None, self.made_by):
            return attrs.evolve(self, background=False)
        return attrs.evolve(self, state="open", by=None, requested=False, background=False)

    def after_utterance(self, utterance: str) -> Obligation:
        """This utterance needs an answer."""
        if (self.kind, self.id) == ("utterance", utterance) and self.state != "claimed":
            return attrs.evolve(self, state="open")
        return self

    def after_interruption(self, *, answered: bool) -> Obligation | None:
        """It is known whether the interruption of its reply is answered."""
        decided, later = self, self.if_cancelled
        if later is not None and later in _ANSWERED:
            decided = attrs.evolve(self, if_cancelled=_ANSWERED[later] if answered else "open")
        if not self.undecided:
            return decided
        return decided.settled(_ANSWERED[self.state] if answered else "open")


@attrs.frozen
class Reply:
    """A live reply.

    Attributes:
        answers: The utterances that it was requested for. Its requests may contain others.
        requested: A request was sent for it.
        heard: The user has heard a part of its last step.
        sole: Its last request delivers only one obligation.
        made: How many calls of its last request were made so far.
        calls: The total number of calls of its last request. None while the stream is open.
        interrupted_by: Who has interrupted it; None if it continues.
        answered: Its interruption is answered, or will not be; None if that is not known yet.
        stopped: The more precise reason, if any, and the call that has interrupted it.
    """

    id: str
    instructed: bool = False
    requested: bool = False
    heard: bool = False
    sole: bool = False
    made: int = 0
    calls: int | None = None
    interrupted_by: Ending | None = None
    stopped: tuple[Ending, str | None] | None = None
    answered: bool | None = None
    answers: tuple[str, ...] = ()

    @property
    def may_call(self) -> bool:
        """Its last request may still make calls."""
        return self.calls is None or self.made < self.calls

    @property
    def superseded(self) -> bool:
        """A result has come that its request lacks, so it is requested again."""
        return self.stopped is not None and self.stopped[0] == "result"

    @property
    def ending(self) -> tuple[Ending, str | None]:
        """The cause of an interruption, and the call that interrupts it, if any. Nobody interrupts
        an unused speculation."""
        return self.stopped or (self.interrupted_by or "dropped", None)
