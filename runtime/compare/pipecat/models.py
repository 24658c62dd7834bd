"""What the scripted models of these conversations say."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from turnfsm.runtime.testing.pipecat import Messages, Model, Says, said, shows

__all__ = [
    "ANSWER",
    "COUNT",
    "LATE",
    "MODELS",
    "PRICE",
    "QUESTION",
    "RESULT",
    "counts",
    "orders",
    "slowly",
    "with_preamble",
]

COUNT = "One two three four five six seven eight nine ten."
REPEAT = "Sorry could you repeat that."
QUESTION = "when does my order arrive"
ANSWER = "Your order is on its way and will arrive on Friday in the early afternoon."
PRICE = "It cost twenty euros."
LATE = "It arrives on Friday."
PREAMBLE = "Let me look that up for you right away."
BOOKED = "Your table is booked for tonight."
WORKS = "It is being booked right now."
RESULT = "it arrives on Friday"
BOTH = "Sunny, and the train is late."
STILL = "I am still looking."
SEVEN = "Your number is seven."


def agent_said(messages: Messages) -> str:
    """All that the agent has said."""
    return " ".join(str(m.get("content")) for m in messages if m.get("role") == "assistant")


def counts(messages: Messages) -> Says:
    """Counts if it is asked to; asks the user to repeat what was not recognised, as Pipecat tells
    it to."""
    if messages[-1].get("role") == "developer":
        return Says(REPEAT)
    return Says(COUNT if "count" in said(messages) else f"You said {said(messages)}.")


def orders(messages: Messages) -> Says:
    """Looks an order up; tells a result that comes late in fewer words. It says nothing twice."""
    last = str(messages[-1].get("content"))
    already = LATE in agent_said(messages)
    if last.startswith("The result of"):
        return Says(LATE)
    if messages[-1].get("role") == "developer" and RESULT in last:
        return Says("" if already else LATE)
    if shows(messages, "mention it with your answer"):
        return Says(f"{PRICE} {LATE}")
    if "not recognized" in last:
        return Says(REPEAT)
    if "cost" in said(messages):
        return Says(PRICE)
    if shows(messages, RESULT):
        return Says(ANSWER)
    return Says(calls=(("look_up", {"order": 7}),))


def with_preamble(model: Model, preamble: str = PREAMBLE) -> Model:
    """The same model, and it says something before it calls a tool."""

    def speaks_first(messages: Messages) -> Says:
        says = model(messages)
        return Says(preamble, says.calls) if says.calls else says

    return speaks_first


def slowly(model: Model, seconds: float = 1.5) -> Model:
    """The same model, after a number of seconds."""
    return lambda messages: attrs.evolve(model(messages), after=seconds)


def books(messages: Messages) -> Says:
    """Books a table, unless it sees that it is booked or that a booking runs."""
    if shows(messages, "nothing was done"):
        return Says("I have booked nothing.")
    if shows(messages, "is booked"):
        return Says(BOOKED)
    if "not recognized" in str(messages[-1].get("content")):
        return Says(REPEAT)
    if _runs(messages):
        return Says(WORKS)
    return Says(calls=(("book", {"people": 2}),))


def _runs(messages: Messages) -> bool:
    """The latest call is shown, and neither as cancelled nor with a result."""
    calls = [c["id"] for m in messages for c in m.get("tool_calls") or ()]
    gone = (str(m.get("content")) for m in messages if m.get("role") in ("tool", "developer"))
    return bool(calls) and not any("CANCELLED" in text for text in gone)


def two(messages: Messages) -> Says:
    """Needs two results, and answers when it has both."""
    if shows(messages, "it is sunny") and shows(messages, "train is late"):
        return Says(BOTH)
    asked = [c["function"]["name"] for m in messages for c in m.get("tool_calls") or ()]
    stopped = shows(messages, "CANCELLED")
    if asked and not stopped:
        return Says("Still looking.")
    return Says(calls=(("weather", {}), ("train", {})))


def books_and_is_thanked(messages: Messages) -> Says:
    if "thanks" in said(messages) and not shows(messages, "is booked"):
        return Says("You are welcome.")
    return books(messages)


def books_twice(messages: Messages) -> Says:
    says = books(messages)
    return Says(calls=says.calls * 2) if says.calls else says


def two_by_two(messages: Messages) -> Says:
    """Tells each result once, when it is there."""
    before = agent_said(messages)
    new = [
        text
        for text, shown in (("It is sunny.", "it is sunny"), ("The train is late.", "is late"))
        if shows(messages, shown) and text not in before
    ]
    if "number" in said(messages) and "seven" not in before:
        new.insert(0, SEVEN)
    asked = any(m.get("tool_calls") for m in messages)
    return Says(" ".join(new)) if asked else Says(calls=(("weather", {}), ("train", {})))


def hurries(messages: Messages) -> Says:
    already = ANSWER in agent_said(messages)
    return Says("I am as quick as I can.") if already else with_preamble(orders)(messages)


def corrected(messages: Messages) -> Says:
    """Books for the day that was said last, and tells what was booked."""
    last = messages[-1]
    if last.get("role") == "user":
        day = "Thursday" if "thursday" in said(messages) else "Tuesday"
        return Says(calls=(("book", {"guest": "Kim", "day": day}),))
    return Says(LATE if str(last.get("content")).startswith("The result of") else BOOKED)


def looks_for_ever(messages: Messages) -> Says:
    return Says(STILL) if shows(messages, "still running") else orders(messages)


def number(messages: Messages) -> Says:
    return Says(SEVEN) if "number" in said(messages) else counts(messages)


def goes_on(messages: Messages) -> Says:
    return Says("Shall I go on?") if COUNT in agent_said(messages) else counts(messages)


def looks_up(messages: Messages) -> Says:
    """Tells a result once."""
    if ANSWER in agent_said(messages):
        return Says("I am as quick as I can.")
    if shows(messages, RESULT):
        return Says(ANSWER)
    preamble = "Let me look that up for you and I will be back in a second."
    return Says(preamble, (("look_up", {"order": 7}),))


def weather(messages: Messages) -> Says:
    """Needs the weather; says that it looks for it while it is not there."""
    if shows(messages, "it rains in Rome"):
        return Says("It rains in Rome.")
    if any(m.get("tool_calls") for m in messages):
        return Says(STILL)
    return Says(calls=(("weather", {}),))


def fails_once(messages: Messages) -> Says:
    return Says("Here I am.", fails="hello" in said(messages))


MODELS: Mapping[str, Model] = {
    model.__name__: model
    for model in (
        counts,
        orders,
        books,
        two,
        books_and_is_thanked,
        books_twice,
        two_by_two,
        hurries,
        corrected,
        looks_for_ever,
        number,
        goes_on,
        looks_up,
        weather,
        fails_once,
    )
}
"""By name."""
