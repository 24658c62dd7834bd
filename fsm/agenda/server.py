"""Which items the server of a realtime model should hold, and which changes get it there. Pure
functions of the items that it holds and of the framework's items."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence

import attrs

from .projection import Item, pair

__all__ = ["Diff", "diff", "spoken_behind", "wanted"]

_TOOL = ("call", "result")


@attrs.frozen
class Diff:
    """The changes that turn one conversation on a server into another.

    Attributes:
        delete: The ids of the items to delete. This comes first.
        create: The items to create, in order, each with the id of the item before it, or None if it
            is the first.

    An item in both is moved.
    """

    delete: tuple[str, ...] = ()
    create: tuple[tuple[str | None, Item], ...] = ()

    @property
    def moves(self) -> bool:
        """An item of the server is moved."""
        return not {item.id for _, item in self.create}.isdisjoint(self.delete)

    def __bool__(self) -> bool:
        return bool(self.delete or self.create)


def wanted(
    given: Sequence[Item],
    held: Sequence[Item],
    *,
    keep: Collection[str] = (),
    results: Iterable[Item] = (),
    unheard: Collection[str] = (),
    answers: Collection[str] = (),
    replies_to_results: bool = False,
) -> tuple[Item, ...]:
    """The items that the server should hold.

    A server answers the last item, and holds an utterance as audio, so utterances are not moved.
    Each result follows its call. If a call ends while the last utterance waits for an answer, the
    call and its result come before that utterance.

    Args:
        given: The conversation as the framework or the application wants it.
        held: The items that the server holds.
        keep: The ids of held items that are missing in `given` because they are newer.
        results: New results of calls, in `given` or not.
        unheard: The ids of items that the user has not heard; they are deleted.
        answers: The ids of the utterances that the next request answers: only utterances may follow
            them.
        replies_to_results: The server replies to each result at once. So it gets only the results
            in `given`, in that order.

    Example:
        >>> held = Item("c", "call", call="c"), Item("u", "utterance")
        >>> result = Item("r", "result", call="c")
        >>> [item.id for item in wanted(held, held, results=[result])]
        ['c', 'r', 'u']
    """
    items = [item for item in given if item.id not in unheard]
    ids = {item.id for item in items}
    for item in held:
        if item.id in keep and item.id not in ids and item.id not in unheard:
            place = len(items) if item.part == "utterance" else _place(item, held, items)
            items.insert(place, item)
    if replies_to_results:
        return tuple(items)
    ids = {item.id for item in items}
    calls = {item.call for item in items if item.part == "call"}
    came = [*(item for item in held if item.part == "result"), *results]
    items += [item for item in came if item.id not in ids and item.call in calls]
    items = _before_the_end(pair(_in_order_of(held, items)), held)
    first = next((n for n, item in enumerate(items) if item.id in answers), len(items))
    return (*items[:first], *_utterances_last(items[first:]))


def diff(held: Sequence[Item], wanted: Sequence[Item]) -> Diff:
    """The changes that turn the first conversation into the second.

    As few items as possible are deleted. An utterance that stays is never recreated: the server
    would have its text instead of its audio.

    Example:
        >>> said, heard = Item("s", "said"), Item("u", "utterance")
        >>> change = diff([heard, said], [said, heard])
        >>> change.delete, [(before, item.id) for before, item in change.create]
        (('s',), [(None, 's')])
    """
    place = {item.id: number for number, item in enumerate(held)}
    rows: list[list[str]] = [[]]
    fixed = [item.id for item in wanted if item.part == "utterance" and item.id in place]
    fixed = _increasing(fixed, place)
    for item in wanted:
        if item.id in fixed:
            rows += [[]]
        elif item.id in place and _between(place, fixed, len(rows) - 1, item.id):
            rows[-1].append(item.id)
    stay = {*fixed, *(id for row in rows for id in _increasing(row, place))}
    before = [None, *(item.id for item in wanted)]
    return Diff(
        tuple(item.id for item in held if item.id not in stay),
        tuple((last, i) for last, i in zip(before, wanted, strict=False) if i.id not in stay),
    )


def spoken_behind(results: Collection[str], held: Iterable[Item]) -> bool:
    """A message follows one of these results, so the model would answer the message instead."""
    passed = False
    for item in held:
        if passed and item.part in ("utterance", "said"):
            return True
        passed |= item.id in results
    return False


def _place(item: Item, held: Sequence[Item], items: Sequence[Item]) -> int:
    """The position of an item that the server holds: after the held items before it."""
    ids = [other.id for other in held]
    before = {*ids[: ids.index(item.id)]}
    return max((n for n, other in enumerate(items, 1) if other.id in before), default=0)


def _in_order_of(held: Sequence[Item], items: Sequence[Item]) -> list[Item]:
    """The same items, with the held ones in the server's order, and each other one after its
    predecessors. In the framework's conversation a late transcript may come after its answer."""
    place = {item.id: number for number, item in enumerate(held)}
    latest = -1
    places: list[int] = []
    for item in items:
        latest = max(latest, place.get(item.id, -1))
        places.append(place.get(item.id, latest))
    return [items[n] for n in sorted(range(len(items)), key=places.__getitem__)]


def _before_the_end(items: list[Item], held: Sequence[Item]) -> list[Item]:
    """Move new calls and results at the end before the last utterances that the server holds."""
    ids = {item.id for item in held}
    waiting: set[str] = set()
    for item in reversed(held):
        if item.part != "utterance":
            break
        waiting.add(item.id)
    end = len(items)
    while end and (
        items[end - 1].id in waiting
        or (items[end - 1].part in _TOOL and items[end - 1].id not in ids)
    ):
        end -= 1
    return items[:end] + _utterances_last(items[end:])


def _utterances_last(items: list[Item]) -> list[Item]:
    return sorted(items, key=lambda item: item.part == "utterance")


def _between(place: dict[str, int], fixed: Sequence[str], row: int, id: str) -> bool:
    """The server holds the item between the same fixed items."""
    after = place[fixed[row - 1]] if row else -1
    before = place[fixed[row]] if row < len(fixed) else len(place)
    return after < place[id] < before


def _increasing(ids: Sequence[str], place: dict[str, int]) -> list[str]:
    """A longest increasing subsequence, by position."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for number, id in enumerate(ids):
        at = bisect_left(ends, place[id])
        before.append(last[at - 1] if at else None)
        ends[at : at + 1], last[at : at + 1] = [place[id]], [number]
    longest: list[str] = []
    step = last[-1] if last else None
    while step is not None:
        longest.append(ids[step])
        step = before[step]
    return longest[::-1]
