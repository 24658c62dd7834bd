"""The differences that docs/livekit.md declares: what each of them explains."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from .reasons import (
    answers,
    calls,
    cuts,
    delays,
    ends,
    handoffs,
    kept_waiting,
    moves,
    refused,
    untold,
    waits,
    words,
)

if TYPE_CHECKING:
    from .pair import Pair

__all__ = ["DECLARED", "Declared", "explained"]


@attrs.frozen
class Declared:
    """A difference in the table of docs/livekit.md.

    Attributes:
        id: Its name in the table.
        kinds: The measures that it makes worse; empty if it makes none worse.
        applies: Whether it explains a worse measure in a conversation.
    """

    id: str
    kinds: frozenset[str] = frozenset()
    applies: Callable[[int, Pair], bool] = lambda about, pair: False


DECLARED: tuple[Declared, ...] = (
    Declared("close", frozenset({"wait"}), ends.asked_of_a_close),
    Declared("drain-limit", frozenset({"undone", "half", "untold"}), ends.cancelled_at_the_close),
    Declared("drain-limit", frozenset({"warning"}), ends.agent_did_not_wait),
    Declared("close", frozenset({"undone"}), ends.begun_after_the_close),
    Declared("close", frozenset({"late"}), ends.answered_after_the_close),
    Declared("drain-limit", frozenset({"wait"}), ends.close_waits_for_a_call),
    Declared("turns-kept", frozenset({"close", "leftover"}), ends.call_of_a_turn_more_hangs),
    Declared("held-output", frozenset({"late"}), waits.waited_for_the_vad),
    Declared("turns-kept", frozenset({"late"}), words.heard_all_of_it),
    Declared("turns-kept", frozenset({"late"}), words.committed_before_the_rest),
    Declared("handoff-refused", frozenset({"late"}), words.committed_by_the_next_agent),
    Declared("turns-kept", frozenset({"late"}), words.committed_with_later_words),
    Declared("turns-kept", frozenset({"undone"}), words.wanted_by_the_rest),
    Declared("handoff-refused", frozenset({"agent"}), refused.handoff_was_refused),
    Declared(
        "handoff-refused", frozenset({"lost", "unseen", "untold"}), refused.its_handoff_was_refused
    ),
    Declared("tool-policies", frozenset({"undone", "half"}), calls.cancelled),
    Declared("tool-policies", frozenset({"untold"}), calls.cancelled_before_its_end),
    Declared("tool-policies", frozenset({"blip"}), words.hold_was_over),
    Declared("tool-policies", frozenset({"late"}), waits.held_to_the_end),
    Declared("tool-policies", frozenset({"late"}), waits.told_after_a_later_call),
    Declared("tool-policies", frozenset({"late"}), calls.its_call_was_cancelled),
    Declared("tool-policies", frozenset({"late"}), calls.answered_sooner),
    Declared("tool-policies", frozenset({"undone"}), calls.asked_for_sooner),
    Declared("turns-kept", frozenset({"undone"}), delays.call_stopped_before_it_was_due),
    Declared("turns-kept", frozenset({"undone"}), calls.asked_for_together),
    Declared("tool-policies", frozenset({"late"}), cuts.answered_by_a_repeated_call),
    Declared("tool-policies", frozenset({"late"}), answers.answered_by_an_earlier_call),
    Declared("no-speculation", frozenset({"undone"}), waits.asked_for_ahead),
    Declared("no-speculation", frozenset({"undone"}), waits.asked_again_until_the_close),
    Declared("realtime-results", frozenset({"undone"}), calls.asked_for_before_typed),
    Declared("realtime-results", frozenset({"late"}), calls.stands_before_typed),
    Declared("tool-policies", frozenset({"undone"}), calls.its_call_was_interrupted_by_a_tool),
    Declared("tool-policies", frozenset({"late"}), calls.interrupted_by_a_tool),
    Declared("tool-policies", frozenset({"log"}), calls.asked_while_the_user_spoke),
    Declared("tool-policies", frozenset({"log"}), waits.asked_as_the_model_answered),
    Declared("realtime-results", frozenset({"agent"}), ends.closed_before_the_handoff),
    Declared("tool-policies", frozenset({"untold"}), calls.turn_interrupted_by_tool),
    Declared("tool-policies", frozenset({"untold"}), calls.has_no_result_to_tell),
    Declared("transcript-wait", frozenset({"blip"}), words.words_came_after_another_turn),
    Declared("transcript-wait", frozenset({"blip"}), words.words_of_a_short_sound),
    Declared("tool-policies", frozenset({"log"}), calls.interrupts_a_held_turn),
    Declared("tool-policies", frozenset({"wait"}), calls.interrupt_is_refused),
    Declared("tool-policies", frozenset({"overlap"}), calls.spoken_over_a_held_turn),
    Declared("turns-kept", frozenset({"overlap"}), waits.announced_over_the_user),
    Declared("no-speculation", frozenset({"warning"}), waits.out_of_date),
    Declared("commit-stands", frozenset({"warning"}), words.interim_was_taken),
    Declared("no-speculation", frozenset({"late"}), waits.not_asked_ahead),
    Declared("commit-stands", frozenset({"late"}), waits.commit_waited_for_the_last_voice),
    Declared("turns-kept", frozenset({"late"}), delays.delayed_by_its_causes),
    Declared("held-output", frozenset({"late"}), kept_waiting.kept_waiting_no_longer),
    Declared("held-output", frozenset({"undone"}), kept_waiting.kept_waiting_until_the_close),
    Declared("held-output", frozenset({"wait"}), delays.call_delayed_by_its_causes),
    Declared("tool-policies", frozenset({"wait"}), delays.run_beside_a_run),
    Declared("held-output", frozenset({"late"}), cuts.cut_behind_what_came_first),
    Declared("held-output", frozenset({"undone"}), cuts.call_cut_behind_what_came_first),
    Declared("tool-policies", frozenset({"undone"}), cuts.call_cut_behind_a_reply_that_came_sooner),
    Declared("held-output", frozenset({"undone"}), cuts.came_of_a_call_that_was_cut),
    Declared("held-output", frozenset({"late"}), cuts.answered_after_a_call_that_was_cut),
    Declared("held-output", frozenset({"late"}), cuts.answered_beside_a_call_that_was_cut),
    Declared("tool-policies", frozenset({"late"}), cuts.cut_behind_a_reply_more),
    Declared("realtime-results", frozenset({"late"}), cuts.cut_behind_an_answer_more),
    Declared("realtime-results", frozenset({"undone"}), cuts.call_cut_behind_an_answer_more),
    Declared("commit-stands", frozenset({"undone"}), cuts.call_cut_behind_typed_words),
    Declared("untold-results", frozenset({"undone"}), cuts.call_cut_with_results),
    Declared("turns-kept", frozenset({"wait"}), handoffs.refused_in_a_handoff),
    Declared("untold-results", frozenset({"wait"}), handoffs.refused_while_results_are_told),
    Declared("tool-policies", frozenset({"wait"}), moves.behind_an_answer_that_comes_sooner),
    Declared("turns-kept", frozenset({"wait"}), moves.behind_an_answer_to_a_kept_turn),
    Declared("tool-policies", frozenset({"wait"}), moves.makes_a_call_that_was_stopped),
    Declared("commit-stands", frozenset({"wait"}), moves.makes_a_call_of_a_cancelled_commit),
    Declared("held-output", frozenset({"wait"}), moves.given_up_over_the_user),
    Declared("turns-kept", frozenset({"warning"}), waits.kept_behind_what_is_announced),
    Declared("turns-kept", frozenset({"log"}), handoffs.logged_in_a_handoff),
    Declared("turns-kept", frozenset({"warning"}), handoffs.warned_in_a_handoff),
    Declared("close", frozenset({"untold"}), untold.told_after_the_close),
    Declared("held-output", frozenset({"untold"}), untold.stopped_before_it_could_be_told),
    Declared("untold-results", frozenset({"untold"}), untold.stopped_behind_other_results),
    Declared("untold-results", frozenset({"again"}), untold.told_again_after_a_cut),
    Declared("tool-policies", frozenset({"untold"}), untold.cut_behind_a_cancelled_call),
    Declared("drain-limit", frozenset({"undone", "half"}), untold.cancelled_at_a_handoff),
    Declared("drain-limit", frozenset({"untold"}), untold.given_up_at_a_handoff),
    Declared("drain-limit", frozenset({"untold"}), untold.stopped_behind_the_next_agent),
    Declared("turns-kept", frozenset({"agent"}), handoffs.closed_before_the_next_agent),
    Declared("tool-policies", frozenset({"undone"}), untold.held_until_the_close),
    Declared("realtime-results", frozenset({"untold"}), untold.cut_behind_the_answer),
    Declared("tool-policies", frozenset({"untold"}), untold.told_with_a_cancelled_call),
    Declared("tool-policies", frozenset({"untold"}), untold.ended_later_by_its_preamble),
    Declared("next-agent", frozenset({"unseen"}), handoffs.copied_before_its_words),
    Declared("typed-words"),
    Declared("wait-raises", frozenset({"undone"}), calls.wait_raised),
    Declared("wait-raises", frozenset({"untold"}), calls.wait_raised_and_nothing_ended),
    Declared("wait-raises", frozenset({"undone"}), calls.called_after_a_wait),
    Declared("wait-raises", frozenset({"late"}), calls.answered_after_a_wait),
)


def explained(kind: str, about: int, pair: Pair) -> str:
    """The id of the difference that explains it, or nothing."""
    return next((d.id for d in DECLARED if kind in d.kinds and d.applies(about, pair)), "")
