"""Makes a conversation of an entry in `scenarios.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from livekit.agents import Agent, APIConnectionError, RunContext, function_tool

from turnfsm.fsm import parse_flow
from turnfsm.runtime.compare.answers import Seen, answer_to, calls_of
from turnfsm.runtime.livekit.context import TurnContext
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    Request,
    ScriptedDuplex,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)
from turnfsm.runtime.testing.livekit.user import user_of
from turnfsm.runtime.testing.script import Sound

from .agents import agent_of, asked, run, waits

__all__ = ["conversation_of"]


def conversation_of(entry: dict[str, Any]) -> Callable[[type[AgentSession[Any]]], Stage]:
    """How to play an entry. Removes from it what it uses.

    Args:
        entry: The sounds of the `user`; what the `model` says, by a part of the user's text, and by
            the tool whose result it gets (`on_tool`); the kind of model that `hears` the user
            itself: ``realtime``, ``server`` if it ends turns, or ``duplex``; the `tools`; the
            `agent`; the text of the `flow`; what the application is to `do`; the arguments of the
            `voice`, and further ones of the `stage`.
    """
    return partial(_stage, {key: entry.pop(key) for key in _PARTS if key in entry})


_PARTS = ("user", "model", "on_tool", "hears", "tools", "agent", "flow", "do", "voice", "stage")


def _stage(given: Mapping[str, Any], session_class: type[AgentSession[Any]]) -> Stage:
    user = user_of(Sound(**sound) for sound in given.get("user", ()))
    voice = ScriptedTTS(**given.get("voice", {}))
    rules = (given.get("model", {}), given.get("on_tool", {}))
    answers = ScriptedLLM(*({key: _rule(of) for key, of in part.items()} for part in rules))
    options = dict(given.get("stage", {}))
    if given.get("hears") in ("server", "duplex"):
        options["turn_handling"] = {"turn_detection": "realtime_llm"}
    stage: Stage = Stage(
        session_class,
        user=user,
        llm=_model(given.get("hears"), user, answers, voice),
        tts=voice,
        tools=[_tool(name, of, lambda: stage) for name, of in given.get("tools", {}).items()],
        agent=partial(agent_of, given["agent"]) if "agent" in given else None,
        flow=parse_flow(given["flow"])[0] if "flow" in given else None,
        **options,
    )
    for step in given.get("do", ()):
        stage.at(step["at"], partial(_do, step))
    return stage


def _model(
    hears: str | None, user: ScriptedUser, answers: ScriptedLLM, voice: ScriptedTTS
) -> ScriptedLLM | ScriptedRealtime | ScriptedDuplex:
    if hears is None:
        return answers
    if hears == "duplex":
        return ScriptedDuplex(user, answers, voice)
    return ScriptedRealtime(user, answers, voice, turn_detection=hears == "server")


def _rule(of: Any) -> Any:
    """An answer, or for a list of rules a function that chooses one by the request."""
    if isinstance(of, list):
        return lambda request: _reply(answer_to(_seen(request), of))
    return _reply({"text": of} if isinstance(of, str) else of)


def _reply(of: Mapping[str, Any]) -> Reply:
    calls = [Call(*call) for call in calls_of(of)]
    error = APIConnectionError(of["error"], retryable=False) if "error" in of else None
    return Reply(of.get("text", ""), calls=calls, ttft=of.get("after", 0.2), error=error)


def _seen(request: Request) -> Seen:
    texts = {kind: [e.text for e in request.shown if e.kind == kind] for kind in _KINDS}
    return Seen(
        last=request.prompt,
        by=request.prompt.partition(":")[0],
        user=texts["user"][-1] if texts["user"] else "",
        said=" ".join(texts["assistant"]),
        shown=[entry.text for entry in request.shown],
        results=texts["result"],
        called=any(entry.kind == "call" for entry in request.shown),
    )


_KINDS = ("user", "assistant", "result")


def _tool(name: str, of: Mapping[str, Any], stage: Any) -> Any:
    """A tool.

    Args:
        of: The names that it `takes`. In this order, where given: it is `uninterruptible`; it
            `says` a text and waits for its end; it `waits` for the playout of its turn; `seconds`
            pass; it `commits`; its effect is noted (`note`); it `asks` in an inline task, or makes
            a `run`; it fails with an `error`, hands over to an agent with other instructions
            (`hand_over`), or gives its `result`.
        stage: Gives the stage.
    """

    async def tool(context: RunContext[Any], raw_arguments: dict[str, object]) -> Any:
        if of.get("uninterruptible"):
            context.disallow_interruptions()
        if "says" in of:
            await context.session.say(of["says"])
        if of.get("waits"):
            await context.wait_for_playout()
        await waits(of.get("seconds", 0.0))
        if of.get("commits") and isinstance(context, TurnContext):
            await context.commit_point()
        if "note" in of:
            stage().note(of["note"].format(**raw_arguments))
        if "asks" in of:
            await asked(**of["asks"])
        if "run" in of:
            await run(stage(), of["run"])
        if "error" in of:
            raise RuntimeError(of["error"])
        result = of.get("result", "done")
        result = result.format(**raw_arguments) if isinstance(result, str) else result
        return (Agent(instructions=of["hand_over"]), result) if "hand_over" in of else result

    takes = {parameter: {"type": "string"} for parameter in of.get("takes", ())}
    schema = {"type": "object", "properties": takes}
    return function_tool(tool, raw_schema={"name": name, "description": name, "parameters": schema})


async def _do(step: Mapping[str, Any], stage: Stage) -> None:
    session = stage.session
    if "interrupt" in step:
        stage.note("interrupt")
        interruption = session.interrupt(force=step.get("force", False))
        if step["interrupt"] == "awaited":
            await interruption
            stage.note("interrupt returned")
    if step.get("close"):
        await session.aclose()
    elif step.get("commit"):
        session.commit_user_turn()
    elif step.get("hand_over"):
        session.update_agent(Agent(instructions=step["hand_over"]))
    elif step.get("repeat"):
        assert isinstance(stage.llm, ScriptedDuplex)
        stage.llm.repeat()
    elif "run" in step:
        await run(stage, step["run"])
    elif "reply" in step:
        session.generate_reply(user_input=step["reply"])
    for text in [step["say"]] if isinstance(step.get("say"), str) else step.get("say", ()):
        session.say(text, allow_interruptions=step.get("interruptible", True))
