"""The written form of a flow: the sections of the file, and groups of states.

The JSON Schema and the reference of all keys are made from these classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import attrs

from turnfsm.fsm.confirm import Condition
from turnfsm.fsm.fields import doc
from turnfsm.fsm.flow import (
    Action,
    Always,
    Declarations,
    Fact,
    Group,
    LeadsTo,
    Names,
    Never,
    Phrases,
    Seconds,
    State,
    Texts,
    Transition,
    Trigger,
)

__all__ = [
    "AT_LEAST_ONE",
    "EVERY_STATE",
    "HOST",
    "LONGEST",
    "ONE_OR_MORE",
    "SHORT",
    "WHOLE",
    "Assurance",
    "Backchannels",
    "Button",
    "Filler",
    "FlowFile",
    "Hold",
    "Monologue",
    "NotHeard",
    "Reprompt",
    "WrittenProperties",
    "WrittenState",
]

EVERY_STATE = "all"
"""The group of all states except final ones."""

HOST = "host"
"""The section of the host facts."""

LONGEST = 86_400
"""Seconds that are too many for any timer: a day."""

SHORT = (Trigger, Action, Fact)
"""A declaration that may be a text alone, which is its description."""

_TEXTS = "The text; of several texts, the next one each time."


@attrs.frozen
class WrittenState(State):
    """A state of the turn. It has what its groups declare, unless it declares that itself."""

    in_: Names = doc(
        "The groups of this state, besides 'all'. If two groups declare the same trigger, the one "
        "that is later in this list wins.",
        yaml="in",
        default=(),
    )


@attrs.frozen
class Filler:
    """What the agent says to a user who waits for a tool or for the model, once per turn."""

    say: Texts = doc(_TEXTS, default=Texts(()))
    audio: str | None = doc(
        "Instead of 'say': the WAV file that is played (16 bit, one channel). The path is relative "
        "to the file of the flow. It is not added to the conversation.",
        default=None,
    )
    after: float | None = doc(
        "Seconds that the user has waited, or, for a later filler, seconds since the previous "
        "one. Default: 1.5 s, and 5 s for later ones, at the pace normal.",
        default=None,
    )
    in_: Names = doc(
        "The states in which it may be said: tool_running, while the turn waits for a tool; "
        "thinking, while the model has produced nothing; listening, while a hook of the "
        "application has the user's turn. The waits in these states add up. Fillers for other "
        "states are counted separately. Default: tool_running.",
        yaml="in",
        default=("tool_running",),
    )
    tools: Names = doc(
        "Only while the turn waits for one of these tools. Fillers for other tools are counted "
        "separately.",
        default=(),
    )
    interruptible: bool = doc("Whether the user may interrupt it.", default=True)


@attrs.frozen
class Backchannels:
    """What the agent says at a pause of a user who keeps talking, without taking the floor."""

    say: Texts = doc(_TEXTS, default=Texts(()))
    audio: str | None = doc(
        "Instead of 'say': the WAV file that is played (16 bit, one channel). The path is relative "
        "to the file of the flow.",
        default=None,
    )
    after: float | None = doc(
        "Seconds since the VAD has reported the beginning of the user's speech, or since the "
        "previous backchannel. The next pause after that gets one. Default: 4 s at the pace "
        "normal.",
        default=None,
    )
    pause: float = doc(
        "Seconds of silence that are a pause. It must be shorter than the silence after which the "
        "VAD reports the end of speech (Silero on LiveKit: 0.55 s, Pipecat's `stop_secs`: 0.2 s).",
        default=0.12,
    )
    in_: Names = doc(
        "The states in which it may be said: listening, tool_running (while the turn waits for a "
        "tool), or both. Default: listening.",
        yaml="in",
        default=("listening",),
    )


@attrs.frozen
class Reprompt:
    """What the agent says to a user who says nothing."""

    say: Texts = doc(_TEXTS)
    after: float | None = doc(
        "Seconds of silence, or, for a later reprompt, seconds since the previous one was heard. "
        "Default: 8 s at the pace normal.",
        default=None,
    )
    hang_up: bool = doc(
        "The session closes afterwards, unless the user speaks within the timer hang_up_after, 1 s "
        "at the pace normal.",
        default=False,
    )
    interruptible: bool = doc("Whether the user may interrupt it.", default=True)


@attrs.frozen
class Monologue:
    """A limit on how long the agent speaks at a stretch."""

    after: float | None = doc(
        "Seconds that the agent is heard. Then it stops at the end of a sentence, at most 5 s "
        "later (the timer monologue_limit). Default: 20 s at the pace normal.",
        default=None,
    )
    say: Texts = doc(
        "What the agent says after it has stopped; of several texts, the next one each time.",
        default=Texts(()),
    )


@attrs.frozen
class Hold:
    """The user may ask the agent to wait."""

    then: Texts = doc(
        "What the agent says at the limit, if the user is not back; of several texts, the next "
        "one each time."
    )
    say: Texts = doc(
        "What the agent says when it is asked to wait; of several texts, the next one each time.",
        default=Texts(()),
    )
    limit: float = doc(
        "Seconds that the agent waits for the user (the timer hold). 60 by default.", default=60.0
    )
    also: Names = doc(
        "Phrases that ask the agent to wait, in addition to those of the list 'hold'.", default=()
    )
    until: Names = doc(
        "Phrases that say that the user is back, anywhere in an utterance. Utterances without one "
        "are not answered. Without this key the next utterance ends the hold.",
        default=(),
    )


@attrs.frozen
class Assurance:
    """While the user waits, the agent is never silent for long."""

    after: float = doc(
        "Seconds of silence while the user waits (the timer quiet). The timer continues across "
        "tool calls and requests. It restarts when the agent is heard, and with a new turn of the "
        "user."
    )
    say: Texts = doc(
        "What the agent says each time the timer fires while a tool or a hook of the application "
        "runs; of several texts, the next one each time."
    )
    give_up: Texts = doc(
        "What the agent says if the model has the floor and produces no audio in this time. The "
        "model's reply is dropped. Of several texts, the next one each time."
    )


@attrs.frozen
class NotHeard:
    """What the agent says to a user whom it cannot understand or hear."""

    say: Texts = doc(
        "What the agent says if the user has spoken and no transcript comes. It is not repeated "
        "before a transcript comes. Of several texts, the next one each time."
    )
    no_audio: Texts = doc(
        "What the agent says if no audio comes from the user at all. It is not repeated before "
        "there is audio again. Of several texts, the next one each time. Default: nothing.",
        default=Texts(()),
    )


@attrs.frozen
class Button:
    """A button that the user holds while they speak."""

    press: str = doc(
        "The RPC method that the user's page calls when the button is pressed.",
        default="start_turn",
    )
    release: str = doc(
        "The RPC method for the release: the user's turn is committed.", default="end_turn"
    )
    cancel: str = doc(
        "The RPC method that discards what the user has said since the press.",
        default="cancel_turn",
    )


ONE_OR_MORE = (Transition, Filler, Reprompt)
"""A single one may be written without a list."""

WHOLE = (Transition, Never, Always, LeadsTo)
"""What a flow declares again replaces it: its keys are not merged with those of the base."""

AT_LEAST_ONE: Mapping[type, Names] = MappingProxyType(
    {
        Never: ("action", "state"),
        Filler: ("say", "audio"),
        Backchannels: ("say", "audio"),
        Condition: ("above", "below", "is"),
        Phrases: ("lists", "also"),
    }
)
"""Keys of which a class needs one."""


@attrs.frozen
class WrittenProperties:
    """What must hold, proved before the flow runs. Those of the flow's kind need not be listed."""

    never: Mapping[str, Never] = doc("Something that must never happen.", factory=dict)
    always: Mapping[str, Always] = doc("Something that must be true in a state.", factory=dict)
    leads_to: Mapping[str, LeadsTo] = doc(
        "A state that timers must lead to, whatever keeps happening.", factory=dict
    )
    no_silence_longer_than: float | None = doc(
        "Seconds: while the user waits for the agent, no silence is longer than this.",
        default=None,
    )
    waived: Mapping[str, str] = doc(
        "Properties that this flow gives up, each with the reason.", factory=dict
    )


