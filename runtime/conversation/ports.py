"""What a conversation needs from a framework: a session, its agents, their speeches, an output.

The framework's adapter does two things. It reports what has happened, with the methods of
`Conductor` and of its parts. It carries out decisions, with the methods of these protocols. What it
does not report, and a protocol does not ask for, is its own business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import attrs

from turnfsm.fsm.flow import Tuning

from .limits import TurnLimitReached
from .waits import TurnWaitsLong

__all__ = [
    "Agent",
    "FalseInterruption",
    "Output",
    "Phase",
    "Report",
    "Session",
    "Settings",
    "Setup",
    "Source",
    "Speech",
    "UserTurn",
]

Source = Literal["audio_activity", "user_turn", "programmatic"]
"""Why a speech is interrupted: the user talks over it, a user's turn takes its place, or a limit
has passed."""

Phase = Literal["leaving", "entering", "greeting", "present"]
"""How an agent stands to its session. ``leaving``: a handoff is under way, or it has left.
``entering``: it may greet the user, and has said nothing yet. ``greeting``: what it says when it
enters has not been heard to its end. ``present``: none of these."""


@attrs.frozen
class FalseInterruption:
    """A speech that was paused goes on: it was not interrupted by words."""


Report = TurnLimitReached | TurnWaitsLong | FalseInterruption
"""What the application is told."""


@attrs.frozen
class Settings:
    """The settings of a session, as they are now.

    Attributes:
        timers: The seconds of the flow's timers.
        min_duration: Seconds of a voice from which on it may interrupt.
        min_words: Words from which on they may interrupt.
        expects_audio: There is a microphone, and it is on.
    """

    timers: Mapping[str, float]
    min_duration: float = 0.0
    min_words: int = 0
    expects_audio: bool = False


@attrs.frozen
class Setup:
    """How an agent hears, and what its model is. By default it has an STT, and a model that is
    asked for each reply.

    Attributes:
        hears_words: An STT gives transcripts of what the user says.
        manual_turns: Only the application commits turns.
        commits_audio: A turn is all audio since the turn before, as with a realtime model.
        keeps_context: A realtime model, which keeps the conversation itself: a reply that it has
            begun is in it.
        transcribes: A realtime model that gives transcripts of what it hears, perhaps late.
        replies_to_results: A realtime model that replies to tool results without being asked.
        overlaps: A realtime model that decides itself whether it speaks while the user does.
    """

    hears_words: bool = True
    manual_turns: bool = False
    commits_audio: bool = False
    keeps_context: bool = False
    transcribes: bool = False
    replies_to_results: bool = False
    overlaps: bool = False


class UserTurn(Protocol):
    """A turn of the user, as the framework describes it."""

    new_transcript: str
    """Its words. Those of turns that had to wait are put before them."""


class Speech(Protocol):
    """What the agent says and does for one reply, in one or more steps."""

    @property
    def id(self) -> str:
        """Its id in the journal."""

    @property
    def interrupted(self) -> bool:
        """It was interrupted."""

    @property
    def interrupted_by(self) -> Source | None:
        """What has interrupted it. None if it is a speculation that is not used, or goes on."""

    @property
    def interruptible(self) -> bool:
        """It may be interrupted now."""

    @property
    def steps_over(self) -> bool:
        """It has held the floor and has returned it."""

    @property
    def finished(self) -> bool:
        """Nothing more of it is added to the conversation."""

    def stop(self, source: Source, *, force: bool = False) -> None:
        """Interrupt it; with force even if it may not be interrupted.

        `Conductor.speech_interrupted` follows.
        """

    def hold(self, on: bool) -> None:
        """Disallow interruptions, until this hold is released; holds are counted."""

    def end(self, *, step: bool = False) -> None:
        """Stop waiting for what it still does, which runs on. `Conductor.speech_over` follows.

        Args:
            step: Only for the step that holds the floor, whose playout counts as ended.
                `Conductor.floor_returned` follows.
        """


class Output(Protocol):
    """The audio output that a step is heard on."""

    @property
    def can_pause(self) -> bool:
        """It can pause, and the session wants false interruptions resumed."""

    def pause(self, *, heard: bool) -> None:
        """Pause. `heard`: the user is hearing it."""

    def resume(self, *, heard: bool) -> None:
        """Resume. `heard`: the user has heard the beginning."""

    def drop(self) -> None:
        """Clear the audio that was taken and not played."""


class Agent(Protocol):
    """An agent of the session, active or not: its model, its tool calls, its user's turns."""

    @property
    def setup(self) -> Setup:
        """How it hears, and what its model is."""

    @property
    def phase(self) -> Phase:
        """How it stands to the session. `Conductor.chain_moved` follows."""

    def reply(self, instructions: str | None = None) -> Speech:
        """Ask the model for a reply. `Conductor.floor_taken` follows.

        Args:
            instructions: What it is to say, such as a result. Without them it answers the user.
        """
        ...

    def speak(self, text: str, *, interruptible: bool = True) -> Speech:
        """Say a text that answers nobody. `Conductor.floor_taken` follows.

        Args:
            text: The text.
            interruptible: Whether the user may interrupt it, if the session lets them.

        Raises:
            Exception: The agent has no voice.
        """
        ...

    def interrupt_model(self) -> None:
        """Stop a realtime model's response."""

    def cancel_call(self, call: str) -> None:
        """Cancel a running tool; `ToolCalls.ended` follows."""

    def answer(self, calls: Sequence[str]) -> None:
        """Answer these calls with an output that says that they still run.

        The adapter first asks `ToolCalls.may_answer` for each of them.
        """

    def tell_cancelled(self, call: str, text: str) -> None:
        """Add an output to the conversation for a call that was answered and then cancelled.

        `ToolCalls.late_result` follows.
        """

    @property
    def deciding(self) -> bool:
        """The end of the user's turn is being decided. `Conductor.decision_over` follows."""

    @property
    def answer_coming(self) -> bool:
        """Words of the user may still be committed, or a realtime model may answer by itself.
        `Conductor.decision_over` follows."""

    @property
    def talked_over(self) -> bool:
        """A realtime model that detects turns hears the user, or may be about to answer."""

    @property
    def user_silent(self) -> bool:
        """The user pauses inside an utterance for so long that the agent may begin."""

    def take_turn(self, turn: UserTurn) -> None:
        """Commit a deferred turn; `Conductor.may_commit` follows."""


class Session(Protocol):
    """The session that the conversation takes place in."""

    @property
    def activity(self) -> Agent | None:
        """The agent that is active."""

    @property
    def closing(self) -> bool:
        """It closes or has closed."""

    @property
    def settings(self) -> Settings:
        """Its settings, as they are now."""
        ...

    def tune(self, tuning: Tuning) -> None:
        """Apply these settings until others are given; what they leave out is the session's own."""

    def publish(self, state: str, heard: Speech | None = None, at: float | None = None) -> None:
        """Publish the agent's state.

        Args:
            state: ``listening``, ``thinking`` or ``speaking``.
            heard: The speech that is heard from now on.
            at: The wall clock's time at which its playout has begun.
        """

    def report(self, report: Report) -> None:
        """Tell the application."""

    def hang_up(self) -> None:
        """Close, once everything that waits for the floor has been said."""
