"""Words that come after the `transcript_timeout` of the commit that is to commit them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit.agents import Agent
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage

FIRST = "It is warm today, and it stays like that."
SECOND = "It rains."


def _play(user: ScriptedUser, *commits: float, skip_reply: bool = False, **parts: Any) -> Outcome:
    """Each commit waits for a second. The first answer is heard for 3 s."""
    model = ScriptedLLM({"weather": Reply(FIRST), "tomorrow": SECOND})
    parts = {"llm": model, "turn_handling": {"turn_detection": "manual"}, **parts}
    stage = Stage(TurnSession, user=user, **parts)
    how: Any = {"transcript_timeout": 1.0, "skip_reply": skip_reply}
    for at in commits:
        stage.at(at, lambda s: s.session.commit_user_turn(**how) and None)
    return stage.run(12.0)


def _users(outcome: Outcome) -> list[str]:
    return [line for line in outcome.context if line.startswith("user")]


def _asked(outcome: Outcome) -> list[tuple[float, str]]:
    return [(round(request.at, 2), request.prompt) for request in outcome.requests]


@pytest.mark.parametrize("stt_delay", [1.4, 1.9])
def test_a_commit_gets_the_words_of_the_voice_before_it(stt_delay: float) -> None:
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8, stt_delay=stt_delay)
    outcome = _play(user, 2.1)
    assert _asked(outcome) == [(1.8 + stt_delay, "user: weather please")]
    assert _users(outcome) == ["user: weather please"]


def test_a_commit_that_waits_for_words_does_not_interrupt_yet() -> None:
    user = ScriptedUser().says("weather please", at=1.0, duration=0.5)
    user.says("tomorrow", at=2.6, duration=0.6, stt_delay=1.5)
    first, second = _play(user, 1.9, 3.5).heard
    assert first.end == pytest.approx(4.7, abs=0.05)
    assert second.text == SECOND


@pytest.mark.parametrize(("noise", "asked"), [(0.2, 3.1), (0.8, 4.05)], ids=["short", "long"])
def test_a_commit_without_words_is_carried_out_when_none_can_come(
    noise: float, asked: float
) -> None:
    """As on AgentSession. A noise may be words until `false_interruption` after the VAD has found
    its end; a short one, only for 0.3 s."""
    outcome = _play(ScriptedUser().makes_noise(at=1.0, duration=noise), 2.1)
    (at, prompt), *more = _asked(outcome)
    assert (prompt.strip(), more) == ("user:", [])
    assert at == pytest.approx(asked, abs=0.06)


@pytest.mark.parametrize("again", [2.0, 2.2, 3.5])
@pytest.mark.parametrize("hook", [0.0, 1.5])
def test_a_commit_without_words_does_not_end_the_answer_to_earlier_ones(
    again: float, hook: float
) -> None:
    """The application commits again while its hook looks at the turn, while the model thinks, or
    while the answer is heard. Nobody has said anything since."""

    class Slow(Agent):
        async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
            await asyncio.sleep(hook)

    user = ScriptedUser().says("weather please", at=1.0, duration=0.5)
    user.makes_noise(at=again - 0.25, duration=0.15)
    outcome = _play(user, 1.9, again, agent=Slow(instructions="Help."))
    assert [heard.text for heard in outcome.heard] == [FIRST]
    assert [prompt for _, prompt in _asked(outcome)] == ["user: weather please"]
    assert _users(outcome) == ["user: weather please"]


def test_a_commit_without_words_does_not_end_the_call_of_earlier_ones() -> None:
    look = tool("look", "sunny", seconds=3.0)
    user = ScriptedUser().says("weather please", at=1.0, duration=0.5)
    model = ScriptedLLM({"weather": Reply("", calls=Call("look"))}, {"look": "It is sunny."})
    outcome = _play(user, 1.9, 2.5, llm=model, tools=[look])
    assert [heard.text for heard in outcome.heard] == ["It is sunny."]
    assert len(_asked(outcome)) == 2


def test_the_words_of_a_commit_without_a_reply_get_none() -> None:
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8, stt_delay=1.5)
    outcome = _play(user, 2.1, skip_reply=True)
    assert _users(outcome) == ["user: weather please"]
    assert outcome.heard == []


def test_a_commit_gets_its_words_also_if_those_of_an_earlier_voice_come_before() -> None:
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8, stt_delay=0.8)
    user.says("tomorrow", at=2.2, duration=0.8, stt_delay=1.5)
    outcome = _play(user, 1.9, 3.3)
    assert [prompt for _, prompt in _asked(outcome)][-1] == "user: tomorrow"


def test_a_commit_waits_for_its_words_also_if_those_of_an_earlier_voice_have_just_come() -> None:
    """The words of the first voice come during the second one, at 2.9 s."""
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8, stt_delay=1.1)
    user.says("tomorrow", at=2.2, duration=0.8, stt_delay=0.7)
    outcome = _play(user, 3.3)
    assert _asked(outcome) == [(3.7, "user: weather please tomorrow")]


def test_a_commit_waits_no_longer_than_its_timeout_if_it_has_words() -> None:
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8, stt_delay=1.1)
    user.makes_noise(at=2.2, duration=0.8)
    ((at, prompt),) = _asked(_play(user, 3.3))
    assert prompt == "user: weather please"
    assert at == pytest.approx(4.3, abs=0.06)


def test_a_voice_that_follows_does_not_hold_the_words_back() -> None:
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8, stt_delay=1.5)
    user.says("tomorrow", at=3.2, duration=3.0)
    outcome = _play(user, 2.1)
    assert _asked(outcome) == [(3.3, "user: weather please")]


@pytest.mark.parametrize(("what", "takes"), [("clear", 0.0), ("close", 2.0), ("hand over", 0.0)])
def test_what_ends_a_turn_ends_the_wait_for_its_words(what: str, takes: float) -> None:
    """A commit at 2.1 s has waited for a second. A close takes 2 s, as on AgentSession."""
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8, stt_delay=None)
    stage = Stage(TurnSession, user=user, turn_handling={"turn_detection": "manual"})
    stage.at(2.1, lambda s: s.session.commit_user_turn(transcript_timeout=1.0) and None)

    async def act(stage: Stage) -> None:
        if what == "clear":
            stage.session.clear_user_turn()
        elif what == "close":
            await stage.session.aclose()
        else:
            stage.session.update_agent(Agent(instructions="Go on."))
        stage.note("done")

    stage.at(3.2, act)
    outcome = stage.run(8.0)
    assert _asked(outcome) == []
    assert next(at for at, note in outcome.notes if note == "done") < 3.2 + takes + 0.1


def test_a_commit_of_the_next_agent_gets_the_words_of_a_voice_before_the_handoff() -> None:
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8, stt_delay=1.9)
    model = ScriptedLLM({"weather": FIRST})
    stage = Stage(TurnSession, user=user, llm=model, turn_handling={"turn_detection": "manual"})
    stage.at(2.1, lambda s: s.session.update_agent(Agent(instructions="Go on.")))
    stage.at(2.15, lambda s: s.session.commit_user_turn(transcript_timeout=1.0) and None)
    assert _asked(stage.run(12.0)) == [(3.7, "user: weather please")]


@pytest.mark.parametrize(
    ("stt_delay", "handoff", "commit", "answered"),
    [(0.3, 2.3, 2.2, 2.3), (1.9, 2.3, 2.2, 3.9), (1.9, 3.4, 2.2, 3.9), (1.9, 2.2, 2.3, 3.7)],
    ids=["being decided", "waits", "waits longer", "during the handoff"],
)
def test_the_next_agent_carries_out_a_commit(
    stt_delay: float, handoff: float, commit: float, answered: float
) -> None:
    """The voice ends at 1.8 s. The handoff does not wait for words. The next agent has not heard
    the voice: it waits for `min_delay` after the words, as on AgentSession."""
    delay = 0.8 if stt_delay < 1.0 else 0.2
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8, stt_delay=stt_delay)
    stage = Stage(
        TurnSession,
        user=user,
        llm=ScriptedLLM({"weather": FIRST}),
        turn_handling={"turn_detection": "manual", "endpointing": {"min_delay": delay}},
    )
    stage.at(handoff, lambda s: s.session.update_agent(Agent(instructions="Go on.")))
    stage.at(commit, lambda s: s.session.commit_user_turn(transcript_timeout=1.0) and None)
    outcome = stage.run(12.0)
    assert _asked(outcome)[0][1] == "user: weather please"
    assert _asked(outcome)[0][0] == pytest.approx(answered, abs=0.06)
    assert len(_asked(outcome)) == 1


def test_a_handoff_does_not_wait_for_the_words_of_a_commit_that_wants_no_reply() -> None:
    """They may come for two seconds more; nobody speaks, so nothing else happens meanwhile."""
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8, stt_delay=3.5)
    stage = Stage(TurnSession, user=user, turn_handling={"turn_detection": "manual"})
    how: Any = {"transcript_timeout": 0.3, "skip_reply": True}
    stage.at(2.0, lambda s: s.session.commit_user_turn(**how) and None)
    stage.at(2.4, lambda s: s.session.update_agent(Agent(instructions="Go on.")))
    handoffs = [event.at for event in stage.run(8.0).events if event.what == "agent_handoff"]
    assert handoffs == [0.0, pytest.approx(2.4)]


def test_a_commit_that_is_handed_over_needs_words() -> None:
    """The application waits for the commit, which ends with the handoff."""
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8, stt_delay=None)
    stage = Stage(TurnSession, user=user, turn_handling={"turn_detection": "manual"})

    async def commit(stage: Stage) -> None:
        words = await stage.session.commit_user_turn(transcript_timeout=1.0)
        stage.note(f"committed: {words!r}")

    stage.at(2.2, commit)
    stage.at(2.5, lambda s: s.session.update_agent(Agent(instructions="Go on.")))
    outcome = stage.run(8.0)
    assert _asked(outcome) == []
    assert [(round(at, 2), note) for at, note in outcome.notes] == [(2.5, "committed: ''")]


def test_words_that_are_not_committed_do_not_end_an_answer_that_waits_for_them() -> None:
    """With manual turns only a commit is a turn. The voice holds the answer back; its words come
    while it is held."""
    user = ScriptedUser().says("weather please", at=1.0, duration=0.8)
    user.says("let me see", at=2.6, duration=1.5, stt_delay=0.2)
    model = ScriptedLLM({"weather": Reply(FIRST, ttft=0.8)})
    turns = {"turn_detection": "manual"}
    stage = Stage(TurnSession, user=user, llm=model, turn_handling=turns)
    stage.at(2.3, lambda s: s.session.commit_user_turn(transcript_timeout=1.0) and None)
    outcome = stage.run(12.0)
    assert [one.text for one in outcome.heard] == [FIRST], outcome.timeline()
    assert outcome.heard[0].start > 4.1
    assert len(outcome.requests) == 1


@pytest.mark.parametrize("skip_reply", [False, True])
def test_words_that_come_after_their_commit_are_answered_if_the_user_is_silent(
    skip_reply: bool,
) -> None:
    """The VAD hears both sentences as one voice; the words of the first are committed alone."""
    user = ScriptedUser().says("weather please", at=1.0, duration=0.3, stt_delay=1.0)
    user.says("tomorrow", at=1.4, duration=0.9, stt_delay=1.4)
    outcome = _play(user, 2.7, skip_reply=skip_reply)
    assert _users(outcome) == ["user: weather please", "user: tomorrow"]
    answered = [] if skip_reply else ["user: weather please", "user: tomorrow"]
    assert [prompt for _, prompt in _asked(outcome)] == answered, outcome.timeline()


def test_words_that_come_long_after_a_commit_wait_for_the_next_one() -> None:
    user = ScriptedUser().says("weather please", at=1.0, duration=0.3, stt_delay=1.0)
    user.says("tomorrow", at=1.4, duration=0.9, stt_delay=4.5)
    outcome = _play(user, 2.7)
    assert [prompt for _, prompt in _asked(outcome)] == ["user: weather please"]
