"""Conversations of Pipecat under the shipped flow, beside what Pipecat does alone."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames import frames as f
from pipecat.turns.user_mute import FunctionCallUserMuteStrategy
from pipecat.turns.user_start import MinWordsUserTurnStartStrategy
from pipecat.turns.user_turn_strategies import EagerUserTurnStrategies, UserTurnStrategies
from pipecat_stage import Messages, Says, Stage, Tool, brief, own_strategies, said, shows

from turnfsm import load_flow
from turnfsm.pipecat import on_interruption, once

ANSWER = "Your order is on its way and will arrive on Friday in the early afternoon."
COUNT = "One two three four five six seven eight nine ten."
PRICE = "It cost twenty euros."
LATE = "It arrives on Friday."
QUESTION = "when does my order arrive"


def _orders(messages: Messages) -> Says:
    """Looks an order up; tells a result that comes late in fewer words."""
    if str(messages[-1].get("content")).startswith("The result of"):
        return Says(LATE)
    if shows(messages, "mention it with your answer"):
        return Says(f"{PRICE} {LATE}")
    if "cost" in said(messages):
        return Says(PRICE)
    if shows(messages, "on Friday"):
        return Says(ANSWER)
    return Says(calls=(("look_up", {"order": 7}),))


def _look_up(seconds: float, **options: object) -> dict[str, Tool]:
    return {"look_up": Tool(seconds, "it arrives on Friday", options)}


def _counts(messages: Messages) -> Says:
    return Says(COUNT if "count" in said(messages) else f"You said {said(messages)}.")


def _counts_slowly(messages: Messages) -> Says:
    return Says(_counts(messages).text, after=1.5)


async def _asks_twice(stage: Stage, second: float = 4.0) -> None:
    await stage.says(QUESTION)
    await stage.until(second)
    await stage.says("and what did it cost")


async def _asks_and_barges_in(stage: Stage) -> None:
    await _asks_twice(stage, 6.0)


async def _asks_and_coughs(stage: Stage) -> None:
    await stage.says(QUESTION)
    await stage.until(4.0)
    await stage.coughs()


async def _lets_count_and_coughs(stage: Stage) -> None:
    await stage.says("please count")
    await stage.until(4.5)
    await stage.coughs()


async def _greets(stage: Stage) -> None:
    await stage.says("hello there")


def test_a_barge_in_ends_the_answer_and_the_next_turn_is_answered() -> None:
    stage = Stage(_orders, _look_up(1.0)).play(_asks_and_barges_in)
    question = ["listening", "thinking", "tool_running", "thinking", "speaking"]
    barge_in = ["paused", "interrupted", "listening", "thinking", "speaking"]
    assert stage.states == [*question, *barge_in, "thinking", "listening"]
    assert stage.heard == f"Your order is on its way and will {PRICE}"
    assert stage.context.messages[-1] == {"role": "assistant", "content": PRICE}
    assert stage.user_turns == {"replied": 2}
    assert stage.told == []


def test_a_result_is_told_although_the_user_has_talked_over_its_tool() -> None:
    """Pipecat cancels the tool, and nobody tells what has become of it."""
    stage = Stage(_orders, _look_up(6.0)).play(_asks_twice)
    assert stage.heard == f"{PRICE} {LATE}"
    assert stage.effects == ["look_up"]
    assert brief(stage.requests[-1])[-3:-1] == ["call look_up", 'tool: "it arrives on Friday"']
    alone = Stage(_orders, _look_up(6.0), stock=True).play(_asks_twice)
    assert (alone.heard, alone.effects, alone.cancelled) == (PRICE, [], ["look_up"])


def test_a_result_that_has_been_told_is_not_told_again() -> None:
    """Two more turns after a late result: none of their requests asks for it again."""

    async def script(stage: Stage) -> None:
        await _asks_twice(stage)
        for second in (14.0, 20.0):
            await stage.until(second)
            await stage.says("and what did it cost")

    stage = Stage(_orders, _look_up(6.0)).play(script)
    assert stage.heard == f"{PRICE} {LATE} {PRICE} {PRICE}"
    hints = [r for r in stage.requests if shows(r, "The result of")]
    assert len(hints) == 1


def test_a_result_that_comes_before_the_answer_is_heard_is_told_with_it() -> None:
    """It comes when the model has been asked; the model is asked again, with the result."""
    stage = Stage(_orders, _look_up(4.0)).play(_asks_twice)
    assert stage.heard == f"{PRICE} {LATE}"
    assert len(stage.requests) == 3


def test_a_result_that_comes_while_the_agent_answers_is_told_after_the_answer() -> None:
    stage = Stage(_orders, _look_up(4.8)).play(_asks_twice)  # at 7.0; the answer ends at 7.5
    assert stage.heard == f"{PRICE} {LATE}"
    assert shows(stage.requests[-1], f"{PRICE}")
    assert str(stage.requests[-1][-1]["content"]).startswith("The result of look_up")


def test_a_false_interruption_is_resumed() -> None:
    """Pipecat cuts the answer for good, and asks the user to repeat what they never said."""
    stage = Stage(_counts).play(_lets_count_and_coughs)
    assert stage.heard == COUNT
    assert len(stage.requests) == 1
    assert [type(told).__name__ for told in stage.told] == ["FalseInterruption"]
    assert "paused" in stage.states
    alone = Stage(_counts, stock=True).play(_lets_count_and_coughs)
    assert not alone.heard.startswith(COUNT)
    assert len(alone.requests) == 2


@pytest.mark.parametrize("coughs_first", [False, True])
def test_after_a_barge_in_the_context_has_the_words_that_were_heard(coughs_first: bool) -> None:
    """Also if the answer was paused before, or is paused until the words are recognised."""

    async def script(stage: Stage) -> None:
        await stage.says("please count")
        if coughs_first:
            await stage.until(3.5)
            await stage.coughs()
            await stage.until(6.8)
        else:
            await stage.until(4.5)
        await stage.says("hello there", 2.0)

    stage = Stage(_counts, times_words=True).play(script)
    kept = brief(stage.requests[-1])[1].removeprefix("assistant: ").split()
    heard = stage.heard.removesuffix(" You said hello there.").split()
    assert 5 <= len(heard) < 9
    assert kept in (heard, COUNT.split()[: len(heard) + 1])  # a word counts when it begins
    assert stage.context.messages[-1]["content"] == "You said hello there."


def test_timed_words_that_wait_come_all_into_the_context() -> None:
    stage = Stage(_counts, times_words=True).play(_lets_count_and_coughs)
    assert stage.heard == COUNT
    assert stage.context.messages[-1] == {"role": "assistant", "content": COUNT}
    assert stage.states[-1] == "listening"


def test_a_cough_while_the_model_thinks_delays_the_answer() -> None:
    """Pipecat throws it away, and asks anew five seconds later."""

    async def script(stage: Stage) -> None:
        await stage.says("please count")
        await stage.until(2.2)
        await stage.coughs()

    stage = Stage(_counts_slowly).play(script)
    assert (stage.heard, len(stage.requests)) == (COUNT, 1)
    assert stage.when("One") < 5.0
    alone = Stage(_counts_slowly, stock=True).play(script)
    assert len(alone.requests) == 2
    assert alone.when("One") > 9.0


def test_words_while_the_model_thinks_are_answered_with_what_was_said_before() -> None:
    async def script(stage: Stage) -> None:
        await stage.says("please count")
        await stage.until(2.15)
        await stage.says("no wait")

    stage = Stage(_counts_slowly).play(script)
    assert stage.heard == "You said no wait."
    assert brief(stage.requests[-1]) == ["user: please count", "user: no wait"]
    assert stage.user_turns == {"superseded": 1, "replied": 1}


def test_a_cough_does_not_stop_a_tool() -> None:
    """Pipecat cancels it, and the model calls it again."""
    stage = Stage(_orders, _look_up(4.0)).play(_asks_and_coughs)
    assert (stage.heard, stage.effects, stage.cancelled) == (ANSWER, ["look_up"], [])
    alone = Stage(_orders, _look_up(4.0), stock=True).play(_asks_and_coughs)
    assert (alone.effects, alone.cancelled) == (["look_up"], ["look_up"])


def test_a_user_turn_cancels_a_tool_that_is_registered_so() -> None:
    tools = _look_up(6.0, cancel_on_interruption=True)
    stage = Stage(_orders, tools).play(_asks_twice)
    assert (stage.heard, stage.effects, stage.cancelled) == (PRICE, [], ["look_up"])
    assert shows(stage.context.messages, "cancelled: its turn was interrupted")


def test_the_flow_says_what_becomes_of_a_tool() -> None:
    """The policy `hold`: the user's turn is answered when the tool has ended."""
    held = {"look_up": Tool(6.0, "it arrives on Friday", mark=on_interruption("hold"))}
    stage = Stage(_orders, held).play(_asks_twice)
    assert stage.effects == ["look_up"]
    assert stage.heard == f"{PRICE} {LATE}"
    assert stage.when("It") > 8.2  # the tool has ended


