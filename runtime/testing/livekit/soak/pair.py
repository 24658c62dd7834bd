"""Plays a conversation on both sessions, and reports where `TurnSession` did worse."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import attrs
from livekit.agents import Agent

from turnfsm.fsm import Flow, TurnfsmError
from turnfsm.fsm.audit.properties import broken_properties
from turnfsm.fsm.journal import journal_of, replay
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit.outcome import Outcome, ToolRun
from turnfsm.runtime.testing.livekit.stage import Stage

from .conversation import Conversation
from .model import RandomModel, call_key

__all__ = ["SoakPair", "Take", "play_both"]

_CLOSES = 12.0
"""Seconds that a close may take: LiveKit gives tools five, and lets a speech finish."""

_LAGS = 0.1
"""How much longer the agent state may be wrong than on `AgentSession`, in seconds."""


@attrs.frozen
class Take:
    """One session's run of a conversation; `failed` says why it could not be played."""

    outcome: Outcome
    model: RandomModel
    failed: str = ""
    records: tuple[Mapping[str, Any], ...] = ()

    @property
    def lacks_userdata(self) -> bool:
        """Whether the agent failed because the session has no user data."""
        said = [self.failed, *(text for _, text in self.outcome.errors)]
        return any("userdata is not set" in text for text in said)

    @property
    def runs(self) -> Counter[tuple[str, str]]:
        """How often each call was executed."""
        return Counter(call_key(run.name, run.arguments) for run in self.outcome.tools)

    @property
    def lost(self) -> Counter[tuple[str, str]]:
        """Calls that have ended and have no output in the history."""
        shown = {i.call_id for i in self.outcome.history.items if i.type == "function_call_output"}
        lost = [run for run in self.outcome.tools if _ended(run) and run.call_id not in shown]
        return Counter(call_key(run.name, run.arguments) for run in lost)

    def times_said(self, sentence: str) -> int:
        """How often a sentence of the user is in the history."""
        users = (i for i in self.outcome.history.items if i.type == "message" and i.role == "user")
        pattern = rf"\b{re.escape(sentence)}\b"
        return sum(len(re.findall(pattern, item.text_content or "")) for item in users)


@attrs.frozen
class SoakPair:
    """A conversation on `AgentSession` and on `TurnSession`."""

    conversation: Conversation
    stock: Take
    ours: Take
    flow: Flow

    @property
    def raised(self) -> frozenset[str]:
        """The errors that were logged on both sessions: the agent's own."""
        stock, ours = ({text for _, text in t.outcome.errors} for t in (self.stock, self.ours))
        return frozenset(stock & ours)

    def worse(self) -> list[str]:
        """Where `TurnSession` did worse, or broke a property of its flow; one sentence each."""
        if self.ours.failed:
            return [] if self.stock.failed else [f"it cannot be played: {self.ours.failed}"]
        return [
            *self._calls(),
            *self._words(),
            *self._rest(),
            *(f"the flow's property: {line}" for line in self._broken()),
        ]

    def _calls(self) -> Iterator[str]:
        ours, stock = self.ours, self.stock
        for key, count in ours.runs.items():
            asked = len(ours.model.decided.get(key, ()))
            if count > max(asked, stock.runs[key]):
                yield f"{_shown(key)} ran {count} times, and was asked for {asked} times"
        for key, count in ours.lost.items():
            if count > stock.lost[key]:
                yield f"the result of {_shown(key)} is not in the history"

    def _words(self) -> Iterator[str]:
        ours, stock = self.ours, self.stock
        for sentence in self.conversation.sentences:
            now, before = ours.times_said(sentence), stock.times_said(sentence)
            if now > max(1, before) or (before and not now):
                yield f"{sentence!r} of the user is {now} times in the history, not {before or 1}"
        last = self.conversation.user.utterances[-1]
        answered = [take.outcome.heard_after(last.end) for take in (stock, ours)]
        if last.text and answered[0] and not answered[1]:
            yield f"{last.text!r} is not answered"

    def _rest(self) -> Iterator[str]:
        end, ours, stock = self.conversation.seconds, self.ours.outcome, self.stock.outcome
        known = {_without_numbers(text) for _, text in stock.errors}
        for at, text in ours.errors:
            if at < end and _without_numbers(text) not in known:
                yield f"an error is logged that AgentSession does not log: {text[:160]}"
        wrong = [
            sum(b - a for a, b, _ in o.wrong_agent_states(0.021) if b < end) for o in (ours, stock)
        ]
        if wrong[0] > wrong[1] + _LAGS:
            yield f"the agent state is wrong for {wrong[0]:.2f} s, on AgentSession {wrong[1]:.2f} s"
        if ours.closed_in > max(_CLOSES, stock.closed_in):
            yield f"closing takes {ours.closed_in:.2f} s"
        left = [(*o.orphans, *o.timers) for o in (ours, stock)]
        if len(left[0]) > len(left[1]):
            yield f"left after the close: {', '.join(left[0])}"

    def _broken(self) -> Iterator[str]:
        journal = journal_of(self.ours.records)
        yield from broken_properties(journal, self.flow)
        if divergence := replay(journal, self.flow):
            yield str(divergence)


