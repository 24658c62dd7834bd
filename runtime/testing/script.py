"""A scenario in YAML: the input, and the expected outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path as File
from typing import Any, Literal

import attrs

from turnfsm.fsm import Flow, FlowError, TurnfsmError, load_flow
from turnfsm.fsm.diagnostics import Finding, render_findings
from turnfsm.fsm.load.structure import structure_as
from turnfsm.fsm.load.yaml12 import read_nodes, unfold
from turnfsm.fsm.source import Page, Source, Unreadable

from .script_rules import check_script

__all__ = [
    "Answer",
    "Call",
    "Check",
    "Model",
    "Script",
    "ScriptError",
    "Sound",
    "Step",
    "load_script",
]


class ScriptError(TurnfsmError):
    """A scenario file that cannot be played.

    Args:
        findings: Every problem of the file, in the order of its lines.

    Attributes:
        findings: The same.
    """

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__(render_findings(findings))
        self.findings = tuple(sorted(findings))


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
        agent: Module or file of the agent and its name there, such as ``../waiter.py:Waiter``.
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
        return load_flow(_flow_path(self.flow, self.file))


def load_script(file: str | File) -> Script:
    """Read a scenario.

    Args:
        file: The YAML file.

    Returns:
        The scenario, for `play_script`.

    Raises:
        ScriptError: The file is not a scenario. The message has every finding with its place.

    Example:
        >>> from turnfsm.testing import load_script
        >>> load_script("hello.yaml").name
        'the agent greets'
    """
    file = File(file)
    try:
        page = Page(str(file), file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ScriptError(
            [Page(str(file), "").whole.finding(why.lower(), "name a readable file")]
        ) from None
    if not page.text.strip():
        message = "the scenario is empty"
        raise ScriptError([Finding(1, 1, 1, message, "begin with 'name: ...'", file=str(file))])
    return _read(page, file)


def _read(page: Page, file: File) -> Script:
    root, findings = read_nodes(page)
    source = Source(page)
    script: Script | None = None
    if root is not None:
        try:
            data = unfold(root, source)
        except Unreadable as exc:
            raise ScriptError([*findings, exc.finding]) from None
        script, problems = structure_as(Script, _spelt_out(data), source)
        findings += problems
    if script is not None:
        findings += check_script(script, source, _flow_of(script, file))
    if script is None or findings:
        raise ScriptError(findings)
    places = [source.place(("expect", i)).rsplit(":", 1)[0] for i in range(len(script.expect))]
    return attrs.evolve(script, file=file, places=tuple(places), source=source)


def _flow_of(script: Script, file: File) -> Flow | str:
    """The flow, or the reason why there is none."""
    try:
        return load_flow(_flow_path(script.flow, file))
    except FlowError as error:
        return str(error).splitlines()[0]


def _flow_path(name: str, file: File) -> str:
    return str(file.parent / name) if name.endswith((".yaml", ".yml")) else name


def _spelt_out(data: Any) -> Any:
    """Expand short forms: a text is an answer's `text`, a name is a call's `tool`."""
    model = data.get("model") if isinstance(data, dict) else None
    if not isinstance(model, dict):
        return data
    for holder, key in _answers(model):
        if isinstance(holder[key], str):
            holder[key] = {"text": holder[key]}
        elif isinstance(holder[key], dict) and "calls" in holder[key]:
            calls = holder[key]["calls"]
            calls = calls if isinstance(calls, list) else [calls]
            holder[key]["calls"] = [{"tool": c} if isinstance(c, str) else c for c in calls]
    return data


def _answers(model: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    for rules in (model.get(key) for key in ("on_user", "on_tool", "on_update")):
        if isinstance(rules, dict):
            yield from ((rules, key) for key in rules)
    if "otherwise" in model:
        yield model, "otherwise"
