"""The names of livekit-agents that the overrides touch beside its documented interface.

`contract` checks each at import, `docs/livekit.md` lists them, and a test holds the list complete.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["ORDERS", "PRIVATE_NAMES", "Order", "PrivateName"]

Kind = Literal["method", "property", "attribute", "global", "key"]


class PrivateName(NamedTuple):
    """One name: where it lives, of what kind it is, and what it is for.

    `takes` are the parameters of a method, in order; an ellipsis at its end allows for more.
    """

    owner: str
    name: str
    kind: Kind
    why: str
    takes: str = ""


class Order(NamedTuple):
    """A method in whose code `first` stands before `then`."""

    owner: str
    name: str
    first: tuple[str, ...]
    then: tuple[str, ...]
    why: str


_ACTIVITY = "voice.agent_activity:AgentActivity"
_SESSION = "voice.agent_session:AgentSession"
_SPEECH = "voice.speech_handle:SpeechHandle"
_RECOGNITION = "voice.audio_recognition:AudioRecognition"
_RUN = "voice.run_result:RunResult"
_EXECUTOR = "voice.tool_executor:_ToolExecutor"


def _on(owner: str, kind: Kind, rows: str) -> tuple[PrivateName, ...]:
    """Rows `name [(parameters)] | why`, one a line."""
    found = []
    for row in rows.strip().splitlines():
        left, _, why = row.partition("|")
        name, _, takes = left.strip().partition("(")
        found.append(PrivateName(owner, name.strip(), kind, why.strip(), takes.rstrip(") ")))
    return tuple(found)


PRIVATE_NAMES: tuple[PrivateName, ...] = (
    *_on(
        _ACTIVITY,
        "method",
        """
        _create_speech_task(self coro speech_handle name) | what LiveKit is to end with the agent
        _schedule_speech(self speech priority force) | which turn a reply answers
        _generate_reply(self user_message ...) | which words of the user a reply answers
        _pipeline_reply_task(self speech_handle chat_ctx ...) | the LLM is asked if the flow agrees
        _realtime_reply_task(self speech_handle user_input ...) | a realtime model is asked likewise
        _realtime_generation_task(self speech_handle generation_ev ...) | what a response has made
        _cancel_preemptive_generation(self) | a speculation that is refused
        _interrupt_by_audio_activity(self) | a barge-in that LiveKit's gates let through
        _pause_enabled(self) | the place behind those gates; the flow owns the pause
        _reconcile_playout_pause(self speech_handle) | the first frame of a step
        _cancel_false_interruption_timer(self) | the place behind the gates of a commit
        _on_end_of_agent_speech(self ended_at) | turn detection is notified that audio was cut
        _disable_vad_interruption_soon(self) | the adaptive detector goes on after a resume
        start(self ...) | an agent that takes over gets the calls that ended since its copy was made
        drain(self new_activity) | an agent that is left is waited for, not for ever
        aclose(self) | likewise
        _add_drain_blocked_tasks(self tasks) | calls that were given up are waited for no more
        _pause_scheduling_task(self blocked_tasks) | a handoff does not wait for released calls
        _close_session(self) | words in no committed turn go over to the next agent
        _inline_task_slot(self speech_handle blocked_tasks) | an inline task has ended
        on_start_of_speech(self ev speech_start_time) | the user starts to speak
        on_end_of_speech(self ev) | the user stops
        on_vad_inference_done(self ev) | silence inside an utterance
        _on_input_speech_started(self _) | a realtime model hears the user
        interrupt(self force source) | a tool ends its own turn; voice over a turn that a tool holds
        _on_input_speech_stopped(self ev) | a realtime model hears the user no more
        _on_generation_created(self ev) | a realtime model has begun its reply
        on_final_transcript(self ev speaking) | the STT has recognised words
        on_preemptive_generation(self info) | a speculation is asked for
        on_user_turn_exceeded(self ev) | words that the agent cuts into are in one turn
        on_end_of_turn(self info) | a turn is committed
        """,
    ),
    *_on(
        _ACTIVITY,
        "attribute",
        """
        _current_speech | who holds the floor
        _audio_recognition | its VAD, STT and turn detection
        _user_silence_event | whether voice is heard in this frame
        _turn_detection | whether voice or the application ends a turn
        _rt_turn_detection_enabled | whether a realtime model ends a turn
        _user_turn_completed_atask | the task that answers a turn
        _scheduling_paused | a handoff is in progress; LiveKit drops a turn that finds one
        _new_turns_blocked | likewise
        _closed | the activity is gone
        _session | the output of the session
        _agent | the agent and its conversation
        _rt_session | the realtime model, to interrupt it and to tell it results
        _speech_tasks | what a handoff waits for
        _on_enter_task | whether the agent has entered
        _drain_blocked_tasks | a hook that waits for a task of the agent does not hang
        _inline_task_lock | whether a task of the agent is under way
        _tool_executor | repeated calls are answered from the ledger
        """,
    ),
    *_on(
        _ACTIVITY,
        "property",
        """
        interruption_enabled | whether the adaptive detector is on
        using_default_vad | whether a realtime model's hearing counts
        interruption_by_audio_activity_enabled | it is off while the agent is heard
        preemptive_generation_opts | the limits of speculation that hold in a state
        _no_pending_speech | nothing more is to be said before the agent is left
        """,
    ),
    *_on(
        _SESSION,
        "method",
        """
        _update_agent_state(self state otel_context start_time) | the flow decides the agent state
        _tool_items_added(self items) | a call and its result stand in the conversation
        _aclose_locked(self ...) | the runtime ends with the session
        _teardown_activity(self ...) | toolsets that do not close
        _conversation_item_added(self message) | words that a close leaves without an answer
        _is_closing(self) | nothing is begun while the session closes
        _update_activity(self agent ...) | the chain of agents has moved
        """,
    ),
    *_on(
        _SESSION,
        "attribute",
        """
        _next_activity | an activity is adopted where LiveKit has built it
        _activity | the activity in charge
        _agent | whether a task or an agent has closed
        _started | whether the session runs
        _update_activity_atask | a handoff is under way
        _activity_lock | a handoff is under way
        _global_run_state | the run that is active
        """,
    ),
    *_on(
        _SPEECH,
        "method",
        """
        interrupt(self force source) | a tool that interrupts its own turn
        _cancel(self) | an interruption, at once
        _item_added(self items) | a result, at once
        _wait_for_generation(self step_idx) | a tool's wait ends with its turn
        wait_for_playout(self) | a tool's wait ends with its turn
        _mark_generation_done(self) | a step that does not wind down is abandoned
        _mark_done(self ...) | a speech whose calls were released ends
        _hold_interruptions(self) | a call that must not be interrupted
        _release_interruptions(self) | such a call has ended
        """,
    ),
    *_on(_SPEECH, "property", "allow_interruptions | a speech becomes uninterruptible"),
    *_on(
        _SPEECH,
        "attribute",
        """
        _allow_interruptions | whether it is
        _interrupt_fut | a wait races the interruption
        _generations | whether it has given the floor back
        _agent_turn_context | the span of the turn, for those of the agent state
        _tasks | what still runs for a released speech
        """,
    ),
    *_on(
        _RECOGNITION,
        "method",
        """
        _run_eou_detection(self chat_ctx trigger ...) | a manual commit is told from a detected one
        _clear_user_turn(self) | a commit is given up with the words that it is of
        _on_start_of_agent_speech(self started_at) | turn detection is notified that audio goes on
        """,
    ),
    *_on(
        _RECOGNITION,
        "attribute",
        """
        _end_of_turn_task | the end of a turn is being decided; a commit is not cancelled
        _commit_user_turn_atask | a manual commit waits for words: the end of the turn is open
        _audio_transcript | words in no committed turn go over to the next agent
        _final_transcript_confidence | and the confidence of the STT
        _turn_detection_mode | words wait for the application's commit where that is manual
        """,
    ),
    *_on(
        _RUN,
        "method",
        """
        _watch_handle(self handle) | a run stays open until the chain is at rest
        _mark_done_if_needed(self handle) | something that the run watches has ended
        """,
    ),
    *_on(
        _RUN,
        "attribute",
        """
        _handles | what the run watches
        _done_fut | the end of the run
        """,
    ),
    *_on(
        _EXECUTOR,
        "method",
        """
        execute(self tool run_ctx raw_arguments ...) | a repeated call is answered from the ledger
        _enqueue_reply(self ctx items ...) | what a call gives whose turn is over is owed
        drain(self) | a handoff does not wait for ever for released calls
        """,
    ),
    *_on(_EXECUTOR, "attribute", "_running_tasks | the calls that a handoff waits for"),
    *_on(
        "voice.io:AudioOutput",
        "property",
        "_pending_playback_count | what an output has taken and not reported as played",
    ),
    *_on("voice.agent:Agent", "attribute", "_chat_ctx | the conversation"),
    *_on("voice.agent_session:AgentSession", "attribute", "_chat_ctx | the history, likewise"),
    *_on(
        "voice.events:RunContext",
        "method",
        "_make_update_output(self message call_id_suffix) | an interrupted turn hands nobody over",
    ),
    *_on("voice.events:RunContext", "attribute", "_activity | whose turn a call belongs to"),
    *_on(
        "voice.events:RunContext.update",
        "key",
        "__livekit_agents_tool_non_blocking | a call that has reported blocks no turn",
    ),
    *_on("voice.tool_executor", "global", "_RunningTasks | the context of a running call"),
    *_on("voice.tool_executor", "global", "_ToolExecutor | the executor of an activity"),
    *_on("voice.agent_activity", "global", "_SpeechHandleContextVar | on whose behalf a task runs"),
    *_on("voice.audio_recognition", "global", "_EndOfTurnInfo | a turn that goes over to an agent"),
    *_on("voice.audio_recognition", "global", "_EndOfTurnMetrics | what is measured of it"),
    *_on("voice.agent", "global", "_get_activity_task_info | which call a task runs"),
)

ORDERS: tuple[Order, ...] = (
    Order(
        _ACTIVITY,
        "_interrupt_by_audio_activity",
        ("_aec_warmup_timer", "_rt_turn_detection_enabled", "min_words", "allow_interruptions"),
        ("_pause_enabled", "pause", "interrupt"),
        "a barge-in passes LiveKit's gates before the flow is asked, and nothing happens before",
    ),
    Order(
        _ACTIVITY,
        "on_end_of_turn",
        ("_scheduling_paused", "min_words", "backchannel_over_agent"),
        ("_cancel_false_interruption_timer", "_user_turn_completed_task"),
        "a commit passes LiveKit's gates before the flow is asked, and nothing happens before",
    ),
    Order(
        _ACTIVITY,
        "_pipeline_reply_task_impl",
        ("function_tools_executed",),
        ("_tool_items_added",),
        "the event about tool calls comes before their results are in the conversation",
    ),
    Order(
        _SESSION,
        "_update_activity",
        ("_next_activity",),
        ("aclose", "cleanup"),
        "an activity is adopted before it is used",
    ),
)
