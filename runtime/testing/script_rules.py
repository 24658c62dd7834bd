"""Checks a scenario beyond the types of its values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from turnfsm.fsm import Flow
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import near, quoted
from turnfsm.fsm.source import Path, Source

from .script import Check, Script, Sound, Step

__all__ = ["HEADS", "check_script", "head_of", "moment_of"]

HEADS: dict[str, tuple[str, ...]] = {
    "speaking": ("within", "after"),
    "refused": ("while",),
    "taken": ("while",),
    "never": (),
    "tool": ("times",),
    "state": ("at",),
    "history": (),
}
"""The possible expectations, with the keys that narrow each down."""

_ACTIONS = ("interrupt", "say", "reply", "commit", "close")


def head_of(check: Check) -> str:
    """The head of a check, one of `HEADS`; empty if it has none or several."""
    heads = [head for head in HEADS if getattr(check, head) is not None]
    return heads[0] if len(heads) == 1 else ""


def moment_of(check: Check, script: Script) -> float:
    """The start of `within` in seconds: a time, or the end of an utterance of the user."""
    if isinstance(check.after, str):
        sound = next(s for s in script.user if s.says and check.after in s.says)
        return sound.at + _lasts(sound)
    return float(check.after or 0.0)


def _lasts(sound: Sound) -> float:
    if sound.noise is not None:
        return sound.noise
    return sound.lasts if sound.lasts is not None else 0.3 * len((sound.says or "").split())


def check_script(script: Script, source: Source, flow: Flow | str) -> Iterator[Finding]:
    """Find all problems of a well-formed scenario."""
    if isinstance(flow, str):
        yield source.at(("flow",), flow, code="unknown-flow")
    yield from _check_host(script, source)
    yield from _check_seconds(script, source)
    yield from _check_overlap(script, source)
    if not script.expect:
        remedy = "write what must happen, such as '- {speaking: TEXT}'"
        yield source.at(("expect",), "the scenario expects nothing", remedy, code="check")
    for i, sound in enumerate(script.user):
        yield from _check_sound(sound, source, ("user", i))
    for i, step in enumerate(script.do):
        yield from _check_step(step, source, ("do", i))
    for i, check in enumerate(script.expect):
        yield from _check_check(check, script, source, ("expect", i))
        if isinstance(flow, Flow):
            yield from _check_names(check, flow, source, ("expect", i))
    if isinstance(flow, Flow):
        for name in script.timers:
            if name not in flow.settable:
                yield _unknown(source.at_key, ("timers", name), "timer", name, flow.settable)


_DEFAULTS: dict[str, Any] = {
    "userdata": None, "session": {}, "turn_detection": "vad", "can_pause": True, "durations": {},
}  # fmt: skip
"""Keys that only a session of LiveKit has."""


def _check_host(script: Script, source: Source) -> Iterator[Finding]:
    if script.host == "livekit":
        return
    paths: list[Path] = [(n,) for n, plain in _DEFAULTS.items() if getattr(script, n) != plain]
    paths += [("do", i, name) for i, step in enumerate(script.do)
              for name in ("commit", "close") if getattr(step, name)]  # fmt: skip
    paths += [("model", "on_update")] * bool(script.model.on_update)
    for path in paths:
        message = f"{path[-1]!r} is not played on {script.host}"
        yield source.at_key(path, message, "remove it, or the host", code="host")


def _check_seconds(script: Script, source: Source) -> Iterator[Finding]:
    for path, value in _seconds(script):
        name = path[-1]
        if name in _ABOVE_ZERO and not value > 0:
            yield source.at(path, f"{name!r} is {value:g}", "write seconds above 0", code="range")
        elif not value >= 0:
            yield source.at(path, f"{name!r} is {value:g}", "write 0 or more", code="range")
        elif name == "at" and script.seconds is not None and value > script.seconds:
            message = f"{value:g} s is after the end of the scenario, {script.seconds:g} s"
            yield source.at(path, message, "raise 'seconds'", code="range")


_ABOVE_ZERO = ("seconds", "noise", "lasts", "within")


def _seconds(script: Script) -> Iterator[tuple[Path, float]]:
    """Every number that is a time or a count of tool runs."""
    yield from _numbers(script, (), ("seconds",))
    for i, sound in enumerate(script.user):
        yield from _numbers(sound, ("user", i), ("at", "noise", "lasts", "stt_delay"))
    for i, step in enumerate(script.do):
        yield from _numbers(step, ("do", i), ("at",))
    for i, check in enumerate(script.expect):
        yield from _numbers(check, ("expect", i), ("at", "within", "after", "times"))
    for words in ("on_user", "on_tool", "on_update"):
        for key, answer in getattr(script.model, words).items():
            yield from _numbers(answer, ("model", words, key), ("after",))
    yield from _numbers(script.model.otherwise, ("model", "otherwise"), ("after",))
    yield from ((("durations", key), value) for key, value in script.durations.items())


def _numbers(of: object, path: Path, names: tuple[str, ...]) -> Iterator[tuple[Path, float]]:
    for name in names:
        value = getattr(of, name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield (*path, name), value


def _check_overlap(script: Script, source: Source) -> Iterator[Finding]:
    begun = sorted(range(len(script.user)), key=lambda i: script.user[i].at)
    for before, after in pairwise(begun):
        end = script.user[before].at + _lasts(script.user[before])
        if script.user[after].at < end:
            message = f"two sounds of the user overlap: the one before lasts until {end:g} s"
            yield source.at(("user", after), message, "move one of them", code="sound")


def _check_sound(sound: Sound, source: Source, path: Path) -> Iterator[Finding]:
    if (sound.says is None) == (sound.noise is None):
        yield source.at(
            path, "a sound is either 'says' or 'noise'", "write one of them", code="sound"
        )
    if sound.noise is not None and sound.lasts is not None:
        yield source.at_key(
            (*path, "lasts"), "'lasts' belongs to 'says'", "remove it", code="sound"
        )


def _check_step(step: Step, source: Source, path: Path) -> Iterator[Finding]:
    actions = [name for name in _ACTIONS if getattr(step, name)]
    if len(actions) != 1:
        yield source.at(
            path, "a step does one thing", f"write one of {', '.join(_ACTIONS)}", code="step"
        )


def _check_check(check: Check, script: Script, source: Source, path: Path) -> Iterator[Finding]:
    head = head_of(check)
    if not head:
        remedy = f"write one of {', '.join(HEADS)}"
        yield source.at(path, "a check expects one thing", remedy, code="check")
        return
    for word in ("within", "after", "while", "times", "at"):
        value = getattr(check, "while_" if word == "while" else word)
        if value is not None and word not in HEADS[head]:
            message = f"{word!r} does not narrow {head!r} down"
            belongs = ", ".join(repr(h) for h, words in HEADS.items() if word in words)
            yield source.at_key((*path, word), message, f"it belongs to {belongs}", code="check")
    if head == "state" and check.at is None:
        yield source.at(path, "'state' needs a moment", "add 'at: SECONDS'", code="check")
    yield from _check_after(check.after, script, source, (*path, "after"))


def _check_after(after: Any, script: Script, source: Source, path: Path) -> Iterator[Finding]:
    if isinstance(after, str):
        texts = [s.says for s in script.user if s.says]
        if not any(after in text for text in texts):
            message = f"the user says nothing with {quoted(after)}"
            yield source.at(path, message, near(after, texts), code="after")
    elif after is not None and (isinstance(after, bool) or not isinstance(after, int | float)):
        yield source.at(path, "expected seconds, or words of the user", code="after")


def _check_names(check: Check, flow: Flow, source: Source, path: Path) -> Iterator[Finding]:
    triggers = [*flow.triggers, *flow.timers]
    for key, value in (("while", check.while_), ("state", check.state)):
        if value is not None and value not in flow.states:
            yield _unknown(source.at, (*path, key), "state", value, flow.states)
    for key, value in (("refused", check.refused), ("taken", check.taken)):
        if value is not None and value not in triggers:
            yield _unknown(source.at, (*path, key), "trigger", value, triggers)
    names = [*flow.states, *triggers]
    if check.never is not None and check.never not in names:
        yield _unknown(source.at, (*path, "never"), "state or trigger", check.never, names)


def _unknown(at: Any, path: Path, kind: str, name: str, names: Any) -> Finding:
    finding: Finding = at(
        path, f"the flow has no {kind} {quoted(name)}", near(name, names), code="name"
    )
    return finding
