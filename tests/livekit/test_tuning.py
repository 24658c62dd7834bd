"""The tuning of a state is in force in LiveKit while the state is held, and not longer."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import Agent, AgentTask, function_tool

from turnfsm.fsm import FlowError, load_flow
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


def _flow(path: Path, **tuning: str) -> Path:
    """A variant of the shipped flow; for each state the tuning in YAML."""
    states = "".join(f"  {state}: {{tuning: {text}}}\n" for state, text in tuning.items())
    file = path / "tuned.yaml"
    file.write_text(f"flow: tuned\nkind: turn\nextends: turn\nstates:\n{states}")
    return file


def _stage(flow: Any, user: ScriptedUser, **options: Any) -> Stage:
    model = ScriptedLLM({"story": STORY, "stop": "I have stopped.", "hello": "Good morning."})
    tts = ScriptedTTS(durations={STORY: 6.0})
    session: Any = partial(TurnSession, flow=flow)
    return Stage(session, user=user, llm=model, tts=tts, **options)


def _story(flow: Any, *said: tuple[str, float, float]) -> Outcome:
    """The user asks for a story, which is heard from 2.6 to 8.6 s, and says more."""
    user = ScriptedUser().says("tell me a story", at=1.0)
    for words, at, duration in said:
        user.says(words, at=at, duration=duration)
    return _stage(flow, user).run(15.0)


@pytest.mark.parametrize(("tuning", "cut"), [("{}", True), ("{min_words: 2}", False)])
def test_how_many_words_interrupt_is_a_matter_of_the_state(
    tuning: str, cut: bool, tmp_path: Path
) -> None:
    """One word interrupts speech, unless `speaking` asks for more of them."""
    outcome = _story(_flow(tmp_path, speaking=tuning), ("right", 4.0, 0.9))
    assert (outcome.heard[0].end < 6.0) is cut, outcome.timeline()


@pytest.mark.parametrize(("tuning", "cut"), [("{}", True), ("{min_duration: 1.2}", False)])
def test_how_long_a_sound_pauses_is_a_matter_of_the_state(
    tuning: str, cut: bool, tmp_path: Path
) -> None:
    """A cough of 0.9 s pauses speech, unless `speaking` asks for a longer sound."""
    user = ScriptedUser().says("tell me a story", at=1.0).makes_noise(at=4.0, duration=0.9)
    outcome = _stage(_flow(tmp_path, speaking=tuning), user).run(15.0)
    assert (len(outcome.heard) > 1) is cut, outcome.timeline()


def test_two_words_are_enough_for_a_state_that_asks_for_two(tmp_path: Path) -> None:
    """The threshold is one: what passes it interrupts as ever."""
    outcome = _story(_flow(tmp_path, speaking="{min_words: 2}"), ("no stop", 4.0, 0.9))
    assert outcome.heard[0].end < 6.0
    assert outcome.heard_saying("I have stopped.") is not None


def test_a_muted_state_hears_nothing_and_the_next_one_does(tmp_path: Path) -> None:
    """What is said while the agent speaks is no turn; what is said afterwards is."""
    flow = _flow(tmp_path, speaking="{mute: true}")
    outcome = _story(flow, ("no stop", 4.0, 0.9), ("hello", 10.0, 0.6))
    assert " ".join(heard.text for heard in outcome.heard) == f"{STORY} Good morning."
    users = [line for line in outcome.context if line.startswith("user: ")]
    assert users == ["user: tell me a story", "user: hello"]


def test_an_application_that_has_muted_stays_muted(tmp_path: Path) -> None:
    """The end of a state restores only what the state has changed."""
    flow = _flow(tmp_path, speaking="{mute: true}")
    stage = _stage(flow, ScriptedUser().says("hello", at=8.0))
    stage.at(0.5, lambda s: s.session.input.set_audio_enabled(False))
    stage.at(1.0, lambda s: s.session.say("One moment.") and None)
    outcome = stage.run(15.0)
    assert [heard.text for heard in outcome.heard] == ["One moment."]


@pytest.mark.parametrize("by_agent", [False, True])
@pytest.mark.parametrize(
    ("tuning", "early"), [("{}", True), ("{preemptive_generation: false}", False)]
)
def test_speculation_is_a_matter_of_the_state(
    tuning: str, early: bool, by_agent: bool, tmp_path: Path
) -> None:
    """The state decides, whatever the session or the agent has set."""
    handling = {"preemptive_generation": {"enabled": True}}
    agent = partial(Agent, instructions="Help.", turn_handling=handling if by_agent else {})
    user = ScriptedUser().says("hello", at=1.0, stt_delay=0.05)
    stage = _stage(_flow(tmp_path, listening=tuning), user, agent=agent, turn_handling=handling)
    (request,) = stage.run(8.0).requests
    committed = 1.0 + 0.3 + 0.5
    assert (request.at < committed - 0.1) is early


def test_the_session_gets_its_own_settings_back(tmp_path: Path) -> None:
    """After the state, and after the session; what the application set meanwhile stays."""
    flow = _flow(tmp_path, speaking="{min_words: 3, min_duration: 2.0}")
    stage = _stage(flow, ScriptedUser().says("tell me a story", at=1.0))
    seen: list[tuple[Any, Any]] = []

    def look(stage: Stage) -> None:
        options = stage.session.options.interruption
        seen.append((options["min_words"], options["min_duration"]))

    def change(stage: Stage) -> None:
        stage.session.options.interruption["min_words"] = 7

    stage.at(0.5, look).at(4.0, look).at(5.0, change).at(10.0, look).run(12.0)
    assert seen == [(0, 0.5), (3, 2.0), (7, 0.5)]


class Teller(Agent):
    """It hands over to `Clerk` when it is asked to."""

    @function_tool
    async def hand_over(self) -> Agent:
        """Hand over."""
        return Clerk(instructions="Help.")


class Clerk(Agent):
    pass


class AskName(AgentTask[str]):
    @function_tool
    async def finish(self) -> None:
        """The user has given their name."""
        self.complete("Ada")


def _overlays(path: Path, text: str) -> Path:
    file = path / "overlays.yaml"
    file.write_text(f"flow: overlays\nextends: turn\noverlays: {text}\n")
    return file


def _tuned(stage: Stage, *seconds: float) -> list[tuple[Any, Any]]:
    """The session's settings at these times."""
    seen: list[tuple[Any, Any]] = []

    def look(stage: Stage) -> None:
        options = stage.session.options.interruption
        seen.append((options["min_words"], options["min_duration"]))

    for second in seconds:
        stage.at(second, look)
    stage.run(max(seconds) + 1.0)
    return seen


