"""The tool calls of a session: which of them the turn waits for, and whose results are owed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import attrs
from livekit.agents import llm
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.fsm.flow import Policy, Tools
from turnfsm.runtime.livekit.overrides import (
    GovernedActivity,
    GovernedHandle,
    activity_of,
    running_call,
)

from .policies import policy_of

__all__ = ["Call", "Owed", "ToolCalls"]


@attrs.define(eq=False)
class Call:
    """One tool call that runs.

    Attributes:
        blocking: Its turn waits for it: it has not reported and was not released.
        reported: It gave an update; its result then comes by LiveKit's deferred reply.
        held: Its speech may not be interrupted while it runs.
    """

    id: str
    name: str
    handle: SpeechHandle
    activity: GovernedActivity | None
    policy: Policy = "detach"
    blocking: bool = True
    reported: bool = False
    held: bool = False


@attrs.define(eq=False)
class Owed:
    """The result of a released call, which the user has not heard.

    Attributes:
        moot: A later reply was made with the result before it.
    """

    id: str
    name: str
    moot: bool = False


class ToolCalls:
    """Keeps account; decides nothing."""

    def __init__(self) -> None:
        self.running: dict[str, Call] = {}
        self.cancelled: set[str] = set()
        self.withdrawn: set[str] = set()
        self.let_go_of: set[str] = set()  # answered with "still running", as their turn was over
        self.awaited: dict[str, Call] = {}  # detached calls whose result is not committed yet
        self.owed: list[Owed] = []
        self.uncommitted: set[str] = set()  # ended; LiveKit is about to commit their results
        self._batches: dict[SpeechHandle, set[str]] = {}
        self._detached: list[GovernedHandle] = []

    def start(self, session: object, call: llm.FunctionCall, tools: Tools) -> Call | None:
        """Enter a call; None if it is unknown to LiveKit's executors."""
        self.withdrawn.discard(call.call_id)
        self.let_go_of.discard(call.call_id)
        context = running_call(session, call.call_id)  # type: ignore[arg-type]
        if context is None:
            return None
        activity = activity_of(context)
        tool = activity.tool(call.name) if activity is not None else None
        policy = policy_of(call.name, tool, tools)
        entry = Call(call.call_id, call.name, context.speech_handle, activity, policy)
        self.running[call.call_id] = entry
        return entry

    def report(self, call_id: str) -> Call | None:
        """A call gave its first update: it goes on in the background, by its own will."""
        call = self.running.get(call_id)
        if call is not None:
            call.blocking = False
            call.reported = True
            self.awaited.pop(call_id, None)
        return call

    def end(self, call_id: str) -> Call | None:
        """A call has ended."""
        return self.running.pop(call_id, None)

    def ended(self, call: Call) -> bool:
        """Enter a call's end; True if it was the last of its speech, so that results are due."""
        if call.reported:
            return False
        self._batches.setdefault(call.handle, set()).add(call.id)
        return self.results_due(call.handle)

    def results_due(self, handle: SpeechHandle) -> bool:
        """LiveKit is about to commit the results of a speech: no call of it is waited for."""
        if handle not in self._batches or any(not other.reported for other in self.of(handle)):
            return False
        self.uncommitted |= self._batches.pop(handle)
        return True

    def delaying_commit(self, handle: SpeechHandle) -> list[Call]:
        """Calls that nobody waits for, which keep results of their speech from being committed."""
        if handle not in self._batches:
            return []
        return [call for call in self.of(handle) if not (call.blocking or call.reported)]

    def ended_calls(self) -> list[llm.ChatItem]:
        """The calls, with their results, that wait for the last of their speech to be committed."""
        ended: list[llm.ChatItem] = []
        for handle, batch in self._batches.items():
            calls = {i.call_id: i for i in handle.chat_items if i.type == "function_call"}
            for output in handle.chat_items:
                if output.type != "function_call_output" or output.call_id not in batch:
                    continue
                ended += [calls[output.call_id], output]
        return ended

    def blocking(self, activity: object) -> bool:
        """Whether the activity's turn waits for a call."""
        return any(c.blocking and c.activity is activity for c in self.running.values())

    def unblock(self, handle: SpeechHandle) -> None:
        """The turn no longer waits for the calls of this speech."""
        for call in self.of(handle):
            call.blocking = False

    def of(self, handle: SpeechHandle) -> list[Call]:
        """The calls of a speech."""
        return [call for call in self.running.values() if call.handle is handle]

    def hold(self, call: Call) -> bool:
        """Keep a call's speech from being interrupted, if that is its policy."""
        if call.policy not in ("hold", "finish") or not isinstance(call.handle, GovernedHandle):
            return False
        call.handle.hold()
        call.held = True
        return True

    def let_go(self, call: Call) -> None:
        """The call's speech may be interrupted again, as far as this call goes."""
        if call.held and isinstance(call.handle, GovernedHandle):
            call.held = False
            call.handle.let_go()

    def detach(self, handle: GovernedHandle) -> list[Call]:
        """The turn of this speech is over. Gives the calls to cancel; what the others give is
        owed to the user."""
        calls = self.of(handle)
        for call in calls:
            call.blocking = False
            if call.policy == "cancel":
                self.cancelled.add(call.id)
            elif not call.reported:
                self.awaited[call.id] = call
        if handle not in self._detached:
            self._detached.append(handle)
        return [call for call in calls if call.policy == "cancel"]

    def withdraw(self, call_id: str) -> None:
        """A call that ended by the interruption itself owes nothing."""
        self.awaited.pop(call_id, None)
        self.withdrawn.add(call_id)

    def owe(self, call_id: str, outputs: Iterable[llm.FunctionCallOutput]) -> None:
        """Results of a call that was let go of stand in the conversation."""
        if call_id not in self.withdrawn:
            self.owed += [Owed(output.call_id, output.name) for output in outputs]

    def committed(self, items: Iterable[llm.ChatItem]) -> bool:
        """Results now stand in the conversation; True if one of them is owed."""
        before = len(self.owed)
        for item in items:
            if item.type != "function_call_output":
                continue
            self.uncommitted.discard(item.call_id)
            call = self.awaited.pop(item.call_id, None)
            if call is not None and (item.output or item.is_error):
                self.owed.append(Owed(call.id, call.name))
        return len(self.owed) > before

    def reply_made(self) -> None:
        """A reply is generated with all that is committed: what was owed before is moot."""
        for owed in self.owed:
            owed.moot = True

    def take_owed(self) -> Sequence[Owed]:
        """What is owed and not moot, which is now being delivered."""
        due = [owed for owed in self.owed if not owed.moot]
        self.owed.clear()
        return due

    def detached_tasks(self) -> list[asyncio.Task[None]]:
        """The tasks of detached speeches that still run."""
        self._detached = [h for h in self._detached if any(not t.done() for t in h.tasks)]
        return [t for handle in self._detached for t in handle.tasks if not t.done()]
