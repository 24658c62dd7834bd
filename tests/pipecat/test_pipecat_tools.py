"""Tools of Pipecat under the shipped flow. What Pipecat does alone is in
`test_pipecat_compare.py`."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from flow_text import parsed
from pipecat.frames import frames as f
from pipecat_stage import (
    ANSWER,
    COUNT,
    LATE,
    PRICE,
    QUESTION,
    Stage,
    asks_again,
    brief,
    look_up,
    moments,
    orders,
)

from turnfsm.pipecat import on_interruption
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, said, shows

GREETS = moments((0.0, "hello there"))


def test_a_result_that_has_been_told_is_not_told_again() -> None:
    """Two more turns after a late result: none of their requests asks for it again."""

    async def script(stage: Stage) -> None:
        await asks_again(4.0)(stage)
        for second in (14.0, 20.0):
            await stage.until(second)
            await stage.says("and what did it cost")

    stage = Stage(orders, look_up(6.0)).play(script)
    assert stage.heard == f"{PRICE} {LATE} {PRICE} {PRICE}"
    hints = [r for r in stage.requests if shows(r, "The result of")]
    assert len(hints) == 1


def test_a_result_that_comes_before_the_answer_is_heard_is_told_with_it() -> None:
    """It comes when the model has been asked; the model is asked again, with the result."""
    stage = Stage(orders, look_up(4.0)).play(asks_again(4.0))
    assert stage.heard == f"{PRICE} {LATE}"
    assert len(stage.requests) == 3


def test_a_user_turn_cancels_a_tool_that_is_registered_so() -> None:
    tools = look_up(6.0, cancel_on_interruption=True)
    stage = Stage(orders, tools).play(asks_again(4.0))
    assert (stage.heard, stage.effects, stage.cancelled) == (PRICE, [], ["look_up"])
    assert shows(stage.context.messages, "cancelled: its turn was interrupted")


@pytest.mark.parametrize("parallel", [True, False])
def test_two_tools_are_told_in_one_answer(parallel: bool) -> None:
    """One after the other, the second call begins when the step is long over."""

    def model(messages: Messages) -> Says:
        if shows(messages, "sunny") and shows(messages, "late"):
            return Says("Sunny, and the train is late.")
        return Says(calls=(("weather", {}), ("train", {})))

    tools = {"weather": Tool(1.0, "sunny"), "train": Tool(3.0, "late")}
    stage = Stage(model, tools, llm={"run_in_parallel": parallel}).play(GREETS)
    assert (stage.heard, stage.effects) == ("Sunny, and the train is late.", ["weather", "train"])
    assert len(stage.requests) == 2


def test_the_error_of_a_tool_is_told() -> None:
    def model(messages: Messages) -> Says:
        failed = shows(messages, "failed and returned no result")
        return Says("That did not work.") if failed else Says(calls=(("look_up", {}),))

    stage = Stage(model, {"look_up": Tool(1.0, ValueError("no such order"))}).play(
        moments((0.0, "hello there"))
    )
    assert stage.heard == "That did not work."
    assert stage.governor is not None
    assert [call.gave for call in stage.governor.ledger] == ["error"]


def test_a_tool_that_takes_too_long_is_cancelled_and_told() -> None:
    def model(messages: Messages) -> Says:
        late = shows(messages, "longer than 2 s")
        return Says("It takes too long.") if late else Says(calls=(("look_up", {}),))

    stage = Stage(model, look_up(9.0, timeout_secs=2.0)).play(GREETS)
    assert (stage.heard, stage.cancelled) == ("It takes too long.", ["look_up"])


def test_a_limit_of_the_flow_ends_a_tool_that_hangs() -> None:
    def model(messages: Messages) -> Says:
        runs = shows(messages, "still running")
        return Says("I am still looking.") if runs else Says(calls=(("look_up", {}),))

    stage = Stage(model, look_up(300.0), timers={"tool_limit": 5.0}).play(
        moments((0.0, "hello there"))
    )
    assert stage.heard == "I am still looking."
    assert 6.0 < stage.when("I") < 9.0
    assert "TurnLimitReached" in [type(report).__name__ for report in stage.reports]


def test_an_interruption_by_the_application_ends_a_turn_that_a_tool_holds() -> None:
    """The rest of the preamble is dropped by Pipecat; the step is over."""

    def model(messages: Messages) -> Says:
        says = orders(messages)
        return Says("Let me look that up for you.", says.calls) if says.calls else says

    script = moments((0.0, QUESTION), (3.0, f.InterruptionFrame()), (12.0, "and what did it cost"))
    held = {"look_up": Tool(6.0, "it arrives on Friday", mark=on_interruption("hold"))}
    stage = Stage(model, held).play(script)
    assert stage.states[-1] == "listening"
    assert PRICE in stage.heard


@pytest.mark.parametrize("asked", [False, True])
def test_after_an_interruption_by_the_application_the_result_waits_for_the_next_reply(
    asked: bool,
) -> None:
    """The flow starts none for it; the application may."""

    def model(messages: Messages) -> Says:
        says = orders(messages)
        return Says("Let me look that up for you.", says.calls) if says.calls else says

    async def script(stage: Stage) -> None:
        await stage.says(QUESTION)
        await stage.until(3.0)
        await stage.pushes(f.InterruptionFrame())
        await stage.until(9.0)
        if asked:
            await stage.pushes(f.LLMRunFrame())

    stage = Stage(model, look_up(2.0)).play(script)
    assert [call.cancelled for call in stage.tools] == [False]
    assert len(stage.asked) == 1 + asked
    assert (LATE in stage.heard) == asked


@pytest.mark.one_in(6)
@pytest.mark.parametrize("late", [-0.02, -0.01, 0.0, 0.01, 0.02])
@pytest.mark.parametrize("seed", [None, 1, 2, 3, 4, 5, 6])
def test_a_result_that_comes_as_an_answer_ends_is_told_once(late: float, seed: int | None) -> None:
    """The interruption of a step that has ended meanwhile does not end the next one."""

    def model(messages: Messages) -> Says:
        if shows(messages, "on Friday"):
            return Says(LATE)
        return Says() if "cost" in said(messages) else orders(messages)

    class Reordered(Stage):
        schedule = seed

    stage = Reordered(model, look_up(4.0 + late)).play(
        asks_again(4.0)
    )  # the model has said nothing
    assert stage.heard == LATE
    began = stage.when("It") + 0.05
    flow = [note.what for note in stage.notes if note.lane == "flow" and note.at <= began]
    assert flow[-1] == "speaking"


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("preamble", ["", "One moment please."])
def test_a_request_shows_a_call_that_has_just_begun(preamble: str, seed: int) -> None:
    """The application asks for a reply; Pipecat adds the call to its messages a little later."""

    def model(messages: Messages) -> Says:
        if shows(messages, "on Friday"):
            return Says(LATE)
        called = any(message.get("tool_calls") for message in messages)
        return Says() if called else Says(preamble, (("look_up", {}),))

    class Reordered(Stage):
        schedule = seed

    stage = Reordered(model, look_up(2.0)).play(moments((0.0, QUESTION), (2.1, f.LLMRunFrame())))
    assert stage.effects == ["look_up"]
    assert stage.heard.endswith(LATE)


def test_nothing_is_heard_of_an_answer_that_a_result_has_replaced() -> None:
    """A cough holds the answer back; the result comes meanwhile. When the answer may be heard, the
    model is asked anew instead."""

    async def script(stage: Stage) -> None:
        await asks_again(4.0)(stage)
        await stage.until(6.0)
        await stage.coughs()

    stage = Stage(orders, look_up(4.8)).play(script)
    assert stage.heard == f"{PRICE} {LATE}"


@pytest.mark.parametrize("seconds", [0.2, 3.0, 4.0, 4.4, 4.8, 5.2, 6.0])
def test_a_request_shows_each_result_once(seconds: float) -> None:
    """Also if the model is asked in the moment in which Pipecat adds it to its messages."""

    def model(messages: Messages) -> Says:
        called = any(message.get("tool_calls") for message in messages)
        if "cost" in said(messages) and not shows(messages, PRICE):
            return Says(PRICE)
        return Says(LATE) if called else Says(calls=(("weather", {}), ("train", {})))

    tools = {"weather": Tool(seconds, "it is sunny"), "train": Tool(seconds, "the train is late")}
    stage = Stage(model, tools).play(asks_again(4.0))
    assert stage.effects == ["weather", "train"]
    for messages in stage.requests:
        for result in ("it is sunny", "the train is late"):
            told = [m for m in messages if result in str(m.get("content"))]
            assert len(told) <= 1, messages


@pytest.mark.parametrize("ends", [(5.0, 6.0), (5.0, 5.0), (6.0, 5.0)])
def test_results_that_come_while_the_agent_speaks_are_told_in_one_reply(
    ends: tuple[float, float],
) -> None:
    """Pipecat adds them to its messages only behind what is being said."""

    def model(messages: Messages) -> Says:
        if shows(messages[-5:], "The result of") or shows(messages[-5:], "The results of"):
            news = {"it is sunny": "It is sunny.", "the train is late": "The train is late."}
            return Says(" ".join(told for told, shown in zip(news.values(), news, strict=True)
                                 if shows(messages, shown)))  # fmt: skip
        if "count" in said(messages):
            return Says(COUNT)
        return Says(calls=(("weather", {}), ("train", {})))

    script = moments((0.0, "when should I leave"), (4.0, "please count"))
    tools = {"weather": Tool(ends[0], "it is sunny"), "train": Tool(ends[1], "the train is late")}
    stage = Stage(model, tools).play(script)
    assert stage.heard == f"{COUNT} It is sunny. The train is late."
    assert len(stage.requests) == 3
    for result in ("it is sunny", "the train is late"):
        assert len([m for m in stage.requests[-1] if result in str(m.get("content"))]) == 1
    assert [call.state for call in stage.governor.ledger] == ["closed", "closed"]


def test_a_function_that_is_registered_without_the_governor_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It runs as before, and the model is asked with its result."""

    async def look_up(params: Any) -> None:
        await asyncio.sleep(1.0)
        await params.result_callback("it arrives on Friday")

    stage = Stage(orders)
    stage.model.register_function("look_up", look_up)
    stage.play(GREETS)
    assert stage.heard == ANSWER
    assert brief(stage.requests[-1])[0] == "user: hello there"
    assert "register it with governor.register_function(llm, 'look_up', ...)" in caplog.text


@pytest.mark.parametrize("commits", [True, False])
def test_a_newer_call_replaces_the_one_that_the_user_has_corrected(commits: bool) -> None:
    def model(messages: Messages) -> Says:
        last = str(messages[-1].get("content"))
        if last.startswith("The result of"):
            return Says(LATE)
        if messages[-1].get("role") == "user":
            return Says(calls=(("book", {"day": "Thu" if "thursday" in last else "Tue"}),))
        return Says("It is booked.")

    flow = parsed("flow: inn\nextends: turn\ntools: {corrects: {book: {}}}\n")
    tools = {"book": Tool(5.0, "booked", commits=commits)}
    script = moments((0.0, "a table on tuesday"), (3.0, "no on thursday"))
    stage = Stage(model, tools, flow=flow).play(script)
    assert stage.heard == "It is booked."
    assert len(stage.effects) == (1 if commits else 2)
    reads = "this one: nothing was done" if commits else "This is out of date: the newer call"
    assert shows(stage.context.messages, reads)
    assert not any(shows(request, "The result of") for request in stage.requests)
