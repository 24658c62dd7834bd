"""The sections of a flow that a script draws: `hold`, `confirm`, `not_heard`, `never_silent`,
`fillers`, `backchannels`."""

from __future__ import annotations

import json
from typing import Any

import attrs

from turnfsm.fsm import Flow, parse_flow
from turnfsm.fsm.flow import Policy

__all__ = [
    "BACK", "FILLED", "FILLER", "GIVEN_UP", "HOLD", "HOLD_LIMIT", "KEYS", "NO", "NOT_HEARD",
    "POLICIES", "YES", "Keys", "question",
]  # fmt: skip

KEYS = {
    "hold": "the flow has the section `hold`, and the user asks the agent to wait",
    "confirm": "tools run only after a yes; the user says yes, no, something else or nothing",
    "not_heard": "the flow has the section `not_heard`, and speech gets no transcript",
    "never_silent": "the flow has the section `never_silent`",
    "fillers": "the flow has the section `fillers`, for some of the states that it may name",
    "backchannels": "the flow has the section `backchannels`",
}
"""Switches that add a section to the flow of the `TurnSession`."""

POLICIES: tuple[Policy, ...] = ("detach", "cancel", "finish", "hold")

HOLD = ("hold on", "one moment", "bear with me")
BACK = ("i have returned", "hello again")
YES = ("yes please", "of course", "go ahead", "definitely")
NO = ("nope", "not really", "no thanks")
"""What the user says; each word is in one of these phrases only."""

FILLER = "f1 f2."
FILLED = ("listening", "thinking", "tool_running")
GIVEN_UP, HOLD_LIMIT, NOT_HEARD = "g1", "l1", "h1"
"""The first words of what the agent says."""


@attrs.frozen
class Keys:
    """What the sections contain. A section without its value is not there.

    Attributes:
        hold: Seconds that the agent waits; `says_hold`: it says something when it is asked to;
            `until`: only certain phrases end the hold.
        confirm: The jobs that need a yes; `confirm_wait`: seconds until a call ends without an
            answer; `otherwise`: what the agent says then is declared.
        not_heard: The section is there.
        never_silent: Seconds without sound.
        fillers: The states in which a filler is said.
        backchannels: Seconds of speech before one.
    """

    hold: float | None = None
    says_hold: bool = False
    until: bool = False
    confirm: frozenset[int] = frozenset()
    confirm_wait: float = 15.0
    otherwise: bool = False
    not_heard: bool = False
    never_silent: float | None = None
    fillers: tuple[str, ...] = ()
    backchannels: float | None = None

    def flow(self) -> Flow:
        """The flow `turn` with these sections."""
        text = json.dumps({"flow": "drawn", "extends": "turn", **self._sections()})
        flow, found = parse_flow(text)
        assert flow is not None, found
        return flow

    def _sections(self) -> dict[str, Any]:
        sections: dict[str, Any] = {}
        if self.hold is not None:
            sections["hold"] = {"limit": self.hold, "then": f"{HOLD_LIMIT} l2."}
            sections["hold"] |= {"say": "w1 w2."} if self.says_hold else {}
            sections["hold"] |= {"until": list(BACK)} if self.until else {}
        if self.confirm:
            one: dict[str, Any] = {"say": " ".join(question("{number}", "{asked}")) + "."}
            one["when"] = {"number": {"is": [str(job) for job in sorted(self.confirm)]}}
            one |= {"otherwise": "o1 o2."} if self.otherwise else {}
            sections["tools"] = {"confirm": {f"do_{policy}": one for policy in POLICIES}}
            sections["timers"] = {"confirm_wait": self.confirm_wait}
        if self.not_heard:
            sections["not_heard"] = {"say": f"{NOT_HEARD} h2."}
        if self.never_silent is not None:
            quiet = {"say": "v1 v2.", "give_up": f"{GIVEN_UP} g2."}
            sections["never_silent"] = {"after": self.never_silent, **quiet}
        if self.fillers:
            sections["fillers"] = {"after": 1.5, "say": FILLER, "in": [*self.fillers]}
        if self.backchannels is not None:
            its = {"say": "m1 m2.", "after": self.backchannels, "pause": 0.05}
            sections["backchannels"] = {**its, "in": ["listening", "tool_running"]}
        return sections


def question(job: object, asked: object) -> tuple[str, str]:
    """The words with which the user is asked about a call."""
    return f"k{job}s{asked}a", f"k{job}s{asked}b"
