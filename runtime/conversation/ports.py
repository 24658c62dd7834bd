"""What a conversation needs from a framework: an output, a model, tool calls.

The framework's adapter does two things. It reports what has happened, with the methods of
`Conductor` and `ToolCalls`. It carries out decisions, with the methods of these protocols.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from typing import Literal, Protocol

from .limits import TurnLimitReached
from .waits import TurnWaitsLong

__all__ = [
    "Agent",
    "Calls",
    "Lifecycle",
    "Model",
    "Output",
    "Session",
    "Source",
    "Speech",
    "Turns",
    "UserTurn",
]

Source = Literal["audio_activity", "user_turn", "programmatic"]
"""Why a speech is interrupted: the user talks over it, a user's turn takes its place, or a limit
has passed."""


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
    def over(self) -> bool:
        """Nothing more of it is heard."""

    def when_over(self, call: Callable[[], None]) -> None:
        """Call when nothing more of it is heard."""

    @property
    def interrupted_by(self) -> Source | None:
        """What has interrupted it. None if it is a speculation that is not used, or goes on."""

    @property
    def failed(self) -> bool:
        """An error has ended it."""

    @property
    def interruptible(self) -> bool:
        """It may be interrupted now."""

    @property
    def answers(self) -> str:
        """The id of the user message that it answers, once that is in the conversation.

        Empty if it answers none, or if the model gives the id.
        """

    @property
    def output(self) -> Output | None:
        """What its latest step is heard on, if that has begun."""

    @property
    def steps_over(self) -> bool:
        """It has held the floor and has returned it."""

    @property
    def finished(self) -> bool:
        """Its tasks have ended: nothing more of it is added to the conversation."""

    def stop(self, source: Source, *, force: bool = False) -> None:
        """Interrupt it; with force even if it may not be interrupted.

        The adapter then reports `Conductor.speech_interrupted`.
        """

    def hold(self) -> None:
        """Disallow interruptions until `let_go`; holds are counted."""

    def let_go(self) -> None:
        """Release one hold."""

    def end_step(self) -> None:
        """Stop waiting for the step that runs. `Conductor.floor_returned` follows."""

    def end(self) -> None:
        """Stop waiting for what it still does. Its tasks run on."""


class Output(Protocol):
    """What a step is heard on."""

    @property
    def audible(self) -> bool:
        """There is audio. Without it the first words of a step are its playout."""

    @property
    def can_pause(self) -> bool:
        """It can pause, and the session wants false interruptions resumed."""

    def listen(
        self,
        started: Callable[[float], None],
        finished: Callable[[], None],
    ) -> Callable[[], None]:
        """Call functions when playout starts, with the wall clock's time, and when it finishes.

        Returns a function that removes them.
        """

    def pause(self, *, heard: bool) -> None:
        """Pause. `heard`: the user is hearing it."""

    def resume(self, *, heard: bool) -> None:
        """Resume. `heard`: the user has heard the beginning."""

    def drop(self) -> None:
        """Clear the audio that was taken and not played."""

    def end_playout(self, played: float) -> None:
        """Report the end of playout for an output that does not report it.

        Args:
            played: Seconds that may have been heard.
        """


class Model(Protocol):
    """The language model of an agent."""

    @property
    def overlaps(self) -> bool:
        """A realtime model decides itself whether it speaks while the user does."""

    @property
    def transcribes(self) -> bool:
        """A realtime model that gives transcripts of what it hears, perhaps late."""

    @property
    def model_replies(self) -> bool:
        """A realtime model that replies to tool results without being asked."""

    @property
    def model_keeps_context(self) -> bool:
        """A realtime model, which keeps the conversation itself: a reply that it has begun is in
        it."""

    def request(self, instructions: str) -> Speech:
        """Ask for a reply, for example to deliver a result. `Conductor.floor_taken` follows."""
        ...

    def answer_words(self) -> Speech:
        """Ask for a reply to what the user has said. `Conductor.floor_taken` follows."""

    def interrupt_model(self) -> None:
        """Stop a realtime model's response."""


