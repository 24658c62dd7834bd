"""Conversations for overrides that no acceptance scenario needs: each says what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from flow_text import parsed
from livekit.agents import Agent, AgentTask, APIConnectionError, RunContext, function_tool, llm
from needed_arriving import ARRIVING
from needed_leaving import LEAVING
from needed_realtime import REALTIME, what_nobody_heard_is_forgotten

from turnfsm.fsm import parse_flow
from turnfsm.runtime.livekit import TurnSession, on_interruption, once
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedAudioOutput,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedSTT,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)
from turnfsm.runtime.testing.livekit.tasks import complete

__all__ = ["NEEDED"]

STORY = "Once upon a time there was a king who had three daughters and no sons."


def _tuned() -> Any:
    text = "flow: tuned\nkind: turn\nextends: turn\nstates:\n"
    return parsed(text + "  listening: {tuning: {preemptive_generation: false}}\n")


def no_speculation_by_tuning() -> list[str]:
    """A state whose tuning forbids speculation: the model is asked when the turn is committed."""
    session: Any = partial(TurnSession, flow=_tuned())
    handling = {"preemptive_generation": {"enabled": True}}
    agent = partial(Agent, instructions="Help.", turn_handling=handling)  # type: ignore[arg-type]
    user = ScriptedUser().says("hello", at=1.0, stt_delay=0.05)
    at = Stage(session, user=user, agent=agent).run(5).requests[0].at
    return [] if at > 1.7 else [f"the model is asked at {at} s, before the turn is committed"]


def a_turn_ends_at_the_pace() -> list[str]:
    """A brisk flow asks the model 0.3 s after the voice, not 0.5 s."""
    flow, _ = parse_flow("{flow: quick, extends: turn, pace: brisk}")
    session: Any = partial(TurnSession, flow=flow, proof="off")
    user = ScriptedUser().says("hello", at=1.0, stt_delay=0.05)
    handling = {"preemptive_generation": {"enabled": False}}
    at = Stage(session, user=user, turn_handling=handling).run(5).requests[0].at
    return [] if at < 1.7 else [f"the model is asked at {at} s"]


def a_turn_is_counted() -> list[str]:
    """A user's turn that is answered ends as replied."""
    stage = Stage(TurnSession, user=ScriptedUser().says("hello", at=1.0))
    stage.run(5)
    notes = stage.session.turn.journal.notes("turn")  # type: ignore[attr-defined]
    ends = [note.data["outcome"] for note in notes]
    return [] if ends == ["replied"] else [f"the turn ends {ends}"]


def a_vad_that_fails_is_in_the_journal() -> list[str]:
    """LiveKit only logs it."""
    user = ScriptedUser().says("hello", at=1.0)
    stage = Stage(TurnSession, user=user, vad=ScriptedVAD(fails_at=2.0))
    stage.run(5)
    notes = stage.session.turn.journal.notes("component_failed")  # type: ignore[attr-defined]
    parts = [note.data["part"] for note in notes]
    return [] if parts == ["vad"] else [f"these have failed: {parts}"]


def a_typed_line_that_waits_is_known() -> list[str]:
    """It waits for the reply to the line before: a store keeps it for the next worker."""
    lines: list[str] = []

    def types(stage: Stage) -> None:
        stage.session.generate_reply(user_input="hello")
        stage.session.generate_reply(user_input="thank you")

    def looks(stage: Stage) -> None:
        session: Any = stage.session
        lines.extend(info.new_transcript for info in session._conductor.turns.waiting())

    Stage(TurnSession, user=ScriptedUser()).at(1.0, types).at(1.1, looks).run(5)
    return [] if lines == ["thank you"] else [f"these lines are known to wait: {lines}"]


def speech_goes_on_when_it_must() -> list[str]:
    """A call that disallows interruptions while its speech is paused: the speech goes on."""

    @function_tool
    async def book(ctx: RunContext) -> str:
        """Book."""
        await asyncio.sleep(2.0)
        ctx.disallow_interruptions()
        return "booked"

    user = ScriptedUser().says("tell me a story", at=1.0).makes_noise(at=3.4, duration=2.5)
    model = ScriptedLLM({"story": Reply(STORY, calls=Call("book"))}, {"book": "It is booked."})
    tts = ScriptedTTS(durations={STORY: 6.0})
    outcome = Stage(TurnSession, user=user, llm=model, tts=tts, tools=[book]).run(15)
    again = [h.start for h in outcome.heard if h.start > 3.5]
    return [] if again[0] < 5.0 else [f"the speech goes on at {again[0]} s, not when it must"]


