"""Converts LiveKit's items for the agenda's projection, and back."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from math import inf

from livekit.agents import llm

from turnfsm.fsm.agenda.projection import Item, Part, complete, project, unanswered
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.open_calls import AWAITS_YES
from turnfsm.runtime.conversation.tool_call import ToolCall
from turnfsm.runtime.conversation.wording import ASKING

from .conversation import part_of
from .speech import GovernedHandle

__all__ = ["HINT", "send", "settled", "shared"]

_OF_THE_AGENT = ("assistant", "function_call", "function_call_output")

HINT = "turnfsm_hint_"
"""The id prefix of items in a single request: a hint, or a call that waits for a yes."""

_SUFFIX = re.compile("(?:_final|_update_[0-9]+)$")
"""How LiveKit marks the later results of a call."""


def send(
    context: llm.ChatContext,
    came: Sequence[llm.ChatItem],
    copied: slice,
    held: Collection[str],
    speech: GovernedHandle,
    instructions: str | None,
) -> None:
    """Write the projected context of a request, and report the request.

    Args:
        came: The items added to the conversation since LiveKit copied it.
        copied: The items at the start of the context that are the agent's conversation.
        held: The ids of the items that follow them.
        instructions: The request's own instructions.
    """
    conductor = speech._conductor
    log, due = conductor.log, conductor.tools.due_results
    added = (*context.items[: copied.start], *context.items[copied.stop :])
    calls = [i.call_id for i in added if i.type == "function_call" and i.id not in held]
    # LiveKit has added running calls, with such an output
    runs = {call.id for call in conductor.tools.entries(calls) if not call.over}
    about = {o.id for o in log.agenda.obligations} | runs | {*due} | {_key(item) for item in came}
    since = min((item.created_at for item in came), default=inf)
    begin = settled(context.items, about, since)
    last = context.items[begin:]
    read = partial(
        _read,
        running={item.id for item in last if _key(item) in runs},
        held={*held, *(item.id for item in context.items[max(begin, copied.start) : copied.stop])},
        due=due,
    )
    given, new = [*map(read, last)], [*map(read, came)]
    shown = complete(given, log.agenda, speech.id, new)
    results = [item.call for item in shown if item.part == "result" and item.result]
    conductor.requests.sent(speech, results, instructions, unanswered=unanswered(shown))
    request = project(
        given,
        log.agenda,
        speech.id,
        came=new,
        own_calls=[i.call for i in shown if i.part == "call" and _is_own(i.call, speech)],
        instructed=instructions is not None,
    )
    items: list[llm.ChatItem] = [item.of for item in request.items]
    if (text := conductor.host.hint(request.deliver, request.elsewhere)) is not None:
        at = items[min(request.hint_at, len(items) - 1)].created_at if items else 0.0
        id = HINT + "-".join((*request.deliver, *request.elsewhere))
        hint = llm.ChatMessage(id=id, role="system", content=[text], created_at=at)
        items.insert(request.hint_at, hint)
    there = {item.call_id for item in context.items[:begin] if item.type == "function_call"}
    asked = _asked_about(conductor, there | {item.call for item in request.items})
    items[request.hint_at : request.hint_at] = asked
    context.items[begin:] = items


def _asked_about(conductor: Conductor, shown: Collection[str]) -> list[llm.ChatItem]:
    """The calls that wait for the user's yes, so that the model does not repeat them.
    LiveKit learns of a call when its tool begins."""
    asked: list[llm.ChatItem] = []
    for call in conductor.tools.find(AWAITS_YES):
        item = _item_of(call)
        if item is None or call.id in shown:
            continue
        output = llm.FunctionCallOutput(
            id=f"{HINT}of-{call.id}",
            call_id=call.id,
            name=call.name,
            output=ASKING,
            is_error=False,
            created_at=item.created_at,
        )
        asked += [item.model_copy(update={"id": f"{HINT}{call.id}"}), output]
    return asked


def _item_of(call: ToolCall) -> llm.FunctionCall | None:
    items = call.speech.chat_items if isinstance(call.speech, GovernedHandle) else []
    calls = (item for item in items if item.type == "function_call")
    return next((item for item in calls if item.call_id == call.id), None)


def shared(
    context: Sequence[llm.ChatItem], conversation: Sequence[llm.ChatItem]
) -> tuple[slice, slice]:
    """The common beginning of a conversation and its copy.

    LiveKit inserts the agent's instructions before it, or in place of its first item.

    Returns:
        Its range in the copy, and in the conversation.
    """
    starts = (
        (n, m)
        for n, item in enumerate(context[:2])
        for m, same in enumerate(conversation[:2])
        if item is same
    )
    if (start := next(starts, None)) is None:
        return slice(0, 0), slice(0, 0)
    here, there = start
    count = 0
    for item, same in zip(context[here:], conversation[there:], strict=False):
        if item is not same:
            break
        count += 1
    return slice(here, here + count), slice(there, there + count)


def settled(items: Sequence[llm.ChatItem], about: Collection[str], since: float) -> int:
    """The number of first items that the projection cannot change, whatever the agenda says.

    These are the exchanges before the first one that the request is about, except the last, since a
    request may hide what follows it. So a request costs little more in a long conversation.

    Args:
        items: LiveKit's items.
        about: The ids of the messages, and of the calls in LiveKit's items, that the agenda and the
            request are about.
        since: When the first new item was added, in seconds.
    """
    made: dict[str, int] = {}  # the index of each call
    begins = [0]  # the indices at which exchanges begin
    due: set[str] = set()  # the calls whose results follow
    before = ""
    for place, item in enumerate(items):
        if item.id.startswith(HINT):
            break
        kind: str = item.type
        if item.type == "function_call":
            call = item.call_id
            if call in about or call in made or item.created_at > since:
                break
            made[call] = place
            due.add(call)
        elif item.type == "function_call_output":
            call = item.call_id
            if call in about or call not in due or item.created_at > since:
                break
            due.discard(call)
        else:
            due.clear()
            if item.id in about or item.created_at > since:
                break
            if item.type == "message":
                kind = item.role
                if kind == "user" and before in _OF_THE_AGENT:
                    begins.append(place)
        before = kind
    return _before_their_calls(items, begins, made)


def _before_their_calls(
    items: Sequence[llm.ChatItem], begins: Sequence[int], made: Mapping[str, int]
) -> int:
    """The latest exchange that starts before the calls of all later results."""
    begin = begins[-1]
    for item in items[begin:]:
        if item.type == "function_call_output" and (place := made.get(item.call_id, begin)) < begin:
            return _before_their_calls(items, [n for n in begins if n <= place], made)
    return begin


def _key(item: llm.ChatItem) -> str:
    return item.call_id if item.type in ("function_call", "function_call_output") else item.id


def _is_own(call: str, speech: GovernedHandle) -> bool:
    """The reply has made the call, or LiveKit has refused the call."""
    entries = speech._conductor.tools.entries([_SUFFIX.sub("", call)])
    return not entries or entries[0].turn == speech.id


def _read(
    item: llm.ChatItem, running: Collection[str], held: Collection[str], due: Mapping[str, str]
) -> Item:
    """One of LiveKit's items.

    Args:
        running: The ids of the items that LiveKit has added for running calls.
        held: The ids of the items in the agent's conversation.
        due: The calls on the agenda, by the ids of their results.
    """
    part: Part = "hint" if item.id.startswith(HINT) else part_of(item)
    call = item.call_id if item.type in ("function_call", "function_call_output") else ""
    runs = item.id in running
    return Item(
        item.id,
        part,
        item,
        call,
        result=due.get(call, "") if part == "result" and not runs else "",
        placeholder=runs,
        added=part in ("said", "utterance", "instruction") and item.id not in held,
        at=item.created_at,
    )
