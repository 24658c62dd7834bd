"""What callers and models say in the conversations of Pipecat."""

from pipecat_stage import Messages, Says, Stage, Tool, said, shows

ANSWER = "Your order is on its way and will arrive on Friday in the early afternoon."
COUNT = "One two three four five six seven eight nine ten."
PRICE = "It cost twenty euros."
LATE = "It arrives on Friday."
QUESTION = "when does my order arrive"


def orders(messages: Messages) -> Says:
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


def look_up(seconds: float, **options: object) -> dict[str, Tool]:
    return {"look_up": Tool(seconds, "it arrives on Friday", options)}


def counts(messages: Messages) -> Says:
    return Says(COUNT if "count" in said(messages) else f"You said {said(messages)}.")


def counts_slowly(messages: Messages) -> Says:
    return Says(counts(messages).text, after=1.5)


async def asks_twice(stage: Stage, second: float = 4.0) -> None:
    await stage.says(QUESTION)
    await stage.until(second)
    await stage.says("and what did it cost")


async def asks_and_barges_in(stage: Stage) -> None:
    await asks_twice(stage, 6.0)


async def asks_and_coughs(stage: Stage) -> None:
    await stage.says(QUESTION)
    await stage.until(4.0)
    await stage.coughs()


async def lets_count_and_coughs(stage: Stage) -> None:
    await stage.says("please count")
    await stage.until(4.5)
    await stage.coughs()


async def greets(stage: Stage) -> None:
    await stage.says("hello there")
