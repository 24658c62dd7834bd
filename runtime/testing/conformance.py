"""A conformance suite: does a host play these conversations as every other host does?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, get_args

import attrs

from turnfsm.fsm import Flow, Taken, TurnfsmError
from turnfsm.fsm.audit.properties import broken_properties
from turnfsm.fsm.errors import near
from turnfsm.fsm.flow import Policy
from turnfsm.fsm.journal import Journal, replay
from turnfsm.runtime.log import agenda_of, rules_of

from .script import Answer, Sound, Step

__all__ = [
    "OTHERWISE",
    "Capability",
    "Judgement",
    "Play",
    "Played",
    "Talk",
    "Tool",
    "judge",
]

Capability = Literal["voice", "pause"]
"""An ability that not every host has. ``voice``: it hears speech and noises, and ends turns.
``pause``: its output can pause and resume."""

LACKS: Mapping[Capability, str] = {
    "voice": "the host hears no voice",
    "pause": "the host's output cannot pause",
}

OTHERWISE = "I see."
"""The model's answer to an unknown message."""


@attrs.frozen
class Tool:
    """A tool.

    Attributes:
        seconds: Its duration.
        result: Its result.
        policy: Its policy at an interruption; None: that of the flow.
    """

    seconds: float
    result: str = "it is on its way"
    policy: Policy | None = None


@attrs.frozen
class Talk:
    """A conversation, and its outcome on every host.

    Attributes:
        user: The user's sounds. A host without voice gets the text at the end of each.
        states: The states that the flow enters, in order.
        heard: The texts that the user hears to their end, in order.
        interrupted: The texts that the user does not hear to their end.
        effects: The tools that run to their end, in order.
        do: The actions of the application: `interrupt` and `say`.
        answers: The model's answers, or errors, by a part of the user's message.
        results: The model's texts about results, by a part of the result.
        tools: By name.
        flow: The flow that governs the turns.
        timers: Seconds that replace those of the flow.
        goes_on: The user continues during endpointing.
        seconds: Its length.
    """

    user: tuple[Sound, ...]
    states: tuple[str, ...]
    flow: Flow
    heard: tuple[str, ...] = ()
    interrupted: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    do: tuple[Step, ...] = ()
    answers: Mapping[str, Answer | Exception] = attrs.field(factory=dict)
    results: Mapping[str, str] = attrs.field(factory=dict)
    tools: Mapping[str, Tool] = attrs.field(factory=dict)
    timers: Mapping[str, float] = attrs.field(factory=dict)
    goes_on: bool = False
    seconds: float = 40.0

    @property
    def needs(self) -> tuple[Capability, ...]:
        """The abilities that it needs."""
        voice = self.goes_on or any(sound.says is None for sound in self.user)
        needed = {"voice": voice, "pause": "paused" in self.states}
        return tuple(capability for capability in LACKS if needed[capability])

    def answer(self, messages: Sequence[tuple[str, str]]) -> Answer:
        """The model's answer to a request. The last known part of the user's message counts.

        Args:
            messages: Speaker and text; the speaker is `user`, `agent`, or anything else for results
                and instructions.

        Raises:
            Exception: The model is to fail.
        """
        agent = [text for who, text in messages if who == "agent"]
        news = [
            words
            for result, words in self.results.items()
            if any(result in text for _, text in messages) and not any(words in t for t in agent)
        ]
        who, text = messages[-1]
        if who != "user":
            return Answer(" ".join(news) or OTHERWISE)
        parts = [part for part in self.answers if part in text]
        answer = self.answers[max(parts, key=text.rfind)] if parts else Answer(OTHERWISE)
        if isinstance(answer, Exception):
            raise answer.with_traceback(None)  # it is raised in each talk
        return answer


@attrs.frozen
class Played:
    """The outcome of a conversation on a host.

    Attributes:
        journal: The flow's decisions, such as `conductor.turn.journal.read()`.
        heard: All text that the user heard, in order.
        effects: The tools that have run to their end, in order.
    """

    journal: Journal
    heard: str
    effects: Sequence[str] = ()


Play = Callable[[Talk], Played]
"""Plays a conversation on a host: `talk.seconds` long, perhaps in virtual time."""


@attrs.frozen
class Judgement:
    """Whether a host conforms in a conversation.

    Attributes:
        skipped: Why it was not played; empty if it was.
        problems: The differences from the expected outcome, as sentences.
    """

    skipped: str = ""
    problems: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        return self.skipped or "\n".join(self.problems) or "as on every host"


def judge(talk: Talk, play: Play, *, can: Collection[Capability] = ()) -> Judgement:
    """Play a conversation on a host, and return the differences from its expected outcome.

    Args:
        talk: One of `TALKS`.
        play: Plays it.
        can: The abilities of the host. A conversation that needs more is skipped.

    Raises:
        TurnfsmError: There is no such capability.

    Example::

        from turnfsm.testing.conformance import TALKS, judge

        @pytest.mark.parametrize("name", TALKS)
        def test_my_host_conforms(name):
            judgement = judge(TALKS[name], play, can={"pause"})
            assert judgement, str(judgement)
    """
    for name in can:
        if name not in LACKS:
            raise TurnfsmError(f"no capability {name!r}; {near(name, get_args(Capability))}")
    lacks = [LACKS[need] for need in talk.needs if need not in can]
    if lacks:
        return Judgement(skipped="; ".join(lacks))
    return Judgement(problems=tuple(_problems(talk, play(talk))))


def _problems(talk: Talk, played: Played) -> list[str]:
    journal = played.journal
    taken = [e.verdict for e in journal.entries if isinstance(e.verdict, Taken)]
    states = tuple(v.dest for v in taken if v.dest != v.state)
    problems = []
    if states != talk.states:
        problems.append(f"states: {' '.join(states)}; wanted: {' '.join(talk.states)}")
    if (at := _missing(played.heard, talk.heard)) is not None:
        problems.append(f"heard: {played.heard!r}; wanted there, and then: {at!r}")
    problems += [
        f"heard to its end: {text!r}" for text in talk.interrupted if text.strip() in played.heard
    ]
    if tuple(played.effects) != talk.effects:
        problems.append(f"tools: {', '.join(played.effects)}; wanted: {', '.join(talk.effects)}")
    problems += broken_properties(journal, talk.flow, talk.timers)
    if (differs := replay(journal, talk.flow)) is not None:
        problems.append(f"the journal does not replay: {differs}")
    open_ = agenda_of(journal, rules_of(talk.flow)).open
    problems += [f"at the end nobody has delivered the {due.kind} {due.id}" for due in open_]
    return problems


def _missing(heard: str, texts: Sequence[str]) -> str | None:
    """The first text that is not heard after its predecessor."""
    at = 0
    for text in texts:
        start = heard.find(text.strip(), at)
        if start < 0:
            return text
        at = start + len(text.strip())
    return None