def the_user_is_heard_while_a_call_holds_its_turn(*, by_a_task: bool = False) -> list[str]:
    """A call with the policy hold, or that awaits a task, in a turn that can otherwise be
    interrupted."""

    class Errand(AgentTask[str]):
        def __init__(self) -> None:
            super().__init__(instructions="Do it.")

        async def on_enter(self) -> Any:
            return complete(self, "booked")

    @function_tool
    async def errand() -> str:
        """Book."""
        return await Errand()

    @on_interruption("hold")
    @function_tool
    async def book() -> str:
        """Book."""
        await asyncio.sleep(4.0)
        return "booked"

    tool = errand if by_a_task else book
    user = ScriptedUser().says("a table", at=1.0).says("what about tomorrow", at=3.0)
    model = ScriptedLLM({"a table": Reply(STORY, calls=Call(tool.info.name))})
    outcome = Stage(TurnSession, user=user, llm=model, tools=[tool]).run(15)
    said = {message.text_content for message in outcome.history.messages()}
    heard = "what about tomorrow" in said
    return [] if heard else ["what the user says over the preamble of the call is not heard"]


def an_utterance_has_silences() -> list[str]:
    """A silence inside an utterance, too short to end it, is one that the agent may begin in."""
    user = ScriptedUser().makes_noise(at=1.0, duration=1.0).makes_noise(at=3.5, duration=0.5)
    vad, long = ScriptedVAD(min_silence=2.0), {"interruption": {"min_duration": 4.0}}
    stage = Stage(TurnSession, user=user, vad=vad, turn_handling=long)
    outcome = stage.at(1.5, lambda s: s.session.say("Yes?") and None).run(8)
    begun = [h.start for h in outcome.heard]
    return [] if begun and 2.0 < begun[0] < 2.6 else [f"the agent begins at {begun}"]


def speech_starts_by_stt() -> list[str]:
    """Without a VAD the STT says when the user starts to speak."""
    return _speaking_at(_by_stt(), {0.9: False, 1.2: True})


def speech_ends_by_stt() -> list[str]:
    """Without a VAD the STT says when the user has stopped."""
    return _speaking_at(_by_stt(), {1.2: True, 3.0: False})


def an_interim_transcript_shows_that_the_user_speaks() -> list[str]:
    """Neither a VAD nor the STT reports the start of speech."""
    user = ScriptedUser().says("hello", at=1.0, duration=1.0, interims=((0.3, "hel"),))
    stage = Stage(TurnSession, user=user, turn_handling={"turn_detection": None})
    stage.vad = None  # type: ignore[assignment]
    return _speaking_at(stage, {1.2: False, 1.4: True, 2.2: True, 2.4: False})


def _by_stt() -> Stage:
    user = ScriptedUser().says("hello", at=1.0, duration=1.0)
    ears = ScriptedSTT(user, ends_turns=True)
    stage = Stage(TurnSession, user=user, stt=ears, turn_handling={"turn_detection": "stt"})
    stage.vad = None  # type: ignore[assignment]
    return stage


def _speaking_at(stage: Stage, wanted: dict[float, bool]) -> list[str]:
    found = []

    def look(at: float, stage: Stage) -> None:
        holds = stage.session.turn.holds("user_speaking")  # type: ignore[attr-defined]
        if holds is not wanted[at]:
            found.append(f"user_speaking is {holds} at {at} s")

    for at in wanted:
        stage.at(at, partial(look, at))
    stage.run(5)
    return found


