"""What a session writes for the model changes no effect.

The same conversations are played with a model that follows every text to the letter, with one that
reads nothing but the conversation, and on `AgentSession`: the effects are the same.
"""

from __future__ import annotations

import ast
import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from livekit.agents import Agent, AgentSession, function_tool
from orders import Obedient, orders_in

from turnfsm.livekit import TurnSession
from turnfsm.runtime.conversation import wording
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)
from turnfsm.runtime.testing.livekit.scripted_llm import Request

ROOT = Path(__file__).parents[2] / "runtime"

ORDERS = (
    "Do not make the call again.",
    "The result of add_item has come, and do not make the call again.",
    "The call is still running. Its result will follow; don't repeat it.",
    "Another reply tells the result of pay: leave that out now.",
    "This call was cut off. Make it again if it is still wanted.",
    "It is not known whether it took effect. Tell the user, and never call it again.",
    "this was not done: it could not be recorded; tell the user, and do not try again at once",
    "Do not answer what the user has said last: that is done next.",
)
STATEMENTS = (
    "The result of add_item (call_1) has come, and the user has not heard of it. Tell them now.",
    "The call is still running. Its result will follow.",
    "The tool did not run again.",
    "It is not known whether the call took effect.",
    "Another reply tells what has come of pay (call_1); this one need not mention it.",
    "If you have not told it yet, mention it with your answer.",
    "nothing was done",
)


@pytest.mark.parametrize("text", ORDERS)
def test_an_order_about_calls_is_found(text: str) -> None:
    assert list(orders_in(text))


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_and_what_is_to_be_said_are_no_orders(text: str) -> None:
    assert list(orders_in(text)) == []


def _texts() -> Iterator[tuple[str, str]]:
    """Every text that is assigned to a name in capitals, in the modules that write to a model."""
    for where in ("conversation/*.py", "livekit/overrides/*.py", "store/keeping.py"):
        for file in sorted(ROOT.glob(where)):
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).isupper():
                    for part in ast.walk(node.value):
                        if isinstance(part, ast.Constant) and isinstance(part.value, str):
                            yield f"{file.stem}: {part.value}", part.value


def test_no_text_of_the_session_orders_anything_about_calls() -> None:
    """What they say to the model, and whatever else stands in a constant."""
    texts = list(_texts())
    assert any(text == wording.BESIDES for _, text in texts)
    assert [where for where, text in texts if list(orders_in(text))] == []


@attrs.define
class Shop:
    """What took effect."""

    done: list[str] = attrs.field(factory=list)


@attrs.frozen
class Talk:
    """A conversation with one utterance that comes at any moment.

    Attributes:
        agent: Makes the agent.
        says: What the user says, and when; None: at the moment.
        wants: What is to have taken effect in the end.
        on_user: What the model answers to the user.
        on_tool: What it answers to results.
        moments: When the utterance comes.
    """

    agent: Callable[[Shop], Agent]
    says: tuple[tuple[str, float | None], ...]
    wants: tuple[str, ...]
    on_user: dict[str, Any]
    on_tool: dict[str, Any]
    moments: tuple[float, ...]


def _shop(seconds: float) -> Callable[[Shop], Agent]:
    def make(shop: Shop) -> Agent:
        @function_tool
        async def add_item(item: str) -> str:
            """Add an item to the order."""
            await asyncio.sleep(seconds)
            shop.done.append(item)
            return f"added {item}, position {len(shop.done)}"

        return Agent(instructions="Take the order.", tools=[add_item])

    return make


class _Billing(Agent):
    def __init__(self, shop: Shop) -> None:
        super().__init__(instructions="Bill.")
        self._shop = shop

    async def on_enter(self) -> None:
        self._shop.done.append("transferred")
        self.session.say("Billing here.")


def _desk(shop: Shop) -> Agent:
    @function_tool
    async def transfer() -> Agent:
        """Put the caller through."""
        await asyncio.sleep(0.5)
        return _Billing(shop)

    return Agent(instructions="Answer the phone.", tools=[transfer])


COFFEE = Call("add_item", {"item": "coffee"})
MAYONNAISE = Call("add_item", {"item": "mayonnaise"})


def _second(request: Request) -> Reply:
    """The second of two, and then that both are there."""
    calls = sum(entry.kind == "call" for entry in request.shown)
    return Reply("Two mayonnaise.") if calls > 1 else Reply(calls=MAYONNAISE)


def _steps(first: float, last: float, every: float) -> tuple[float, ...]:
    return tuple(first + every * n for n in range(round((last - first) / every) + 1))


