"""A processor of the application between the user aggregator and the model, such as a memory or a
search, which adds facts to the context before the model is asked."""

import asyncio
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from flow_text import parsed
from pipecat.frames import frames as f
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat_stage import Stage, brief, moments

from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.conversation.waits import TurnWaitsLong
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, said, shows

ALONE: Mapping[str, Any] = {"governor": None}
FACT = "a fact about"
Parts = list[FrameProcessor]


class Facts(FrameProcessor):
    """Finds a fact for the user's latest message, which takes a moment."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, f.LLMContextFrame):
            await asyncio.sleep(self._seconds)
            message = {"role": "developer", "content": f"{FACT} {said(frame.context.messages)}"}
            frame.context.add_message(message)
        await self.push_frame(frame, direction)


def _around(seconds: float = 0.2) -> Callable[[Parts], Parts]:
    def around(parts: Parts) -> Parts:
        return [*parts[:2], Facts(seconds), *parts[2:]]

    return around


def _model(messages: Messages) -> Says:
    if "where" in said(messages):
        return Says("In Mill Road." if shows(messages, FACT) else "I do not know.")
    if shows(messages, "booked"):
        return Says("It is booked.")
    return Says("I book it.", (("book", {"time": "ten"}),))


def _facts(stage: Stage) -> list[str]:
    contents = [str(message.get("content")) for message in stage.context.messages]
    return [content for content in contents if content.startswith(FACT)]


@pytest.mark.parametrize("options", [{}, ALONE], ids=["governed", "alone"])
def test_a_turn_that_calls_a_tool_passes_it_once(options: Mapping[str, Any]) -> None:
    stage = Stage(_model, {"book": Tool(1.0, "booked")}, around=_around(), **options)
    stage.play(moments((0.0, "book")))
    assert stage.heard.endswith("It is booked.")
    assert _facts(stage) == ["a fact about book"]


def test_a_turn_whose_request_is_sent_again_passes_it_once() -> None:
    """The result comes while the model answers another turn: it is asked again, with the result."""

    stage = Stage(_model, {"book": Tool(4.0, "booked")}, around=_around())
    stage.play(moments((0.0, "book"), (4.0, "where")))
    assert [said(request) for request in stage.requests] == ["book", "where", "where"]
    assert "In Mill Road." in stage.heard
    assert _facts(stage) == ["a fact about book", "a fact about where"]


def test_its_facts_stay_in_the_conversation_although_the_request_differs_from_it() -> None:
    """The request leaves out what the user has not heard; the next one has the facts, too."""

    script = moments((0.0, "book"), (3.0, "where"), (14.0, "where again"))
    stage = Stage(_model, {"book": Tool(1.0, "booked")}, around=_around())
    stage.play(script)
    facts = ["a fact about book", "a fact about where", "a fact about where again"]
    assert _facts(stage) == facts
    assert all(shows(stage.requests[-1], fact) for fact in facts)


@pytest.mark.parametrize("at", [1.6, 1.7, 1.8, 1.9, 2.0, 2.1, 2.4])
def test_a_turn_is_answered_once_if_the_user_goes_on_while_it_searches(at: float) -> None:
    stage = Stage(_model, {"book": Tool(1.0, "booked")}, around=_around(1.0))
    stage.play(moments((0.0, "book"), (at, "where")))
    assert stage.heard.count("In Mill Road.") == 1
    assert "I do not know." not in stage.heard
    assert stage.states[-1] == "listening"


def test_an_interruption_reaches_it_before_the_next_request() -> None:
    """As without a governor: it stops what it does for a turn that is answered no more."""
    seen: list[str] = []

    class Notes(FrameProcessor):
        async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
            await super().process_frame(frame, direction)
            if isinstance(frame, f.InterruptionFrame | f.LLMContextFrame):
                seen.append(type(frame).__name__)
            await self.push_frame(frame, direction)

    def around(parts: Parts) -> Parts:
        return [*parts[:2], Notes(), *parts[2:]]

    def model(messages: Messages) -> Says:
        return Says("One two three four five six seven eight nine ten.")

    Stage(model, around=around).play(moments((0.0, "where"), (3.0, "where else")))
    assert seen == ["LLMContextFrame", "InterruptionFrame", "LLMContextFrame"]


class Desk(FrameProcessor):
    """Answers the opening hours itself, says a filler before a search, and holds back the rest
    until it is opened, if it is closed."""

    def __init__(self, opens: float = 0.0) -> None:
        super().__init__()
        self._opens = opens

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        words = said(frame.context.messages) if isinstance(frame, f.LLMContextFrame) else ""
        if words == "hours":
            await self.push_frame(f.TTSSpeakFrame("We open at eight in the morning."))
            return
        if words in ("nothing", "nothing at last"):
            await asyncio.sleep(2.0 if words == "nothing at last" else 0.0)
            return
        if words == "search":
            await self.push_frame(f.TTSSpeakFrame("Let me see."))
            await asyncio.sleep(2.0)
        if words and self._opens:
            self.create_task(self._later(frame))
            return
        await self.push_frame(frame, direction)

    async def _later(self, frame: f.Frame) -> None:
        await asyncio.sleep(self._opens)
        await self.push_frame(frame)


def _with_desk(governor: type[TurnGovernor] | None, opens: float = 0.0, **options: Any) -> Stage:
    def around(parts: Parts) -> Parts:
        return [*parts[:2], Desk(opens), *parts[2:]]

    def model(messages: Messages) -> Says:
        return Says(f"You said {said(messages)}.")

    return Stage(model, governor=governor, around=around, **options)


HOSTS = pytest.mark.parametrize("governor", [TurnGovernor, None], ids=["governed", "alone"])


@HOSTS
@pytest.mark.parametrize(
    ("words", "heard"),
    [
        ("hours", "We open at eight in the morning. You said where."),
        ("search", "Let me see. You said search. You said where."),
        ("nothing", "You said where."),
    ],
)
def test_what_it_says_before_the_model_is_asked_or_instead_is_heard_at_once(
    words: str, heard: str, governor: type[TurnGovernor] | None
) -> None:
    async def script(stage: Stage) -> None:
        await stage.says(words)
        await stage.until(9.0)
        await stage.says("where")

    stage = _with_desk(governor).play(script)
    assert stage.heard == heard
    if words != "nothing":
        assert stage.when(heard.split()[0]) < 2.0
    if governor is not None:
        assert stage.states[-1] == "listening"
        assert not [one for one in stage.reports if isinstance(one, TurnWaitsLong)]


@HOSTS
def test_a_request_that_it_holds_back_is_sent_when_it_comes(
    governor: type[TurnGovernor] | None,
) -> None:
    async def script(stage: Stage) -> None:
        await stage.says("where")

    stage = _with_desk(governor, opens=4.0).play(script)
    assert stage.heard == "You said where."
    assert len(stage.requests) == 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize("at", [1.6, 1.8, 2.0, 2.3, 3.0, 3.5, 4.0])
@pytest.mark.parametrize("words", ["hours", "search"])
def test_a_cough_at_any_moment_changes_nothing_that_is_heard(words: str, at: float) -> None:
    async def script(stage: Stage) -> None:
        await stage.says(words)
        await stage.until(at)
        await stage.coughs()

    stage = _with_desk(TurnGovernor).play(script)
    heard = {"hours": "We open at eight in the morning.", "search": "Let me see. You said search."}
    assert stage.heard == heard[words]
    assert stage.states[-1] == "listening"


@pytest.mark.one_in(5)
@pytest.mark.parametrize("at", [1.6, 2.0, 2.5, 3.0, 3.5, 4.2])
@pytest.mark.parametrize("words", ["hours", "search", "nothing"])
def test_the_next_turn_is_answered_whenever_it_begins(words: str, at: float) -> None:
    async def script(stage: Stage) -> None:
        await stage.says(words)
        await stage.until(at)
        await stage.says("where else")

    stage = _with_desk(TurnGovernor).play(script)
    assert stage.heard.endswith("where else.")
    assert stage.heard.count("where else") == 1
    assert stage.states[-1] == "listening"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("after", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("words", ["hours", "search", "nothing", "nothing at last"])
def test_a_filler_of_the_flow_may_be_said_while_it_searches(words: str, after: float) -> None:
    flow = parsed(
        f"flow: f\nextends: turn\n"
        f"fillers: {{after: {after}, say: One moment., in: [thinking, tool_running]}}\n"
    )

    async def script(stage: Stage) -> None:
        await stage.says(words)
        await stage.until(12.0)
        await stage.says("where")

    stage = _with_desk(TurnGovernor, flow=flow, proof="off").play(script)
    answers = {"hours": "the morning.", "search": "You said search."}
    assert answers.get(words, "") in stage.heard
    assert stage.heard.endswith("You said where.")
    assert len(stage.requests) == (2 if words == "search" else 1)
    assert stage.states[-1] == "listening"


TOLD = {"role": "developer", "content": "Mill Road is in the south."}


def _last_replaced(messages: list[Any]) -> list[Any]:
    messages[-1] = {"role": "user", "content": f"Mill Road. {messages[-1]['content']}"}
    return messages


def _masked(messages: list[Any]) -> list[Any]:
    users = [message for message in messages if message["role"] == "user"]
    for message in users:
        message["content"] = message["content"].replace("Mill Road", "<road>")
    return messages


CHANGES: Mapping[str, Callable[[list[Any]], list[Any]]] = {
    "nothing": lambda messages: messages,
    "the last message is replaced": _last_replaced,
    "masked": _masked,
    "something at the end": lambda messages: [*messages, TOLD],
    "something before the last": lambda messages: [*messages[:-1], TOLD, messages[-1]],
    "a user message at the end": lambda messages: [*messages, {**TOLD, "role": "user"}],
    "only the end": lambda messages: messages[-2:],
}


class Changes(FrameProcessor):
    """Changes each request that it gets."""

    def __init__(self, change: Callable[[list[Any]], list[Any]], how: str) -> None:
        super().__init__()
        self._change, self._how = change, how
        self.seen: list[list[str]] = []

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, f.LLMContextFrame):
            context = frame.context
            self.seen.append(brief(context.messages))
            messages = self._change(deepcopy([*context.messages]))
            if self._how == "in place":
                context.set_messages(messages)
            else:
                frame = f.LLMContextFrame(LLMContext(messages, tools=context.tools))
        await self.push_frame(frame, direction)


def _with_changes(change: str, how: str, governor: type[TurnGovernor] | None) -> Any:
    processor = Changes(CHANGES[change], how)

    def model(messages: Messages) -> Says:
        last = brief(messages)[-1]
        if last == 'tool: "booked"':
            return Says("It is booked.")
        called = any("call book" in one for one in brief(messages))
        return Says("Thank you.") if called else Says("I see.", (("book", {}),))

    stage = Stage(
        model,
        {"book": Tool(1.0, "booked")},
        around=lambda parts: [*parts[:2], processor, *parts[2:]],
        governor=governor,
    )
    stage.play(moments((0.0, "book Mill Road"), (9.0, "and Mill Lane")), seconds=20.0)
    return processor.seen, [brief(request) for request in stage.requests], stage.effects


@pytest.mark.parametrize("how", ["a copy", "in place"])
@pytest.mark.parametrize("change", CHANGES)
def test_it_gets_and_the_model_gets_the_same_requests_as_without_a_governor(
    change: str, how: str
) -> None:
    assert _with_changes(change, how, TurnGovernor) == _with_changes(change, how, None)


def test_what_it_has_added_to_a_copy_is_in_the_request_that_is_sent_again() -> None:
    """The result comes while the model answers another turn, as above."""
    processor = Changes(CHANGES["something at the end"], "a copy")
    tools = {"book": Tool(4.0, "booked")}
    stage = Stage(_model, tools, around=lambda parts: [*parts[:2], processor, *parts[2:]])
    stage.play(moments((0.0, "book"), (4.0, "where")))
    assert [seen[-1] for seen in processor.seen] == ["user: book", "user: where"]
    asked = [brief(request) for request in stage.requests]
    assert [request[-2:] for request in asked[1:]] == [
        ["user: where", "developer: Mill Road is in the south."]
    ] * 2
    assert ['developer: <finished "booked">' in request for request in asked[1:]] == [False, True]
