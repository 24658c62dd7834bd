"""Guesses what was meant: other tools' names for our keys, and values of the wrong kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from turnfsm.fsm.errors import quoted

__all__ = ["MOVED", "SYNONYMS", "VALUES", "mismatch_remedy"]


def _words(table: Mapping[str, str]) -> dict[str, str]:
    return {word: key for key, words in table.items() for word in words.split()}


_IS = "description doc label title comment summary means"

_TABLES: Mapping[str, Mapping[str, str]] = {
    "FlowFile": {
        "flow": "name id machine",
        "initial": "start start_state initial_state",
        "states": "nodes",
        "events": "triggers inputs signals observations",
        "requests": "asks questions",
        "groups": "superstates supers parents",
        "facts": "guards variables vars context conditions",
        "timers": "timeouts delays after",
        "actions": "effects outputs",
        "properties": "invariants never always leads_to",
        "fillers": "filler holding_phrases",
        "pace": "speed tempo patience urgency",
        "silence": "reprompts no_input idle",
        "backchannels": "backchannel back_channel mhm uh_huh murmur listening_sounds",
        "monologue": "max_speech speech_limit max_monologue",
        "hold": "on_hold holding park wait",
        "not_heard": "unheard deaf unrecognised unrecognized no_match not_understood",
        "button": "push_to_talk ptt talk_button",
        "extends": "base inherits inherit include",
        "migrates": "migrate migration migrations renamed renames replaces continues",
        "is": _IS,
    },
    "WrittenState": {
        "in": "group groups parent inherits within",
        "on": "transitions events requests handlers triggers",
        "after": "timeout timeouts timers delays",
        "refuses": "rejects forbids denies",
        "ignores": "ignore drops discards",
        "final": "end terminal",
        "is": _IS,
    },
    "Transition": {
        "dest": "to target goto next destination state",
        "conditions": "when guard guards if cond requires",
        "unless": "not except",
        "actions": "do run effect effects then",
    },
    "Group": {
        "on": "transitions events requests handlers triggers",
        "after": "timeout timeouts timers delays",
        "refuses": "rejects forbids denies",
        "ignores": "ignore drops discards",
        "is": _IS,
    },
    "Trigger": {"of": "scope fence", "rpc": "method rpc_method call", "is": _IS},
    "Fact": {
        "set_by": "set sets true_by on",
        "cleared_by": "cleared clear clears reset_by unset_by false_by off",
        "tools": "tool calls",
        "is": _IS,
    },
    "Action": {
        "owner": "scope of",
        "done": "then on_done",
        "failed": "error on_error",
        "say": "text speak says",
        "audio": "sound file wav play",
        "interruptible": "allow_interruptions interruptable",
        "is": _IS,
    },
    "Filler": {
        "after": "delay seconds wait timeout",
        "say": "text speak says",
        "audio": "sound file wav play",
        "in": "state states while when during",
        "tools": "tool calls for",
        "interruptible": "allow_interruptions interruptable",
    },
    "Backchannels": {
        "after": "delay seconds every wait",
        "say": "text speak says",
        "audio": "sound file wav play",
        "pause": "silence min_silence gap",
        "in": "state states while when during",
    },
    "Monologue": {"after": "limit at_most max seconds", "say": "text speak says then"},
    "Hold": {
        "then": "over at_last after_limit",
        "say": "text speak says",
        "limit": "after at_most max seconds timeout",
        "also": "phrases words",
        "until": "back resume ends",
    },
    "Button": {
        "press": "start down begin",
        "release": "end up commit",
        "cancel": "clear discard abort",
    },
    "NotHeard": {"say": "text speak says", "no_audio": "audio microphone muted deaf"},
    "Confirm": {
        "say": "text ask question prompt",
        "when": "if conditions only_if arguments",
        "yes": "phrases words accept also",
        "otherwise": "else then on_timeout no",
    },
    "Correction": {"same": "arguments about key by when"},
    "Condition": {
        "above": "over gt more_than min",
        "below": "under lt less_than max",
        "is": "equals eq in one_of value",
    },
    "Assurance": {
        "after": "delay seconds at_most max timeout limit",
        "say": "text speak says",
        "give_up": "sorry apology then giveup",
    },
    "Reprompt": {
        "after": "delay seconds wait timeout",
        "say": "text speak says ask",
        "hang_up": "hangup close end goodbye",
    },
    "Expectation": {
        "kind": "type format what",
        "length": "len size count digits",
        "at_least": "min minimum min_length minLength",
        "at_most": "max maximum max_length maxLength",
        "pattern": "regex regexp",
        "wait": "timeout seconds patience",
    },
    "Migrates": {"flow": "flows name names from", "tools": "tool calls"},
    "Scope": {"begins": "starts start begin by", "ends": "stops stop end"},
    "Never": {"when": "conditions while if", "because": "why reason"},
    "Always": {"when": "conditions holds then facts", "because": "why reason"},
    "LeadsTo": {"from": "source", "to": "dest", "within": "timer in", "because": "why"},
}

VALUES = _words(
    {
        "digits": "number int integer numbers pin",
        "phone": "telephone tel mobile",
        "email": "mail e-mail",
        "amount": "money currency price",
        "yes_no": "bool boolean yesno confirm",
        "pattern": "regex regexp",
        "open": "text string any none",
        "brisk": "fast quick short",
        "calm": "slow patient long",
        "cancel": "abort stop kill",
        "detach": "background continue",
        "hold": "block protect uninterruptible",
    }
)
"""Values that people write where only some are allowed, and what they mean there."""

SYNONYMS = {kind: _words(table) for kind, table in _TABLES.items()}
"""Class of the flow to the names that people write there, and the keys that they mean."""

_ANEW = "remove it: the next worker begins in the initial state, with all facts false"

MOVED: Mapping[tuple[str, str], str] = {
    ("Trigger", "kind"): "list it below 'requests:' or 'events:' instead",
    ("Fact", "scope"): "list the fact below its scope instead",
    ("Fact", "given"): "list the fact below 'host:' instead",
    ("Tools", "repeatable"): "tools run again by default; list those that do not below 'once:'",
    ("Confirm", "timeout"): "write 'timers: {confirm_wait: SECONDS}'",
    ("Never", "name"): "write 'NAME: {...}' below 'never:' instead",
    ("Always", "name"): "write 'NAME: {...}' below 'always:' instead",
    ("LeadsTo", "name"): "write 'NAME: {...}' below 'leads_to:' instead",
    **{("Migrates", key): _ANEW for key in ("states", "facts", "timers", "triggers", "actions")},
}
"""Keys that belong elsewhere or nowhere, with what to do instead."""

_UNITS = {"ms": 0.001, "s": 1, "sec": 1, "seconds": 1, "m": 60, "min": 60, "minutes": 60}


def mismatch_remedy(expected: str, value: Any) -> str:
    """What to write instead of a value of the wrong kind; empty if that is unknown."""
    if isinstance(value, str):
        return _for_text(expected, value)
    if expected == "text" and isinstance(value, (bool, int, float)):
        shown = str(value).lower() if isinstance(value, bool) else value
        return f"write it in quotes: {quoted(shown)}"
    if "transition" in expected:
        return "write '{}' if it is taken and nothing follows"
    return _for_collection(expected, value)


def _for_text(expected: str, value: str) -> str:
    if re.fullmatch(r"[A-Za-z_]\w*:\S+", value):
        return f"put a space after the colon: {quoted(value.replace(':', ': ', 1))}"
    if expected == "a number":
        return _seconds(value)
    if expected == "true or false" and value.casefold() in {"yes", "on", "y", "no", "off", "n"}:
        return f"write {'true' if value.casefold() in {'yes', 'on', 'y'} else 'false'}"
    if "filler" in expected or "reprompt" in expected:
        return f"write {{after: {1.5 if 'filler' in expected else 8}, say: {value}}}"
    if "transition" in expected:
        return f"write {{dest: {value}}}" if value.isidentifier() else "write {dest: STATE}"
    if expected == "a mapping":
        return "write 'name: value' lines below the key"
    return "begin each item with '- '" if expected == "a list" else ""


def _seconds(value: str) -> str:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", value)
    if match and match[2] in _UNITS and len(value) < 20:
        return f"write {float(match[1]) * _UNITS[match[2]]:g}: it is seconds"
    return "write the seconds as a number"


def _for_collection(expected: str, value: Any) -> str:
    if value is None:
        return "write it, or remove the key"
    if expected == "a mapping" and isinstance(value, list):
        return "write 'name: value' lines without the dashes"
    if expected == "a list":
        return "begin each item with '- '"
    if "list of names" in expected:
        return "write [name, name]"
    return "write the seconds as a number" if expected == "a number" else ""
