"""What a recording of public events shows to be wrong, by class of failure.

Each rule looks for something that the flow `turn` makes impossible. A rule says nothing where the
events do not show it beyond doubt: an alarm that is false costs more than one that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from .facts import Call, Facts, Speech

__all__ = ["RULES", "Finding", "findings_in"]

_AT_ONCE = 0.05
_LONG = 1.0
"""Seconds after which something that should follow at once has been waited for."""

_UTTERANCE = 1.3
"""Seconds of voice that are hardly a noise."""

_DEAF = 4.0
"""Seconds for which nobody waits for an answer without asking whether anybody is there."""

_STUCK = 30.0
"""Seconds after which something has gone wrong."""


@attrs.frozen
class Finding:
    """One failure.

    Attributes:
        at: When it shows, in seconds.
        failure: The letter of its class in docs/failures.md.
        property: The one of the ten properties that forbids it; empty if none does.
        what: What happened, in a sentence.
    """

    at: float
    failure: str
    property: str
    what: str

    def __str__(self) -> str:
        held = f" ({self.property})" if self.property else ""
        return f"{self.at:8.2f} s  {self.failure}  {self.what}{held}"


def findings_in(facts: Facts) -> tuple[Finding, ...]:
    """All failures, the first divergence first."""
    found = (finding for rule in RULES for finding in rule(facts))
    return tuple(sorted(found, key=lambda finding: finding.at))


def _wasted_speculation(facts: Facts) -> Iterator[Finding]:
    """A model was asked while a tool ran, nobody heard what it said, and it was asked again."""
    for speech in facts.speeches:
        running = [call for call in facts.calls if _before(call, speech.created)]
        if not (running and speech.asked and speech.interrupted and speech.done is not None):
            continue
        until = speech.done
        heard = any(speech.created <= span.start and span.end <= until for span in facts.heard)
        again = [s for s in facts.speeches if abs(s.created - until) < _AT_ONCE and s.asked]
        if again and not heard:
            yield Finding(
                speech.created,
                "A",
                "no_speculation_while_a_tool_runs",
                f"the model is asked while {_named(running)} runs, its reply is thrown away, "
                "and it is asked again",
            )


def _silent_resume(facts: Facts) -> Iterator[Finding]:
    """A false interruption of what was not being heard."""
    for event in facts.recording.named("agent_false_interruption"):
        if facts.heard_at(event.t) is None:
            yield Finding(
                event.t,
                "B",
                "no_resume_of_a_silent_step",
                "a false interruption is reported, and nothing was being said",
            )


def _request_without_result(facts: Facts) -> Iterator[Finding]:
    """A model was asked between the end of a tool and its result."""
    for speech in facts.speeches:
        for asked in speech.asked[:1]:
            missing = [
                call
                for call in facts.calls
                if call.status == "done"
                and call.ended is not None
                and call.ended + _AT_ONCE < asked
                and (call.committed is None or asked + _AT_ONCE < call.committed)
            ]
            if missing:
                yield Finding(
                    asked,
                    "C",
                    "no_request_before_the_results",
                    f"the model is asked without the result of {_named(missing)}, which had ended",
                )


def _request_at_the_end(facts: Facts) -> Iterator[Finding]:
    """A model is asked in the moment in which a tool ends, and before its result is there."""
    ends: dict[float, str] = {}
    for event in reversed(facts.recording.events):
        if event.text("update") == "ended" and event.text("status") == "done":
            ends[event.t] = event.text("call")
        elif event.name == "speech_created" and event.t in ends:
            call = next((c for c in facts.calls if c.id == ends[event.t]), None)
            speech = next((s for s in facts.speeches if s.id == event.text("speech")), None)
            if call is None or speech is None or event.t - call.started < _LONG:
                continue
            spoke = any(event.t - 2 * _LONG < user.end <= event.t for user in facts.user)
            if spoke and any(abs(asked - event.t) < _AT_ONCE for asked in speech.asked):
                yield Finding(
                    event.t,
                    "C",
                    "no_request_before_the_results",
                    f"the model is asked without the result of {_named([call])}, which ends then",
                )


def _late_end(facts: Facts) -> Iterator[Finding]:
    """An interrupted reply does not end, because a tool of it runs, and holds the next one up."""
    for speech in facts.speeches:
        at, done = speech.interrupted_at, speech.done
        if at is None or done is None or done - at <= _LONG:
            continue
        running = [
            call for call in facts.calls if speech.created <= call.started and _before(call, at)
        ]
        answered = any(
            _is_of_later(facts, span.start, at) for span in facts.heard if span.start < done
        )
        goes_on = any(span.start >= done - _AT_ONCE for span in facts.heard)
        if running and goes_on and not answered:
            yield Finding(
                at,
                "D",
                "an_interruption_settles",
                f"the interrupted reply ends {done - at:.1f} s later, because {_named(running)} "
                "runs, and nothing is answered meanwhile",
            )


def _is_of_later(facts: Facts, start: float, at: float) -> bool:
    """Whether what begins to be heard is of a reply that was begun around an interruption."""
    created = [speech.created for speech in facts.speeches if speech.created <= start]
    return start > at and bool(created) and created[-1] > at - _LONG


def _deaf_agent(facts: Facts) -> Iterator[Finding]:
    """The user speaks while a tool runs, and is answered when it has ended, or after a time-out."""
    for user in facts.user:
        running = [
            call for call in facts.calls if _before(call, user.start) and _before(call, user.end)
        ]
        answer = min((span.start for span in facts.heard if span.start > user.end), default=None)
        if answer is None or not running or any(facts.heard_at(t) for t in (user.start, user.end)):
            continue
        again = any(user.end < other.start < answer for other in facts.user)
        if answer - user.end > _DEAF and not again:
            yield Finding(
                user.end,
                "D",
                "an_interruption_settles",
                f"the user speaks while {_named(running)} runs, and is answered after "
                f"{answer - user.end:.1f} s",
            )


def _late_handoff(facts: Facts) -> Iterator[Finding]:
    """A tool of an interrupted reply hands the user over all the same."""
    for event in facts.recording.named("function_tools_executed"):
        calls = {str(call) for call in event.fields.get("calls") or ()}
        for call in facts.calls:
            owner = _owner(facts, call)
            if call.id not in calls or owner is None or owner.interrupted_at is None:
                continue
            if event.fields.get("handoff") and owner.interrupted_at < event.t - _LONG:
                yield Finding(
                    event.t,
                    "D",
                    "",
                    f"{_named([call])} hands the user over, {event.t - owner.interrupted_at:.1f} s "
                    "after its reply was interrupted",
                )


def _effect_after_interruption(facts: Facts) -> Iterator[Finding]:
    """A tool that waits for what is being said goes on when the user interrupts that."""
    for span in facts.heard:
        if not span.cut or not any(u.start < span.end <= u.end + _LONG for u in facts.user):
            continue
        for call in facts.calls:
            ends_then = call.ended is not None and 0 <= call.ended - span.end <= _AT_ONCE
            owner = _owner(facts, call)
            if owner is None or not ends_then or call.status != "done":
                continue
            said_meanwhile = any(call.started <= s.created < span.end for s in facts.speeches)
            if call.started <= span.start and not said_meanwhile:
                yield Finding(
                    span.end,
                    "D",
                    "",
                    f"the user interrupts, and {_named([call])} ends at that moment as if its "
                    "preamble had been heard",
                )


def _stuck_playout(facts: Facts) -> Iterator[Finding]:
    """Audio that never ends, with something else to be said behind it."""
    for span in facts.heard:
        waits = [
            speech
            for speech in facts.speeches
            if speech.created <= span.start + _LONG and speech.interrupted
        ]
        if span.open and span.end - span.start > _STUCK and len(waits) > 1:
            yield Finding(
                span.start,
                "E",
                "no_dead_floor",
                f"the end of what is said is not reported for {span.end - span.start:.0f} s, and "
                "the next reply waits",
            )


def _dropped_reply(facts: Facts) -> Iterator[Finding]:
    """A reply that was asked for and dropped in the same moment, by a handoff."""
    for speech in facts.speeches:
        done = speech.done
        if done is None or done - speech.created > _AT_ONCE or not speech.interrupted:
            continue
        if not speech.asked and any(t - done <= _AT_ONCE for t in _handoffs_after(facts, speech)):
            yield Finding(
                speech.created,
                "E",
                "",
                "a reply is asked for and dropped at once: a handoff is under way",
            )


def _never_closed(facts: Facts) -> Iterator[Finding]:
    """A close that takes for ever."""
    for event in facts.recording.named("close_late"):
        yield Finding(event.t, "E", "", "the session does not close within 30 s")


def _wrong_agent(facts: Facts) -> Iterator[Finding]:
    """A model called tools that its agent does not have, and a handoff followed."""
    known = {call.id for call in facts.calls}
    for event in facts.recording.named("function_tools_executed"):
        calls = {str(call) for call in event.fields.get("calls") or ()}
        begun = [s for s in facts.speeches if s.created <= event.t and s.done is not None]
        if not calls or known & calls or not begun:
            continue
        done = begun[-1].done or 0.0
        if any(0 <= handoff - done <= _AT_ONCE for handoff in _handoffs(facts)):
            yield Finding(
                event.t,
                "E",
                "",
                "an agent that is about to hand over has answered in place of the next one",
            )


def _handoffs_after(facts: Facts, speech: Speech) -> list[float]:
    """The handoffs that are told after a speech was created; the first is the session's start."""
    found: list[float] = []
    created = False
    for event in facts.recording.events:
        created = created or (event.name, event.text("speech")) == ("speech_created", speech.id)
        if created and event.text("type") == "agent_handoff":
            found.append(event.t)
    return found


