"""What a script draws of a flow: its sections, an expected value, a pace, limits, and whether it
extends `overlap`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs

from turnfsm.fsm import Flow, parse_flow
from turnfsm.fsm.flow import OUTAGE_TIMERS, Policy
from turnfsm.fsm.pace import Pace

__all__ = [
    "BACK", "DIGITS", "FILLED", "FILLER", "GIVEN_UP", "HOLD", "HOLD_LIMIT", "HOLD_TOO", "KEYS",
    "LISTENS", "MONOLOGUE", "NO", "NOT_HEARD", "NO_AUDIO", "POLICIES", "REPROMPTS", "TOOL_FILLER",
    "YES", "Keys", "question",
]  # fmt: skip

KEYS = {
    "hold": "the flow has the section `hold`, and the user asks the agent to wait",
    "confirm": "tools run only after a yes; the user says yes, no, something else or nothing",
    "not_heard": "the flow has the section `not_heard`, and speech gets no transcript",
    "never_silent": "the flow has the section `never_silent`",
    "fillers": "the flow has the section `fillers`, for some of the states that it may name",
    "backchannels": "the flow has the section `backchannels`",
    "silence": "the flow has the section `silence`, with one reprompt or two, and may hang up",
    "monologue": "the flow has the section `monologue`",
    "expect": "the agent expects two digits; the user gives them, in one part or two, or not",
    "overlap": "the flow extends `overlap`, and the user says backchannels",
    "pace": "the flow has another pace",
    "limits": "the flow has `limits: brisk`, and other limits than the default ones",
    "tuning": "the agent, or a tool while it runs, has other settings than the state",
    "button": "push to talk: the user holds a button while they speak, or takes it back",
}
"""Switches that add a section to the flow of the `TurnSession`."""

POLICIES: tuple[Policy, ...] = ("detach", "cancel", "finish", "hold")

HOLD = ("hold on", "one moment", "bear with me")
HOLD_TOO = ("stay there",)
BACK = ("i have returned", "hello again")
YES = ("yes please", "of course", "go ahead", "definitely")
NO = ("nope", "not really", "no thanks")
DIGITS = ("two three", "four", "six seven", "five")
ALSO = "marvellous"
LISTENS = ("mhm", "uh huh", "wow", "understood", ALSO)
"""What the user says; each word is in one of these phrases only."""

REPROMPTS = ("r1 r2.", "r3 r4.")
MONOLOGUE, NO_AUDIO = "t1", "a1"
FILLER, TOOL_FILLER = "f1 f2.", "p1 p2."
FILLED = ("listening", "thinking", "tool_running")
SOUND = "typing.wav"
GIVEN_UP, HOLD_LIMIT, NOT_HEARD = "g1", "l1", "h1"
"""The first words of what the agent says."""


@attrs.frozen
class Keys:
    """What the sections contain. A section without its value is not there.

    Attributes:
        hold: Seconds that the agent waits; `says_hold`: it says something when it is asked to;
            `until`: only certain phrases end the hold; `also`: a further phrase begins it.
        confirm: The jobs that need a yes; `confirm_wait`: seconds until a call ends without an
            answer; `otherwise`: what the agent says then is declared.
        not_heard: The section is there; `no_audio`: with what is said when no audio comes.
        never_silent: Seconds without sound.
        fillers: The states in which a filler is said; `audio`: it is a WAV file.
        filler_tools: The tools that have another filler.
        backchannels: Seconds of speech before one.
        silence: Seconds before each reprompt; `hang_up`: the last one is a goodbye.
        monologue: Seconds that the agent may be heard.
        expect: Seconds that the rest of the digits is waited for.
        by: What expects them: the state; the agent, in `overlays`, whose TTS is preemptive then; or
            the agent's last sentence, in `questions`, if it is one of the replies `asked`.
        overlap: The flow extends `overlap`, else `turn`.
        pace: How fast the agent reacts.
        brisk: The limits that are `never` by default have seconds.
        timers: Further limits, and their seconds.
        objection_limit: Seconds that a tool waits for what the user says.
        later: The tools that need a yes may be those of a later agent.
        agent_tuning, tool_tuning: The settings of the agent, and those of its `tuned_tools`.
        policies: The policies that tools have instead of their own, those of the agent or, with
            `by_name`, those of the flow.
        finished: The user cannot interrupt fillers and reprompts.
        button: The flow that push to talk extends.
    """

    hold: float | None = None
    says_hold: bool = False
    until: bool = False
    also: bool = False
    confirm: frozenset[int] = frozenset()
    confirm_wait: float = 15.0
    otherwise: bool = False
    not_heard: bool = False
    no_audio: bool = True
    never_silent: float | None = None
    fillers: tuple[str, ...] = ()
    audio: bool = False
    filler_tools: tuple[Policy, ...] = ()
    backchannels: float | None = None
    silence: tuple[float, ...] = ()
    hang_up: bool = False
    monologue: float | None = None
    expect: float | None = None
    by: Literal["state", "agent", "questions"] = "state"
    asked: tuple[int, ...] = ()
    overlap: bool = False
    pace: Pace = "normal"
    brisk: bool = False
    timers: Mapping[str, float] = attrs.field(factory=dict)
    objection_limit: float | None = None
    later: bool = False
    agent_tuning: Mapping[str, object] = attrs.field(factory=dict)
    tool_tuning: Mapping[str, object] = attrs.field(factory=dict)
    tuned_tools: tuple[Policy, ...] = ()
    policies: Mapping[Policy, Policy] = attrs.field(factory=dict)
    by_name: bool = False
    finished: bool = False
    button: Literal["", "turn", "push_to_talk"] = ""

    @property
    def min_words(self) -> int:
        """The largest that the agent or a tool sets."""
        both = (self.agent_tuning, self.tool_tuning)
        return max(int(str(tuning.get("min_words", 0))) for tuning in both)

    @property
    def holds(self) -> tuple[str, ...]:
        """What the user says to ask the agent to wait."""
        return (*HOLD, *HOLD_TOO * self.also) if self.hold is not None else ()

    @property
    def session_timers(self) -> dict[str, float]:
        """The limits that only a session sets."""
        return {name: s for name, s in self.timers.items() if name not in OUTAGE_TIMERS}

    def tree(self) -> dict[str, Any]:
        """The flow as its file has it."""
        base = "overlap" if self.overlap else self.button or "turn"
        return {"flow": "drawn", "extends": base, **self._sections(), **self._rest()}

    def flow(self) -> Flow:
        """The flow `turn` with these sections."""
        flow, found = parse_flow(json.dumps(self.tree()), __file__)
        assert flow is not None, found
        return flow

    def _sections(self) -> dict[str, Any]:
        tools: dict[str, Any] = {}
        sections: dict[str, Any] = {"tools": tools}
        if self.hold is not None:
            sections["hold"] = {"limit": self.hold, "then": f"{HOLD_LIMIT} l2."}
            sections["hold"] |= {"say": "w1 w2."} if self.says_hold else {}
            sections["hold"] |= {"until": list(BACK)} if self.until else {}
            sections["hold"] |= {"also": list(HOLD_TOO)} if self.also else {}
        if self.confirm:
            one: dict[str, Any] = {"say": " ".join(question("{number}", "{asked}")) + "."}
            one["when"] = {"number": {"is": [str(job) for job in sorted(self.confirm)]}}
            one |= {"otherwise": "o1 o2."} if self.otherwise else {}
            one |= {"later": True} if self.later else {}
            tools["confirm"] = {f"do_{policy}": one for policy in POLICIES}
        if self.tuned_tools:
            tools["tuning"] = {f"do_{policy}": {**self.tool_tuning} for policy in self.tuned_tools}
        if self.policies and self.by_name:
            tools["by_name"] = self._policies
        if self.objection_limit is not None:
            tools["objection_limit"] = self.objection_limit
        if self.not_heard:
            sections["not_heard"] = {"say": f"{NOT_HEARD} h2."}
            sections["not_heard"] |= {"no_audio": f"{NO_AUDIO} a2."} if self.no_audio else {}
        if self.never_silent is not None:
            quiet = {"say": "v1 v2.", "give_up": f"{GIVEN_UP} g2."}
            sections["never_silent"] = {"after": self.never_silent, **quiet}
        if self.fillers or self.filler_tools:
            sections["fillers"] = [*self._fillers()]
        if self.backchannels is not None:
            its = {"say": "m1 m2.", "after": self.backchannels, "pause": 0.05}
            sections["backchannels"] = {**its, "in": ["listening", "tool_running"]}
        return sections

    def _rest(self) -> dict[str, Any]:
        rest: dict[str, Any] = {"pace": self.pace}
        if self.silence:
            prompts = zip(REPROMPTS, self.silence, strict=False)
            rest["silence"] = [{"say": say, "after": after} for say, after in prompts]
            rest["silence"][-1] |= {"hang_up": self.hang_up, "interruptible": not self.finished}
        if self.monologue is not None:
            rest["monologue"] = {"after": self.monologue, "say": f"{MONOLOGUE} t2."}
        overlay: dict[str, Any] = {**self.agent_tuning}
        if self.policies and not self.by_name:
            overlay["policies"] = self._policies
        if self.overlap:
            rest["phrases"] = {"backchannel": {"also": ALSO}}
        tuned = (self.agent_tuning.get("interruptible"), self.tool_tuning.get("interruptible"))
        if self.finished or False in tuned:
            rest["discard_audio_if_uninterruptible"] = False
        if self.expect is not None:
            expected = {"kind": "digits", "length": 2, "wait": self.expect}
            if self.by == "agent":
                overlay |= {"expect": expected, "preemptive_tts": True}
            elif self.by == "questions":
                asked = [f"q{number}w0" for number in self.asked]
                of_question = {"asked": asked, **expected, "tuning": {**self.tool_tuning}}
                rest["questions"] = {"digits": of_question}
            else:
                rest["states"] = {"listening": {"tuning": {"expect": expected}}}
        rest["overlays"] = {"clerk": overlay} if overlay else {}
        if self.brisk:
            rest["limits"] = "brisk"
        own = {name: s for name, s in self.timers.items() if name in OUTAGE_TIMERS}
        rest["timers"] = own
        if self.confirm:
            rest["timers"]["confirm_wait"] = self.confirm_wait
        if self.button:
            rest["button"] = {}
        return rest

    @property
    def _policies(self) -> dict[str, Policy]:
        return {f"do_{own}": other for own, other in self.policies.items()}

    def _fillers(self) -> Iterator[dict[str, Any]]:
        if self.fillers:
            said = {"audio": SOUND} if self.audio else {"say": FILLER}
            said |= {"interruptible": not self.finished}
            yield {"after": 1.5, "in": [*self.fillers], **said}
        if self.filler_tools:
            tools = [f"do_{policy}" for policy in self.filler_tools]
            yield {"after": 1.0, "tools": tools, "say": TOOL_FILLER}


def question(job: object, asked: object) -> tuple[str, str]:
    """The words with which the user is asked about a call."""
    return f"k{job}s{asked}a", f"k{job}s{asked}b"