def a_call_is_made_once() -> list[str]:
    """An identical call in one turn is answered from the ledger, as the tool wants it."""
    ran = []

    @once
    @function_tool
    async def book() -> str:
        """Book."""
        ran.append(1)
        return "booked"

    again = [Reply(calls=Call("book")), Reply("It is booked.")]
    model = ScriptedLLM({"book": Reply(calls=Call("book"))}, {"book": lambda _: again.pop(0)})
    Stage(TurnSession, user=ScriptedUser().says("book", at=1.0), llm=model, tools=[book]).run(6)
    return [] if len(ran) == 1 else [f"book is executed {len(ran)} times"]


def a_replaced_call_is_not_told() -> list[str]:
    """LiveKit cancels it, as its tool has `on_duplicate="replace"`."""

    @function_tool(on_duplicate="replace", flags=llm.ToolFlag.CANCELLABLE)
    async def book(day: str) -> str:
        """Book."""
        await asyncio.sleep(4.0)
        return day

    calls = {day: Reply(calls=Call("book", {"day": day})) for day in ("tuesday", "thursday")}
    model = ScriptedLLM(calls, {"book": "It is booked."}, otherwise="It was cancelled.")
    user = ScriptedUser().says("on tuesday", at=0.5).says("no on thursday", at=3.5)
    outcome = Stage(TurnSession, user=user, llm=model, tools=[book]).run(20.0)
    said = [heard.text for heard in outcome.heard]
    return [] if said == ["It is booked."] else [f"the user hears {said}"]


