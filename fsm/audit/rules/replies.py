"""Failures of replies and their audio: classes B, E, G and H."""

from __future__ import annotations

from turnfsm.fsm.audit.events import Evidence
from turnfsm.fsm.audit.facts import Facts, Speech

from .rule import AT_ONCE, LONG, Found, rule

__all__: list[str] = []

_STUCK = 30.0
"""Seconds after which a wait counts as a failure."""


@rule("B", "no_resume_of_a_silent_step", "false_interruption", needs=(Evidence.RESUMES,))
def _silent_resume(facts: Facts) -> Found:
    """A false interruption is reported although nothing was playing."""
    for event in facts.recording.named("agent_false_interruption"):
        if facts.heard_at(event.t) is None:
            yield event.t, "a false interruption is reported, although nothing was playing"


@rule("E", "no_dead_floor", "speaking_limit", needs=(Evidence.REPLIES, Evidence.PLAYOUT))
def _stuck_playout(facts: Facts) -> Found:
    """Audio whose end is never reported, with another reply waiting after it."""
    for span in facts.heard:
        waits = [
            speech
            for speech in facts.speeches
            if speech.created <= span.start + LONG and speech.interrupted
        ]
        if span.open and span.end - span.start > _STUCK and len(waits) > 1:
            yield (
                span.start,
                f"the end of playout is not reported for {span.end - span.start:.0f} s, and "
                "the next reply waits",
            )


@rule("E", "", "run_requested", needs=(Evidence.REPLIES, Evidence.REQUESTS, Evidence.HANDOFFS))
def _dropped_reply(facts: Facts) -> Found:
    """A reply was requested during a handoff, and dropped at once."""
    for speech in facts.speeches:
        done = speech.done
        if done is None or done - speech.created > AT_ONCE or not speech.interrupted:
            continue
        if not speech.requests and any(t - done <= AT_ONCE for t in _handoffs_after(facts, speech)):
            yield speech.created, "a reply is requested and dropped at once: a handoff is under way"


@rule("E", "", "drain_limit", needs=(Evidence.CLOSING,))
def _never_closed(facts: Facts) -> Found:
    """The close never ends."""
    for event in facts.recording.named("close_late"):
        yield event.t, "the session does not close within 30 s"


@rule(
    "E",
    "",
    "run_requested",
    needs=(Evidence.REPLIES, Evidence.CALLS, Evidence.RESULTS, Evidence.HANDOFFS),
)
def _wrong_agent(facts: Facts) -> Found:
    """A model called tools that its agent does not have, and a handoff followed."""
    ids = {call.id for call in facts.calls}
    for event in facts.recording.named("function_tools_executed"):
        calls = {*event.calls()}
        begun = [s for s in facts.speeches if s.created <= event.t and s.done is not None]
        if not calls or ids & calls or not begun:
            continue
        done = begun[-1].done or 0.0
        if any(0 <= handoff - done <= AT_ONCE for handoff in _handoffs(facts)):
            yield (
                event.t,
                "an agent that is about to hand over has answered instead of the next one",
            )


def _handoffs_after(facts: Facts, speech: Speech) -> list[float]:
    """The handoffs reported after a speech was created; the first one is the session's start."""
    handoffs: list[float] = []
    created = False
    for event in facts.recording.events:
        created = created or (event.name, event.text("speech")) == ("speech_created", speech.id)
        if created and event.text("type") == "agent_handoff":
            handoffs.append(event.t)
    return handoffs


def _handoffs(facts: Facts) -> list[float]:
    items = facts.recording.named("conversation_item_added")
    return [event.t for event in items if event.text("type") == "agent_handoff"]


@rule("G", "", "reply", needs=(Evidence.PLAYOUT, Evidence.MESSAGES))
def _record_out_of_order(facts: Facts) -> Found:
    """The next request is in the conversation before the text that was heard until then."""
    stopped: float | None = None
    requested: float | None = None
    for event in facts.recording.events:
        if event.name == "playback_finished" and event.fields.get("interrupted"):
            stopped, requested = event.t, None
        elif event.name == "conversation_item_added" and stopped is not None:
            if event.text("role") == "user":
                requested = event.t
            elif event.text("role") == "assistant":
                if requested is not None and event.fields.get("interrupted"):
                    yield (
                        stopped,
                        "the request to the model lacks what the user had heard until then",
                    )
                stopped = requested = None


@rule("H", "the_agent_state_is_true", "agent_state", needs=(Evidence.STATES,))
def _wrong_state(facts: Facts) -> Found:
    """The published state differs from what the user hears."""
    for span in facts.heard:
        for at, state in facts.agent_states:
            if not (span.start < at < span.end) or state != "thinking":
                continue
            following = [t for t, _ in facts.agent_states if t > at]
            until = min([span.end, *following])
            if until - at > 2 * AT_ONCE:
                yield at, f"the agent is heard for {until - at:.1f} s while its state is {state!r}"
