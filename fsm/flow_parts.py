"""The parts of a flow: scopes, triggers, facts, actions, transitions, states.

`turnfsm.fsm.load.written` describes how a flow is written, with groups and sections. The classes
that both forms share are here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NewType

import attrs

from .confirm import Confirm
from .correction import Correction
from .fields import Names, Texts, described, doc, loaded
from .tuning import Policy, Tuning

__all__ = [
    "NEVER",
    "Action",
    "AgentState",
    "Fact",
    "Group",
    "Scope",
    "Seconds",
    "State",
    "Tools",
    "Transition",
    "Trigger",
    "TurnDetection",
    "fires_in_words",
    "in_words",
]

AgentState = Literal["listening", "thinking", "speaking"]
"""The agent state that a session publishes, by LiveKit's names."""

TurnDetection = Literal["manual", "realtime_llm"]
"""The turn detections that a flow may need, by LiveKit's names."""

Seconds = NewType("Seconds", float)
"""The seconds of a timer in YAML: a number, or ``never``."""

NEVER = Seconds(math.inf)
"""A timer that does not fire, unless a flow or a session gives it seconds."""


def in_words(seconds: float) -> str:
    """The seconds of a timer as text: ``0.3 s``, or ``never``."""
    return "never" if seconds == NEVER else f"{seconds:g} s"


def fires_in_words(seconds: float) -> str:
    """When a timer fires: ``after 0.3 s``, or ``never``."""
    return "never" if seconds == NEVER else f"after {in_words(seconds)}"


@described
@attrs.frozen
class Scope:
    """A part of the conversation, such as a turn or a step, that facts and triggers belong to.

    Example:
        >>> from turnfsm import load_flow
        >>> load_flow("turn").scopes["step"].begins
        ('step_started',)
    """

    begins: Names = doc("Triggers that begin it. Its facts become false.", default=())
    ends: Names = doc("Triggers and timers that end it. Its facts become false.", default=())


@described
@attrs.frozen
class Trigger:
    """A request (may I?) or an event (it has happened).

    Example:
        >>> from turnfsm import load_flow
        >>> load_flow("turn").triggers["barge_in"].kind
        'request'
    """

    is_: str = doc("What it means, in one sentence.", yaml="is", default="")
    of: str | None = doc(
        "The scope that the trigger belongs to. Once this scope has ended, the trigger is stale: "
        "it changes nothing.",
        default=None,
    )
    rpc: str | None = doc(
        "The RPC method with which a participant of the room posts it, such as the page of the "
        "user. Only on LiveKit.",
        default=None,
    )
    kind: Literal["request", "event"] = loaded(
        "``request`` or ``event``. A refused request must not be carried out.", default="event"
    )


@described
@attrs.frozen
class Fact:
    """Something that is true or false, and that guards read.

    Example:
        >>> from turnfsm import load_flow
        >>> load_flow("turn").facts["user_speaking"].set_by
        ('user_started_speaking',)
    """

    is_: str = doc("What it means, in one sentence.", yaml="is", default="")
    set_by: Names = doc("Triggers and timers that make it true.", default=())
    cleared_by: Names = doc("Triggers and timers that make it false.", default=())
    tools: Names = doc(
        "Only of a host fact: it is true while the turn waits for one of these tools. The host "
        "needs no method for it.",
        default=(),
    )
    scope: str | None = loaded(
        "It is cleared when this scope begins or ends; None and ``session``: never.", default=None
    )
    host: bool = loaded("The host is asked for it during the decision.", default=False)


@described
@attrs.frozen
class Action:
    """Something that the host carries out after the state has changed.

    Example:
        >>> from turnfsm import load_flow
        >>> load_flow("turn").actions["answer_turn"].owner
        'session'
    """

    is_: str = doc("What it does, in one sentence.", yaml="is", default="")
    owner: str = doc(
        "Its task is cancelled when this ends: state, session, or a declared scope. With 'say' or "
        "'audio': it is dropped if the user has heard none of it by then.",
        default="session",
    )
    done: str | None = doc(
        "The trigger that is posted when its task has ended; with 'say' or 'audio': when all of it "
        "was heard.",
        default=None,
    )
    failed: str | None = doc(
        "The trigger that is posted when its task raises an exception.", default=None
    )
    say: Texts = doc(
        "The agent says this text; of several texts, the next one each time. The host needs no "
        "method for it.",
        default=Texts(()),
    )
    audio: str | None = doc(
        "Instead of 'say': the agent plays this WAV file (16 bit, one channel). The path is "
        "relative to the file of the flow. It is not added to the conversation.",
        default=None,
    )
    interruptible: bool = doc(
        "Only with 'say' or 'audio'. false: the user cannot interrupt it.", default=True
    )
    backchannel: bool = loaded(
        "It is played while the user has the floor; the agent does not take the floor.",
        default=False,
    )

    @property
    def audible(self) -> bool:
        """The agent takes the floor to say a text or play a sound."""
        return bool(self.say or self.audio) and not self.backchannel


