"""The settings of a session that a flow replaces: in a state, for an agent or a question, or while
a tool runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from .expect.expectation import Expectation
from .fields import Names, described, doc
from .phrases import Phrases

__all__ = ["Owners", "Policy", "Question", "Tuning"]

Policy = Literal["cancel", "detach", "finish", "hold"]
"""What happens to a tool call if its turn is interrupted."""


@attrs.frozen
class Tuning:
    """Settings that hold in a state, for an agent, for a question, or while the turn waits for a
    tool."""

    interruptible: bool | None = doc(
        "false: the user cannot interrupt what the agent says. true: they can, unless the "
        "application has made this speech uninterruptible.",
        default=None,
    )
    min_duration: float | None = doc(
        "Seconds that the user must speak before the speech may count as an interruption.",
        default=None,
    )
    min_words: int | None = doc(
        "Words that must be transcribed before speech may count as an interruption.", default=None
    )
    min_silence: float | None = doc(
        "Seconds of silence within the user's speech after which `user_silent` is true. Default: "
        "half of LiveKit's `min_delay` of endpointing.",
        default=None,
    )
    mute: bool | None = doc("The user is muted.", default=None)
    preemptive_generation: bool | None = doc(
        "Replies may be started before the turn is committed.", default=None
    )
    preemptive_tts: bool | None = doc(
        "Such replies may also be synthesised before the turn is committed.", default=None
    )
    max_retries: int | None = doc(
        "Maximum number of preemptive generations in one user turn.", default=None
    )
    max_speech_duration: float | None = doc(
        "Seconds of user speech after which there is no preemptive generation.", default=None
    )
    expect: Expectation | None = doc(
        "The value that the user is asked for. Their turn ends at once when the value is "
        "complete, and waits while a part is missing.",
        default=None,
    )
    policies: Mapping[str, Policy] | None = doc(
        "By tool: what happens to a call that begins now if its turn is interrupted. They override "
        "those below `tools`.",
        default=None,
    )

    def over(self, other: Tuning) -> Tuning:
        """These settings, completed by those of another tuning."""
        own = attrs.asdict(self, recurse=False).items()
        given = {name: value for name, value in own if value is not None}
        if self.policies and other.policies:
            given["policies"] = {**other.policies, **self.policies}
        return attrs.evolve(other, **given)


@attrs.frozen
class Owners:
    """What has settings of its own at a moment, besides the state.

    Attributes:
        agent: The agent that has the conversation.
        tools: The tools that the turn waits for.
        question: The question that the agent has asked.
    """

    agent: str | None = None
    tools: Names = ()
    question: str | None = None

    def own(self, kind: str, name: str) -> bool:
        """Whether the settings of this agent, tool or question hold."""
        if kind == "tool":
            return name in self.tools
        return name == (self.agent if kind == "agent" else self.question)

    def fields(self) -> dict[str, object]:
        """They as the data of a note."""
        given = attrs.asdict(self).items()
        return {name: list(one) if name == "tools" else one for name, one in given if one}


@described
@attrs.frozen
class Question(Expectation):
    """A question of the agent, known by its words, and the value that it asks for.

    Example:
        >>> from turnfsm import parse_flow
        >>> text = "{flow: x, extends: turn, questions: {pin: {asked: your PIN, kind: yes_no}}}"
        >>> flow, _ = parse_flow(text)
        >>> flow.questions["pin"].is_in("May I have your pin?")
        True
    """

    tuning: Tuning = doc(
        "Settings of the session from this question on, until the agent says something else. They "
        "override those of the state, the agent and the tool.",
        factory=Tuning,
        kw_only=True,
    )
    asked: Names = doc(
        "Phrases. If the agent's last sentence contains one of them, this value is expected, "
        "whatever the state, the tool or the agent expects.",
        kw_only=True,
    )

    def is_in(self, sentence: str) -> bool:
        """Whether a sentence of the agent asks this."""
        return Phrases(also=self.asked, anywhere=True).match(sentence)