def test_two_tools_are_told_in_one_answer() -> None:
    def model(messages: Messages) -> Says:
        if shows(messages, "sunny") and shows(messages, "late"):
            return Says("Sunny, and the train is late.")
        return Says(calls=(("weather", {}), ("train", {})))

    tools = {"weather": Tool(1.0, "sunny"), "train": Tool(3.0, "late")}
    stage = Stage(model, tools).play(_greets)
    assert stage.heard == "Sunny, and the train is late."
    assert len(stage.requests) == 2


def test_a_tool_with_once_runs_once_in_a_turn() -> None:
    def model(messages: Messages) -> Says:
        if shows(messages, "booked"):
            return Says("It is booked.")
        return Says(calls=(("book", {"at": 7}), ("book", {"at": 7})))

    stage = Stage(model, {"book": Tool(1.0, "booked", mark=once)}).play(_greets)
    assert stage.effects == ["book"]
    assert stage.heard == "It is booked."


def test_the_error_of_a_tool_is_told() -> None:
    def model(messages: Messages) -> Says:
        failed = shows(messages, "failed and returned no result")
        return Says("That did not work.") if failed else Says(calls=(("look_up", {}),))

    stage = Stage(model, {"look_up": Tool(1.0, ValueError("no such order"))}).play(_greets)
    assert stage.heard == "That did not work."
    assert stage.governor is not None
    assert [call.gave for call in stage.governor.ledger] == ["error"]


