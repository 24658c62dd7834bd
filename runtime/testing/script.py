"""A scenario in YAML: the input, and the expected outcome."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as File
from typing import Any, Literal

import attrs

from turnfsm.fsm import Flow, load_flow
from turnfsm.fsm.source import Source

__all__ = [
    "Answer",
    "Call",
    "Check",
    "Model",
    "Script",
    "Sound",
    "Step",
]


@attrs.frozen
class Sound:
    """An action of the user: `says` a text, or makes a `noise` of a number of seconds."""

    at: float
    says: str | None = None
    noise: float | None = None
    lasts: float | None = None
    """The duration of the speech in seconds; by default 0.3 per word."""
    stt_delay: float = 0.3


@attrs.frozen
class Step:
    """An action of the application: interrupt, say, reply, commit or close."""

    at: float
    interrupt: bool = False
    say: str | None = None
    reply: str | None = None
    commit: bool = False
    close: bool = False


@attrs.frozen
class Call:
    """A tool call of the scripted model."""

    tool: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Answer:
    """An answer of the scripted model; `after`: seconds to the first token."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    after: float = 0.2


@attrs.frozen
class Model:
    """The answers of the model, by the user's text, and by the tool whose result or update it
    gets."""

    on_user: Mapping[str, Answer] = attrs.field(factory=dict)
    on_tool: Mapping[str, Answer] = attrs.field(factory=dict)
    on_update: Mapping[str, Answer] = attrs.field(factory=dict)
    otherwise: Answer = Answer("I see.")


@attrs.frozen
class Check:
    """An expected outcome.

    One of `speaking`, `refused`, `taken`, `never`, `tool`, `state` and `history`, with keys that
    narrow it down.
    """

    speaking: str | None = None
    within: float | None = None
    after: Any = None
    refused: str | None = None
    taken: str | None = None
    while_: str | None = attrs.field(default=None, metadata={"yaml": "while"})
    never: str | None = None
    tool: str | None = None
    times: int | None = None
    state: str | None = None
    at: float | None = None
    history: str | None = None


@attrs.frozen
class Script:
    """A scenario as its file declares it.

    Attributes:
        name: Its name.
        expect: The expected outcomes.
        is_: More about it; the key ``is`` in YAML.
        host: Where it is played: on a `TurnSession`, or in a pipeline with a `TurnGovernor`.
        agent: Module or file of the agent and its name there, such as ``../waiter.py:Waiter``. On
            Pipecat: the tools by name, or a function of the governor that makes them.
        flow: The flow of the session.
        timers: Seconds that override those of the flow.
        userdata: The session's `userdata`: plain data, or ``module:Name`` of a function that makes
            it.
        session: More arguments of the session, such as ``max_tool_steps`` or ``turn_handling``.
        seconds: Its length; by default 10 s after the last event in the file.
        turn_detection: ``vad``, ``stt`` or ``manual``.
        can_pause: The audio output can pause.
        user: The actions of the user, by time.
        do: The actions of the application, by time.
        model: The answers of the model.
        durations: The seconds of the agent's sentences; by default 0.3 per word.
        file: The file.
        places: File and line of each check.
        source: The position of each part in the file.

    Example:
        >>> from turnfsm.testing import load_script
        >>> load_script("hello.yaml").length
        11.0
    """

    name: str
    expect: tuple[Check, ...]
    is_: str = attrs.field(default="", metadata={"yaml": "is"})
    host: Literal["livekit", "pipecat"] = "livekit"
    agent: str | None = None
    flow: str = "turn"
    timers: Mapping[str, float] = attrs.field(factory=dict)
    userdata: Any = None
    session: Mapping[str, Any] = attrs.field(factory=dict)
    seconds: float | None = None
    turn_detection: Literal["vad", "stt", "manual"] = "vad"
    can_pause: bool = True
    user: tuple[Sound, ...] = ()
    do: tuple[Step, ...] = ()
    model: Model = Model()
    durations: Mapping[str, float] = attrs.field(factory=dict)
    file: File = attrs.field(default=File(), metadata={"internal": True})
    places: tuple[str, ...] = attrs.field(default=(), metadata={"internal": True})
    source: Source | None = attrs.field(default=None, eq=False, metadata={"internal": True})

    @property
    def length(self) -> float:
        """Its length in seconds."""
        moments = [*(s.at for s in self.user), *(s.at for s in self.do)]
        moments += [check.at for check in self.expect if check.at is not None]
        return self.seconds if self.seconds is not None else max([0.0, *moments]) + 10.0

    def place(self, *path: str | int) -> str:
        """``file:line:column`` of a key."""
        return self.source.place(path) if self.source else str(self.file)

    def load_flow(self) -> Flow:
        """Load the flow of the session; a path is relative to the file."""
        path = self.flow.endswith((".yaml", ".yml"))
        return load_flow(str(self.file.parent / self.flow) if path else self.flow)