def _handoffs(facts: Facts) -> list[float]:
    items = facts.recording.named("conversation_item_added")
    return [event.t for event in items if event.text("type") == "agent_handoff"]


def _lost_words(facts: Facts) -> Iterator[Finding]:
    """Words of the user that stand in no message."""
    messages = [
        event
        for event in facts.recording.named("conversation_item_added")
        if event.text("role") == "user"
    ]
    for event in facts.recording.named("user_input_transcribed"):
        words = set(event.words())
        later = [m for m in messages if m.t >= event.t - _AT_ONCE and words <= set(m.words())]
        if words and not later:
            what = "what the user said is in no history, and is not answered"
            yield Finding(event.t, "F", "every_turn_is_accounted_for", what)


def _unheard_turn(facts: Facts) -> Iterator[Finding]:
    """A user who speaks while nothing is heard, and whose words are not transcribed."""
    transcripts = [event.t for event in facts.recording.named("user_input_transcribed")]
    for user in facts.user:
        if user.open or user.end - user.start < _UTTERANCE or not transcripts:
            continue
        if transcripts[0] > user.start or any(facts.heard_at(t) for t in (user.start, user.end)):
            continue
        if not any(user.start <= t <= user.end + 2 * _LONG for t in transcripts):
            yield Finding(
                user.start,
                "F",
                "every_turn_is_accounted_for",
                f"the user speaks for {user.end - user.start:.1f} s, and nothing is transcribed",
            )


