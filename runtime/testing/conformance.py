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
"""What not every host has. ``voice``: it hears the user, also noises, and decides when a turn has
ended. ``pause``: its output can pause and go on."""

LACKS: Mapping[Capability, str] = {
    "voice": "the host hears no voice",
    "pause": "the host's output cannot pause",
}

OTHERWISE = "I see."
"""What the model says to words that it does not know."""


@attrs.frozen
class Tool:
    """A tool.

    Attributes:
        seconds: How long it takes.
        result: What it gives.
        policy: What an interruption does to it; None: what the flow says.
    """

    seconds: float
    result: str = "it is on its way"
    policy: Policy | None = None


@attrs.frozen
class Talk:
    """A conversation, and what must come of it on every host.

    Attributes:
        user: What the user says, and when. A host without voice gets the words when they end.
        states: The states that the flow enters, in order.
        heard: What the user hears whole, in order.
        cut: What the user does not hear to its end.
        effects: The tools that run to their end, in order.
        do: What the application does: `interrupt` and `say`.
        answers: What the model answers to words of the user, or fails with.
        results: What it says to results, each by a part of it.
        tools: By name.
        flow: The flow that governs the turns.
        timers: Seconds that replace those of the flow.
        goes_on: The user goes on while the end of their turn is being decided.
        seconds: How long it is played.
    """

    user: tuple[Sound, ...]
    states: tuple[str, ...]
    flow: Flow
    heard: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
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
        """What the host must have."""
        voice = self.goes_on or any(sound.says is None for sound in self.user)
        wanted = {"voice": voice, "pause": "paused" in self.states}
        return tuple(one for one in LACKS if wanted[one])

    def answer(self, messages: Sequence[tuple[str, str]]) -> Answer:
        """What the model gives when it is asked. Of what the user says, the last words count.

        Args:
            messages: Who has said what: `user`, `agent`, or anything else for results and
                instructions.

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
        known = [words for words in self.answers if words in text]
        answer = self.answers[max(known, key=text.rfind)] if known else Answer(OTHERWISE)
        if isinstance(answer, Exception):
            raise answer.with_traceback(None)  # it is raised in each talk
        return answer


@attrs.frozen
class Played:
    """What a host has made of a conversation.

    Attributes:
        journal: What the flow has decided, such as `conductor.turn.journal.read()`.
        heard: All words that the user heard, in order.
        effects: The tools that have run to their end, in order.
    """

    journal: Journal
    heard: str
    effects: Sequence[str] = ()


Play = Callable[[Talk], Played]
"""Plays a conversation on a host: `talk.seconds` long, perhaps in virtual time."""


@attrs.frozen
class Judgement:
    """How a host has played a conversation.

    Attributes:
        skipped: Why it was not played; empty if it was.
        problems: What is not as it must be, in sentences.
    """

    skipped: str = ""
    problems: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        return self.skipped or "\n".join(self.problems) or "as on every host"


def judge(talk: Talk, play: Play, *, can: Collection[Capability] = ()) -> Judgement:
    """Play a conversation on a host, and say what is wrong.

    Args:
        talk: One of `TALKS`.
        play: Plays it.
        can: What the host has. A conversation that needs more is skipped.

    Raises:
        TurnfsmError: There is no such capability.

    Example::

        from turnfsm.testing.conformance import TALKS, judge

        @pytest.mark.parametrize("name", TALKS)
        def test_my_host_conforms(name):
            judgement = judge(TALKS[name], play, can={"pause"})
            assert judgement, str(judgement)
    """
    for one in can:
        if one not in LACKS:
            raise TurnfsmError(f"no capability {one!r}; {near(one, get_args(Capability))}")
    lacks = [LACKS[need] for need in talk.needs if need not in can]
    if lacks:
        return Judgement(skipped="; ".join(lacks))
    return Judgement(problems=tuple(_problems(talk, play(talk))))


def _problems(talk: Talk, played: Played) -> list[str]:
    journal = played.journal
    taken = [e.verdict for e in journal.entries if isinstance(e.verdict, Taken)]
    states = tuple(v.dest for v in taken if v.dest != v.state)
    found = []
    if states != talk.states:
        found.append(f"states: {' '.join(states)}; wanted: {' '.join(talk.states)}")
    if (at := _missing(played.heard, talk.heard)) is not None:
        found.append(f"heard: {played.heard!r}; wanted there, and then: {at!r}")
    found += [f"heard to its end: {text!r}" for text in talk.cut if text.strip() in played.heard]
    if tuple(played.effects) != talk.effects:
        found.append(f"tools: {', '.join(played.effects)}; wanted: {', '.join(talk.effects)}")
    found += broken_properties(journal, talk.flow, talk.timers)
    if (differs := replay(journal, talk.flow)) is not None:
        found.append(f"the journal does not replay: {differs}")
    open_ = agenda_of(journal, rules_of(talk.flow)).open
    found += [f"at the end nobody has delivered the {due.kind} {due.id}" for due in open_]
    return found


def _missing(heard: str, wanted: Sequence[str]) -> str | None:
    """The first of these that is not heard behind the one before."""
    at = 0
    for text in wanted:
        found = heard.find(text.strip(), at)
        if found < 0:
            return text
        at = found + len(text.strip())
    return None