def _coffee(seconds: float) -> Talk:
    return Talk(
        agent=_shop(seconds),
        says=(("a coffee please", 1.0), ("and another coffee please", None)),
        wants=("coffee", "coffee"),
        on_user={"coffee please": Reply("One moment please.", COFFEE)},
        on_tool={"add_item": Reply("The coffee is on your order now.")},
        moments=_steps(2.6, 8.6, 0.5),
    )


TALKS = {
    "another coffee, a quick tool": _coffee(0.1),
    "another coffee, a slow tool": _coffee(2.0),
    "two of the same, one after the other": Talk(
        agent=_shop(0.5),
        says=(("two mayonnaise please", 1.0), ("thank you", None)),
        wants=("mayonnaise", "mayonnaise"),
        on_user={"mayonnaise": Reply("Yes.", MAYONNAISE), "thank you": "You are welcome."},
        on_tool={"add_item": _second},
        moments=_steps(5.6, 8.6, 0.5),
    ),
    "a handoff that is asked for again": Talk(
        agent=_desk,
        says=(
            ("please put me through to billing", 1.0),
            ("yes please put me through", None),
        ),
        wants=("transferred",),
        on_user={"put me through": Reply("I put you through to billing now.", Call("transfer"))},
        on_tool={"transfer": "I am sorry, that did not work."},
        moments=_steps(3.1, 5.6, 0.5),
    ),
}


EVERY = pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.exhaustive)])

READERS: dict[str, type[ScriptedLLM]] = {
    "a model that reads no hint": ScriptedLLM,
    "a model that obeys every hint": Obedient,
}


def _played(
    talk: Talk, moment: float, session: Any, reader: type[ScriptedLLM], kind: str = "pipeline"
) -> Counter[str]:
    shop, user, voice = Shop(), ScriptedUser(), ScriptedTTS()
    for text, at in talk.says:
        user.says(text, at=moment if at is None else at)
    model: Any = reader(talk.on_user, talk.on_tool)
    handling = {"turn_detection": "realtime_llm"} if kind == "detects turns" else {}
    if kind != "pipeline":
        model = ScriptedRealtime(user, model, voice, turn_detection=kind == "detects turns")
    parts = {"user": user, "llm": model, "tts": voice, "turn_handling": handling}
    Stage(session, **parts, agent=lambda: talk.agent(shop)).run(18.0)
    return Counter(shop.done)


@pytest.mark.one_in(2)
@EVERY
@pytest.mark.parametrize("name", TALKS)
def test_the_effects_are_those_of_agent_session_whatever_the_model_makes_of_our_texts(
    name: str, every: int
) -> None:
    """And what the user has asked for, neither more nor less."""
    talk = TALKS[name]
    wanted = Counter(talk.wants)
    wrong = {}
    for moment in talk.moments[::every]:
        effects = {who: _played(talk, moment, TurnSession, reads) for who, reads in READERS.items()}
        effects["AgentSession"] = _played(talk, moment, AgentSession, ScriptedLLM)
        if any(done != wanted for done in effects.values()):
            wrong[moment] = {who: dict(done) for who, done in effects.items()}
    assert wrong == {}


@pytest.mark.one_in(3)
@EVERY
@pytest.mark.parametrize("kind", ["realtime", "detects turns"])
@pytest.mark.parametrize("name", TALKS)
def test_a_realtime_model_makes_the_calls_that_the_user_has_asked_for(
    name: str, kind: str, every: int
) -> None:
    """Whatever it makes of our texts. (On `AgentSession` some are not made.)"""
    talk = TALKS[name]
    wrong = {}
    for moment in talk.moments[:: every + 1]:
        for who, reads in READERS.items():
            done = _played(talk, moment, TurnSession, reads, kind)
            if done != Counter(talk.wants):
                wrong[moment, who] = dict(done)
    assert wrong == {}


@pytest.mark.parametrize(
    ("name", "moment"),
    [("another coffee, a quick tool", 2.6), ("another coffee, a slow tool", 4.1)],
)
def test_an_order_in_a_text_of_the_session_would_change_the_effects(
    name: str, moment: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the test above would find one."""
    talk = TALKS[name]
    monkeypatch.setattr(wording, "BESIDES", f"{wording.BESIDES} Do not make the call again.")
    assert _played(talk, moment, TurnSession, Obedient) != Counter(talk.wants)
    assert _played(talk, moment, TurnSession, ScriptedLLM) == Counter(talk.wants)