def play_both(
    conversation: Conversation,
    agent: Callable[[], Agent],
    flow: Flow,
    userdata: Callable[[], Any] | None = None,
) -> SoakPair:
    """Play a conversation in virtual time, first on `AgentSession`, then on `TurnSession`.

    Args:
        agent: Makes a new agent for each of the two, such as its class.
        flow: The flow of the `TurnSession`.
        userdata: Makes the user data of each.

    Raises:
        TurnfsmError: Neither of the two can be played, or the agent uses user data but gets none.
    """
    sink = _Sink()
    stock = _play(conversation, agent, AgentSession, userdata)
    session: Any = partial(TurnSession, flow=flow, sinks=[sink])
    ours = attrs.evolve(_play(conversation, agent, session, userdata), records=tuple(sink.records))
    if userdata is None and stock.lacks_userdata:
        raise TurnfsmError(
            f"seed {conversation.seed}: the agent uses the session's userdata, which is not set\n"
            "  = help: name a class or function that makes it for each session: "
            "--userdata module:Name"
        )
    if stock.failed and ours.failed:
        raise TurnfsmError(
            f"seed {conversation.seed} cannot be played: {stock.failed}\n"
            "  = help: an agent that waits for a network or a thread needs stand-ins for them"
        )
    return SoakPair(conversation, stock, ours, flow)


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "#", text)


class _Sink:
    def __init__(self) -> None:
        self.records: list[Mapping[str, Any]] = []

    def write(self, record: Mapping[str, Any]) -> None:
        self.records.append(record)

    def close(self) -> None:
        """Nothing was opened."""


def _play(
    conversation: Conversation,
    agent: Callable[[], Agent],
    session: Any,
    userdata: Callable[[], Any] | None,
) -> Take:
    random.seed(conversation.seed)  # the agent's own random numbers are the same on both
    model = RandomModel(conversation.seed)
    options = {} if userdata is None else {"userdata": userdata()}
    stage = Stage(
        session, user=conversation.user, llm=model, agent=agent, **conversation.settings, **options
    )
    for deed in conversation.deeds:
        stage.at(deed.at, deed.do)
    try:
        return Take(stage.run(conversation.seconds), model)
    except TurnfsmError:
        raise
    except Exception as error:  # whatever the agent raises: on both, or on one
        return Take(Outcome(), model, f"{type(error).__name__}: {error}")


def _ended(run: ToolRun) -> bool:
    return run.status in ("done", "error")


def _shown(key: tuple[str, str]) -> str:
    return f"{key[0]}({key[1]})"
