"""Plays a scenario of a YAML file on a `TurnSession`, and reports failed checks."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import attrs

from turnfsm.fsm import Refused, Taken
from turnfsm.fsm.errors import TurnfsmError, near
from turnfsm.fsm.journal import Entry
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.heard import Heard, TimelineEntry
from turnfsm.runtime.testing.script import Answer, Check, Script, Step
from turnfsm.runtime.testing.script_rules import head_of, moment_of

from .named import load_named
from .outcome import Outcome
from .scripted_llm import Call, Reply, ScriptedLLM
from .stage import Stage
from .user import user_of
from .voice import ScriptedTTS

__all__ = ["Played", "play_script"]


@attrs.frozen
class Played:
    """The result of a scenario.

    Attributes:
        script: The scenario.
        outcome: What was observed.
        entries: The journal's entries.
        problems: The checks that failed, each with its place; empty if none did.
    """

    script: Script
    outcome: Outcome
    entries: tuple[Entry, ...]
    problems: tuple[str, ...] = ()

    def state_at(self, at: float) -> str:
        """The state of the flow at a moment."""
        state = self.entries[0].verdict.state if self.entries else ""
        for entry in self.entries:
            if isinstance(entry.verdict, Taken) and entry.t <= at:
                state = entry.verdict.dest
        return state

    def timeline(self) -> str:
        """The observations and the decisions of the flow, in order."""
        turn = [
            TimelineEntry(round(e.t, 6), "turn", line) for e in self.entries if (line := _line(e))
        ]
        events = sorted([*self.outcome.events, *turn], key=lambda event: event.at)
        return "\n".join(map(str, events))


def play_script(script: Script) -> Played:
    """Play a scenario in virtual time, on its own loop.

    Args:
        script: The scenario.

    Returns:
        The observations, and the failed checks.

    Raises:
        TurnfsmError: The agent that the file names cannot be imported.

    Example:
        >>> from turnfsm.testing import load_script, play_script
        >>> play_script(load_script("hello.yaml")).problems
        ()
    """
    stage = _stage(script)
    outcome = stage.run(script.length)
    assert isinstance(stage.session, TurnSession)
    entries = tuple(e for e in stage.session.turn.journal if isinstance(e, Entry))
    played = Played(script, outcome, entries)
    problems = []
    for place, check in zip(script.places, script.expect, strict=True):
        if problem := _CHECKS[head_of(check)](check, played):
            problems.append(f"{place}: {problem}")
    problems += [f"at {t:.2f} s an error is logged: {text}" for t, text in outcome.errors]
    return attrs.evolve(played, problems=tuple(problems))


def _stage(script: Script) -> Stage:
    model = ScriptedLLM(
        {key: _reply(answer) for key, answer in script.model.on_user.items()},
        {key: _reply(answer) for key, answer in script.model.on_tool.items()},
        on_update={key: _reply(answer) for key, answer in script.model.on_update.items()},
        otherwise=_reply(script.model.otherwise),
    )
    stage = Stage(
        partial(TurnSession, flow=script.load_flow()),  # type: ignore[arg-type]
        user=user_of(script.user),
        llm=model,
        tts=ScriptedTTS(durations=dict(script.durations)),
        agent=_named(script, "agent", script.agent) if script.agent else None,
        can_pause=script.can_pause,
        **_options(script),
    )
    for step in script.do:
        stage.at(step.at, partial(_do, step))
    return stage


def _options(script: Script) -> dict[str, Any]:
    """The arguments of the session, by the names of `AgentSession`."""
    allowed = set(inspect.signature(AgentSession.__init__).parameters) - _SCRIPTED
    for name in script.session:
        if name not in allowed:
            remedy = _OTHER_KEYS.get(name) or near(name, allowed)
            place = script.place("session", name)
            raise TurnfsmError(f"{place}: a session has no option {name!r}; {remedy}")
    options = dict(script.session)
    handling = options.pop("turn_handling", {})
    options["turn_handling"] = {"turn_detection": script.turn_detection} | handling
    if script.timers:
        options["timers"] = dict(script.timers)
    if script.userdata is not None:
        options["userdata"] = _userdata(script)
    return options


_SCRIPTED = {"self", "stt", "vad", "llm", "tts", "loop", "userdata"}
_OTHER_KEYS = {
    **dict.fromkeys(("stt", "vad", "llm", "tts"), "it is scripted"),
    **dict.fromkeys(("userdata", "timers", "flow"), "it is a key of the scenario itself"),
}


def _userdata(script: Script) -> Any:
    """Plain data is used as written; a text names a function that makes it."""
    if not isinstance(script.userdata, str):
        return copy.deepcopy(script.userdata)
    value = _named(script, "userdata", script.userdata)
    return value() if callable(value) else value


def _reply(answer: Answer) -> Reply:
    calls = [Call(call.tool, call.arguments) for call in answer.calls]
    return Reply(answer.text, calls=calls, ttft=answer.after)


async def _do(step: Step, stage: Stage) -> None:
    session = stage.session
    if step.interrupt:
        session.interrupt()
    elif step.say is not None:
        session.say(step.say)
    elif step.reply is not None:
        session.generate_reply(user_input=step.reply)
    elif step.commit:
        session.commit_user_turn()
    else:
        await session.aclose()


def _named(script: Script, key: str, name: str) -> Any:
    return load_named(name, script.file.parent, f"{script.place(key)}: {key}")


def _line(entry: Entry) -> str:
    verdict = entry.verdict
    if isinstance(verdict, Refused):
        return f"refused {entry.trigger} in {verdict.state}: {verdict.why}"
    if verdict.entered or verdict.dest != verdict.state:
        return f"{verdict.state} -> {verdict.dest} ({entry.trigger})"
    return ""


def _speaking(check: Check, played: Played) -> str:
    words, since = check.speaking or "", moment_of(check, played.script)
    start = _first_heard(words, played.outcome.heard_after(since))
    if start is None:
        return f"{words!r} is not heard after {since:.2f} s"
    took = start - since
    if check.within is not None and took > check.within + 1e-6:
        at = f"at {start:.2f} s, {took:.2f} s after {since:.2f} s"
        return f"{words!r} is heard {at}, not within {check.within:g} s"
    return ""


def _first_heard(words: str, spans: Sequence[Heard]) -> float | None:
    """When the span of audio began that contains the start of these words; a pause may split
    them."""
    start = " ".join(h.text for h in spans).find(words)
    if start < 0:
        return None
    ends = accumulate(len(h.text) + 1 for h in spans)
    return next(h.start for h, end in zip(spans, ends, strict=True) if start < end)


def _refused(check: Check, played: Played) -> str:
    return _decided(check, played, check.refused or "", Refused, "refused")


def _taken(check: Check, played: Played) -> str:
    return _decided(check, played, check.taken or "", Taken, "taken")


def _decided(check: Check, played: Played, trigger: str, kind: type, word: str) -> str:
    posted = [e for e in played.entries if e.trigger == trigger]
    matching = [e for e in posted if isinstance(e.verdict, kind)]
    where = f" while {check.while_}" if check.while_ else ""
    if any(check.while_ in (None, e.verdict.state) for e in matching):
        return ""
    return f"{trigger} is not {word}{where}; it {_seen(posted)}"


def _seen(entries: list[Entry]) -> str:
    if not entries:
        return "was never posted"
    return "was " + ", ".join(
        f"{'taken' if e.verdict else 'refused'} in {e.verdict.state} at {e.t:.2f} s"
        for e in entries[:4]
    )


def _never(check: Check, played: Played) -> str:
    for entry in played.entries:
        verdict = entry.verdict
        if not isinstance(verdict, Taken):
            continue
        if verdict.entered and verdict.dest == check.never:
            return f"{check.never} is entered at {entry.t:.2f} s by {entry.trigger}"
        if entry.trigger == check.never:
            return f"{check.never} is taken at {entry.t:.2f} s in {verdict.state}"
    return ""


def _tool(check: Check, played: Played) -> str:
    runs = [f"{run.start:.2f} s" for run in played.outcome.tools if run.name == check.tool]
    if len(runs) == check.times or (runs and check.times is None):
        return ""
    expected = "" if check.times is None else f", not {check.times} time(s)"
    return f"the tool {check.tool} runs {len(runs)} time(s): {', '.join(runs) or 'never'}{expected}"


def _state(check: Check, played: Played) -> str:
    state = played.state_at(check.at or 0.0)
    return (
        "" if state == check.state else f"at {check.at:g} s the turn is {state}, not {check.state}"
    )


def _history(check: Check, played: Played) -> str:
    words = check.history or ""
    if any(words in line for line in played.outcome.context):
        return ""
    return f"{words!r} is not in the conversation: {' | '.join(played.outcome.context)}"


_CHECKS: dict[str, Callable[[Check, Played], str]] = {
    "speaking": _speaking,
    "refused": _refused,
    "taken": _taken,
    "never": _never,
    "tool": _tool,
    "state": _state,
    "history": _history,
}
