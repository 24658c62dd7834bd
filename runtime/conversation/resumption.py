"""The first reply of a session that continues after its worker died."""

from __future__ import annotations

from collections.abc import Mapping

from turnfsm.fsm import Machine
from turnfsm.fsm.load import load_shipped
from turnfsm.runtime.store.past import Past

__all__ = ["HANDED_OVER", "NOT_KEPT", "NO_EFFECT", "NO_RESULT", "UNKNOWN_END", "Resumption"]

UNKNOWN_END = (
    "This call was running when the connection was interrupted. It is not known whether it took "
    "effect."
)
NO_RESULT = "This call was cut off when the connection was interrupted. It gave no result."
NO_EFFECT = "This call was cut off when the connection was interrupted. It had no effect."
NOT_KEPT = (
    "This call was made before the connection was interrupted, and what it gave was not kept."
)
HANDED_OVER = "This call handed the user over before the connection was interrupted."

_INSTRUCTIONS = {
    "repeat_after_apology": (
        "The connection was interrupted while you were speaking, and the user heard only the "
        "beginning. Apologise once, in half a sentence, and say what you were about to say."
    ),
    "answer_after_apology": (
        "The connection was interrupted while the user waited for your answer. Apologise once for "
        "the wait, in half a sentence, and answer what the user said last."
    ),
    "answer": (
        "The connection was interrupted again. You have apologised already; say what the user "
        "waits for."
    ),
    "ask_again": (
        "The connection was interrupted while the user was speaking, and what they said is lost. "
        "Apologise once, in half a sentence, and ask them to say it again."
    ),
    "report_calls": "The connection was interrupted for a moment; the user need not hear of that.",
}


class Resumption:
    """The host of `specs/resume.yaml`.

    Its methods and attributes implement the actions and host facts of the same names.

    Args:
        past: The state of the conversation when its worker died.
        results: There is a result to deliver.

    Attributes:
        apologises: The first reply contains an apology.
    """

    def __init__(self, past: Past, *, results: bool) -> None:
        self._past = past
        self._results = results
        self._machine = Machine(load_shipped("resume"))
        self._instructions = ""
        self.apologises = False
        self.greets = True

    @property
    def pending(self) -> bool:
        """The agent must speak as soon as the floor is free."""
        return self._machine.state == "pending"

    @property
    def unfinished(self) -> bool:
        """The agent must speak, and that reply has not begun."""
        return self._machine.state in ("entered", "pending", "asked")

    @property
    def unsaid(self) -> Mapping[str, bool]:
        """The facts that the next worker needs if this one dies before that reply."""
        return self._past.unsaid if self.unfinished else {}

    def post(self, trigger: str) -> None:
        """Decide on a trigger, change the state, and carry out the actions."""
        facts = {name: self._fact(name) for name in self._machine.asks(trigger)}
        self._machine.set_host_facts(facts)
        if self._machine.state in ("new_conversation", "done"):
            return
        for action in self._machine.step(trigger).actions:
            self.greets = action == "greet_user"
            self._instructions = _INSTRUCTIONS.get(action, "")
            self.apologises = action.endswith("_apology") or action == "ask_again"

    def deliver(self) -> str:
        """The instructions of the first reply."""
        self.post("delivered")
        return self._instructions

    def _fact(self, name: str) -> bool:
        if name == "calls_unreported":
            return self._results
        return bool(getattr(self._past, name))
