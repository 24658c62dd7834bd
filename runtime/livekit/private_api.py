"""The private names of livekit-agents that the overrides use.

`contract` checks each of them at import. `docs/livekit.md` lists them. A test checks that the list
is complete.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["ORDERS", "PRIVATE_NAMES", "Order", "PrivateName"]

Kind = Literal["method", "property", "attribute", "global", "function", "call", "key"]


class PrivateName(NamedTuple):
    """One name: where it is, of what kind, and what it is used for.

    `takes` are the parameters of a method or function, in order; an ellipsis at the end allows
    more. A `call` is the name of a function that the owner, itself a function, calls.
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
        _create_speech_task(self coro speech_handle name) | tasks that LiveKit ends with the agent
        _schedule_speech(self speech priority force) | which turn a reply answers
        _generate_reply(self user_message ...) | which words of the user a reply answers
        _tts_task(self speech_handle text ...) | which output a step is heard on
        _pipeline_reply_task(self speech_handle chat_ctx ...) | ask only if the flow agrees
        _pipeline_reply_task_impl(self ...) | what a reply produces
        _tts_task_impl(self ...) | what `say()` produces
        _realtime_generation_task_impl(self ...) | what a realtime model produces
        _realtime_reply_task(self speech_handle user_input ...) | ask only if the flow agrees
        _realtime_generation_task(self speech_handle generation_ev ...) | what a response contains
        _cancel_preemptive_generation(self) | cancel a preemptive reply that is refused
        _interrupt_by_audio_activity(self) | a barge-in that has passed LiveKit's checks
        _pause_enabled(self) | LiveKit calls it after its checks of a barge-in; the flow pauses
        _reconcile_playout_pause(self speech_handle) | hold or release the first frame of a step
        _cancel_false_interruption_timer(self) | LiveKit calls this after its checks of a commit
        _on_end_of_agent_speech(self ended_at) | tell the turn detection that audio was cut
        _disable_vad_interruption_soon(self) | adaptive detection continues after a resume
        start(self ...) | a new agent gets the calls that ended since its conversation was copied
        drain(self new_activity) | a handoff does not wait forever for the old agent
        aclose(self) | the close of an agent does not wait forever
        _add_drain_blocked_tasks(self tasks) | do not wait for calls that were given up
        _pause_scheduling_task(self blocked_tasks) | a handoff does not wait for released calls
        _detach_reusable_resources(self new_activity) | a close hears the user's last words
        _close_session(self) | words that are not committed yet move to the next agent
        _start_session(self reuse_resources) | the next agent gets words that nobody has answered
        _inline_task_slot(self speech_handle blocked_tasks) | notice that an inline task has ended
        on_start_of_speech(self ev speech_start_time) | the user starts to speak
        on_end_of_speech(self ev) | the user stops speaking
        on_vad_inference_done(self ev) | silence while the user speaks
        _on_input_speech_started(self _) | a realtime model says that the user speaks
        interrupt(self force source) | a tool ends its own turn; the user talks over a `hold` call
        push_audio(self frame) | whether audio comes; the user talks over a `hold` preamble
        wait_for_idle(self wait_for_agent wait_for_user) | a result waits for a model's own answer
        commit_user_turn(self ...) | the next agent answers a turn of a handoff
        clear_user_turn(self) | a preemptive reply to these words is cancelled
        _on_input_speech_stopped(self ev) | a realtime model says that the user has stopped
        _on_generation_created(self ev) | a realtime model has begun its reply
        on_interim_transcript(self ev speaking) | without a VAD it shows that the user speaks
        on_final_transcript(self ev speaking) | the STT has recognised words
        on_preemptive_generation(self info) | ask the flow before a preemptive reply
        on_user_turn_exceeded(self ev) | the agent cuts in: the words so far are one turn
        on_end_of_turn(self info) | a turn is committed
        """,
    ),
    *_on(
        _ACTIVITY,
        "attribute",
        """
        _preemptive_generation | what the model was shown ahead
        _current_speech | which speech holds the floor
        _audio_recognition | its VAD, STT and turn detection
        _user_silence_event | whether there is voice in this frame
        _turn_detection | whether the VAD or the application ends a turn
        _rt_turn_detection_enabled | whether a realtime model ends a turn
        _rt_overlapping_speech_enabled | whether a realtime model may speak while the user does
        _user_turn_completed_atask | the task that answers a turn
        _scheduling_paused | a handoff is in progress; LiveKit drops a turn that comes now
        _new_turns_blocked | a handoff is in progress; LiveKit drops a turn that comes now
        _closed | the activity is closed
        _started | whether the next agent has been active before; then a close hands back to it
        _session | the session with its output
        _agent | the agent and its conversation
        _rt_session | the realtime model: to interrupt it, and to give it results
        _speech_tasks | what a handoff waits for
        _on_enter_task | whether `on_enter` has returned
        _scheduling_atask | whether speeches still get the floor
        _speech_q | what waits for the floor when an agent is closed
        _drain_blocked_tasks | a hook that waits for a task of its own agent does not hang
        _inline_task_lock | whether a task of the agent runs
        _tool_executor | answer repeated calls from the ledger
        """,
    ),
    *_on(
        _ACTIVITY,
        "property",
        """
        interruption_enabled | whether adaptive interruption detection is on
        using_default_vad | whether a realtime model's own VAD counts
        interruption_by_audio_activity_enabled | on while audio is paused, off while it is heard
        preemptive_generation_opts | the limits of preemptive generation in a state
        _no_pending_speech | nothing is left to say before the agent is left
        """,
    ),
    *_on(
        _SESSION,
        "method",
        """
        _update_agent_state(self state otel_context start_time) | the flow decides the agent state
        _tool_items_added(self items) | a call and its result are in the conversation
        _aclose_locked(self ...) | close the runtime with the session
        _teardown_activity(self ...) | do not wait forever for toolsets that do not close
        _conversation_item_added(self message) | words without an answer
        _on_audio_enabled_changed(self enabled) | the user holds a button to speak
        _is_closing(self) | begin nothing while the session closes
        _update_activity(self agent ...) | a handoff begins and ends
        """,
    ),
    *_on(
        _SESSION,
        "attribute",
        """
        _next_activity | replace the class of an activity right after LiveKit has made it
        _activity | the activity of the current agent
        _agent | whether a task or an agent has closed
        _started | whether the session runs
        _closing | a turn that comes now is added to the conversation, not answered
        _update_activity_atask | whether a handoff is in progress
        _activity_lock | whether a handoff is in progress
        _global_run_state | the run that is active
        """,
    ),
    *_on(
        "voice.agent:AgentTask",
        "attribute",
        """
        _old_agent | which agent a task hands back to
        _AgentTask__inactive_ev | a task whose tool is cancelled hands back to nobody
        """,
    ),
    *_on(
        _SPEECH,
        "method",
        """
        interrupt(self force source) | a tool that interrupts its own turn
        _cancel(self) | notice an interruption at once
        _item_added(self items) | notice a result at once
        _wait_for_generation(self step_idx) | a tool's wait ends with its turn
        wait_for_playout(self) | a tool's wait ends with its turn
        _mark_generation_done(self) | give up a step that does not end
        _mark_done(self ...) | end a speech whose calls were released
        _hold_interruptions(self) | a call with the policy `hold` begins
        _release_interruptions(self) | a call with the policy `hold` has ended
        """,
    ),
    *_on(_SPEECH, "property", "allow_interruptions | notice that a speech becomes uninterruptible"),
    *_on(
        _SPEECH,
        "attribute",
        """
        _allow_interruptions | whether a speech can be interrupted
        _interruption_holds | whether calls keep a speech from being interrupted
        _interruption_holds_restore | whether the application lets such a speech be interrupted
        _interrupt_source | what has interrupted a speech
        _error | whether an error has ended a speech
        _interrupt_fut | a tool waits for playout or for an interruption
        _generations | whether a step has given the floor back
        _agent_turn_context | the span of the turn, as parent of the agent state's spans
        _tasks | what still runs for a speech whose calls were released
        """,
    ),
    *_on(
        _RECOGNITION,
        "method",
        """
        _vad_task(self vad ...) | the VAD fails
        _run_eou_detection(self chat_ctx trigger ...) | tell a manual commit from a detected one
        _clear_user_turn(self) | a commit is cleared together with its words
        _process_stt_event(self ev) | words that a commit has taken do not come again
        _commit_user_turn(self ...) | a commit that waits for words is cleared, too
        _on_start_of_agent_speech(self started_at) | tell the turn detection that audio continues
        """,
    ),
    *_on(
        _RECOGNITION,
        "attribute",
        """
        _end_of_turn_task | the end of a turn is being decided; do not cancel a commit
        _commit_user_turn_atask | a manual commit waits for words
        _audio_transcript | words that are not committed yet move to the next agent
        _stt_pipeline | whether the next agent goes on with the STT stream
        _final_transcript_confidence | the confidence of words that are not committed
        _turn_detection_mode | with manual turns words wait for a commit
        _turn_detector | it is not asked about a turn that is over at once
        _endpointing | a turn that is over at once has no delay
        _vad_base_turn_detection | whether LiveKit asks an STT for its transcript
        _stt_flush_requested | the STT was asked for its transcript
        """,
    ),
    *_on(
        _RUN,
        "method",
        """
        _watch_handle(self handle) | a run stays open until no handoff is in progress
        _mark_done_if_needed(self handle) | a speech of the run has ended
        """,
    ),
    *_on(
        _RUN,
        "attribute",
        """
        _handles | the speeches of the run
        _done_fut | the end of the run
        """,
    ),
    *_on(
        _EXECUTOR,
        "method",
        """
        execute(self tool run_ctx raw_arguments ...) | answer a repeated call from the ledger
        _enqueue_reply(self ctx items ...) | a result that comes after its turn is on the agenda
        drain(self) | a handoff does not wait forever for released calls
        """,
    ),
    *_on(
        _EXECUTOR,
        "attribute",
        """
        _running_tasks | the calls that a handoff waits for
        _pending_updates | late results; those that an answer has told need no reply
        """,
    ),
    *_on(
        "voice.io:AudioOutput",
        "property",
        "_pending_playback_count | whether the output still has audio to play",
    ),
    *_on("voice.agent:Agent", "attribute", "_chat_ctx | the conversation"),
    *_on("voice.agent_session:AgentSession", "attribute", "_chat_ctx | the history"),
    *_on(
        "voice.events:RunContext",
        "method",
        "_make_update_output(self message call_id_suffix) | no handoff of an interrupted turn",
    ),
    *_on(
        "voice.events:RunContext",
        "attribute",
        """
        _activity | the activity that a call belongs to
        _initial_step_idx | the step whose end a handoff waits for
        """,
    ),
    *_on(
        "voice.events:RunContext.update",
        "key",
        "__livekit_agents_tool_non_blocking | after `ctx.update()` a call blocks no turn",
    ),
    *_on("voice.tool_executor", "global", "_RunningTasks | the context of a running call"),
    *_on("voice.tool_executor", "global", "_ToolExecutor | the executor of an activity"),
    *_on(
        "voice.generation",
        "global",
        "_RUNNING_PLACEHOLDER_KEY | a call that runs, which LiveKit adds to a request",
    ),
    *_on("voice.agent_activity", "global", "_SpeechHandleContextVar | which speech a task is for"),
    *_on(
        "llm.realtime:RealtimeSession",
        "method",
        "_update_session(self instructions chat_ctx tools) | what the next agent's model is sent",
    ),
    *_on(
        "voice.agent_activity",
        "function",
        """
        perform_llm_inference(node ...) | what the agent's `llm_node` produces
        perform_audio_forwarding(tts_output ...) | the audio of a step before the output gets it
        forward_generation(audio_source text_source ...) | the audio and the text of a step
        """,
    ),
    *_on(
        f"{_ACTIVITY}._pipeline_reply_task_impl",
        "call",
        """
        perform_llm_inference | where LiveKit calls the agent's `llm_node`
        forward_generation | where LiveKit plays a reply
        """,
    ),
    *_on(
        f"{_ACTIVITY}._tts_task_impl",
        "call",
        "perform_audio_forwarding | where LiveKit plays what `say()` says",
    ),
    *_on(
        f"{_ACTIVITY}._realtime_generation_task_impl",
        "call",
        "forward_generation | where LiveKit plays what a realtime model says",
    ),
    *_on("voice.audio_recognition", "global", "_EndOfTurnInfo | a turn that the next agent gets"),
    *_on("voice.audio_recognition", "global", "_EndOfTurnMetrics | the metrics of such a turn"),
    *_on("voice.agent", "global", "_get_activity_task_info | which call a task belongs to"),
)

ORDERS: tuple[Order, ...] = (
    Order(
        _ACTIVITY,
        "_interrupt_by_audio_activity",
        ("_aec_warmup_timer", "_rt_turn_detection_enabled", "min_words", "allow_interruptions"),
        ("_pause_enabled", "pause", "interrupt"),
        "LiveKit must check a barge-in, and do nothing else, before the flow is asked",
    ),
    Order(
        _ACTIVITY,
        "on_end_of_turn",
        ("_scheduling_paused", "min_words", "backchannel_over_agent"),
        ("_cancel_false_interruption_timer", "_user_turn_completed_task"),
        "LiveKit must check a commit, and do nothing else, before the flow is asked",
    ),
    Order(
        _ACTIVITY,
        "_pipeline_reply_task_impl",
        ("function_tools_executed",),
        ("_tool_items_added",),
        "the event about tool calls must come before their results are in the conversation",
    ),
    Order(
        _SESSION,
        "_update_activity",
        ("_next_activity",),
        ("aclose", "cleanup"),
        "the class of an activity must be replaced before the activity is used",
    ),
)