@described
@attrs.frozen
class Transition:
    """What one trigger does in one state.

    Example:
        >>> from turnfsm import load_flow
        >>> load_flow("turn").states["speaking"].on["playout_finished"][0].dest
        'thinking'
    """

    dest: str | None = doc(
        "The next state. If it is the same state, it is left and entered again, and its timers "
        "start again. Without dest the state is not left, and its timers continue.",
        default=None,
    )
    conditions: Names = doc("Facts that must be true.", default=())
    unless: Names = doc("Facts that must be false.", default=())
    actions: Names = doc("What the host does once the state has changed.", default=())
    restarts: Names = doc(
        "Timers of this state that start again, while the others continue. With dest only those "
        "that are 'lasting'.",
        default=(),
    )

    @property
    def reads(self) -> Names:
        """The facts that its guard reads."""
        return (*self.conditions, *self.unless)

    @property
    def guard(self) -> str:
        """Its guard as text: ``a, not b``."""
        return ", ".join([*self.conditions, *(f"not {fact}" for fact in self.unless)])


@attrs.frozen
class Tools:
    """What happens to a tool call whose turn is interrupted."""

    interrupted: Policy = doc(
        'What happens to a tool call if its turn is interrupted. Even a "mhm" interrupts it, '
        "unless the flow extends overlap. cancel: it is cancelled at once. "
        "detach: it continues, and the agent delivers its result later. finish: the interruption "
        "waits for it, but no longer than the timer finish_limit. hold: its turn cannot be "
        "interrupted.",
        default="detach",
    )
    by_name: Mapping[str, Policy] = doc(
        "The same, for single tools. It overrides a policy in the code.", factory=dict
    )
    once: Names = doc(
        "Tools that run only once if a turn makes the same call twice, with the same arguments. "
        "The second call gets the result of the first, unless the first failed. Tools that are "
        "not listed run twice.",
        default=(),
    )
    tuning: Mapping[str, Tuning] = doc(
        "By tool: settings of the session while the turn waits for it. They override those of the "
        "state.",
        factory=dict,
    )
    confirm: Mapping[str, Confirm] = doc(
        "By tool: the user is asked before it runs, and it runs only after a yes.", factory=dict
    )
    corrects: Mapping[str, Correction] = doc(
        "By tool: a newer call, which belongs to a later utterance of the user, replaces an "
        "earlier one. The earlier call has no effect any more, and its result is not delivered.",
        factory=dict,
    )
    objection_limit: Seconds = doc(
        "Maximum number of seconds that a tool waits to find out whether the user objects; voice "
        "activity without a transcript may continue for longer. `never`: the tool waits as long "
        "as there is voice activity. The timer pause_limit also ends the wait.",
        default=Seconds(10.0),
    )
    recover_limit: Seconds = doc(
        "Seconds that the function of `@recover_with` may take after a worker has died. The next "
        "worker waits for it before it continues the session.",
        default=Seconds(5.0),
    )


@described
@attrs.frozen
class Group:
    """What several states have in common. A state's own declarations take precedence."""

    is_: str = doc("What it means, in one sentence.", yaml="is", default="")
    on: Mapping[str, tuple[Transition, ...]] = doc(
        "Trigger to transition; a list is tried in order, the first whose guard holds is taken.",
        factory=dict,
    )
    after: Mapping[str, tuple[Transition, ...]] = doc(
        "Timer to transitions. It starts on entry and stops on exit. If no guard holds when it "
        "fires, it stays due, and is taken as soon as one holds.",
        factory=dict,
    )
    refuses: Names = doc(
        "Requests that are refused here, whatever a group or the base says.", default=()
    )
    ignores: Names = doc("Events that change nothing here, not even facts.", default=())


@described
@attrs.frozen
class State(Group):
    """A state of the turn.

    Example:
        >>> from turnfsm import load_flow
        >>> load_flow("half_duplex").states["speaking"].tuning.mute
        True
    """

    final: bool = doc("No transition leaves this state.", default=False)
    agent_state: AgentState = doc(
        "The agent state that a session publishes here. It is speaking in exactly the states in "
        "which audio is heard. Default: listening.",
        default="listening",
    )
    tuning: Tuning = doc("Settings of the session while it is in this state.", factory=Tuning)