def test_a_tool_that_takes_too_long_is_cancelled_and_told() -> None:
    def model(messages: Messages) -> Says:
        late = shows(messages, "longer than 2 s")
        return Says("It takes too long.") if late else Says(calls=(("look_up", {}),))

    stage = Stage(model, _look_up(9.0, timeout_secs=2.0)).play(_greets)
    assert (stage.heard, stage.cancelled) == ("It takes too long.", ["look_up"])


def test_after_a_failed_request_the_next_turn_is_answered() -> None:
    asked: list[int] = []

    def model(messages: Messages) -> Says:
        asked.append(len(messages))
        return Says("Here I am again.", fails=len(asked) == 1)

    async def script(stage: Stage) -> None:
        await stage.says("hello there")
        await stage.until(8.0)
        await stage.says("are you there")

    stage = Stage(model).play(script)
    assert stage.heard == "Here I am again."
    assert stage.user_turns == {"dropped": 1, "replied": 1}
    assert brief(stage.requests[-1]) == ["user: hello there", "user: are you there"]


def test_a_limit_of_the_flow_ends_a_tool_that_hangs() -> None:
    def model(messages: Messages) -> Says:
        runs = shows(messages, "still running")
        return Says("I am still looking.") if runs else Says(calls=(("look_up", {}),))

    stage = Stage(model, _look_up(300.0), timers={"tool_limit": 5.0}).play(_greets)
    assert stage.heard == "I am still looking."
    assert 6.0 < stage.when("I") < 9.0
    assert "TurnLimitReached" in [type(told).__name__ for told in stage.told]


def test_a_preamble_that_is_interrupted_does_not_cost_the_result() -> None:
    """Pipecat cancels the call with the preamble."""

    def model(messages: Messages) -> Says:
        says = _orders(messages)
        return Says("Let me look that up for you.", says.calls) if says.calls else says

    async def script(stage: Stage) -> None:
        await _asks_twice(stage, 3.0)

    stage = Stage(model, _look_up(6.0)).play(script)
    assert stage.heard == f"Let me look {PRICE} {LATE}"
    alone = Stage(model, _look_up(6.0), stock=True).play(script)
    assert (alone.effects, LATE in alone.heard) == ([], False)


