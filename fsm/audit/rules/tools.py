"""Failures while tools run, and with their results: classes A, C and D."""

from __future__ import annotations

from turnfsm.fsm.audit.events import Evidence
from turnfsm.fsm.audit.facts import Call, Facts, Speech

from .rule import AT_ONCE, LONG, UNANSWERED, Found, rule
from .waiting import WaitingResults

__all__: list[str] = []


@rule(
    "A",
    "no_speculation_while_a_tool_runs",
    "preemptive_generation",
    needs=(Evidence.REQUESTS, Evidence.CALLS, Evidence.REPLIES),
)
def _wasted_speculation(facts: Facts) -> Found:
    """The model was asked while a tool ran, its reply was not heard, and it was asked again."""
    for speech in facts.speeches:
        running = [call for call in facts.calls if _before(call, speech.created)]
        if not (running and speech.requests and speech.interrupted and speech.done is not None):
            continue
        until = speech.done
        heard = any(speech.created <= span.start and span.end <= until for span in facts.heard)
        again = [s for s in facts.speeches if abs(s.created - until) < AT_ONCE and s.requests]
        if again and not heard:
            yield (
                speech.created,
                f"the model is asked while {_named(running)} runs, its reply is discarded, "
                "and it is asked again",
            )


@rule(
    "C",
    "no_request_before_the_results",
    "reply",
    needs=(Evidence.REQUESTS, Evidence.CALLS, Evidence.RESULTS),
)
def _request_without_result(facts: Facts) -> Found:
    """The model was asked between the end of a tool and the commit of its result."""
    for speech in facts.speeches:
        for request in speech.requests[:1]:
            missing = [
                call
                for call in facts.calls
                if call.status == "done"
                and call.ended is not None
                and call.ended + AT_ONCE < request
                and (call.committed is None or request + AT_ONCE < call.committed)
            ]
            if missing:
                yield (
                    request,
                    f"the model is asked without the result of {_named(missing)}, which had ended",
                )


@rule(
    "C", "no_request_before_the_results", "newer_result", needs=(Evidence.REQUESTS, Evidence.CALLS)
)
def _request_at_the_end(facts: Facts) -> Found:
    """The user speaks while a tool runs, and the model is asked at the moment when the tool
    ends."""
    ends: dict[float, str] = {}
    for event in reversed(facts.recording.events):
        if event.text("update") == "ended" and event.text("status") == "done":
            ends[event.t] = event.text("call")
        elif event.name == "speech_created" and event.t in ends:
            call = next((c for c in facts.calls if c.id == ends[event.t]), None)
            speech = next((s for s in facts.speeches if s.id == event.text("speech")), None)
            if call is None or speech is None or event.t - call.started < LONG:
                continue
            since = max(event.t - 2 * LONG, call.started)
            spoke = any(since < user.end <= event.t for user in facts.user)
            if spoke and any(abs(request - event.t) < AT_ONCE for request in speech.requests):
                yield (
                    event.t,
                    f"the model is asked without the result of {_named([call])}, which ends at "
                    f"that moment",
                )


@rule("C", "every_call_ends_once", "tool_limit", needs=(Evidence.CALLS, Evidence.CLOSE))
def _endless_call(facts: Facts) -> Found:
    """A call that has not ended when the session is closed, or that ends twice."""
    closed = facts.recording.named("close")
    for call in facts.calls:
        if call.ended is None and closed:
            yield call.started, "a tool call has not ended when the session is closed"
    begun: dict[str, int] = {}
    for event in facts.recording.named("tool_execution_updated"):
        id, update = event.text("call"), event.text("update")
        if update == "started":
            begun[id] = begun.get(id, 0) + 1
        elif update == "ended" and id in begun:
            begun[id] -= 1
            if begun[id] < 0:
                yield event.t, "a tool call ends twice"


@rule("C", "every_call_ends_once", "reply", needs=(Evidence.CALLS,))
def _second_run(facts: Facts) -> Found:
    """A call that has ended begins again, with the same id."""
    ended: set[str] = set()
    for event in facts.recording.named("tool_execution_updated"):
        id, update = event.text("call"), event.text("update")
        if update == "started" and id in ended:
            yield event.t, "a tool call that has ended runs again"
        elif update == "ended":
            ended.add(id)


@rule(
    "D",
    "an_interruption_settles",
    "step_interrupted",
    "speech_interrupted",
    needs=(Evidence.INTERRUPTIONS, Evidence.REPLIES, Evidence.CALLS),
)
def _late_end(facts: Facts) -> Found:
    """An interrupted reply does not end because its tool runs, and delays the next reply."""
    for speech in facts.speeches:
        at, done = speech.interrupted_at, speech.done
        if at is None or done is None or done - at <= LONG:
            continue
        running = [
            call for call in facts.calls if speech.created <= call.started and _before(call, at)
        ]
        answered = any(
            _is_of_later(facts, span.start, at) for span in facts.heard if span.start < done
        )
        continues = any(span.start >= done - AT_ONCE for span in facts.heard)
        if running and continues and not answered:
            yield (
                at,
                f"the interrupted reply ends {done - at:.1f} s later, because {_named(running)} "
                "runs, and nothing is answered until then",
            )


def _is_of_later(facts: Facts, start: float, at: float) -> bool:
    """Whether the playout belongs to a reply that began around an interruption."""
    created = [speech.created for speech in facts.speeches if speech.created <= start]
    return start > at and bool(created) and created[-1] > at - LONG


