"""What the user says, and nobody takes in: failure F."""

from __future__ import annotations

from turnfsm.fsm.audit.facts import Facts

from .rule import AT_ONCE, LONG, Found, Rule

__all__ = ["RULES"]

_UTTERANCE = 1.3
"""Seconds of voice that are hardly a noise."""


def _lost_words(facts: Facts) -> Found:
    """Words of the user that stand in no message."""
    messages = [
        event
        for event in facts.recording.named("conversation_item_added")
        if event.text("role") == "user"
    ]
    for event in facts.recording.named("user_input_transcribed"):
        words = set(event.words())
        later = [m for m in messages if m.t >= event.t - AT_ONCE and words <= set(m.words())]
        if words and not later:
            what = "what the user said is in no history, and is not answered"
            yield event.t, what


def _unheard_turn(facts: Facts) -> Found:
    """A user who speaks while nothing is heard, and whose words are not transcribed."""
    transcripts = [event.t for event in facts.recording.named("user_input_transcribed")]
    for user in facts.user:
        if user.open or user.end - user.start < _UTTERANCE or not transcripts:
            continue
        if transcripts[0] > user.start or any(facts.heard_at(t) for t in (user.start, user.end)):
            continue
        if not any(user.start <= t <= user.end + 2 * LONG for t in transcripts):
            yield (
                user.start,
                f"the user speaks for {user.end - user.start:.1f} s, and nothing is transcribed",
            )


def _unheard_user(facts: Facts) -> Found:
    """A user who talks over speech that goes on, and whose words are not even transcribed."""
    transcripts = facts.recording.named("user_input_transcribed")
    for user in facts.user:
        over = facts.heard_at(user.start)
        if over is None or user.open or user.end - user.start < LONG or over.cut:
            continue
        if over.end < user.end or any(
            user.start <= event.t <= user.end + LONG for event in transcripts
        ):
            continue
        if all(facts.state_at(t) == "speaking" for t in (user.start + 0.6, user.end - 0.01)):
            yield (
                user.start,
                f"the user speaks for {user.end - user.start:.1f} s over a speech that goes on, "
                "and nobody listens",
            )


RULES = (
    Rule("F", "every_turn_is_accounted_for", _lost_words),
    Rule("F", "every_turn_is_accounted_for", _unheard_turn),
    Rule("F", "every_turn_is_accounted_for", _unheard_user),
)
