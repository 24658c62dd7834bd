"""The table of the names: by feature, class or module, and kind."""

from __future__ import annotations

__all__ = ["TABLE"]

TABLE = """[turns]
voice.agent_activity:AgentActivity method:
  _create_speech_task(self coro speech_handle name) | tasks that LiveKit ends with the agent
  _schedule_speech(self speech priority force) | which turn a reply answers
  on_start_of_speech(self ev speech_start_time) | the user starts to speak
  on_end_of_speech(self ev) | the user stops speaking
  on_interim_transcript(self ev speaking) | without a VAD it shows that the user speaks
  on_final_transcript(self ev speaking) | the STT has recognised words
  on_end_of_turn(self info) | a turn is committed
  interrupt(self force source) | a tool ends its own turn; the user talks over a `hold` call
  push_audio(self frame) | whether audio comes; the user talks over a `hold` preamble
voice.agent_activity:AgentActivity attribute:
  _current_speech | which speech holds the floor
  _audio_recognition | its VAD, STT and turn detection
  _scheduling_paused | a handoff is in progress; LiveKit drops a turn that comes now
  _new_turns_blocked | a handoff is in progress; LiveKit drops a turn that comes now
  _tool_executor | answer repeated calls from the ledger
voice.agent_session:AgentSession method:
  _aclose_locked(self ...) | close the runtime with the session
  _is_closing(self) | begin nothing while the session closes
voice.agent_session:AgentSession attribute:
  _next_activity | replace the class of an activity right after LiveKit has made it
  _activity | the activity of the current agent
voice.speech_handle:SpeechHandle method:
  _cancel(self) | notice an interruption at once
  _mark_done(self ...) | end a speech whose calls were released
voice.speech_handle:SpeechHandle attribute:
  _generations | whether a step has released the floor
voice.agent:Agent attribute:
  _chat_ctx -> voice.agent_activity:AgentActivity._chat_ctx | the conversation
voice.audio_recognition global:
  _EndOfTurnInfo | a turn that the next agent gets
  _EndOfTurnMetrics | the metrics of such a turn

[barge_in]
voice.agent_activity:AgentActivity method:
  _interrupt_by_audio_activity(self) | a barge-in that has passed LiveKit's checks
  _pause_enabled(self) | LiveKit calls it after its checks of a barge-in; the flow pauses

[speculation]
voice.agent_activity:AgentActivity method:
  _cancel_preemptive_generation(self) | cancel a preemptive reply that is refused
  on_preemptive_generation(self info) | ask the flow before a preemptive reply
voice.agent_activity:AgentActivity attribute:
  _preemptive_generation | the context of the preemptive request
voice.agent_activity:AgentActivity property:
  preemptive_generation_opts | the limits of preemptive generation in a state

[words]
voice.audio_recognition:AudioRecognition method:
  _run_eou_detection(self chat_ctx trigger ...) | tell a manual commit from a detected one
  _process_stt_event(self ev) | a transcript that a commit has taken does not come again
  _push_audio(self frame ...) | whether the STT gets the audio, or silence in its place
  _commit_user_turn(self ...) | a commit that waits for a transcript is cleared, too
voice.audio_recognition:AudioRecognition attribute:
  _end_of_turn_task | the end of a turn is being decided; do not cancel a commit
  _commit_user_turn_atask | a manual commit waits for the transcript
  _audio_transcript | an uncommitted transcript moves to the next agent
  _stt_pipeline | whether the next agent continues the STT stream
  _turn_detection_mode | how a turn ends; no detector is asked about a turn that is over at once

[silences]
voice.agent_activity:AgentActivity method:
  on_vad_inference_done(self ev) | silence while the user speaks
voice.agent_activity:AgentActivity attribute:
  _user_silence_event | whether this frame contains voice

[requests]
voice.agent_activity:AgentActivity method:
  _generate_reply(self user_message ...) | which user message a reply answers
  _pipeline_reply_task_impl(self speech_handle new_message instructions ...) | what a reply says
  _tts_task_impl(self ...) | what `say()` says
  _realtime_generation_task_impl(self speech_handle generation_ev ...) | what a model says
voice.agent_activity:AgentActivity._pipeline_reply_task_impl call:
  perform_llm_inference(node ...) | what the agent's `llm_node` produces
  forward_generation(audio_source text_source reconcile_playout_pause ...) | what is played
voice.agent_activity:AgentActivity._tts_task_impl call:
  perform_audio_forwarding(tts_output reconcile_playout_pause ...) | what `say()` plays
voice.agent_activity:AgentActivity._realtime_generation_task_impl call:
  forward_generation(audio_source text_source reconcile_playout_pause ...) | what is played

[overlap]
voice.agent_activity:AgentActivity attribute:
  _interruption_detector | the detector, which then reports to the flow
  _interruption_detection_enabled | LiveKit does not act on its verdicts
inference.interruption global:
  _AgentSpeechStartedSentinel | tell the detector that the agent is heard
  _AgentSpeechEndedSentinel | tell the detector that the agent is not heard any more
  _OverlapSpeechStartedSentinel | tell the detector that the user speaks over the agent
  _OverlapSpeechEndedSentinel | tell the detector that the user has stopped

[fillers]
voice.speech_handle:SpeechHandle method:
  _wait_for_authorization(self) | a reply has the floor only when its model has begun
  _clear_authorization(self) | such a reply releases the floor for a filler
  _authorize_generation(self) | a reply without text makes its calls beside a filler

[calls]
voice.agent_session:AgentSession method:
  _tool_items_added(self items) | a call and its result are in the conversation
voice.speech_handle:SpeechHandle method:
  _item_added(self items) | notice a result at once
voice.tool_executor:_ToolExecutor method:
  execute(self tool run_ctx raw_arguments ...) | answer a repeated call from the ledger
  _enqueue_reply(self ctx items ...) | a result that comes after its turn goes on the agenda
  cancel(self call_id) | a call that a newer one replaces is not told as cancelled
  drain(self) | a handoff does not wait forever for released calls
voice.tool_executor:_ToolExecutor attribute:
  _running_tasks | the calls that a handoff waits for
  _pending_updates | late results; those that a reply has delivered need no further reply
voice.tool_executor global:
  _RunningTasks | the context of a running call
  _ToolExecutor | the executor of an activity

[handoffs]
voice.agent_activity:AgentActivity method:
  drain(self new_activity) | a handoff does not wait forever for the old agent
  aclose(self) | the close of an agent does not wait forever
  _add_drain_blocked_tasks(self tasks) | do not wait for abandoned calls
  _pause_scheduling_task(self blocked_tasks) | a handoff does not wait for released calls
  _detach_reusable_resources(self new_activity) | a close waits for the user's last transcript
  _close_session(self) | an uncommitted transcript moves to the next agent
  _start_session(self reuse_resources) | the next agent gets user messages that nobody has answered
  _inline_task_slot(self speech_handle blocked_tasks) | notice that an inline task has ended
voice.agent_activity:AgentActivity task:
  AgentTask_on_enter | whether `on_enter` has returned
  AgentTask_on_exit | a handoff does not wait forever for `on_exit`
voice.agent_activity:AgentActivity attribute:
  _speech_q | what waits for the floor
voice.agent_session:AgentSession method:
  _update_activity(self agent ...) | a handoff begins and ends
voice.agent:AgentTask attribute:
  _AgentTask__inactive_ev | a task whose tool is cancelled hands back to nobody
voice.events:RunContext method:
  _make_update_output(self message call_id_suffix) -> _make_update_pair | no late handoff

[runs]
voice.agent_session:AgentSession attribute:
  _global_run_state | the run that is active
voice.run_result:RunResult method:
  _mark_done_if_needed(self handle) | a speech of the run has ended
  _mark_done(self) | a run stays open until no handoff is in progress
voice.run_result:RunResult attribute:
  _done_fut | the end of the run

[closing]
voice.agent_session:AgentSession method:
  _teardown_activity(self ...) | do not wait forever for toolsets that do not close

[realtime]
voice.agent_activity:AgentActivity method:
  _realtime_reply_task(self speech_handle user_input ...) | ask only if the flow agrees
  wait_for_idle(self wait_for_agent wait_for_user) | a result waits for an answer and for a yes
voice.agent_activity:AgentActivity attribute:
  _rt_turn_detection_enabled | whether a realtime model ends a turn
  _rt_session | the realtime model: to interrupt it, and to give it results
llm.realtime:RealtimeSession method:
  _update_session(self instructions chat_ctx tools) | what the next agent's model is sent

[turn_detection]
voice.agent_activity:AgentActivity method:
  _on_end_of_agent_speech(self ended_at) | tell the turn detection that audio was cut
  _disable_vad_interruption_soon(self) | adaptive detection continues after a resume
voice.audio_recognition:AudioRecognition method:
  _on_start_of_agent_speech(self started_at) | tell the turn detection that audio continues

[dictation]
voice.audio_recognition:AudioRecognition attribute:
  _endpointing | a turn that is over at once has no delay

[pace]
voice.agent_activity:AgentActivity property:
  endpointing_opts | the delays of endpointing at the pace of the flow

[push_to_talk]
voice.agent_session:AgentSession method:
  _on_audio_enabled_changed(self enabled) | the user holds a button to speak

[agent_state]
voice.agent_session:AgentSession method:
  _update_agent_state(self state otel_context start_time) | the flow decides the agent state

[limits]
voice.speech_handle:SpeechHandle method:
  _mark_generation_done(self) | give up a step that does not end
voice.io:AudioOutput property:
  _pending_playback_count | whether the output still has audio to play

[component_errors]
voice.audio_recognition:AudioRecognition method:
  _vad_task(self vad ...) | the VAD fails
"""
"""A feature in brackets; `owner kind:`; then `name[(parameters)] | what for`, one a line."""