class _Billing(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Bill.")

    async def on_enter(self) -> None:
        self.session.say("Billing here.")


def a_handoff_does_not_wait_for_ever() -> list[str]:
    """A call that its turn has let go of does not hold a handoff up."""

    @function_tool
    async def book() -> str:
        """Book."""
        await asyncio.sleep(200.0)
        return "booked"

    user = ScriptedUser().says("book", at=1.0).says("stop", at=4.0)
    model = ScriptedLLM({"book": Reply(calls=Call("book"))})
    limits = {"drain_limit": 5.0}
    stage = Stage(TurnSession, user=user, llm=model, tools=[book], timers=limits)
    outcome = stage.at(8.0, lambda stage: stage.session.update_agent(_Billing())).run(30)
    heard = outcome.heard_saying("Billing here.")
    return [] if heard is not None else ["the handoff waits for the tool"]


async def _run(stage: Stage) -> None:
    await stage.session.run(user_input="hello")
    stage.note("the run ends")


def _ends_by(stage: Stage, seconds: float) -> list[str]:
    ended = stage.run(30).marks.get("the run ends", 99.0)
    return [] if ended <= seconds else [f"the run ends at {ended} s, not by {seconds} s"]


def a_run_begins_after_an_inline_task() -> list[str]:
    """A run that is requested while a task of the agent ends begins when the agent is back."""

    class Confirm(AgentTask[str]):
        def __init__(self) -> None:
            super().__init__(instructions="Confirm.")

        async def on_enter(self) -> Any:
            await asyncio.sleep(3.0)
            return complete(self, "yes")

    @function_tool
    async def book() -> str:
        """Book."""
        return await Confirm()

    model = ScriptedLLM({"book": Reply(calls=Call("book"))}, {"book": "It is booked."})
    user = ScriptedUser().says("book", at=1.0)
    return _ends_by(Stage(TurnSession, user=user, llm=model, tools=[book]).at(3.0, _run), 9.0)


def words_go_over_to_the_next_agent() -> list[str]:
    """Words that are recognised as the agent goes are a turn of the next one."""
    user = ScriptedUser().says("hello", at=3.0, duration=1.5, stt_delay=0.05)
    stage = Stage(TurnSession, user=user, tts=ScriptedTTS(durations={STORY: 9.0}))
    stage.at(1.0, lambda s: s.session.say(STORY) and None)
    stage.at(2.0, lambda s: s.session.update_agent(Agent(instructions="Go on.")))
    context = stage.run(18.0).context
    return [] if "user: hello" in context else [f"the conversation is {context}"]


def cleared_words_are_not_answered() -> list[str]:
    """The model was asked ahead about words that the application clears: it stops."""
    user = ScriptedUser().says("hello", at=1.0, stt_delay=0.05)
    model = ScriptedLLM({"hello": Reply("Hi.", ttft=2.0)})
    ahead = {"preemptive_generation": {"enabled": True}}
    stage = Stage(TurnSession, user=user, llm=model, turn_handling=ahead)
    stage.at(1.45, lambda s: s.session.clear_user_turn())
    ends = [request.outcome for request in stage.run(6.0).requests]
    return [] if ends == ["cancelled"] else [f"the request is {ends}"]


class _Front(Agent):
    slow = 0.0

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        self.session.update_agent(Agent(instructions="Go on."))
        if self.slow:
            await asyncio.sleep(self.slow)


class _SlowFront(_Front):
    slow = 2.0


def a_turn_outlives_its_agent(front: type[Agent] = _SlowFront) -> list[str]:
    """A hook hands over: the words are the next agent's, and not lost."""
    user = ScriptedUser().says("hello", at=1.0)
    stage = Stage(TurnSession, user=user, agent=lambda: front(instructions="Hand over."))
    context = stage.run(10.0).context
    return [] if "user: hello" in context else [f"the conversation is {context}"]


def words_end_what_is_paused() -> list[str]:
    """A speech that was paused does not go on when words have come, before their turn ends."""
    user = ScriptedUser().says("tell me a story", at=1.0).says("wait", at=6.0, duration=1.0)
    patient = {"endpointing": {"min_delay": 3.0, "max_delay": 3.0}}
    tts = ScriptedTTS(durations={STORY: 6.0})
    stage = Stage(
        TurnSession, user=user, llm=ScriptedLLM({"story": STORY}), tts=tts, turn_handling=patient
    )
    ended = next(speech.done for speech in stage.run(15).speeches if speech.interrupted)
    return [] if ended is not None and ended < 7.5 else [f"the speech ends at {ended}"]


def a_whole_value_ends_the_turn() -> list[str]:
    """Who has said all that they are asked for is answered without a delay."""
    user = ScriptedUser().says("yes", at=1.0)
    patient = {"endpointing": {"min_delay": 3.0, "max_delay": 3.0}}
    stage = Stage(TurnSession, user=user, turn_handling=patient)
    stage.at(0.5, lambda stage: stage.session.turn.expect("yes_no"))
    first = stage.run(8).heard[0].start
    return [] if first < 2.5 else [f"the agent answers at {first}"]


def a_reply_that_fails_is_followed_by_another() -> list[str]:
    """It was to deliver a result."""

    @function_tool
    async def book() -> str:
        """Book a table."""
        return "booked"

    gone = Reply("", error=APIConnectionError("gone", retryable=False))
    replies = iter((gone, Reply("It is booked."), Reply("It is booked.")))
    model = ScriptedLLM(
        {"table": Reply(calls=Call("book"))}, {"book": lambda request: next(replies)}
    )
    user = ScriptedUser().says("book a table", at=1.0)
    outcome = Stage(TurnSession, user=user, llm=model, tools=[book]).run(12)
    return [] if outcome.heard_saying("It is booked.") is not None else ["it is not delivered"]


def words_that_the_agent_cut_into_stand_once() -> list[str]:
    """`user_turn_limit`: what the cut-in answers is no turn once more when the user goes on."""
    said = "one two three four five six seven eight nine ten"
    user = ScriptedUser().says(said, at=1.0, duration=3.0, stt_delay=0.1)
    user.says("eleven twelve", at=4.5, duration=0.6, stt_delay=0.1)
    turns = {"user_turn_limit": {"max_words": 8}, "endpointing": {"min_delay": 0.9}}
    model = ScriptedLLM({"ten": "May I say something about all of that."})
    context = Stage(TurnSession, user=user, llm=model, turn_handling=turns).run(15.0).context
    times = sum(said in line for line in context)
    return [] if times == 1 else [f"the words stand {times} times in {context}"]


class _Forgetful(Agent):
    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        turn_ctx.items[:] = [item for item in turn_ctx.items if item.type == "message"]


def what_a_hook_takes_out_stays_out() -> list[str]:
    """The agent's hook takes an earlier call out of the context of a request."""

    @function_tool
    async def look() -> str:
        """Look."""
        return "seen"

    user = ScriptedUser().says("have a look", at=1.0).says("how are you", at=5.0)
    model = ScriptedLLM({"look": Reply(calls=Call("look")), "how": "Fine."}, {"look": "There."})
    agent = lambda: _Forgetful(instructions="Help.", tools=[look])  # noqa: E731
    asked_once: Any = {"preemptive_generation": {"enabled": False}}
    stage = Stage(TurnSession, user=user, llm=model, agent=agent, turn_handling=asked_once)
    asked = next(r for r in stage.run(9.0).requests if r.prompt == "user: how are you")
    calls = [item.type for item in asked.chat_ctx.items if item.type != "message"]
    return [f"the model is shown {calls}"] if calls else []


def what_is_cleared_is_not_committed() -> list[str]:
    """The application clears a turn whose end, after its commit, is being decided."""
    handling: Any = {"turn_detection": "manual", "endpointing": {"min_delay": 1.0}}
    user = ScriptedUser().says("hello", at=1.0, duration=0.5)
    stage = Stage(TurnSession, user=user, turn_handling=handling)
    stage.at(1.9, lambda s: s.session.commit_user_turn() and None)
    stage.at(2.3, lambda s: s.session.clear_user_turn())
    asked = stage.run(8.0).requests
    return [f"the model is asked at {asked[0].at} s"] if asked else []


def what_waits_for_words_is_cleared() -> list[str]:
    """The application clears a turn whose commit waits for words."""
    stage = Stage(TurnSession, turn_handling={"turn_detection": "manual"})
    stage.at(1.0, lambda s: s.session.commit_user_turn() and None)
    stage.at(2.0, lambda s: s.session.clear_user_turn())
    asked = stage.run(8.0).requests
    return [f"the model is asked at {asked[0].at} s"] if asked else []


def committed_words_come_once(handoff: float | None = None) -> list[str]:
    """No final transcript comes in time for a commit, which takes the interim one."""
    interims = ((0.9, "send it today"),)
    user = ScriptedUser()
    user.says("send it today", at=1.0, duration=1.2, stt_delay=3.9, interims=interims)
    stage = Stage(TurnSession, user=user)
    stage.at(2.3, lambda s: s.session.commit_user_turn(transcript_timeout=1.0) and None)
    if handoff is not None:
        stage.at(handoff, lambda s: s.session.update_agent(Agent(instructions="Go on.")))
    prompts = [request.prompt for request in stage.run(8.0).requests]
    return prompts[1:]


def what_waits_is_heard_where_it_was_asked_for() -> list[str]:
    """The output is replaced while an announcement waits for the floor."""
    stage = Stage(TurnSession)
    stage.at(0.5, lambda s: s.session.say("Please wait for it.") and None)
    stage.at(0.6, lambda s: s.session.say(STORY) and None)

    def replace(stage: Stage) -> None:
        stage.session.output.audio = ScriptedAudioOutput(ScriptedTTS())

    outcome = stage.at(1.5, replace).run(15.0)
    wrong = outcome.wrong_agent_states(0.021)
    return [f"the agent state is wrong: {wrong}"] if wrong else []


def audio_is_noted(of: Literal["say", "pipeline", "realtime"]) -> list[str]:
    """The journal says when the audio of a speech has come, of whatever kind it is."""
    user, voice = ScriptedUser(), ScriptedTTS()
    model: Any = ScriptedLLM({"hello": STORY})
    if of != "say":
        user.says("hello", at=1.0)
    if of == "realtime":
        model = ScriptedRealtime(user, model, voice)
    stage = Stage(TurnSession, user=user, llm=model, tts=voice)
    if of == "say":
        stage.at(1.0, lambda s: s.session.say(STORY) and None)
    outcome = stage.run(12.0)
    noted = [*stage.session.turn.journal.notes("reply_audio")]  # type: ignore[attr-defined]
    return [] if len(noted) == len(outcome.heard) == 1 else [f"audio is noted: {noted}"]


def a_filler_stands_before_the_answer() -> list[str]:
    """The answer of a slow model is said after the filler, and stands after it."""
    flow, _ = parse_flow("flow: f\nextends: turn\nfillers: {after: 1, say: Wait., in: thinking}")
    session: Any = partial(TurnSession, flow=flow, proof="off")
    model = ScriptedLLM({"hello": Reply(STORY, ttft=4.0)})
    stage = Stage(session, user=ScriptedUser().says("hello", at=1.0), llm=model)
    said = [text for text in stage.run(20.0).context if text.startswith("assistant: ")]
    return [] if said == ["assistant: Wait.", f"assistant: {STORY}"] else [f"it says {said}"]


TEN_WORDS = "One two three four five six seven eight nine ten."


def audio_that_the_stt_does_not_get_has_no_words() -> list[str]:
    """A reply does not wait for words of what LiveKit has kept from the STT."""
    user = ScriptedUser().makes_noise(at=2.9, duration=1.0)
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM(otherwise="Fine."))
    stage.at(1.0, lambda s: s.session.say(TEN_WORDS, allow_interruptions=False) and None)
    stage.at(1.2, lambda s: s.session.generate_reply() and None)
    starts = [heard.start for heard in stage.run(10.0).heard]
    return [] if len(starts) == 2 and starts[1] < 5.0 else [f"heard at {starts}"]


