"""The ports: what a conversation needs from a framework.

The framework's adapter does two things. It reports what has happened, with the methods of
`Conductor` and of its parts. It carries out decisions, with the methods of these protocols.
Everything else is up to the adapter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import attrs

from turnfsm.fsm.flow import Tuning
from turnfsm.fsm.sound import Sound

from .waits import TurnLimitReached, TurnWaitsLong

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
"""Why a speech is interrupted: the user talks over it, a user turn replaces it, or a limit was
reached."""

Phase = Literal["leaving", "entering", "greeting", "present"]
"""The phase of an agent. ``leaving``: a handoff away from it is running or done. ``entering``: it
may greet the user, and has said nothing yet. ``greeting``: its greeting is not finished.
``present``: none of these."""


@attrs.frozen
class FalseInterruption:
    """A paused speech is resumed: there was no transcript, so it was no interruption."""


Report = TurnLimitReached | TurnWaitsLong | FalseInterruption
"""An event for the application."""


@attrs.frozen
class Settings:
    """The current settings of a session.

    Attributes:
        timers: The seconds of the flow's timers.
        min_duration: How long speech must last to interrupt, in seconds.
        min_words: How many words it takes to interrupt.
        expects_audio: There is a microphone, and it is on.
    """

    timers: Mapping[str, float]
    min_duration: float = 0.0
    min_words: int = 0
    expects_audio: bool = False


@attrs.frozen
class Setup:
    """How an agent hears the user, and what kind of model it has. The default: an STT, and a model
    that is asked for each reply.

    Attributes:
        name: Its name, for `overlays` of a flow.
        has_stt: It has an STT.
        manual_turns: Only the application commits turns.
        stt_ends_turns: The STT detects the ends of turns, and reports them.
        commits_audio: A turn is all audio since the previous turn, as with a realtime model.
        keeps_context: A realtime model that stores the conversation itself, with every reply that
            it has begun.
        transcribes: A realtime model that gives transcripts of what it hears, perhaps late.
        replies_to_results: A realtime model that replies to tool results without being asked.
        overlaps: A realtime model that decides itself whether to speak while the user speaks.
    """

    name: str = ""
    has_stt: bool = True
    manual_turns: bool = False
    stt_ends_turns: bool = False
    commits_audio: bool = False
    keeps_context: bool = False
    transcribes: bool = False
    replies_to_results: bool = False
    overlaps: bool = False

    @property
    def answers_by_itself(self) -> bool:
        """A realtime model detects the user's turns, and answers them without being asked."""
        return self.keeps_context and not self.commits_audio


class UserTurn(Protocol):
    """A turn of the user, as the framework describes it."""

    new_transcript: str
    """Its text. The text of deferred turns is put before it."""


class Speech(Protocol):
    """What the agent says and does for one reply, in one or more steps."""

    @property
    def id(self) -> str:
        """Its id in the journal."""

    @property
    def interrupted(self) -> bool:
        """It was interrupted."""

    @property
    def interruptible(self) -> bool:
        """It may be interrupted now."""

    @property
    def finished(self) -> bool:
        """It will add nothing more to the conversation."""

    def stop(self, source: Source, *, force: bool = False, model: bool = False) -> None:
        """Interrupt it. `SpeechReports.interrupted` follows.

        Args:
            force: Even if it may not be interrupted.
            model: Interrupt a realtime model's response first.
        """

    def hold(self, on: bool) -> None:
        """Disallow interruptions until this hold is released. Holds are counted."""

    def end(self, *, step: bool = False) -> None:
        """Stop waiting for its remaining work, which keeps running. `SpeechReports.finished`
        follows.

        Args:
            step: Only for the step that holds the floor; its playout counts as ended.
                `SpeechReports.floor_released` follows, at once if the speech was not interrupted:
                then its model has produced nothing yet, and it waits for the floor again, behind
                the speeches that wait already.
        """


class Output(Protocol):
    """The audio output of a step."""

    @property
    def can_pause(self) -> bool:
        """It can pause, and the session resumes after false interruptions."""

    def pause(self, *, heard: bool) -> None:
        """Pause. `heard`: it is playing."""

    def resume(self, *, heard: bool) -> None:
        """Resume. `heard`: it has started to play before."""

    def drop(self) -> None:
        """Clear the audio that was not played."""


class Agent(Protocol):
    """An agent of the session, active or not: its model, tool calls and user turns."""

    @property
    def setup(self) -> Setup:
        """How it hears the user, and what kind of model it has."""

    @property
    def phase(self) -> Phase:
        """Its phase. `Conductor.agent_phase_changed` follows a change."""

    def reply(self, instructions: str | None = None) -> Speech:
        """Ask the model for a reply. `SpeechReports.floor_taken` follows.

        Args:
            instructions: What it should say, such as a result. Without them it answers the user.
        """
        ...

    def speak(
        self,
        text: str,
        *,
        interruptible: bool = True,
        sound: Sound | None = None,
        in_reply: bool = False,
    ) -> Speech:
        """Say a fixed text that is not an answer to the user. `SpeechReports.floor_taken` follows.

        Args:
            text: The text; empty if there is a sound.
            interruptible: Whether the user may interrupt it, if the session allows interruptions.
            sound: Play it, and add nothing to the conversation.
            in_reply: It belongs to the reply to the user, such as the question before a call runs.

        Raises:
            Exception: The agent has no voice.
        """
        ...

    def cancel_call(self, call: str) -> None:
        """Cancel a running tool; `ToolCalls.ended` follows."""

    def answer(self, calls: Sequence[str]) -> None:
        """Answer these calls with the output that they are still running.

        The adapter first asks `ToolCalls.may_answer` for each of them.
        """

    def add_cancelled_output(self, call: str, text: str) -> None:
        """Add an output to the conversation for a call that was answered and then cancelled.

        `ToolCalls.late_result` follows.
        """

    @property
    def endpointing(self) -> bool:
        """The end of the user's turn is being decided. `UserReports.endpointing_finished`
        follows."""

    @property
    def answer_pending(self) -> bool:
        """A transcript may still be committed, or a realtime model may answer by itself.
        `UserReports.endpointing_finished` follows."""

    @property
    def user_silent(self) -> bool:
        """The user has paused inside an utterance, long enough for the agent to begin."""

    def take_turn(self, turn: UserTurn) -> None:
        """Commit a deferred turn; `TurnReports.may_commit` follows."""


class Session(Protocol):
    """The session that the conversation takes place in."""

    @property
    def activity(self) -> Agent | None:
        """The active agent."""

    @property
    def closing(self) -> bool:
        """It closes or has closed."""

    @property
    def settings(self) -> Settings:
        """The current settings."""
        ...

    def tune(self, tuning: Tuning) -> None:
        """Apply these settings until the next call. A missing one is the session's own."""

    def publish(self, state: str, heard: Speech | None = None, at: float | None = None) -> None:
        """Publish the agent's state.

        Args:
            state: ``listening``, ``thinking`` or ``speaking``.
            heard: The speech that starts to play.
            at: The wall clock time at which its playout began.
        """

    def report(self, report: Report) -> None:
        """Notify the application."""

    def hang_up(self) -> None:
        """Close after all queued speech."""
