"""Tools: the user speaks while they run, or their results come at a bad moment."""

from __future__ import annotations

from pipecat.frames import frames as f

from turnfsm.runtime.compare.flows import CORRECTS
from turnfsm.runtime.conversation.policies import once
from turnfsm.runtime.testing.pipecat import Messages, Says, Stage, Tool, said, shows

from .checks import (
    hears,
    hears_never,
    results_shown,
    runs_once,
)
from .talks import (
    ANSWER,
    BOOKED,
    ISSUES,
    LATE,
    LOOK_UP,
    PREAMBLE,
    PRICE,
    PULLS,
    QUESTION,
    REPEAT,
    RESULT,
    agent_said,
    asks_again,
    books,
    coughs_at,
    orders,
    says,
    scenario,
    with_preamble,
)

__all__ = ["TOOLS"]

VORTEX = "https://github.com/jferreiros/vortex/pull/224"
NOT_CANCELLED = {"cancel_on_interruption": False}
BOTH = "Sunny, and the train is late."
BOOK, LEAVE = (0.0, "book a table"), (0.0, "when should I leave")


def _two(messages: Messages) -> Says:
    """Needs two results, and answers when it has both."""
    if shows(messages, "it is sunny") and shows(messages, "train is late"):
        return Says(BOTH)
    asked = [c["function"]["name"] for m in messages for c in m.get("tool_calls") or ()]
    stopped = shows(messages, "CANCELLED")
    if asked and not stopped:
        return Says("Still looking.")
    return Says(calls=(("weather", {}), ("train", {})))


def _books_and_is_thanked(messages: Messages) -> Says:
    if "thanks" in said(messages) and not shows(messages, "is booked"):
        return Says("You are welcome.")
    return books(messages)


def _books_twice(messages: Messages) -> Says:
    says = books(messages)
    return Says(calls=says.calls * 2) if says.calls else says


def _two_by_two(messages: Messages) -> Says:
    """Tells each result once, when it is there."""
    before = agent_said(messages)
    new = [
        text
        for text, shown in (("It is sunny.", "it is sunny"), ("The train is late.", "is late"))
        if shows(messages, shown) and text not in before
    ]
    if "number" in said(messages) and "seven" not in before:
        new.insert(0, "Your number is seven.")
    asked = any(m.get("tool_calls") for m in messages)
    return Says(" ".join(new)) if asked else Says(calls=(("weather", {}), ("train", {})))


def _hurries(messages: Messages) -> Says:
    already = ANSWER in agent_said(messages)
    return Says("I am as quick as I can.") if already else with_preamble(orders)(messages)


async def _app_asks(stage: Stage) -> None:
    await stage.says(QUESTION)
    await stage.until(3.2)
    await stage.pushes(
        f.LLMMessagesAppendFrame([{"role": "user", "content": "please hurry"}], run_llm=True)
    )


T1 = scenario(
    "T1",
    "the user asks something else while a tool runs",
    orders,
    asks_again(4.0),
    [hears(PRICE, by=6.5), hears(LATE, by=12.0), runs_once("look_up"), results_shown],
    failure="T",
    links=[VORTEX, "https://github.com/pipecat-ai/pipecat-flows/pull/225"],
    wrong="The caller is never told when their order arrives.",
    tools=LOOK_UP,
)
T2 = scenario(
    "T2",
    "the user asks whether a table is booked, while it is; its effect has happened",
    books,
    says(BOOK, (4.0, "is the table booked")),
    [hears(BOOKED), runs_once("book"), results_shown],
    failure="T",
    links=[VORTEX],
    wrong="The caller has two tables.",
    tools={"book": Tool(5.0, "the table is booked", effect_at=1.0)},
)
T3 = scenario(
    "T3",
    "the user speaks over the preamble of a tool",
    with_preamble(orders),
    asks_again(3.0),
    [hears(PRICE, by=6.0), hears(LATE, by=12.0), runs_once("look_up"), results_shown],
    failure="T",
    links=[ISSUES + "5779", ISSUES + "3661", ISSUES + "3548", PULLS + "3647"],
    wrong="The caller is never told when their order arrives. The model is told for the rest of "
    "the call that the tool runs.",
    tools=LOOK_UP,
)
T4 = scenario(
    "T4",
    "the user speaks over the preamble of a tool whose effect happens at once",
    with_preamble(books, "I am booking the table for you right now."),
    says(BOOK, (3.0, "is the table booked")),
    [hears(BOOKED), runs_once("book"), results_shown],
    failure="T",
    links=[ISSUES + "5779", ISSUES + "3661"],
    wrong="The caller does not hear that the table is booked.",
    tools={"book": Tool(4.0, "the table is booked", effect_at=0.5)},
)
T5 = scenario(
    "T5",
    "the user adds a sentence while two tools run",
    _two,
    says(LEAVE, (4.0, "I am in a hurry")),
    [hears(BOTH), runs_once("weather"), runs_once("train"), results_shown],
    failure="T",
    links=[VORTEX, ISSUES + "5779"],
    wrong="The caller waits for both tools again.",
    tools={"weather": Tool(4.0, "it is sunny"), "train": Tool(6.0, "the train is late")},
)
T6 = scenario(
    "T6",
    "the user speaks as soon as the model calls a tool",
    orders,
    asks_again(2.3),
    [hears(PRICE, by=5.0), hears(LATE, by=12.0), runs_once("look_up"), results_shown],
    failure="T",
    links=[ISSUES + "3661", PULLS + "3647"],
    wrong="The caller is never told when their order arrives.",
    tools=LOOK_UP,
)

