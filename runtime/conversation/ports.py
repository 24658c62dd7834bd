"""What a conversation needs of the framework that carries it: an output, a model, tool calls.

The framework's adapter does two things. It reports what has happened, with the methods of
`Conductor` and `ToolCalls`, and it carries out what was decided, with the methods of these
protocols.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from typing import Any, Literal, Protocol

from .limits import TurnLimitReached

__all__ = [
    "Agent",
    "Calls",
    "Keeping",
    "Lifecycle",
    "Model",
    "Output",
    "Session",
    "Source",
    "Speech",
    "Turns",
]

Source = Literal["audio_activity", "user_turn", "programmatic"]
"""Why a speech is interrupted: the user talks over it, a user's turn takes its place, or a limit
has passed."""


class Speech(Protocol):
    """All that the agent says and does for one reply, in one or more steps.

    LiveKit: `SpeechHandle`.
    """

    @property
    def id(self) -> str:
        """Its name in the journal."""

    @property
    def interrupted(self) -> bool:
        """It was interrupted."""

    @property
    def interruptible(self) -> bool:
        """It may be interrupted now."""

    @property
    def answers(self) -> str:
        """The id that the user's words have, to which it is the reply, once they stand in the
        conversation; empty if it is no such reply, or if the model gives the id."""

    @property
    def steps_over(self) -> bool:
        """It has held the floor and has given it back."""

    @property
    def finished(self) -> bool:
        """Its tasks have ended: nothing more is committed for it."""

    @property
    def tasks(self) -> Sequence[asyncio.Task[Any]]:
        """The tasks that carry it."""

    @property
    def turn_context(self) -> Any:
        """The OpenTelemetry context of the agent's turn."""

    def stop(self, source: Source, *, force: bool = False) -> None:
        """Interrupt it; by force also if it is not interruptible.

        The adapter then reports `Conductor.speech_interrupted`.
        """

    def hold(self) -> None:
        """Keep it from being interrupted until `let_go`; holds are counted."""

    def let_go(self) -> None:
        """Take one hold back."""

    def end_step(self) -> None:
        """Stop waiting for the step that runs; `Conductor.floor_returned` follows."""

    def end(self) -> None:
        """Stop waiting for what it still does; its tasks go on."""


class Output(Protocol):
    """Where an agent is heard.

    LiveKit: `AgentSession.output.audio`.
    """

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
        given: Callable[[float], None],
    ) -> Callable[[], None]:
        """Call when playout starts, with the wall clock's time, when it finishes, and with the
        seconds of each frame that the output is given; returns a function that ends it.

        LiveKit: the output's ``playback_started`` and ``playback_finished``, which become
        `playout_started` and `playout_finished`.
        """

    def pause_audio(self, *, heard: bool) -> None:
        """Pause; ``heard``: in the middle of what the user hears."""

    def resume_audio(self, *, heard: bool) -> None:
        """Go on; ``heard``: with what the user has heard the beginning of."""

    def drop_audio(self) -> None:
        """Forget what was taken and not played."""

    def end_playout(self, played: float) -> None:
        """Report, in the place of an output that does not, that it plays no more.

        Args:
            played: Seconds that may have been heard.
        """


class Model(Protocol):
    """The language model of an agent.

    LiveKit: `llm.LLM` or `llm.RealtimeModel`.
    """

    @property
    def model_replies(self) -> bool:
        """A realtime model that replies to the results of tools without being asked."""

    def request(self, instructions: str) -> None:
        """Ask for a reply that nobody else asks for.

        LiveKit: `AgentSession.generate_reply`; `step_started` follows.
        """

    def interrupt_model(self) -> None:
        """Stop a realtime model's response."""