NEEDED: dict[str, Callable[[], list[str]]] = {
    "GovernedActivity.preemptive_generation_opts": no_speculation_by_tuning,
    "GovernedActivity.endpointing_opts": a_turn_ends_at_the_pace,
    "HearingActivity.on_final_transcript": words_end_what_is_paused,
    "ProducingActivity._tts_task_impl": lambda: [
        *audio_is_noted("say"),
        *what_waits_is_heard_where_it_was_asked_for(),
    ],
    "ProducingActivity._pipeline_reply_task_impl": lambda: audio_is_noted("pipeline"),
    "ProducingActivity._realtime_generation_task_impl": lambda: [
        *audio_is_noted("realtime"),
        *what_nobody_heard_is_forgotten(),
    ],
    "GovernedActivity._schedule_speech": a_turn_is_counted,
    "RequestingActivity._create_speech_task": what_a_hook_takes_out_stays_out,
    "GovernedHandle._wait_for_authorization": a_filler_stands_before_the_answer,
    "GovernedHandle._mark_done": a_reply_that_fails_is_followed_by_another,
    "GovernedHandle.allow_interruptions": speech_goes_on_when_it_must,
    "HearingActivity.on_interim_transcript": an_interim_transcript_shows_that_the_user_speaks,
    "HearingActivity.on_start_of_speech": speech_starts_by_stt,
    "HearingActivity.on_end_of_speech": speech_ends_by_stt,
    "HearingActivity.push_audio": the_user_is_heard_while_a_call_holds_its_turn,
    "HearingActivity.on_vad_inference_done": an_utterance_has_silences,
    "GovernedActivity._scheduling_paused": a_turn_outlives_its_agent,
    "GovernedActivity._new_turns_blocked": lambda: a_turn_outlives_its_agent(_Front),
    "GovernedRecognition._vad_task": a_vad_that_fails_is_in_the_journal,
    "GovernedRecognition._push_audio": audio_that_the_stt_does_not_get_has_no_words,
    "GovernedRecognition._commit_user_turn": what_waits_for_words_is_cleared,
    "GovernedRecognition._process_stt_event": committed_words_come_once,
    "GovernedRecognition._endpointing": a_whole_value_ends_the_turn,
    "PassingActivity._detach_reusable_resources": lambda: committed_words_come_once(3.6),
    "GovernedSession.clear_user_turn": lambda: [
        *cleared_words_are_not_answered(),
        *what_is_cleared_is_not_committed(),
    ],
    "PassingActivity._close_session": words_go_over_to_the_next_agent,
    "GovernedActivity._inline_task_slot": lambda: [
        *a_run_begins_after_an_inline_task(),
        *the_user_is_heard_while_a_call_holds_its_turn(by_a_task=True),
    ],
    **ARRIVING,
    **LEAVING,
    **REALTIME,
    "RequestingActivity._generate_reply": lambda: [
        *a_typed_line_that_waits_is_known(),
        *words_that_the_agent_cut_into_stand_once(),
    ],
    "GovernedExecutor.execute": a_call_is_made_once,
    "GovernedExecutor.cancel": a_replaced_call_is_not_told,
    "GovernedExecutor.drain": a_handoff_does_not_wait_for_ever,
}