C1 = scenario(
    "C1",
    "the application asks for a reply while the result of a quick tool queues behind a preamble",
    _hurries,
    _app_asks,
    [hears(PREAMBLE), hears(ANSWER), runs_once("look_up"), results_shown],
    failure="C",
    links=[ISSUES + "2787", ISSUES + "3023"],
    wrong="The model does not see its own call, and makes it again.",
    tools={"look_up": Tool(0.2, RESULT)},
)
C2 = scenario(
    "C2",
    "a tool with cancel_on_interruption=False ends while the user makes a noise",
    orders,
    coughs_at(8.0, first=QUESTION),
    [hears(ANSWER, by=11.5), hears_never(REPEAT), runs_once("look_up")],
    failure="C",
    links=[ISSUES + "5823", ISSUES + "4308"],
    wrong="The caller is asked to repeat what they never said, and never gets the result.",
    tools={"look_up": Tool(6.0, RESULT, {"cancel_on_interruption": False})},
)

T7 = scenario(
    "T7",
    "the user thanks while a tool runs",
    _books_and_is_thanked,
    says(BOOK, (4.0, "okay thanks")),
    [hears(BOOKED), runs_once("book"), results_shown],
    failure="T",
    links=[VORTEX],
    wrong="The caller believes that the table is booked; it is not.",
    tools={"book": Tool(5.0, "the table is booked")},
)
T8 = scenario(
    "T8",
    "the user says no before a tool with cancel_on_interruption=False has its effect",
    books,
    says(BOOK, (3.5, "no leave it")),
    [runs_once("book", effects=0)],
    failure="T",
    links=[ISSUES + "4997"],
    wrong="The caller has a table that they have said no to.",
    tools={"book": Tool(2.0, "the table is booked", commits=True, options=NOT_CANCELLED)},
)
T9 = scenario(
    "T9",
    "the model makes the same call twice in one response",
    _books_twice,
    says(BOOK, (60.0, "is the table booked")),
    [hears(BOOKED), runs_once("book")],
    failure="T",
    links=["https://github.com/langchain-ai/langchain/pull/38969"],
    wrong="The caller has two tables.",
    tools={"book": Tool(1.0, "the table is booked", mark=once)},
)
C3 = scenario(
    "C3",
    "two tools end one after the other, when the user has asked something else",
    _two_by_two,
    says(LEAVE, (4.0, "what is my number")),
    [hears("Your number is seven."), hears("It is sunny."), hears("The train is late.")],
    failure="C",
    links=[VORTEX],
    wrong="The caller is told neither result.",
    tools={"weather": Tool(5.0, "it is sunny"), "train": Tool(9.0, "the train is late")},
)


def _corrected(messages: Messages) -> Says:
    """Books for the day that was said last, and tells what was booked."""
    last = messages[-1]
    if last.get("role") == "user":
        day = "Thursday" if "thursday" in said(messages) else "Tuesday"
        return Says(calls=(("book", {"guest": "Kim", "day": day}),))
    return Says(LATE if str(last.get("content")).startswith("The result of") else BOOKED)


T10 = scenario(
    "T10",
    "the user corrects a booking while the tool runs; the flow says which call corrects which",
    _corrected,
    says((0.0, "a table for Kim on tuesday"), (3.0, "no on thursday")),
    [hears(BOOKED), runs_once("book"), results_shown],
    failure="T",
    links=[PULLS + "5304"],
    wrong="The caller has two tables, on Tuesday and on Thursday.",
    tools={"book": Tool(5.0, "the table is booked", commits=True, options=NOT_CANCELLED)},
    flow=CORRECTS,
)

TOOLS = (T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, C1, C2, C3)