@attrs.frozen
class FlowFile(Declarations):
    """A turn, declared."""

    flow: str = doc("The flow's name.")
    initial: str = doc("The state that a session starts in.")
    states: Mapping[str, WrittenState] = doc("The states, in the order in which they are drawn.")
    facts: Mapping[str, Mapping[str, Fact]] = doc(
        "What guards may refer to, listed by scope: 'session', a declared scope, or 'host' if the "
        "host provides the value when the machine decides.",
        factory=dict,
    )
    requests: Mapping[str, Trigger] = doc(
        "Triggers that ask for permission. If a request is refused, the code that posted it must "
        "not proceed.",
        factory=dict,
    )
    events: Mapping[str, Trigger] = doc("Triggers that say what has happened.", factory=dict)
    timers: Mapping[str, Seconds] = doc(
        "Timers with their seconds. A timer that is 'never' does not fire unless 'limits' or a "
        "session sets its seconds. A session may override the seconds.",
        factory=dict,
    )
    limit_sets: Mapping[str, Mapping[str, Seconds]] = doc(
        "Sets of seconds for timers that are 'never', each under a name.", factory=dict
    )
    fillers: tuple[Filler, ...] = doc(
        "What the agent says to a user who waits for a tool or for the model. A reply waits for "
        "the end of a filler no longer than the timer filler_end, 0.3 s by default.",
        default=(),
    )
    silence: tuple[Reprompt, ...] = doc(
        "What the agent says to a user who says nothing. If only part of a text was heard, the "
        "agent repeats it once. An utterance of the user restarts the sequence.",
        default=(),
    )
    backchannels: Backchannels | None = doc(
        "What the agent says at a pause of a user who keeps talking, such as 'mhm'. It does not "
        "take the floor, and is not added to the conversation. Not supported in a host of your "
        "own.",
        default=None,
    )
    monologue: Monologue | None = doc(
        "How long the agent may talk before it stops and listens.", default=None
    )
    never_silent: Assurance | None = doc(
        "While the user waits, the agent is never silent for longer than these seconds. This "
        "declares the property no_silence_longer_than.",
        default=None,
    )
    hold: Hold | None = doc(
        "The user may ask the agent to wait. The agent is silent until the user is back, or for a "
        "limited time.",
        default=None,
    )
    not_heard: NotHeard | None = doc(
        "What the agent says if the user speaks and no transcript comes.", default=None
    )
    button: Button | None = doc(
        "A button with which the user begins and ends a turn; {} means the default names of the "
        "RPC methods. Only on LiveKit.",
        default=None,
    )
    groups: Mapping[str, Group] = doc(
        "What several states have in common. Every state is in the group 'all'.", factory=dict
    )
    properties: WrittenProperties = doc(
        "What must be true; proved before the flow runs.", factory=WrittenProperties
    )
