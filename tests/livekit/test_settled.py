"""A request of a long conversation is projected from its last exchanges: it is the same one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from livekit.agents import llm
from talks import RULES

from turnfsm.fsm.agenda.agenda import Agenda
from turnfsm.fsm.agenda.entries import AnswerDue, CallMade, ReplyAsked, RequestSent, ResultReady
from turnfsm.fsm.agenda.projection import Item, Request, complete, project, unanswered
from turnfsm.runtime.livekit.overrides.conversation import part_of
from turnfsm.runtime.livekit.overrides.projected import settled, shared

Shape = tuple[str, int]

SHAPES = st.tuples(
    st.sampled_from(["user", "assistant", "system", "call", "result", "pair", "handoff"]),
    st.integers(0, 6),
)


def _items(shapes: list[Shape]) -> list[llm.ChatItem]:
    made: list[llm.ChatItem] = []
    for n, (kind, which) in enumerate(shapes):
        at = float(n)
        if kind in ("call", "pair"):
            call = f"c{which}" if kind == "call" else f"p{n}"
            if not any(i.type == "function_call" and i.call_id == call for i in made):
                made.append(_call(f"call {n}", call, at))
        if kind in ("result", "pair"):
            call = f"c{which}" if kind == "result" else f"p{n}"
            made.append(_result(f"result {n}", call, at))
        if kind == "handoff":
            made.append(llm.AgentHandoff(id=f"handoff {n}", new_agent_id="a", created_at=at))
        if kind in ("user", "assistant", "system"):
            said = llm.ChatMessage(id=f"{kind} {n}", role=kind, content=["x"], created_at=at)  # type: ignore[arg-type]
            made.append(said)
    return made


def _call(id: str, call: str, at: float) -> llm.FunctionCall:
    return llm.FunctionCall(id=id, call_id=call, name="book", arguments="{}", created_at=at)


def _result(id: str, call: str, at: float) -> llm.FunctionCallOutput:
    return llm.FunctionCallOutput(
        id=id, call_id=call, name="", output="", is_error=False, created_at=at
    )


def _agenda(items: list[llm.ChatItem], claimed: list[int], made: list[int]) -> Agenda:
    """Some of the last messages are claimed by two replies, some calls' results are due."""
    agenda = Agenda()
    users = [i.id for i in items if i.type == "message" and i.role == "user"]
    for which in claimed:
        if users:
            said = users[-1 - which % len(users)]
            agenda = agenda.after(AnswerDue(said), RULES)
            agenda = agenda.after(ReplyAsked("mine" if which % 2 else "other", [said]), RULES)
    agenda = agenda.after(ReplyAsked("mine"), RULES)
    for which in made:
        agenda = agenda.after(CallMade(f"c{which}", "other" if which % 2 else "mine"), RULES)
        agenda = agenda.after(ResultReady(f"c{which}"), RULES)
    return agenda


def _request(
    given: list[llm.ChatItem], came: list[llm.ChatItem], agenda: Agenda
) -> tuple[Request, Agenda]:
    due = {o.id for o in agenda.obligations if o.kind == "result"}

    def read(item: llm.ChatItem) -> Item:
        call = item.call_id if isinstance(item, _OF_CALLS) else ""
        result = call if item.type == "function_call_output" and call in due else ""
        return Item(item.id, part_of(item), item, call, result, at=item.created_at)

    items, new = [*map(read, given)], [*map(read, came)]
    shown = complete(items, agenda, "mine", new)
    results = [item.call for item in shown if item.result]
    agenda = agenda.after(RequestSent("mine", results, unanswered=unanswered(shown)), RULES)
    own = [item.call for item in shown if item.part == "call" and item.call in due]
    return project(items, agenda, "mine", came=new, own_calls=own), agenda


_OF_CALLS = (llm.FunctionCall, llm.FunctionCallOutput)


@given(
    st.lists(SHAPES, max_size=30),
    st.lists(st.integers(0, 4), max_size=3),
    st.lists(st.integers(0, 6), max_size=2),
    st.lists(st.tuples(st.sampled_from(["user", "pair", "result"]), st.floats(0, 35)), max_size=2),
)
def test_the_request_is_the_one_that_all_items_give(
    shapes: list[Shape], claimed: list[int], made: list[int], late: list[tuple[str, float]]
) -> None:
    items = _items(shapes)
    came: list[llm.ChatItem] = []
    for n, (kind, at) in enumerate(late):
        if kind == "user":
            said = llm.ChatMessage(id=f"late {n}", role="user", content=["x"], created_at=at)
            came.append(said)
        if kind == "pair":
            came.append(_call(f"late call {n}", f"l{n}", at))
        if kind in ("pair", "result"):
            came.append(_result(f"late {n}", f"l{n}" if kind == "pair" else f"c{n}", at))
    agenda = _agenda(items, claimed, made)
    about = {o.id for o in agenda.obligations}
    about |= {item.call_id if isinstance(item, _OF_CALLS) else item.id for item in came}
    since = min((item.created_at for item in came), default=float("inf"))
    begin = settled(items, about, since)
    whole, after = _request(items, came, agenda)
    last, after_last = _request(items[begin:], came, agenda)
    assert [i.id for i in whole.items] == [
        *(item.id for item in items[:begin]),
        *(item.id for item in last.items),
    ]
    assert whole.deliver == last.deliver
    assert whole.elsewhere == last.elsewhere
    assert whole.hint_at == begin + last.hint_at
    assert after == after_last


def test_what_was_said_and_done_long_ago_stands_as_it_is() -> None:
    exchange = [("user", 0), ("pair", 0), ("pair", 0), ("assistant", 0)]
    items = _items(exchange * 100)
    assert settled(items, {items[-6].id}, float("inf")) == len(items) - 12  # and one more


def test_a_copy_shares_what_follows_its_instructions() -> None:
    items = _items([("system", 0), ("user", 0), ("pair", 0), ("assistant", 0), ("user", 0)])
    system = _items([("system", 0)])
    copy = [*system, *items[1:4], *_items([("user", 9)])]
    assert shared(copy, items) == (slice(1, 4), slice(1, 4))
    assert shared([*system, *items], items) == (slice(1, 7), slice(0, 6))
    assert shared([], items) == (slice(0, 0), slice(0, 0))
