"""Where each key for what a caller notices is shown and tested.

`keys_of_callers.yaml` has every one of them. Its values occur once, so they can be found in what a
tool shows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

__all__ = ["FILE", "KEYS", "SOUNDS", "Key", "keys_in", "table"]

FILE = Path(__file__).with_suffix(".yaml")
SOUNDS = Path(__file__).parent / "soak" / "differential" / "example.yaml"
"""A name beside the WAV file that the example plays."""

Why = str

TUNED = "a setting: the proof assumes nothing about it"
SAID = "a text decides nothing"
WORDS = "phrases are words, and no part of the machine; the viewer lists them with their fact"
VALUE = "what is expected; the wait for it is proved in the flow utterance"
RPC = "the name of an RPC method; the picture shows the trigger"
ONE_TEST = "one way only; tests of conversations play it"
WORD_TESTS = "tests of the phrase lists read every one"


@attrs.frozen
class Key:
    """A key. Each column is a part of what is shown, or, after "no: ", why it is not.

    Attributes:
        diagram: In the picture.
        viewer: On the page of the viewer and the simulator, outside of the YAML.
        proof: In the ids of the mutants of the flow's rows, all of which are part of the proof.
        soak: What a random conversation has.
    """

    diagram: str
    viewer: str
    proof: str
    soak: str = "yes"


def _tuned(name: str, value: str, soak: str = "yes") -> Key:
    return Key(f"{name} {value}", name, f"no: {TUNED}", soak)


def _said(action: str, text: str, soak: str = "yes") -> Key:
    return Key(action, text, action, soak)


def _phrases(word: str, soak: str = f"no: {WORD_TESTS}") -> Key:
    return Key(f"no: {WORDS}", word, f"no: {WORDS}", soak)


def _expected(shown: str, soak: str = "yes") -> Key:
    return Key(shown, shown, f"no: {VALUE}", soak)


_RARE = f"no: {ONE_TEST}"
_OPTION = "no: an option of the session"
_CALL = "no: the flow tool_call decides by it"
_MARKED = "no: the tools have decorators"

KEYS: Mapping[str, Key] = {
    "tuning.interruptible": _tuned("interruptible", "true"),
    "tuning.min_duration": _tuned("min_duration", "0.31"),
    "tuning.min_words": _tuned("min_words", "3"),
    "tuning.min_silence": _tuned("min_silence", "0.12"),
    "tuning.mute": _tuned("mute", "false", _RARE),
    "tuning.preemptive_generation": _tuned("preemptive_generation", "true"),
    "tuning.preemptive_tts": _tuned("preemptive_tts", "false"),
    "tuning.max_retries": _tuned("max_retries", "4", _RARE),
    "tuning.max_speech_duration": _tuned("max_speech_duration", "41", _RARE),
    "tuning.policies": Key("book: finish", "policy of book", f"no: {TUNED}"),
    "tuning.expect.kind": _expected("pattern ("),
    "tuning.expect.at_least": _expected("at_least 5", _RARE),
    "tuning.expect.at_most": _expected("at_most 6", _RARE),
    "tuning.expect.pattern": _expected("[A-Z]+", _RARE),
    "tuning.expect.wait": _expected("wait 4.1"),
    "questions.asked": Key("your PIN", "question pin", f"no: {VALUE}"),
    "questions.kind": _expected("digits ("),
    "questions.length": _expected("length 9"),
    "questions.wait": _expected("wait 4.2"),
    "overlays": Key("Agent clerk", "agent clerk", f"no: {TUNED}"),
    "questions.tuning": Key("min_words 13", "question pin", f"no: {TUNED}"),
    "tools.tuning": Key("min_words 12", "tool pay", f"no: {TUNED}"),
    "tools.interrupted": Key("other tools cancel", "policy of a tool", _CALL, _MARKED),
    "tools.by_name": Key("look hold", "policy of look", _CALL),
    "pace": Key("4.8 s", "4.8", "silence_1"),
    "discard_audio_if_uninterruptible": Key(_OPTION, _OPTION, _OPTION),
    "phrases.lists": _phrases("Lists backchannel"),
    "phrases.also": _phrases("also roger", "yes"),
    "phrases.without": _phrases("without okay"),
    "phrases.anywhere": _phrases("anywhere"),
    "facts.tools": Key("paying", "paying", "paying", _RARE),
    "events.rpc": Key(f"no: {RPC}", "RPC knock", f"no: {RPC}", "yes"),
    "actions.say": _said("say_terms", "The terms.", _RARE),
    "actions.audio": _said("play_gong", "typing.wav", _RARE),
    "actions.interruptible": Key(
        "no: how a text is said", "cannot be interrupted", f"no: {SAID}", _RARE
    ),
    "actions.done": Key("terms_heard", "terms_heard", "terms_heard", _RARE),
    "fillers.say": _said("say_filler_1", "Filler one."),
    "fillers.audio": _said("say_filler_2", "typing.wav"),
    "fillers.after": Key("1.11 s", "1.11", "filler_1"),
    "fillers.in": Key("filler_1", "filler_1", "thinking.filler_1"),
    "fillers.tools": Key("filler_2_waits", "filler_2_waits", "filler_2_waits"),
    "fillers.interruptible": Key(
        "no: how a text is said", "cannot be interrupted", f"no: {SAID}", "yes"
    ),
    "silence.say": _said("say_silence_1", "Reprompt one."),
    "silence.after": Key("8.12 s", "8.12", "silence_2"),
    "silence.interruptible": Key(
        "no: how a text is said", "cannot be interrupted", f"no: {SAID}", "yes"
    ),
    "silence.hang_up": Key("hang_up", "hang_up", "hang_up"),
    "backchannels.say": _said("say_backchannel", "Mhm."),
    "backchannels.after": Key("4.12 s", "4.12", "backchannel_after"),
    "backchannels.pause": _tuned("min_silence", "0.14"),
    "backchannels.in": Key("backchannel_look", "backchannel_look", "tool_running.backchannel_look"),
    "monologue.say": _said("say_monologue", "Shall I go on?"),
    "monologue.after": Key("20.12 s", "20.12", "monologue"),
    "never_silent.after": Key("6.12 s", "6.12", "quiet"),
    "never_silent.say": _said("say_quiet", "Still here."),
    "never_silent.give_up": _said("say_give_up", "No answer."),
    "hold.then": _said("say_hold_limit", "Are you back?"),
    "hold.say": _said("say_hold", "Take your time."),
    "hold.limit": Key("60.12 s", "60.12", "hold"),
    "hold.also": _phrases("also stay there", "yes"),
    "hold.until": _phrases("also I am back", "yes"),
    "not_heard.say": _said("say_voice_unrecognised", "Say it again."),
    "not_heard.no_audio": _said("say_audio_stopped", "I cannot hear you."),
    "properties.no_silence_longer_than": Key(
        "no: in the tab Proof",
        "no: in the tab Proof",
        "no: it is a property",
        "no: never_silent declares it",
    ),
}

_NAMED = {"phrases", "events", "actions", "overlays", "questions"}
"""Sections whose keys are names of the flow's own."""