def _unheard_user(facts: Facts) -> Iterator[Finding]:
    """A user who talks over speech that goes on, and whose words are not even transcribed."""
    transcripts = facts.recording.named("user_input_transcribed")
    for user in facts.user:
        over = facts.heard_at(user.start)
        if over is None or user.open or user.end - user.start < _LONG or over.cut:
            continue
        if over.end < user.end or any(
            user.start <= event.t <= user.end + _LONG for event in transcripts
        ):
            continue
        if all(facts.state_at(t) == "speaking" for t in (user.start + 0.6, user.end - 0.01)):
            yield Finding(
                user.start,
                "F",
                "every_turn_is_accounted_for",
                f"the user speaks for {user.end - user.start:.1f} s over a speech that goes on, "
                "and nobody listens",
            )


def _record_out_of_order(facts: Facts) -> Iterator[Finding]:
    """The next request stands in the conversation before what was heard until then."""
    cut: float | None = None
    asked: float | None = None
    for event in facts.recording.events:
        if event.name == "playback_finished" and event.fields.get("interrupted"):
            cut, asked = event.t, None
        elif event.name == "conversation_item_added" and cut is not None:
            if event.text("role") == "user":
                asked = event.t
            elif event.text("role") == "assistant":
                if asked is not None and event.fields.get("interrupted"):
                    yield Finding(
                        cut, "G", "", "the model is asked without what the user heard until then"
                    )
                cut = asked = None


def _wrong_state(facts: Facts) -> Iterator[Finding]:
    """The published state is not what is heard."""
    for span in facts.heard:
        for at, state in facts.agent_states:
            if not (span.start < at < span.end) or state != "thinking":
                continue
            following = [t for t, _ in facts.agent_states if t > at]
            until = min([span.end, *following])
            if until - at > 2 * _AT_ONCE:
                yield Finding(
                    at,
                    "H",
                    "the_agent_state_is_true",
                    f"the agent is heard for {until - at:.1f} s while its state is {state!r}",
                )


def _owner(facts: Facts, call: Call) -> Speech | None:
    """The reply that a call was probably made for: the last one that was begun and not done."""
    found = [
        speech
        for speech in facts.speeches
        if speech.created <= call.started and (speech.done is None or speech.done >= call.started)
    ]
    return found[-1] if found else None


def _before(call: Call, t: float) -> bool:
    """Whether it had been running for a moment."""
    return call.started + _AT_ONCE < t and call.runs_at(t)


def _named(calls: list[Call]) -> str:
    return "a tool" if len(calls) == 1 else f"{len(calls)} tools"


RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _wasted_speculation,
    _silent_resume,
    _request_without_result,
    _request_at_the_end,
    _late_end,
    _deaf_agent,
    _late_handoff,
    _effect_after_interruption,
    _stuck_playout,
    _dropped_reply,
    _never_closed,
    _wrong_agent,
    _lost_words,
    _unheard_turn,
    _unheard_user,
    _record_out_of_order,
    _wrong_state,
)
