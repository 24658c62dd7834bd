"""Failures with the user's speech: it is lost, answered twice, or talked over."""

from __future__ import annotations

from turnfsm.fsm.audit.events import Evidence
from turnfsm.fsm.audit.facts import Facts

from .rule import AT_ONCE, LONG, Found, rule

__all__: list[str] = []

_UTTERANCE = 1.3
"""Seconds of voice activity that are unlikely to be a noise."""

_SENTENCE = 3
"""Number of words that are unlikely to be repeated by chance, unlike a single "yes"."""


@rule(
    "F",
    "every_turn_is_accounted_for",
    "turn_committed",
    needs=(Evidence.TRANSCRIPTS, Evidence.MESSAGES),
)
def _lost_words(facts: Facts) -> Found:
    """A turn of the user, in one or more transcripts, that is in no message."""
    messages = [
        event
        for event in facts.recording.named("conversation_item_added")
        if event.text("role") == "user"
    ]
    ends = [*(m.t for m in messages), *(heard.start for heard in facts.heard)]
    lost = -1.0
    for event in facts.recording.named("user_input_transcribed"):
        words = set(event.words())
        later = [m for m in messages if m.t >= event.t - AT_ONCE and words <= set(m.words())]
        if words and not later:
            if lost < 0 or any(lost < t < event.t for t in ends):
                yield event.t, "a transcript of the user is not in the history, and is not answered"
            lost = event.t


@rule("F", "every_turn_is_accounted_for", "turn_committed", needs=(Evidence.TRANSCRIPTS,))
def _unheard_turn(facts: Facts) -> Found:
    """The user speaks while nothing is playing, and is not transcribed."""
    first = min(facts.transcripts, default=facts.recording.end)
    for user in facts.user:
        if user.open or user.end - user.start < _UTTERANCE or first > user.start:
            continue
        if any(facts.heard_at(t) for t in (user.start, user.end)):
            continue
        if not facts.transcribed(user, 2 * LONG):
            yield (
                user.start,
                f"the user speaks for {user.end - user.start:.1f} s, and nothing is transcribed",
            )


@rule("N", "", "barge_in", needs=(Evidence.TRANSCRIPTS,))
def _ended_by_a_sound(facts: Facts) -> Found:
    """A noise of the user ends the agent's speech, or its coming answer, for good. Only a pipeline
    reports that it interrupts everything; elsewhere the output may be one that cannot pause."""
    for user in facts.user:
        cuts = [
            event
            for event in facts.recording.named("interruption")
            if user.start <= event.t <= user.start + 2 * AT_ONCE
        ]
        known = facts.recording.end > user.end + 2 * LONG
        if user.open or not known or not facts.transcripts or facts.transcribed(user, 2 * LONG):
            continue
        heard = facts.heard_at(user.start)
        if cuts and heard is not None and heard.interrupted:
            yield (
                user.start,
                f"the user makes a noise, and the agent falls silent for good, "
                f"{heard.end - heard.start:.1f} s after it began to speak",
            )
        elif user.end - user.start < _UTTERANCE and any(e.fields.get("unheard") for e in cuts):
            yield (
                user.start,
                "the user makes a noise, and the answer that the agent was about to "
                "give is discarded",
            )


@rule("A", "one_reply_to_a_turn", "turn_committed", needs=(Evidence.TRANSCRIPTS, Evidence.MESSAGES))
def _answered_twice(facts: Facts) -> Found:
    """The same text is in two messages, and the agent speaks after each."""
    heard = [tuple(event.words()) for event in facts.recording.named("user_input_transcribed")]
    stood: dict[tuple[str, ...], float] = {}
    for event in facts.recording.named("conversation_item_added"):
        words = tuple(event.words())
        if event.text("role") != "user" or len(words) < _SENTENCE or heard.count(words) != 1:
            continue
        between = [stood.get(words, event.t) < span.start <= event.t for span in facts.heard]
        if words in stood and any(between) and any(span.start > event.t for span in facts.heard):
            yield (
                event.t,
                "an utterance of the user is in the history twice, and is answered twice",
            )
        stood.setdefault(words, event.t)


@rule(
    "",
    "no_playout_over_the_user",
    "start_playout",
    needs=(Evidence.INTERRUPTIBLE, Evidence.REPLIES, Evidence.TRANSCRIPTS),
)
def _playout_over_the_user(facts: Facts) -> Found:
    """Interruptible playout starts while the user speaks, and the user continues."""
    for user in facts.user:
        for span in facts.heard:
            if not user.start + LONG / 2 <= span.start <= user.end - LONG:
                continue
            speeches = [s for s in facts.speeches if s.created <= span.start]
            under_way = [s for s in speeches if s.done is None or s.done > span.start]
            if (
                facts.transcribed(user, LONG)
                and under_way
                and all(speech.interruptible for speech in under_way)
            ):
                yield (
                    span.start,
                    f"the agent begins to speak while the user speaks, who continues for "
                    f"{user.end - span.start:.1f} s",
                )