class Calls(Protocol):
    """The tool calls of an agent."""

    def returned(self, call: str) -> Literal["agent", "other"] | None:
        """What a tool has returned whose end is about to be reported. None if it still runs."""

    def cancel_call(self, call: str) -> None:
        """Cancel a running tool; `ToolCalls.ended` follows."""

    def answer(self, calls: Sequence[str]) -> None:
        """Answer these calls with an output that says that they still run.

        The adapter first asks `ToolCalls.may_answer` for each of them.
        """

    def answer_open_calls(self, calls: Sequence[str]) -> None:
        """Do the same for a model that needs an output of every call before it replies."""

    def tell_cancelled(self, call: str, text: str) -> None:
        """Add an output to the conversation for a call that was answered and then cancelled.

        `ToolCalls.late_result` follows.
        """


class Turns(Protocol):
    """What an agent does with the user's turns."""

    @property
    def deciding(self) -> bool:
        """The end of the user's turn is being decided. `Conductor.decision_over` follows."""

    @property
    def answer_coming(self) -> bool:
        """Words of the user may still be committed, or a realtime model may answer by itself.
        `Conductor.decision_over` follows."""

    @property
    def commits_audio(self) -> bool:
        """A turn is all audio since the turn before, as with a realtime model."""

    @property
    def talked_over(self) -> bool:
        """A realtime model that detects turns hears the user, or may be about to answer."""

    @property
    def manual_turns(self) -> bool:
        """Only the application commits turns."""

    @property
    def hears_words(self) -> bool:
        """An STT gives transcripts of what the user says."""

    @property
    def user_silent(self) -> bool:
        """The user pauses inside an utterance for so long that the agent may begin."""

    @property
    def accepts_turns(self) -> bool:
        """No handoff is under way."""

    @property
    def may_greet(self) -> bool:
        """Its `on_enter` has said nothing yet, and may do so. `Conductor.chain_moved` follows."""

    @property
    def greets(self) -> bool:
        """What `on_enter` says has not been heard to its end."""

    @property
    def queued(self) -> Collection[Speech]:
        """What waits for the floor."""

    def take_turn(self, info: UserTurn) -> None:
        """Commit a turn that was kept; `Conductor.may_commit` follows."""


class Agent(Model, Calls, Turns, Protocol):
    """An agent of the session, active or not."""

    @property
    def left(self) -> bool:
        """Another agent has taken its place for good, or the session has closed."""

    @property
    def output(self) -> Output:
        """What a step is heard on that begins now."""


class Session(Protocol):
    """The session that the conversation takes place in."""

    @property
    def activity(self) -> Agent | None:
        """The agent that is active."""

    @property
    def started(self) -> bool:
        """It has started and has not closed."""

    @property
    def closing(self) -> bool:
        """It closes or has closed."""

    @property
    def agent_state(self) -> str:
        """The agent state that was published last."""

    @property
    def interruption_options(self) -> MutableMapping[str, float]:
        """``min_duration`` and ``min_words``, read at each use."""

    @property
    def hears_user(self) -> bool:
        """The microphone is on."""

    @property
    def expects_audio(self) -> bool:
        """There is a microphone, and it is on."""

    def hear_user(self, on: bool) -> None:
        """Turn the microphone on or off."""

    def publish(self, state: str, heard: Speech | None = None, at: float | None = None) -> None:
        """Publish the agent's state.

        Args:
            state: ``listening``, ``thinking`` or ``speaking``.
            heard: The speech that is heard from now on.
            at: The wall clock's time at which its playout has begun.
        """

    @property
    def timers(self) -> Mapping[str, float]:
        """The seconds of the flow's timers."""
        ...

    def follow_options(self) -> None:
        """Use the options that the application has changed since."""

    @property
    def user_messages(self) -> Collection[str]:
        """The ids of the user's messages in the conversation."""
        ...

    def add_words(self, info: UserTurn) -> None:
        """Put a turn that nobody answers any more into the conversation."""

    def report_limit(self, reached: TurnLimitReached) -> None:
        """Emit `turn_limit_reached`."""

    def report_wait(self, wait: TurnWaitsLong) -> None:
        """Emit `turn_waits_long`."""

    def report_false_interruption(self) -> None:
        """Tell the application: ``agent_false_interruption``."""


class Lifecycle(Protocol):
    """The session's own flow: its start, its runs, its end."""

    def chain_moved(self) -> None:
        """An agent was entered, handed over to, or left: posts `chain_moved`."""

    def closing(self) -> None:
        """The session closes: posts `close_requested`."""

    async def aclose(self) -> None:
        """The session has closed."""
