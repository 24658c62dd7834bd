"""Asks the turn's flow before a request is sent to the model, and logs requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import attrs

from turnfsm.fsm.agenda.entries import CallsReceived, ReplyHeard, RequestSent
from turnfsm.fsm.flow import NEVER
from turnfsm.runtime.ledger_call import canonical

from .core import Core
from .host import TurnHost
from .ports import Speech

__all__ = ["RequestReports"]

_UNDER_WAY = 256
"""How many ids of calls to remember until these begin or enter the conversation."""


@attrs.define(eq=False)
class RequestReports:
    """Takes the reports about requests to the model, and about the calls that it makes."""

    _core: Core
    _host: TurnHost
    _ids: dict[str, str] = attrs.field(factory=dict, init=False)

    # -- requests

    async def may_request(self, speech: Speech) -> bool:
        """A request is about to be sent to the model. Posts `reply`, and waits until the flow takes
        it or the speech is interrupted.

        Returns:
            True if it had to wait, so the conversation may have changed.
        """
        if self._core.turn.post("reply", speech=speech.id):
            return False
        await self._core.until(lambda: self._may_request_now(speech))
        if self._core.governs and not speech.interrupted:
            self._core.turn.post("reply", speech=speech.id)
        return True

    def _may_request_now(self, speech: Speech) -> bool:
        core = self._core
        return not core.governs or speech.interrupted or bool(core.turn.ask("reply"))

    def sent(
        self,
        speech: Speech,
        shown: Collection[str],
        instructions: str | None = None,
        *,
        answers: bool | None = None,
        unanswered: Iterable[str] = (),
    ) -> None:
        """The request for a step of a reply is sent to the model. Posts nothing.

        Args:
            shown: The ids of the results in the request.
            instructions: The reply's own instructions.
            answers: The reply answers the user; usually true if it has no instructions.
            unanswered: The ids of the user's messages at the end of the request.
        """
        core = self._core
        calls = core.tools.with_results(shown)
        if not core.speeches.of(speech).reply:
            if speech.interrupted:
                return
            core.speeches.asked(speech, core.agent, instructed=instructions is not None)
        named = None
        if instructions is not None:
            results = (o for o in core.log.agenda.obligations if o.kind == "result")
            named = [o.id for o in results if o.id in instructions]
        answers = instructions is None if answers is None else answers
        core.log.add(RequestSent(speech.id, calls, named, answers, unanswered))

    def tokens_received(self) -> None:
        """The model has produced output. Posts nothing."""
        self._core.progress.tokens_received()

    def calls_received(self, speech: Speech, calls: int) -> None:
        """The model's response has ended, with this number of calls. Posts nothing."""
        self._core.log.add(CallsReceived(speech.id, calls))

    def reply_heard(self, speech: str, *, whole: bool) -> None:
        """A reply that the user heard was added to the conversation. Posts nothing.

        `whole`: it was played to the end.
        """
        self._core.log.add(ReplyHeard(speech, whole))
        self._core.tools.forget_settled()

    # -- calls

    def own_id(self, item: str, given: str, others: Collection[str]) -> str:
        """The id of a call: the model's id, unless another call has it.

        A model may use an id twice. It is used unchanged otherwise, as some providers look up calls
        by it. It stays the same while the call is running.

        Args:
            item: The id of the call's item, which no other call has.
            given: The id that the model gave.
            others: The ids of all other calls in the conversation.
        """
        if item not in self._ids:
            id, number = given, 1
            while id in self._ids.values() or id in others or id in self._core.ledger:
                number += 1
                id = f"{given}_{number}"
            self._ids[item] = id
            if len(self._ids) > _UNDER_WAY:
                del self._ids[next(iter(self._ids))]
        return self._ids[item]

    def call_repeated(self, id: str, name: str, arguments: str) -> bool:
        """A model that owns its turns reports a call. Posts nothing.

        Returns:
            Whether it has reported this call before: the same id, tool and arguments. Such a model
            gives each call an id of its own, so the second report is a retry and starts nothing.
        """
        entry = self._core.ledger.find(id)
        if entry is None:
            repeated = id in self._ids.values()  # its tool has not begun yet
        else:
            repeated = (entry.name, entry.arguments) == (name, canonical(arguments))
        if not repeated:
            return False
        self._core.turn.note("call_repeated", call=id)
        return True

    async def before_call(self, call_id: str, name: str, arguments: str, turn: str) -> str | None:
        """A tool is about to begin. Posts nothing.

        With a store, the call is stored first.

        Returns:
            The output for the model if the tool must not begin, else None.
        """
        core = self._core
        if core.keeping is None:
            return None
        data = {"name": name, "arguments": arguments, "turn": turn}
        core.turn.note("call_intended", call=call_id, **data)
        if (why := await core.keeping.before_effect()) is not None:
            core.turn.note("call_given_up", call=call_id)
        return why

    def call_started(self, call_id: str) -> None:
        """A tool has begun, or the call was refused. Posts nothing."""
        core = self._core
        if core.keeping is not None and call_id not in core.ledger:
            core.turn.note("call_given_up", call=call_id)

    async def after_call(self) -> None:
        """A tool has ended, but its value was not passed on yet. Posts nothing."""
        if self._core.keeping is not None:
            await self._core.keeping.before_reply()

    async def wait_for_calls(self, calls: Collection[str]) -> None:
        """Wait for these calls, up to the limit for a handoff or a close."""
        core = self._core
        timers = core.session.settings.timers
        held_up = timers.get("tool_limit", NEVER)
        await core.until(lambda: not core.tools.hold_up(calls), held_up)
        await core.until(lambda: False, timers["drain_limit"])
