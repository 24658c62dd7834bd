"""The scripted language model, asked the way a session asks it."""

import json

from livekit.agents import llm

from turnfsm.runtime.demo.llm import Rule, RuleLLM
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.testing.clock import run

RULES = (
    Rule(heard=r"\bgo ten\b", say="Going ten.", tool="drive", arguments={"meters": 10}),
    Rule(heard=r"\bcome back\b", thinks=2.0, tool="drive", answer="Back: {result}"),
    Rule(heard=r"\bstop\b", say="Okay, I will stop."),
)


def user(*texts: str) -> llm.ChatContext:
    """A context that ends with these messages of the user."""
    context = llm.ChatContext.empty()
    context.add_message(role="system", content="stop")
    for text in texts:
        context.add_message(role="user", content=text)
    return context


def with_result(context: llm.ChatContext, name: str, output: str, *, error: bool = False) -> None:
    """Append a tool call and its output."""
    arguments = json.dumps({})
    call = llm.FunctionCall(call_id=f"c{len(context.items)}", name=name, arguments=arguments)
    result = llm.FunctionCallOutput(call_id=call.call_id, name=name, output=output, is_error=error)
    context.insert([call, result])


async def ask(model: RuleLLM, context: llm.ChatContext) -> list[llm.ChoiceDelta]:
    """Every delta of a reply."""
    async with model.chat(chat_ctx=context) as stream:
        return [chunk.delta async for chunk in stream if chunk.delta]


def scripted(speed: float = 1.0) -> RuleLLM:
    """A model with the rules above."""
    return RuleLLM(RULES, fallback="Pardon?", pace=Pace(speed))


def said(context: llm.ChatContext) -> str:
    """The text of the reply to a context."""

    async def reply() -> str:
        return "".join(delta.content or "" for delta in await ask(scripted(), context))

    return run(reply())


def test_preamble_streams_before_the_tool_call() -> None:
    """Words come as tokens of their own, the call comes last with its arguments."""

    async def main() -> list[llm.ChoiceDelta]:
        return await ask(scripted(), user("Please GO 10!"))

    *tokens, call = run(main())
    assert [token.content for token in tokens] == ["Going ", "ten."]
    assert call.tool_calls[0].name == "drive"
    assert json.loads(call.tool_calls[0].arguments) == {"meters": 10}


def test_last_user_message_counts() -> None:
    """Earlier turns and the instructions are not answered again."""
    assert said(user("go ten", "stop")) == "Okay, I will stop."
    assert said(user("stop", "what?")) == "Pardon?"


def test_results_are_answered_together() -> None:
    """Outputs at the end of the context are reported in order; a failure is admitted."""
    context = user("go ten")
    with_result(context, "drive", "there")
    assert said(context) == "there"
    with_result(context, "unknown", "done")
    assert said(context) == "there done"
    failed = user("go ten")
    with_result(failed, "drive", "no way", error=True)
    assert said(failed) == "Sorry, that failed: no way"


def test_message_after_a_result_is_what_is_answered() -> None:
    """A result that was overtaken by the user is not what the reply is about."""
    context = user("go ten")
    with_result(context, "drive", "there")
    context.add_message(role="user", content="stop")
    assert said(context) == "Okay, I will stop."


def test_thinking_takes_conversation_time() -> None:
    """First token and thought pass at the pace; every request is noted when it came."""

    async def main() -> tuple[float, list[float]]:
        model = scripted(speed=4.0)
        model.pace.now()
        await ask(model, user("come back"))
        took = model.pace.now()
        await ask(model, user("stop"))
        return took, [request.at for request in model.asked]

    took, at = run(main())
    assert round(took, 3) == 2.15
    assert [round(moment, 3) for moment in at] == [0.0, 2.15]
