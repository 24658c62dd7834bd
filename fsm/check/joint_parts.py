"""The views that the two sides of the joint world have of each other."""

from __future__ import annotations

from typing import Literal, NamedTuple

from turnfsm.fsm.agenda.settlement import Ending

from .agenda_parts import Deliveries, Parts

__all__ = ["Here", "Op", "Outcome", "Sound", "Step", "View", "view_of"]

Op = tuple[str | int, ...]
"""A method of `Parts`, and its arguments."""


class Here(NamedTuple):
    """Where the turn is.

    Attributes:
        node: The configuration of the flow.
        floor: The reply that has the floor; -1 if none has.
        audio: The audio of its step: none, available, or playing.
        ended_by: What has interrupted that reply, while it winds down.
        voice: The user is speaking.
        deciding: Endpointing is running, or a transcript may still arrive.
        transcript: There is a transcript that is in no committed turn.
        committed: How many utterances are committed and have no requested reply yet.
        deferred: How many were committed when they could not be answered.
    """

    node: int
    floor: int = -1
    audio: Literal["none", "there", "heard"] = "none"
    ended_by: Ending | None = None
    voice: bool = False
    deciding: bool = False
    transcript: bool = False
    committed: int = 0
    deferred: int = 0

    def without_reply(self) -> Here:
        """The floor was given back."""
        return self._replace(floor=-1, audio="none", ended_by=None)


class View(NamedTuple):
    """The turn's view of the replies, calls and utterances.

    Attributes:
        phases: The phase of each reply.
        live: The replies that have not ended.
        free: A reply that was not requested yet; -1 if there is none.
        utterances: How many utterances wait for an answer, or have one.
        open: An obligation starts a reply when the floor is free.
        undecided: An obligation starts a reply if the interruption of the last reply is not
            answered.
        runs: Each running call, and the live reply that waits for it; -1 if none does.
        partial: Calls of one step have ended, and others have not.
        outdated: The replies whose requests lack a result that has come.
        calling: The replies whose model may make calls.
        going_on: The replies that can continue because all their calls have ended.
    """

    phases: tuple[str, ...] = ()
    live: tuple[int, ...] = ()
    free: int = 0
    utterances: int = 0
    open: bool = False
    undecided: bool = False
    runs: tuple[tuple[int, int], ...] = ()
    partial: bool = False
    outdated: frozenset[int] = frozenset()
    calling: frozenset[int] = frozenset()
    going_on: frozenset[int] = frozenset()

    def at_once(self) -> View:
        """The part that matters to what the host and its framework do immediately."""
        return self._replace(utterances=0, calling=frozenset())

    def without_phases(self) -> View:
        """The part that matters to a sound or a timer."""
        view = View((), self.live, self.free, 0, self.open, self.undecided)
        return view._replace(runs=self.runs, partial=self.partial)


class Step(NamedTuple):
    """Something that happens.

    Attributes:
        text: One sentence without a full stop.
        here: The turn's situation afterwards.
        ops: The changes of the replies, calls and utterances.
    """

    text: str
    here: Here
    ops: tuple[Op, ...] = ()


class Sound(NamedTuple):
    """A sound of the user, or its end: the posted triggers, and the turn's situation afterwards."""

    text: str
    trigger: str
    here: Here


Outcome = tuple[Here, tuple[Op, ...]]


def view_of(parts: Parts, s: Deliveries) -> View:
    """The turn's view of it."""
    replies, live = s.replies, s.live
    runs, makers = list[tuple[int, int]](), set[int]()
    for n, call in enumerate(s.calls):
        if call.runs and call.made_by is not None:
            due = s.agenda.find("result", f"c{n}")
            waits = due is not None and due.by == f"r{call.made_by}" and call.made_by in live
            runs.append((n, call.made_by if waits else -1))
            makers.add(call.made_by if waits else -1)
    ended = {call.made_by for call in s.calls if call.made and not call.runs}
    return View(
        tuple(reply.phase for reply in replies),
        tuple(live),
        -1 if s.free is None else s.free,
        s.utterances,
        bool(s.agenda.open),
        s.agenda.undecided,
        tuple(runs),
        bool(makers & ended),
        frozenset(r for r in live if s.agenda.outdated(f"r{r}")),
        frozenset(r for r in live if replies[r].phase == "sent" and 0 in replies[r].answers),
        frozenset(r for r in live if parts.may_go_on(s, r)),
    )
