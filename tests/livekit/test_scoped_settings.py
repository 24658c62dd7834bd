"""`interruptible` and `policies` of an agent, a question, a state or a tool."""

from __future__ import annotations

from functools import partial

import pytest
from flow_text import parsed
from livekit.agents import Agent, function_tool
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

STORY = "Once upon a time there was a king who had three daughters and no sons."
ASKED = f"{STORY} What is your name?"


class Reader(Agent):
    @function_tool
    async def hand_over(self) -> Agent:
        """Hand over."""
        return Clerk(instructions="Help.")


class Clerk(Agent):
    pass


def play(sections: str, *answers: str | Reply, at: float = 4.0, **how: object) -> Outcome:
    """The agent gives these answers, one after the other; the user says something over the last
    one, whose speech takes 6 s. Each answer begins 1.6 s after the words of the user."""
    user = ScriptedUser()
    for index, _ in enumerate(answers):
        user.says(f"please {index}", at=1.0 + 8 * index)
    user.says("stop now", at=8 * (len(answers) - 1) + at)
    flow = parsed(f"flow: mine\nextends: turn\ndiscard_audio_if_uninterruptible: false\n{sections}")
    replies = {f"please {index}": answer for index, answer in enumerate(answers)}
    stage = Stage(
        partial(TurnSession, flow=flow, proof="off"),
        user=user,
        llm=ScriptedLLM(replies, otherwise="As you like."),
        tts=ScriptedTTS(durations={STORY: 6.0, ASKED: 6.0}),
        **how,
    )
    outcome = stage.run(8.0 * len(answers) + 12)
    assert outcome.errors == [], outcome.timeline()
    return outcome


@pytest.mark.parametrize(
    "sections",
    [
        "overlays: {reader: {interruptible: false}}",
        "states: {speaking: {tuning: {interruptible: false}}}",
        "questions: {name: {asked: Once upon, kind: open, tuning: {interruptible: false}}}",
    ],
)
def test_the_agent_is_heard_to_the_end_and_what_was_said_over_it_is_answered(sections: str) -> None:
    heard = play(sections, STORY, agent=partial(Reader, instructions="Read.")).heard
    assert [one.text for one in heard] == [STORY, "As you like."]


@pytest.mark.parametrize(
    "sections",
    [
        "overlays: {clerk: {interruptible: false}}",
        "overlays: {reader: {interruptible: true}}",
        "questions: {name: {asked: your name, kind: open, tuning: {interruptible: false}}}",
        "overlays: {reader: {interruptible: true}}\n"
        "states: {speaking: {tuning: {interruptible: false}}}",
    ],
)
def test_the_user_may_interrupt_where_the_settings_are_not_those_of_now(sections: str) -> None:
    heard = play(sections, ASKED, agent=partial(Reader, instructions="Read.")).heard
    assert heard[0].end < 5.0
    assert heard[-1].text == "As you like."


def test_the_settings_of_an_agent_are_gone_after_the_handoff() -> None:
    flow = "overlays: {reader: {interruptible: false}}"
    answers = Reply(calls=[Call("hand_over")]), STORY
    outcome = play(flow, *answers, agent=partial(Reader, instructions="Read."))
    assert outcome.heard_saying(STORY) is None, outcome.timeline()


def test_a_speech_that_plays_is_uninterruptible_while_its_tool_runs() -> None:
    """What the user says meanwhile interrupts it as soon as the tool has ended."""
    wait = Reply(ASKED, calls=[Call("search")])
    sections = "tools: {tuning: {search: {interruptible: false}}}"
    outcome = play(sections, wait, tools=[tool("search", "found", seconds=7.0)])
    assert outcome.heard[0].end == pytest.approx(outcome.tools[0].end), outcome.timeline()


def test_the_application_may_force_an_interruption_and_not_ask_for_one() -> None:
    refused: list[str] = []

    def interrupts(stage: Stage, *, force: bool) -> None:
        try:
            stage.session.interrupt(force=force)
        except RuntimeError as exc:
            refused.append(str(exc))

    stage = Stage(
        partial(
            TurnSession,
            flow=parsed("{flow: x, extends: turn, overlays: {reader: {interruptible: false}}}"),
            proof="off",
        ),
        user=ScriptedUser().says("read it", at=1.0),
        llm=ScriptedLLM(otherwise=STORY),
        tts=ScriptedTTS(durations={STORY: 6.0}),
        agent=partial(Reader, instructions="Read."),
    )
    stage.at(4.0, partial(interrupts, force=False)).at(5.0, partial(interrupts, force=True))
    [heard] = stage.run(12.0).heard
    assert refused == ["This generation handle does not allow interruptions"]
    assert heard.end == pytest.approx(5.0, abs=0.2)


@pytest.mark.parametrize(
    ("sections", "ends"),
    [
        ("tools: {by_name: {search: cancel}}", "cancelled"),
        ("overlays: {reader: {policies: {search: cancel}}}", "cancelled"),
        (
            "tools: {by_name: {search: cancel}}\noverlays: {reader: {policies: {search: detach}}}",
            "done",
        ),
        ("overlays: {clerk: {policies: {search: cancel}}}", "done"),
        (
            "tools: {by_name: {search: cancel}}\noverlays: {reader: {policies: {other: hold}}}\n"
            "questions: {q: {asked: Once upon, kind: open, tuning: {policies: {search: detach}}}}",
            "cancelled",
        ),
    ],
)
def test_the_policy_of_a_call_is_that_of_the_agent_before_that_of_the_flow(
    sections: str, ends: str
) -> None:
    search = tool("search", "found", seconds=6.0)
    reader = partial(Reader, instructions="Read.", tools=[search])
    outcome = play(sections, Reply(calls=[Call("search")]), agent=reader)
    [run] = outcome.tools
    assert run.status == ends, outcome.timeline()


def test_a_question_brings_the_policy_of_the_tool_that_its_answer_calls() -> None:
    sections = (
        "questions: {q: {asked: your name, kind: open, tuning: {policies: {search: cancel}}}}"
    )
    reader = partial(Reader, instructions="Read.", tools=[tool("search", "found", seconds=6.0)])
    outcome = play(sections, ASKED, Reply(calls=[Call("search")]), agent=reader)
    [run] = outcome.tools
    assert run.status == "cancelled", outcome.timeline()
