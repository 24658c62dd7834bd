"""The chat over a pair of streams: what the user types and sees, and the conformance suite."""

import asyncio
import socket
import wave
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from chat import Answer, Call, Chat, Message

from turnfsm import Flow, HostError, load_flow, parse_flow
from turnfsm.host import on_interruption, once
from turnfsm.testing import PermutedLoop, VirtualLoop, run
from turnfsm.testing.conformance import TALKS, Played, Step, Talk, Tool, judge


class User:
    """The other end of the streams.

    Attributes:
        seen: The lines that the user sees, each with its second.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.seen: list[tuple[float, str]] = []

    def types(self, line: str) -> None:
        self._writer.write(f"{line}\n".encode())

    def leaves(self) -> None:
        self._writer.close()

    async def reads(self) -> None:
        async for line in self._reader:
            now = asyncio.get_running_loop().time()
            self.seen.append((round(now, 1), line.decode().strip()))


Script = Sequence[tuple[float, Callable[[User, Chat], object]]]


def types(line: str) -> Callable[[User, Chat], object]:
    return lambda user, chat: user.types(line)


def talk_to(
    script: Script,
    seconds: float,
    *,
    make_loop: Callable[..., VirtualLoop] = VirtualLoop,
    **options: Any,
) -> tuple[User, Chat]:
    """Talk for so many virtual seconds, then leave; without options: with `turn`, and no tools."""
    options = {"tools": {}, "flow": load_flow("turn"), **options}

    async def play() -> tuple[User, Chat]:
        ours, theirs = socket.socketpair()
        chat = Chat(*await asyncio.open_connection(sock=ours), **options)
        user = User(*await asyncio.open_connection(sock=theirs))
        running, reading = asyncio.ensure_future(chat.run()), asyncio.ensure_future(user.reads())
        loop = asyncio.get_running_loop()
        for at, do in sorted(script, key=lambda one: one[0]):
            await asyncio.sleep(at - loop.time())
            do(user, chat)
        await asyncio.sleep(seconds - loop.time())
        user.leaves()
        await asyncio.wait_for(running, 10.0)
        await reading
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return user, chat

    return run(play(), make_loop=make_loop)


# -- the conformance suite


def on_text(talk: Talk, *, make_loop: Callable[..., VirtualLoop] = VirtualLoop) -> Played:
    """Play a conversation: a line comes when the words would end."""
    effects: list[str] = []

    async def model(messages: Sequence[Message]) -> Answer:
        answer = talk.answer([(message.role, message.text) for message in messages])
        await asyncio.sleep(answer.after)
        return Answer(answer.text, [Call(call.tool, call.arguments) for call in answer.calls])

    user, chat = talk_to(
        [
            *((sound.at + (sound.lasts or 1.0), types(sound.says or "")) for sound in talk.user),
            *((step.at, partial(_do, step)) for step in talk.do),
        ],
        talk.seconds,
        model=model,
        tools={name: _tool(name, tool, effects) for name, tool in talk.tools.items()},
        flow=talk.flow,
        timers=talk.timers,
        make_loop=make_loop,
    )
    heard = " ".join(line for _, line in user.seen)
    return Played(chat.conductor.turn.journal.read(), heard, effects)


def _tool(name: str, tool: Tool, effects: list[str]) -> Callable[[], Coroutine[Any, Any, str]]:
    async def work() -> str:
        await asyncio.sleep(tool.seconds)
        effects.append(name)
        return tool.result

    return on_interruption(tool.policy)(work) if tool.policy is not None else work


def _do(step: Step, user: User, chat: Chat) -> None:
    if step.interrupt:
        chat.interrupt()
    elif step.say is not None:
        chat.speak(step.say)


@pytest.mark.parametrize("name", TALKS)
def test_the_chat_conforms(name: str) -> None:
    judgement = judge(TALKS[name], on_text, can={"pause"})
    if judgement.skipped:
        pytest.skip(judgement.skipped)
    assert judgement, str(judgement)


@pytest.mark.parametrize("seed", range(3))
def test_it_does_so_in_any_order_of_ready_tasks(seed: int) -> None:
    play = partial(on_text, make_loop=partial(PermutedLoop, seed=seed))
    wrong = {
        name: str(one)
        for name, talk in TALKS.items()
        if not (one := judge(talk, play, can={"pause"}))
    }
    assert wrong == {}


# -- the chat itself


def scripted(answers: Mapping[str, Answer]) -> Callable[..., Awaitable[Answer]]:
    """A model that answers the last message, by a part of it."""

    async def model(messages: Sequence[Message]) -> Answer:
        await asyncio.sleep(0.2)
        return next(a for words, a in answers.items() if words in messages[-1].text)

    return model


def flow_of(text: str) -> Flow:
    flow, findings = parse_flow(text)
    assert flow is not None, findings
    return flow


BOOK = Answer(calls=(Call("book", {"table": 4}),))


def test_a_line_interrupts_behind_the_sentence_that_is_shown() -> None:
    user, _ = talk_to(
        [(1.0, types("the menu")), (2.5, types("stop"))],
        6.0,
        model=scripted(
            {"menu": Answer("We have soup. We have fish. We have cake."), "stop": Answer("Yes.")}
        ),
    )
    assert user.seen == [(1.2, "We have soup."), (2.1, "We have fish."), (2.7, "Yes.")]


def test_the_model_reads_that_a_tool_has_failed() -> None:
    async def book(table: int) -> str:
        raise ValueError(f"table {table} is taken")

    user, _ = talk_to(
        [(1.0, types("book"))],
        4.0,
        model=scripted({"table 4 is taken": Answer("It is taken."), "book": BOOK}),
        tools={"book": book},
    )
    assert [line for _, line in user.seen] == ["It is taken."]


def test_an_identical_call_gets_the_result_of_the_first_without_running() -> None:
    """The model makes both in one step; the tool is marked with `once`."""
    booked: list[int] = []
    twice = Answer(calls=[*BOOK.calls, *BOOK.calls])

    @once
    async def book(table: int) -> str:
        await asyncio.sleep(1.0)
        booked.append(table)
        return "it is booked"

    user, _ = talk_to(
        [(1.0, types("book"))],
        9.0,
        model=scripted({"it is booked": Answer("Done."), "book": twice}),
        tools={"book": book},
    )
    assert booked == [4]
    assert [line for _, line in user.seen] == ["Done."]


def test_the_result_of_a_tool_that_completes_although_it_was_cancelled_is_told() -> None:
    """The user must hear what was done."""

    @on_interruption("cancel")
    async def book(table: int) -> str:
        try:
            await asyncio.sleep(9.0)
        except asyncio.CancelledError:
            await asyncio.sleep(2.0)
        return "it is booked"

    user, _ = talk_to(
        [(1.0, types("a table")), (3.0, types("wait"))],
        9.0,
        model=scripted(
            {"The result of book": Answer("Done."), "wait": Answer("Yes?"), "a table": BOOK}
        ),
        tools={"book": book},
    )
    assert [line for _, line in user.seen] == ["Yes?", "Done."]


def test_a_call_that_was_answered_and_is_cancelled_with_its_turn_is_not_told() -> None:
    """The model was told that it still runs; the user interrupts what the agent says to that."""

    @on_interruption("cancel")
    async def book(table: int) -> str:
        await asyncio.sleep(30.0)
        return "it is booked"

    user, chat = talk_to(
        [(1.0, types("a table")), (5.0, types("stop"))],
        20.0,
        model=scripted(
            {
                "it still runs": Answer("It still runs. Please be patient. It takes long."),
                "stop": Answer("Yes?"),
                "a table": BOOK,
            }
        ),
        tools={"book": book},
        timers={"tool_limit": 3.0},
    )
    assert [line for _, line in user.seen] == ["It still runs.", "Yes?"]
    journal = chat.conductor.turn.journal
    (ended,), (dropped,) = journal.notes("tool_ended"), journal.notes("result_dropped")
    assert (ended.data["how"], dropped.data["call"]) == ("cancelled", "call_1")


def test_a_tool_that_completes_after_the_user_has_left_starts_nothing() -> None:
    async def book(table: int) -> str:
        try:
            await asyncio.sleep(60.0)
        except asyncio.CancelledError:
            await asyncio.sleep(1.0)
        return "it is booked"

    user, _ = talk_to(
        [(1.0, types("book"))],
        4.0,
        model=scripted({"book": BOOK}),
        tools={"book": book},
    )
    assert user.seen == []


def test_a_user_who_leaves_ends_what_runs() -> None:
    ended: list[str] = []

    async def book(table: int) -> str:
        try:
            await asyncio.sleep(60.0)
        finally:
            ended.append("book")
        return "booked"

    talk_to(
        [(1.0, types("book"))],
        4.0,
        model=scripted({"book": BOOK}),
        tools={"book": book},
    )
    assert ended == ["book"]


def test_a_flow_may_ask_before_a_tool_runs() -> None:
    flow = flow_of(
        "flow: asks\nextends: turn\n"
        "tools: {confirm: {book: {say: 'Shall I book table {table}?'}}}\n"
    )
    booked: list[float] = []

    async def book(table: int) -> str:
        booked.append(round(asyncio.get_running_loop().time(), 1))
        return "it is booked"

    user, _ = talk_to(
        [(1.0, types("book")), (5.0, types("yes"))],
        9.0,
        model=scripted({"it is booked": Answer("Done."), "book": BOOK}),
        tools={"book": book},
        flow=flow,
    )
    assert [line for _, line in user.seen] == ["Shall I book table 4?", "Done."]
    assert booked == [5.0]


def test_a_flow_hangs_up_on_a_user_who_says_nothing() -> None:
    flow = flow_of(
        "flow: quiet\nextends: turn\nsilence: [{after: 4, say: Goodbye., hang_up: true}]\n"
    )
    user, chat = talk_to(
        [(1.0, types("hello"))],
        9.0,
        model=scripted({"hello": Answer("Hello.")}),
        flow=flow,
    )
    assert [line for _, line in user.seen] == ["Hello.", "Goodbye."]
    assert chat.closing


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("Ring.", r"'rings' declares ring_bell, .* govern\(actions=...\)"),
        ("{audio: bell.wav}", "'rings' plays 'bell.wav', and only TurnSession"),
    ],
)
def test_a_flow_of_which_nobody_carries_out_an_action_is_refused(
    action: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with wave.open("bell.wav", "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", "not compressed"))
        file.writeframes(b"\0\0")
    flow = flow_of(
        f"flow: rings\nextends: turn\nactions: {{ring_bell: {action}}}\n"
        "states: {listening: {on: {final_transcript: {actions: ring_bell}}}}\n"
    )

    async def begin() -> None:
        ours, theirs = socket.socketpair()
        theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        try:
            Chat(reader, writer, scripted({}), {}, flow=flow)
        finally:
            writer.close()
            await writer.wait_closed()

    with pytest.raises(HostError, match=why):
        run(begin())
