"""Conversations as a log and items, move by move: what a request is projected from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import attrs

from turnfsm import load_flow
from turnfsm.fsm.agenda.agenda import Agenda
from turnfsm.fsm.agenda.entries import (
    AnswerDue,
    CallMade,
    CallsReceived,
    Entry,
    ReplyAsked,
    ReplyEnded,
    ReplyHeard,
    RequestSent,
    ResultReady,
)
from turnfsm.fsm.agenda.projection import Item, Request, complete, project, unanswered
from turnfsm.fsm.agenda.settlement import Ending

__all__ = ["MOVES", "Move", "Talk", "talks"]

RULES = load_flow("turn").agenda

Move = Literal["says", "asks", "sends", "calls", "answers", "ends call", "heard", "stops", "fails"]
MOVES: tuple[Move, ...] = (
    "says", "asks", "sends", "calls", "answers", "ends call", "heard", "stops", "fails",
)  # fmt: skip


@attrs.frozen
class Talk:
    """A conversation so far.

    Attributes:
        items: What is in it; a call that runs has an output that says so.
        made_for: The utterances that each call was made for.
        made_by: The reply that has made each call.
        sent: The request of the last move, if that was one, and its reply.
    """

    agenda: Agenda = attrs.field(factory=Agenda)
    items: tuple[Item, ...] = ()
    made_for: tuple[tuple[str, tuple[str, ...]], ...] = ()
    made_by: tuple[tuple[str, str], ...] = ()
    replies: tuple[str, ...] = ()
    sent: tuple[str, Request] | None = None

    def after(self, move: Move, which: int) -> Talk | None:
        """After one more move; None if it cannot be. `which`: the reply or call that it is of."""
        live = [reply.id for reply in self.agenda.replies]
        match move:
            case "says" | "asks":
                return self._asked(f"r{len(self.replies)}", says=move == "says")
            case "ends call":
                runs = [item for item in self.items if item.placeholder and item.part == "result"]
                return self._ended(runs[which % len(runs)].call) if runs else None
            case _ if not live:
                return None
        reply = live[which % len(live)]
        state = self.agenda.reply(reply)
        if move == "sends":
            return self._sent(reply)
        if state is None or not state.requested:
            return None
        match move:
            case "calls":
                return self._called(reply)
            case "answers":
                return self._log(CallsReceived(reply))
            case "heard":
                said = Item(f"m{len(self.items)}", "said", at=self._now)
                return self._log(ReplyHeard(reply), ReplyEnded(reply, "finished"), item=said)
        by: Ending = "user" if move == "stops" else "failure"
        return self._log(ReplyEnded(reply, by))

    @property
    def _now(self) -> float:
        return float(len(self.items) + len(self.made_for))

    def _log(self, *entries: Entry, item: Item | None = None) -> Talk:
        agenda = self.agenda
        for entry in entries:
            agenda = agenda.after(entry, RULES)
        items = self.items if item is None else (*self.items, item)
        return attrs.evolve(self, agenda=agenda, items=items, sent=None)

    def _asked(self, reply: str, *, says: bool) -> Talk:
        asked = attrs.evolve(self, replies=(*self.replies, reply))
        if not says:
            return asked._log(ReplyAsked(reply))
        said = Item(f"u{len(self.items)}", "utterance", at=self._now)
        return asked._log(AnswerDue(said.id), ReplyAsked(reply, [said.id]), item=said)

    def _called(self, reply: str) -> Talk:
        call = f"c{len(self.made_for)}"
        answered = tuple(o.id for o in self.agenda.claimed_by(reply) if o.kind == "utterance")
        made = self._log(CallMade(call, reply))
        runs = [
            Item(f"{call} made", "call", call=call, placeholder=True, at=self._now),
            Item(f"{call} runs", "result", call=call, placeholder=True, at=self._now),
        ]
        return attrs.evolve(
            made,
            items=(*made.items, *runs),
            made_for=(*self.made_for, (call, answered)),
            made_by=(*self.made_by, (call, reply)),
        )

    def _ended(self, call: str) -> Talk:
        """The framework has copied the conversation before, and its copy says that it runs."""
        items = tuple(i for i in self.items if not (i.placeholder and i.call == call))
        made = next(i for i in self.items if i.call == call and i.part == "call")
        pair = (
            Item(f"{call} call", "call", call=call, at=made.at),
            Item(f"{call} result", "result", call=call, result=call, at=self._now),
        )
        ended = self._log(ResultReady(call))
        return attrs.evolve(ended, items=(*items, *pair))

    def _sent(self, reply: str) -> Talk:
        shown = complete(self.items, self.agenda, reply)
        results = [item.call for item in shown if item.result]
        sent = self._log(RequestSent(reply, results, unanswered=unanswered(shown)))
        return attrs.evolve(sent, sent=(reply, sent.request(reply)))

    def own_calls(self, reply: str) -> list[str]:
        """The calls that this reply has made."""
        return [call for call, by in self.made_by if by == reply]

    def request(self, reply: str) -> Request:
        """The request of this reply."""
        return project(self.items, self.agenda, reply, own_calls=self.own_calls(reply))


def talks(length: int, replies: int = 2, calls: int = 2) -> Iterator[Talk]:
    """Every conversation of this many moves at most, whose last move is a request."""
    seen, level = set(), [Talk()]
    for _ in range(length):
        after: list[Talk] = []
        for talk in level:
            for move, which in ((move, which) for move in MOVES for which in range(2)):
                following = talk.after(move, which)
                if following is None or following in seen:
                    continue
                if len(following.replies) > replies or len(following.made_for) > calls:
                    continue
                seen.add(following)
                after.append(following)
                if following.sent is not None:
                    yield following
        level = after


def played(moves: Sequence[tuple[Move, int]]) -> Iterator[Talk]:
    """The requests of one conversation; moves that cannot be are left out."""
    talk = Talk()
    for move, which in moves:
        talk = talk.after(move, which) or talk
        if talk.sent is not None:
            yield talk