def test_an_agent_brings_its_tuning_and_takes_it_with_it(tmp_path: Path) -> None:
    """From its first moment on, in every state, until another agent has the conversation."""
    flow = _overlays(tmp_path, "{teller: {min_words: 3}, clerk: {min_duration: 1.5}}")
    user = ScriptedUser().says("to the clerk", at=2.0)
    model = ScriptedLLM({"to the clerk": Reply(calls=[Call("hand_over")])}, otherwise="Yes.")
    teller = partial(Teller, instructions="Help.")
    stage = Stage(partial(TurnSession, flow=flow), user=user, llm=model, agent=teller)
    assert _tuned(stage, 0.5, 1.9, 8.0) == [(3, 0.5), (3, 0.5), (0, 1.5)]


@pytest.mark.parametrize(("id", "meant"), [("Clerk", "clerk"), ("tellr", "teller")])
def test_a_misspelt_agent_is_a_warning_with_its_place(id: str, meant: str, tmp_path: Path) -> None:
    """A later agent may have such an id, so it is no error."""
    session: Any = partial(TurnSession, flow=_overlays(tmp_path, f"{{{id}: {{min_words: 3}}}}"))
    outcome = Stage(session, agent=partial(Teller, instructions="Help.")).run(1.0)
    [warning] = map(str, outcome.warnings)
    assert f"overlays.yaml:3:12: no agent is {id!r}; did you mean {meant!r}?" in warning


def test_a_task_brings_its_tuning_and_the_agent_gets_its_own_back(tmp_path: Path) -> None:
    class Desk(Agent):
        async def on_enter(self) -> None:
            await AskName(instructions="Ask for the name.")

    flow = _overlays(tmp_path, "{ask_name: {min_words: 3}, desk: {min_words: 1}}")
    user = ScriptedUser().says("I am Ada", at=2.0)
    model = ScriptedLLM({"I am Ada": Reply(calls=[Call("finish")])}, otherwise="Yes.")
    desk = partial(Desk, instructions="Help.")
    stage = Stage(partial(TurnSession, flow=flow), user=user, llm=model, agent=desk)
    assert _tuned(stage, 1.5, 8.0) == [(3, 0.5), (1, 0.5)]


def test_an_agent_overrides_the_state_and_a_tool_overrides_the_agent(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(
        "flow: all\nextends: turn\noverlays: {teller: {min_words: 2}}\n"
        "states: {listening: {tuning: {min_words: 1, min_duration: 1.0}}}\n"
        "tools: {tuning: {search: {min_words: 3}}}\n"
    )

    class Teller(Agent):
        @function_tool
        async def search(self) -> str:
            """Search."""
            await asyncio.sleep(3.0)
            return "found"

    user = ScriptedUser().says("search it", at=2.0)
    model = ScriptedLLM({"search it": Reply(calls=[Call("search")])}, otherwise="Yes.")
    teller = partial(Teller, instructions="Help.")
    stage = Stage(partial(TurnSession, flow=file), user=user, llm=model, agent=teller)
    assert _tuned(stage, 1.0, 5.0) == [(2, 1.0), (3, 0.5)]


@pytest.mark.parametrize(("tuning", "early"), [("{}", False), ("{preemptive_tts: true}", True)])
def test_preemptive_tts_is_a_matter_of_the_state(tuning: str, early: bool, tmp_path: Path) -> None:
    """Its audio begins before the turn is committed, and is heard sooner."""
    user = ScriptedUser().says("hello", at=1.0, stt_delay=0.05)
    flow = _flow(tmp_path, listening=tuning, thinking=tuning)
    outcome = _stage(flow, user).run(8.0)
    plain = _stage("turn", user).run(8.0)
    assert (outcome.heard[0].start < plain.heard[0].start) is early


@pytest.mark.parametrize("tuning", ["{min_duration: -1}", "{min_words: 1.5}", "{mute: 2}"])
def test_a_threshold_out_of_range_is_refused(tuning: str, tmp_path: Path) -> None:
    """With its place in the file."""
    with pytest.raises(FlowError, match=r"tuned.yaml:5:\d+"):
        load_flow(_flow(tmp_path, speaking=tuning))