def test_a_quick_result_waits_until_the_preamble_was_heard() -> None:
    def model(messages: Messages) -> Says:
        says = _orders(messages)
        return Says("Let me look that up for you.", says.calls) if says.calls else says

    stage = Stage(model, _look_up(0.2)).play(_greets)
    assert stage.heard == f"Let me look that up for you. {ANSWER}"
    assert len(stage.requests) == 2


def test_tools_that_run_one_after_the_other_are_told_in_one_answer() -> None:
    """`run_in_parallel=False`: the second call begins when the step is long over."""

    def model(messages: Messages) -> Says:
        if shows(messages, "sunny") and shows(messages, "late"):
            return Says("Sunny, and the train is late.")
        return Says(calls=(("weather", {}), ("train", {})))

    tools = {"weather": Tool(1.0, "sunny"), "train": Tool(3.0, "late")}
    stage = Stage(model, tools, llm={"run_in_parallel": False}).play(_greets)
    assert (stage.heard, stage.effects) == ("Sunny, and the train is late.", ["weather", "train"])
    assert len(stage.requests) == 2


def test_what_is_said_while_a_tool_runs_does_not_end_the_wait_for_it() -> None:
    async def script(stage: Stage) -> None:
        await stage.says(QUESTION)
        await stage.until(4.0)
        await stage.pushes(f.TTSSpeakFrame("Still working on it."))

    stage = Stage(_orders, _look_up(6.0)).play(script)
    assert stage.heard == f"Still working on it. {ANSWER}"


def test_a_prediction_of_the_end_of_a_turn_starts_no_request() -> None:
    """A service proposes the turn; the model is asked once, when the turn is committed."""

    async def script(stage: Stage) -> None:
        user = stage.microphone
        await user.broadcast_frame(f.ProposedUserStartedSpeakingFrame)
        await asyncio.sleep(1.0)
        await user.push_frame(f.EagerTranscriptionFrame("please count", "user", "now"))
        await asyncio.sleep(0.5)
        assert stage.requests == []
        await user.push_frame(f.TranscriptionFrame("please count", "user", "now", finalized=True))
        await user.broadcast_frame(f.ProposedUserStoppedSpeakingFrame)

    stage = Stage(_counts, strategies=EagerUserTurnStrategies).play(script)
    assert (stage.heard, len(stage.requests)) == (COUNT, 1)
    assert stage.user_turns == {"replied": 1}


def test_too_few_words_do_not_interrupt_and_belong_to_no_turn() -> None:
    def strategies() -> UserTurnStrategies:
        own = own_strategies()
        own.start = [MinWordsUserTurnStartStrategy(min_words=3)]
        return own

    async def script(stage: Stage) -> None:
        await stage.says("please count to ten")
        await stage.until(4.5)
        await stage.says("mhm", 0.5)
        await stage.until(9.0)
        await stage.says("please stop that now")

    stage = Stage(_counts, strategies=strategies).play(script)
    assert stage.heard == f"{COUNT} You said please stop that now."
    assert stage.user_turns == {"replied": 2}
    assert stage.told == []


def test_a_user_who_is_muted_while_they_speak_does_not_hold_the_agent_up() -> None:
    """Nobody reports then that they have stopped."""

    async def script(stage: Stage) -> None:
        await stage.says(QUESTION)
        await stage.until(2.0)
        await stage.coughs(6.0)  # the tool begins meanwhile, and mutes them

    mutes = [FunctionCallUserMuteStrategy()]
    stage = Stage(_orders, _look_up(1.0), mutes=mutes).play(script)
    assert stage.heard == ANSWER
    assert stage.when("Your") < 8.0