def keys_in(tree: Mapping[str, Any]) -> Iterator[str]:
    """The keys of a flow's tree, as `KEYS` names them; those of a tuning whatever it belongs to."""
    for section, body in tree.items():
        if section == "states":
            for state in body.values():
                yield from _of_tuning(state.get("tuning", {}))
        elif section == "tools":
            yield from (f"tools.{key}" for key in body)
            for tuning in body.get("tuning", {}).values():
                yield from _of_tuning(tuning)
        elif section == "facts":
            yield from (f"facts.{key}" for fact in body.get("host", {}).values() for key in fact)
        elif section in _NAMED:
            for one in body.values():
                if section == "overlays":
                    yield section
                    yield from _of_tuning(one)
                elif isinstance(one, Mapping):
                    yield from (f"{section}.{key}" for key in one)
                    yield from _of_tuning(one.get("tuning", {}))
        elif section == "button":
            yield "events.rpc"
        elif isinstance(body, Mapping | list):
            for one in body if isinstance(body, list) else [body]:
                yield from (f"{section}.{key}" for key in one)
        else:
            yield section


def _of_tuning(tuning: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"tuning.{key}" for key in tuning if key != "expect")
    yield from (f"tuning.expect.{key}" for key in tuning.get("expect", {}))


_COLUMNS = {
    "diagram": "the picture of the flow",
    "viewer": "viewer and simulator",
    "proof": "the proof and its mutants",
    "soak": "random conversations",
}


def table() -> str:
    """How many keys each tool has, and why it has not the others, in Markdown."""
    lines = ["| where | keys | not there, because |", "| --- | ---: | --- |"]
    for column, where in _COLUMNS.items():
        left: dict[str, list[str]] = defaultdict(list)
        for name, key in KEYS.items():
            shown, _, why = getattr(key, column).partition("no: ")
            if not shown:
                left[why].append(f"`{name}`")
        count = len(KEYS) - sum(map(len, left.values()))
        because = "; ".join(f"{why}: {', '.join(names)}" for why, names in left.items())
        lines.append(f"| {where} | {count} of {len(KEYS)} | {because} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
