"""The stable code of each kind of finding, and its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["LOADER_CODES", "PROOF_CODES"]

LOADER_CODES: Mapping[str, str] = MappingProxyType(
    {
        # the file
        "unreadable": "The file cannot be opened.",
        "encoding": "The file is not UTF-8.",
        "character": "A character that YAML does not allow, such as NUL.",
        "empty": "There is nothing in the file.",
        "too-large": "The file is too large, or becomes too large when its aliases are expanded.",
        # YAML
        "syntax": "The text is not YAML.",
        "documents": "A file holds one flow, not several documents.",
        "duplicate-key": "A key is given twice; YAML would silently keep one of them.",
        "key": "A key is not a word.",
        "merge-key": "YAML 1.2 has no merge key.",
        "alias": "An alias has no anchor above it, or stands inside its own anchor.",
        "tag": "Tags are not allowed: a flow is plain data.",
        "number": "A number with too many digits.",
        # the shape of a flow
        "type": "A value of the wrong kind.",
        "unknown-key": "A key that is not allowed there.",
        "missing-key": "A key that is required there is missing.",
        "audio": "A sound file that does not exist, or is no WAV file of 16 bit and one channel.",
        # names
        "unknown-state": "A state that is not declared.",
        "unknown-trigger": "A trigger that is not declared.",
        "unknown-fact": "A fact that is not declared.",
        "unknown-action": "An action that is not declared.",
        "unknown-timer": "A timer that is not declared.",
        "unknown-scope": "A scope, or an owner, that is not declared.",
        "unknown-group": "A group of states that is not declared.",
        "unknown-phrases": "A list of phrases that does not come with turnfsm, or a phrase that no "
        "list has.",
        "unknown-bound": "A bound that does not exist.",
        "name": "A name that diagrams, hosts and other tools cannot use.",
        "repeated": "A name is listed twice.",
        # sense
        "contradiction": "Two parts of the flow contradict each other.",
        "never-set": "A fact that nothing can make true.",
        "no-begin": "A scope that nothing begins.",
        "endless": "The agent says a text again and again, although nobody does anything.",
        "no-state": "A flow without a state.",
        "missing-cell": "The agenda does not say what becomes of a claim.",
        "unknown-cell": "A row or a column that the table of the agenda does not have.",
        "no-reason": "A property is waived without saying why.",
        "range": "Seconds that no timer can have, or a setting that no session can have.",
        "unused": "A timer that no state has, or a group that no state is in.",
        # a flow that extends another
        "unknown-flow": "The flow, or one that it extends, does not exist or cannot be read.",
        "extends-cycle": "A flow extends itself, or its chain of bases is too long.",
        "nothing-to-remove": "null removes a part that the base does not have.",
        "removed": "Something is removed that the base still uses.",
        # the number of findings
        "too-many": "There are more findings than are shown.",
    }
)
"""The meaning of each code; `docs/diagnostics.md` has an example of each."""

PROOF_CODES: Mapping[str, str] = MappingProxyType(
    {
        "deadlock": "A configuration that nothing leaves.",
        "unreachable": "A state that is never reached.",
        "dead": "A transition that is never taken, or a timer that can never fire.",
        "unused": "An action that is never chosen, or a trigger that does nothing.",
        "unread": "A fact that no guard and no property reads.",
        "never-cleared": "A fact that stays true forever once it is set.",
        "restarted": "A limit that an event starts again, so that it does not limit the state.",
        "agenda": "An obligation of the agent can be forgotten, or is delivered twice.",
        "vocabulary": "A built-in property needs a trigger or a state that the flow lacks.",
        "waived": "`waived` names a property that cannot be waived, or gives no reason.",
        "delay": "An edit that makes a silence longer, or ends a wait sooner.",
        "not-proved": "The flow is too large: not every configuration was visited.",
    }
)
"""The codes of findings of a proof. A broken property has its own name as code."""