class Calls(Protocol):
    """The tool calls of an agent.

    LiveKit: its tool executor.
    """

    def tool(self, name: str) -> Any:
        """The tool of this name; None if there is none."""

    def other_calls(self, item: str) -> Collection[str]:
        """The ids of the calls in its conversation and in the session's, but for the one of this
        item."""

    @property
    def shown_results(self) -> Collection[str]:
        """The ids of the results that stand in the agent's conversation."""

    def cancel_call(self, call: str) -> None:
        """Cancel a tool where it stands; `ToolCalls.ended` follows."""

    def answer(self, calls: Sequence[str]) -> None:
        """Give these calls, which go on, an output that says so.

        Before each the adapter asks `ToolCalls.may_answer`.
        """

    def answer_open_calls(self, calls: Sequence[str]) -> None:
        """The same, where a model waits for an output of every call before it replies."""

    def tell_cancelled(self, call: str, text: str) -> None:
        """Put an output into the conversation for a call that was answered and then cancelled;
        `ToolCalls.late_result` follows."""

    def tell(self, results: Sequence[Any]) -> None:
        """Have a realtime model know results as they come."""


class Turns(Protocol):
    """What an agent does with the user's turns.

    LiveKit: `AudioRecognition` and `AgentActivity.on_end_of_turn`.
    """

    @property
    def turn_decision(self) -> asyncio.Task[None] | None:
        """The task that decides on the end of the user's turn, while it is open."""

    @property
    def answer_decision(self) -> asyncio.Task[None] | None:
        """The task that waits for a realtime model's answer, which it begins by itself."""

    @property
    def commits_audio(self) -> bool:
        """A turn is all that was heard since the one before, as a realtime model has it."""

    @property
    def talked_over(self) -> bool:
        """A realtime model that detects turns hears the user, or may be about to answer."""

    @property
    def manual_turns(self) -> bool:
        """Only the application commits turns."""

    @property
    def user_silent(self) -> bool:
        """The user is silent inside what they say, for so long that speech may begin."""

    @property
    def accepts_turns(self) -> bool:
        """No handoff is under way."""

    @property
    def greets(self) -> bool:
        """What it says as it enters is still to be heard to its end.

        LiveKit: speeches that `on_enter` has scheduled.
        """

    def take_turn(self, info: Any) -> None:
        """Commit a turn that was kept; `Conductor.may_commit` follows."""


class Agent(Output, Model, Calls, Turns, Protocol):
    """An agent that is, or was, in charge.

    LiveKit: `AgentActivity`.
    """


class Session(Protocol):
    """The session that the conversation takes place in.

    LiveKit: `AgentSession`.
    """

    @property
    def activity(self) -> Agent | None:
        """The agent that is in charge."""

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
    def interruption_options(self) -> MutableMapping[str, Any]:
        """``min_duration`` and ``min_words``, read at each use."""

    @property
    def hears_user(self) -> bool:
        """The microphone is on."""

    def hear_user(self, on: bool) -> None:
        """Turn the microphone on or off."""

    def publish(
        self, state: Any, otel_context: Any = None, start_time: float | None = None
    ) -> None:
        """Publish the agent's state: ``agent_state_changed``."""

    @property
    def timers(self) -> Mapping[str, float]:
        """The seconds of the flow's timers."""
        ...

    def follow_options(self) -> None:
        """Take over what the application has changed of the options since."""

    def add_words(self, info: Any) -> None:
        """Put a turn that nobody answers any more into the conversation.

        LiveKit: what `AgentActivity.on_end_of_turn` does in a close.
        """

    def report_limit(self, reached: TurnLimitReached) -> None:
        """Emit `turn_limit_reached`."""

    def report_false_interruption(self) -> None:
        """Tell the application: ``agent_false_interruption``."""


class Lifecycle(Protocol):
    """The life of the session, under a flow of its own."""

    @property
    def drain_limit(self) -> float:
        """Seconds that a handoff or a close waits for calls that no turn waits for."""

    def chain_moved(self) -> None:
        """An agent was entered, handed over to, or left: posts `chain_moved`."""

    def closing(self) -> None:
        """The session closes: posts `close_requested`."""

    async def aclose(self) -> None:
        """The session has closed."""


class Keeping(Protocol):
    """Where the session is kept, so that another worker can go on with it."""

    def words_came(self) -> None:
        """The user has given words that nothing in the journal tells of; they wait."""

    async def before_effect(self) -> str | None:
        """Keep all that has happened, before a tool has its effect.

        Returns:
            What the model is to read if the tool may not have it; None if it may.
        """

    def key_of(self, call: str, turn: str) -> str:
        """What names this call and no other, in all sessions."""

    async def before_reply(self) -> None:
        """Keep the ends of calls, before the model and the user know of them; not for long."""