@rule("D", "an_interruption_settles", "turn_committed", needs=(Evidence.CALLS,))
def _deaf_agent(facts: Facts) -> Found:
    """The user speaks while a tool runs, and is answered only after the tool or a timeout; the
    model makes no other call at once."""
    for user in facts.user:
        running = [
            call for call in facts.calls if _before(call, user.start) and _before(call, user.end)
        ]
        answer = min((span.start for span in facts.heard if span.start > user.end), default=None)
        if answer is None or not running or any(facts.heard_at(t) for t in (user.start, user.end)):
            continue
        if facts.transcripts and not facts.transcribed(user, 2 * LONG):
            continue  # a noise
        again = any(user.end < other.start < answer for other in facts.user)
        called = [call.started for call in facts.calls if user.end < call.started < answer]
        taken = any(call.runs_at(at) for at in called for call in running)
        if answer - user.end > UNANSWERED and not (again or taken):
            yield (
                user.end,
                f"the user speaks while {_named(running)} runs, and is answered after "
                f"{answer - user.end:.1f} s",
            )


@rule("D", "", "next_reply", needs=(Evidence.REQUESTS, Evidence.CALLS, Evidence.RESULTS))
def _result_not_said(facts: Facts) -> Found:
    """A result comes after its reply was interrupted, and no request contains it."""
    results = WaitingResults()
    waits = [results.process(event) for event in facts.recording.events]
    for waited in (*waits, results.end(facts.recording.end)):
        if waited is not None:
            yield waited.since, str(waited)


@rule(
    "D",
    "",
    "step_interrupted",
    "speech_interrupted",
    needs=(
        Evidence.INTERRUPTIONS,
        Evidence.REPLIES,
        Evidence.CALLS,
        Evidence.RESULTS,
        Evidence.HANDOFFS,
    ),
)
def _late_handoff(facts: Facts) -> Found:
    """A tool of an interrupted reply still hands the user over."""
    for event in facts.recording.named("function_tools_executed"):
        for call in facts.calls:
            owner = _owner(facts, call)
            if call.id not in event.calls() or owner is None or owner.interrupted_at is None:
                continue
            if event.fields.get("handoff") and owner.interrupted_at < event.t - LONG:
                yield (
                    event.t,
                    f"{_named([call])} hands the user over, {event.t - owner.interrupted_at:.1f} s "
                    "after its reply was interrupted",
                )


@rule("D", "", "proceed", needs=(Evidence.REPLIES, Evidence.CALLS, Evidence.PLAYOUT))
def _effect_after_interruption(facts: Facts) -> Found:
    """A tool that waits for playout continues when the user interrupts the playout."""
    for span in facts.heard:
        if not span.interrupted or not any(u.start < span.end <= u.end + LONG for u in facts.user):
            continue
        for call in facts.calls:
            ends_then = call.ended is not None and 0 <= call.ended - span.end <= AT_ONCE
            owner = _owner(facts, call)
            if owner is None or not ends_then or call.status != "done":
                continue
            said_meanwhile = any(call.started <= s.created < span.end for s in facts.speeches)
            if call.started <= span.start and not said_meanwhile:
                yield (
                    span.end,
                    f"the user interrupts, and {_named([call])} ends at that moment as if its "
                    "preamble had been heard",
                )


@rule("D", "", "turn_committed", needs=(Evidence.CALLS, Evidence.ARGUMENTS, Evidence.TRANSCRIPTS))
def _corrected_effect(facts: Facts) -> Found:
    """The user corrects a call while it runs, and the model makes another one. Both are carried
    out."""
    transcripts = facts.recording.named("user_input_transcribed")
    corrections = [event.t for event in transcripts if event.fields.get("corrects")]
    for call in facts.calls:
        newer = [other for other in facts.calls if other.differs_from(call)]
        for at in (t for t in corrections if _before(call, t)):
            completed = [other for other in newer if other.started > at and other.status == "done"]
            if completed and call.status == "done":
                yield (
                    at,
                    f"the user corrects the call of {call.name} while it runs; both calls take "
                    "effect",
                )
                break


@rule("D", "", "barge_in", "user_started_speaking", needs=(Evidence.CALLS, Evidence.TRANSCRIPTS))
def _cancelled_by_a_sound(facts: Facts) -> Found:
    """A call is cancelled as soon as the user makes a sound, before it is known what they say."""
    for call in facts.calls:
        if call.status != "cancelled" or call.ended is None:
            continue
        for user in facts.user:
            if not user.start <= call.ended <= user.start + 2 * AT_ONCE:
                continue
            recognised = facts.transcribed(user, 2 * LONG)
            sound = "begins to speak" if recognised else "makes a noise"
            yield call.ended, f"the user {sound}, and {_named([call])} is cancelled at that moment"


def _owner(facts: Facts, call: Call) -> Speech | None:
    """The reply that probably made a call: the last one that had begun and was not done."""
    owners = [
        speech
        for speech in facts.speeches
        if speech.created <= call.started and (speech.done is None or speech.done >= call.started)
    ]
    return owners[-1] if owners else None


def _before(call: Call, t: float) -> bool:
    """Whether it had been running for a moment."""
    return call.started + AT_ONCE < t and call.runs_at(t)


def _named(calls: list[Call]) -> str:
    return "a tool" if len(calls) == 1 else f"{len(calls)} tools"
