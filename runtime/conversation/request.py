"""Makes the request to a host's model: the agenda's projection of its items."""

from __future__ import annotations

from collections.abc import Sequence

from turnfsm.fsm.agenda import Item, Request, complete, project, unanswered

from .conductor import Conductor
from .ports import Speech

__all__ = ["request"]


def request(
    conductor: Conductor,
    speech: Speech,
    given: Sequence[Item],
    *,
    came: Sequence[Item] = (),
    instructions: str | None = None,
) -> tuple[Request, str | None]:
    """Make a request for the step of a speech that has the floor, and report it.

    Args:
        given: The items of the conversation, and the instructions, in order.
        came: The items of the conversation that are missing in `given`.
        instructions: The reply's own instructions.

    Returns:
        The request, and the hint that belongs before its item `hint_at`.
    """
    log, due = conductor.log, conductor.tools.due_results
    shown = complete(given, log.agenda, speech.id, came)
    results = [item.result for item in shown if item.part == "result"]
    conductor.request_sent(
        speech,
        [result for result, call in due.items() if call in results],
        instructions,
        unanswered=unanswered(shown),
    )
    made = {i.call: conductor.tools.entries([i.call]) for i in shown if i.call}
    wanted = project(
        given,
        log.agenda,
        speech.id,
        came=came,
        own_calls=[call for call, of in made.items() if of and of[0].turn == speech.id],
        instructed=instructions is not None,
    )
    return wanted, conductor.host.hint(wanted.deliver, wanted.elsewhere)
