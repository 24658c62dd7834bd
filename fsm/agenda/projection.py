"""What a request to the model contains. It is a pure function of the framework's items, the items
added to the conversation since these were copied, and the agenda."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

import attrs

from .agenda import Agenda

__all__ = ["Item", "Part", "Request", "complete", "pair", "project", "unanswered"]

Part = Literal["utterance", "said", "instruction", "call", "result", "hint", "other"]
"""The kind of an item: user text, agent text, an instruction of the application, a call, its
result, a hint of an earlier request, or anything else."""

_TOOL = ("call", "result")


@attrs.frozen
class Item:
    """An item of a conversation.

    Attributes:
        id: Its id in the conversation.
        part: Its kind.
        of: The framework's item.
        call: The id that a call and its result share.
        result: The call on the agenda whose result it is; empty for an update.
        placeholder: The framework has added it to this request for a running call.
        added: The application has added it to this request; it is not in the conversation.
        at: When it was added, in seconds. This determines where it is inserted.
    """

    id: str
    part: Part
    of: Any = None
    call: str = ""
    result: str = ""
    placeholder: bool = False
    added: bool = False
    at: float = 0.0


@attrs.frozen
class Request:
    """The content of a request.

    Attributes:
        items: The items, in order.
        deliver: The results that the hint asks the model to deliver.
        elsewhere: The results that, according to the hint, another reply delivers.
        hint_at: The index of the hint: before the last part, which the model answers.
    """

    items: tuple[Item, ...]
    deliver: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    hint_at: int = 0


def complete(
    given: Iterable[Item], agenda: Agenda, reply: str, came: Sequence[Item] = ()
) -> list[Item]:
    """The items of a reply's request: without utterances of other live replies, and with the new
    items.

    Args:
        given: The framework's items, with the changes of the application.
        agenda: The agenda, before or after `RequestSent`.
        reply: The id of the reply.
        came: The items added to the conversation since the framework copied it.
    """
    hidden = agenda.hidden_from(reply)
    items = [item for item in given if item.part != "hint" and item.id not in hidden]
    return pair(_with(items, [item for item in came if item.id not in hidden]))


def project(
    given: Iterable[Item],
    agenda: Agenda,
    reply: str,
    *,
    came: Sequence[Item] = (),
    own_calls: Collection[str] = (),
    instructed: bool = False,
) -> Request:
    """The request of a reply.

    Args:
        given: The framework's items, with the changes of the application.
        agenda: The agenda after `RequestSent`.
        reply: The id of the reply.
        came: The items added to the conversation since the framework copied it.
        own_calls: The ids of the calls that this reply has made.
        instructed: Its own instructions say what it delivers.

    Example:
        >>> from turnfsm import load_flow
        >>> from turnfsm.fsm.agenda.entries import AnswerDue, ReplyAsked
        >>> rules = load_flow("turn").agenda
        >>> asked = ReplyAsked("reply", utterances=["two"])
        >>> agenda = Agenda().after(AnswerDue("two"), rules).after(asked, rules)
        >>> items = Item("one", "utterance"), Item("two", "utterance"), Item("c", "call", call="c")
        >>> [item.id for item in project(items, agenda, "reply").items]
        ['one', 'c', 'two']
    """
    claimed = {o.id for o in agenda.claimed_by(reply) if o.kind == "utterance"}
    items = complete(given, agenda, reply, came)
    results = (o for o in agenda.requested_of(reply) if o.kind == "result")
    answers = {o.id for o in results if o.made_by == reply or not claimed}
    items = _results_last(items, answers)
    items, answered = _claimed_last(items, claimed, own_calls)
    shown = {item.result for item in items if item.part == "result"}
    return Request(
        tuple(items),
        () if instructed else agenda.delivers(reply),
        tuple(id for id in agenda.delivered_elsewhere(reply) if id in shown),
        _before_what_is_answered(items, answered),
    )


def unanswered(items: Sequence[Item]) -> list[str]:
    """The user's messages since the agent last said or did something, the latest first."""
    utterances: list[str] = []
    for item in reversed(items):
        if item.part in ("said", *_TOOL):
            break
        if item.part == "utterance":
            utterances.append(item.id)
    return utterances


def pair(items: Iterable[Item]) -> list[Item]:
    """The same items, with each result once and after its call. Parallel calls stay together,
    followed by their results."""
    items = list(items)
    calls = {item.call for item in items if item.part == "call"}
    results: dict[str, Item] = {}
    for item in items:
        if item.part == "result" and item.call in calls:
            results.setdefault(item.call, item)
    paired: list[Item] = []
    due: list[str] = []
    for item in items:
        if item.part == "result" and item.call in calls:
            if item.call in due:
                due.remove(item.call)
                paired.append(results.pop(item.call))
            continue
        if item.part != "call":
            paired += [results.pop(call) for call in due]
            due.clear()
        elif item.call in results:
            due.append(item.call)
        paired.append(item)
    return paired + [results.pop(call) for call in due]


def _with(items: list[Item], came: Iterable[Item]) -> list[Item]:
    """Insert the new items. If a call has ended, its call and result replace the pair that says
    that it is still running."""
    ids = {item.id for item in items}
    new = [item for item in came if item.id not in ids]
    ended = {item.call for item in new if item.part == "result"}
    items = [item for item in items if not (item.placeholder and item.call in ended)]
    there = {(item.part, item.call) for item in items if item.part in _TOOL}
    for item in new:
        if (item.part, item.call) in there:
            continue
        if item.part in _TOOL:
            there.add((item.part, item.call))
        place = len(items)
        while place and items[place - 1].at > item.at:
            place -= 1
        items.insert(place, item)
    return items


def _results_last(items: list[Item], results: Collection[str]) -> list[Item]:
    """Move results to the end, with their calls, in chronological order: results of calls that the
    reply has made, or, if it answers no utterance, those that it must deliver. Instructions stay
    after them."""
    came = {item.call: item.at for item in items if item.result in results}
    end = len(items)
    while end and items[end - 1].part == "instruction":
        end -= 1
    moved = sorted((i for i in items if i.call in came), key=lambda item: came[item.call])
    return [*(item for item in items[:end] if item.call not in came), *moved, *items[end:]]


def _claimed_last(
    items: list[Item], claimed: Collection[str], own_calls: Collection[str]
) -> tuple[list[Item], int | None]:
    """Move the latest utterance that the reply answers to the end, with those directly before it;
    what the application has added after it stays after it. If calls of this reply follow, nothing
    moves, since it answers their results. Also returns the utterance's index."""
    place = next((n for n in reversed(range(len(items))) if items[n].id in claimed), None)
    if place is None:
        return items, None
    behind = items[place + 1 :]
    if any(item.part in _TOOL and item.call in own_calls for item in behind):
        return items, None
    first = place
    while first and items[first - 1].id in claimed:
        first -= 1
    before = [item for item in behind if not item.added]
    added = [item for item in behind if item.added]
    answered = items[first : place + 1]
    return [*items[:first], *before, *answered, *added], place + len(before)


def _before_what_is_answered(items: Sequence[Item], answered: int | None) -> int:
    """The index before the last utterance, or before the last calls and results. Instructions come
    after."""
    if answered is not None:
        return answered
    place = len(items)
    while place > 1 and items[place - 1].part == "instruction":
        place -= 1
    while place and items[place - 1].part in _TOOL:
        place -= 1
    return place