def test_a_function_that_is_registered_without_the_governor_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It runs as before, and the model is asked with its result."""

    async def look_up(params: Any) -> None:
        await asyncio.sleep(1.0)
        await params.result_callback("it arrives on Friday")

    stage = Stage(_orders)
    stage.model.register_function("look_up", look_up)
    stage.play(_greets)
    assert stage.heard == ANSWER
    assert brief(stage.requests[-1])[0] == "user: hello there"
    assert "register it with governor.register_function(llm, 'look_up', ...)" in caplog.text


def test_what_the_model_does_not_say_in_time_is_given_up_with_a_limit() -> None:
    """`limits="brisk"`: the turn after it is answered."""

    def model(messages: Messages) -> Says:
        return Says("Here.", after=500.0 if "hello" in said(messages) else 0.4)

    async def script(stage: Stage) -> None:
        await stage.says("hello there")
        await stage.until(15.0)
        await stage.says("are you there")

    stage = Stage(model, limits="brisk").play(script)
    assert stage.heard == "Here."
    assert stage.user_turns == {"dropped": 1, "replied": 1}


def test_what_the_application_says_has_the_floor() -> None:
    """A `TTSSpeakFrame` is paused by a cough, and goes on."""

    async def script(stage: Stage) -> None:
        await stage.pushes(f.TTSSpeakFrame("Welcome to the shop dear customer."))
        await stage.until(1.0)
        await stage.coughs()
        await stage.until(8.0)
        await stage.says("hello there")

    stage = Stage(_counts).play(script)
    assert stage.heard == "Welcome to the shop dear customer. You said hello there."
    assert brief(stage.requests[0])[0] == "assistant: Welcome to the shop dear customer."


def test_a_reply_that_the_application_asks_for_waits_for_the_floor() -> None:
    async def script(stage: Stage) -> None:
        await stage.says("please count")
        await stage.until(4.0)
        await stage.pushes(f.LLMRunFrame())

    stage = Stage(_counts).play(script)
    assert stage.heard == f"{COUNT} {COUNT}"
    assert brief(stage.requests[1])[-1] == f"assistant: {COUNT}"


def test_an_interruption_by_the_application_ends_the_reply() -> None:
    async def script(stage: Stage) -> None:
        await stage.says("please count")
        await stage.until(4.0)
        await stage.pushes(f.InterruptionFrame())
        await stage.until(8.0)
        await stage.says("hello there")

    stage = Stage(_counts).play(script)
    assert stage.heard.startswith("One two three four five")
    assert stage.heard.endswith("You said hello there.")
    assert stage.states[-1] == "listening"


def test_a_flow_without_interruptions_lets_the_answer_end() -> None:
    async def script(stage: Stage) -> None:
        await stage.says("please count")
        await stage.until(4.0)
        await stage.says("hello there")

    stage = Stage(_counts, flow=load_flow("uninterruptible")).play(script)
    assert stage.heard == f"{COUNT} You said hello there."
    assert brief(stage.requests[1]) == [
        "user: please count",
        f"assistant: {COUNT}",
        "user: hello there",
    ]


def test_the_end_of_the_pipeline_leaves_nothing_behind() -> None:
    """While a tool runs, while the agent speaks, while it is paused. The stage looks for tasks."""

    async def script(stage: Stage) -> None:
        await stage.says(QUESTION)
        await asyncio.sleep(60.0)

    stage = Stage(_orders, _look_up(60.0)).play(script, seconds=6.0)
    assert stage.cancelled == ["look_up"]
    assert stage.governor is not None
    assert stage.governor.turn.closed
    speaking = Stage(_counts).play(_lets_count_and_coughs, seconds=4.0)
    paused = Stage(_counts).play(_lets_count_and_coughs, seconds=5.0)
    assert (speaking.states[-1], paused.states[-1]) == ("speaking", "paused")


def test_a_pipeline_that_ends_while_the_agent_is_paused_says_the_rest() -> None:
    async def script(stage: Stage) -> None:
        await stage.says("please count")
        await stage.until(4.5)
        await asyncio.gather(stage.coughs(3.0), _ends(stage))

    async def _ends(stage: Stage) -> None:
        await stage.until(5.0)
        await stage.pushes(f.EndFrame())

    stage = Stage(_counts).play(script)
    assert stage.heard == COUNT


@pytest.mark.parametrize("seed", [0, 3, 6, 9])
def test_another_order_of_tasks_changes_nothing(seed: int) -> None:
    """A handler may begin before its call is announced."""

    class Reordered(Stage):
        schedule = seed

    stage = Reordered(_orders, _look_up(6.0), times_words=True).play(_asks_twice)
    assert (stage.heard, stage.effects) == (f"{PRICE} {LATE}", ["look_up"])
    coughed = Reordered(_counts).play(_lets_count_and_coughs)
    assert (coughed.heard, len(coughed.requests)) == (COUNT, 1)
