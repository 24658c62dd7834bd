"""Makes the request to a host's model: the agenda's projection of its items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from turnfsm.fsm.agenda.projection import Item, complete, project, unanswered
from turnfsm.runtime.conversation.conductor import Conductor

from .calls import FINAL
from .reply import Reply

__all__ = ["request"]


def request(
    conductor: Conductor,
    reply: Reply,
    given: Sequence[Item],
    message: Callable[[str], Any],
    *,
    came: Sequence[Item] = (),
    running: Callable[[], Any] | None = None,
) -> list[Any]:
    """Make a request for the step of a reply that has the floor, and report it.

    Args:
        given: The items of the conversation, in order.
        message: Makes a message from the reply's instructions, or a hint about results to mention.
        came: Items of the conversation that came later and are missing in `given`.
        running: Makes the message that stands for the result of a call that still runs.

    Returns:
        The messages for the model: the `of` of each item, the instructions and the hint.
    """
    if running is not None:
        given = [*given, *_placeholders(given, running)]
    if reply.instructions is not None:
        own, place = message(reply.instructions), float(len(given))
        given = [*given, Item("instructions", "instruction", own, added=True, at=place)]
    log, due = conductor.log, conductor.tools.due_results
    given, came = _marked(given, due), _marked(came, due)
    items = complete(given, log.agenda, reply.id, came)
    results = [item.result for item in items if item.part == "result"]
    conductor.requests.sent(
        reply,
        [result for result, call in due.items() if call in results],
        reply.instructions,
        unanswered=unanswered(items),
    )
    calls = {i.call: conductor.tools.entries([i.call]) for i in items if i.call}
    wanted = project(
        given,
        log.agenda,
        reply.id,
        came=came,
        own_calls=[call for call, of in calls.items() if of and of[0].turn == reply.id],
        instructed=reply.instructions is not None,
    )
    messages = [item.of for item in wanted.items]
    if (text := conductor.host.hint(wanted.deliver, wanted.elsewhere)) is not None:
        messages.insert(wanted.hint_at, message(text))
    return messages


def _placeholders(given: Sequence[Item], message: Callable[[], Any]) -> list[Item]:
    ended = {item.call for item in given if item.part == "result"}
    calls = [item for item in given if item.part == "call" and item.call not in ended]
    return [
        Item(f"{call.id}_runs", "result", message(), call.call, placeholder=True) for call in calls
    ]


def _marked(items: Sequence[Item], due: Mapping[str, str]) -> list[Item]:
    """Mark the results that the user has not heard. A late result may have replaced the output that
    says that the call is still running."""
    marked = []
    for item in items:
        if item.part == "result" and not item.placeholder:
            call = item.call.removesuffix(FINAL)
            item = attrs.evolve(item, result=due.get(call + FINAL) or due.get(call, ""))
        marked.append(item)
    return marked
