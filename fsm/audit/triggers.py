"""Translates the events of a session that no flow governs to the triggers of a flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from turnfsm.fsm.agenda.turns import TurnEnd
from turnfsm.fsm.verdicts import Refused, Verdict

from .events import Recorded
from .follower import Post
from .rules.rule import AT_ONCE, LONG
from .rules.waiting import WaitingResults
from .turn_ends import TurnEnds

__all__ = ["SessionTriggers", "TurnTriggers"]

Otherwise = Callable[[Verdict, str, str, str], None]
"""Called with the flow's decision, and with what the session did instead, as a sentence. Then the
letter of that failure, and the property that forbids it, as in `AuditFinding`."""

Kind = tuple[str, str]

_NONE = ("", "")
_A = ("A", "no_speculation_while_a_tool_runs")
_C = ("C", "no_request_before_the_results")
_D = ("D", "an_interruption_settles")
_OVER_THE_USER = ("", "no_playout_over_the_user")


class TurnTriggers:
    """The triggers of a flow of the kind ``turn``.

    Public events do not show everything, so two things are assumed. Replies take the floor in the
    order of their requests, and hold it until they are done or wait for their tools. A user turn is
    complete when a reply to it is requested, when an earlier reply is interrupted for it, or when
    its message is in the conversation.

    Args:
        post: Decides on a trigger.
        otherwise: Called with what the session did although the flow has refused it or decided
            differently.
        continues: Whether a call of this tool continues when its turn is interrupted.
        ended: Called with each turn of the user that ends.

    Attributes:
        ends: How the turns have ended.
    """

    def __init__(
        self,
        post: Post,
        otherwise: Otherwise = lambda verdict, did, failure, property: None,
        continues: Callable[[str], bool] = lambda tool: False,
        ended: Callable[[TurnEnd], None] = lambda end: None,
    ) -> None:
        self._post = post
        self._otherwise = otherwise
        self._continues = continues
        self.ends = TurnEnds(ended)
        self._barged_in: tuple[float, Verdict] | None = None  # the latest interruption
        self._by_noise = False  # the flow would not have interrupted; no transcript since
        self._interruptible: dict[str, bool] = {}  # for each speech that is not done
        self._speculative: list[str] = []  # until the turn is committed
        self._queue: list[str] = []
        self._holder: str | None = None
        self._in_tools: list[str] = []
        self._calls: dict[str, str] = {}  # the tool of each call of the active agent that runs
        self._calls_of: dict[str, dict[str, str]] = {}  # those of agents that have handed over
        self._results = WaitingResults()
        self._next_reply: Verdict | None = None  # that must deliver the pending results
        self._in_step = self._heard = self._stopped = self._user_speaks = False
        self._asked = False  # a reply to the turn is requested
        self._words: float | None = None  # when the last transcript came that is in no turn yet
        self._spoke = self._answered = False  # since the last turn: speech, a reply to it
        self._commit_of: tuple[float, Verdict] | None = None
        self._waited_for_tools = False  # since then
        self._now = 0.0

    def process(self, event: Recorded) -> None:
        """Post the triggers of an event."""
        self._now = event.t
        waited = self._results.process(event)
        if waited is not None and (reply := self._next_reply or self._post("next_reply", None)):
            self._otherwise(reply, str(waited), "D", "")
        self._translate(event)
        if not self._results.orphaned:
            self._next_reply = None
        elif self._results.free and not self._next_reply:
            self._next_reply = self._post("next_reply", None)

    def _translate(self, event: Recorded) -> None:
        match event.name:
            case "user_state_changed":
                self._user(event.text("new") == "speaking")
            case "agent_state_changed":
                paused = (event.text("old"), event.text("new")) == ("speaking", "listening")
                if paused and self._user_speaks and self._heard and self._holder is not None:
                    self._ask("barge_in", "the user has interrupted")
            case "interruption":
                self._interruption()
            case "close":
                self._interrupted_for_nothing()
                self.ends.closed()
            case "user_input_transcribed":
                self._words, self._by_noise = event.t, False
                self._post("final_transcript", None)
            case "conversation_item_added" if event.text("role") == "user":
                self._message()
            case "conversation_item_added" if event.fields.get("to"):
                self._handed_over(event.text("from"), event.text("to"))
            case "speech_created":
                self._created(event)
            case "interruptions_disallowed":
                self._disallowed(event.text("speech"))
            case "speech_interrupted":
                self._interrupted(event.text("speech"))
            case "speech_done":
                self._done(event.text("speech"), bool(event.fields.get("interrupted")))
            case "playback_started":
                self._playback_started()
            case "playback_finished":
                self._playback_finished(bool(event.fields.get("interrupted")))
            case "tool_execution_updated":
                self._tool(event)
            case "function_tools_executed":
                self._post("results_committed", None)
                if event.fields.get("reply"):
                    self._queue += self._in_tools
                    self._in_tools.clear()
                    self._pass_floor_on()

    def host_facts(self) -> Mapping[str, bool]:
        """Assumes that the output can be held and paused, that a reply can be requested again, and
        that the agent can speak."""
        usual = ("holdable", "pausable", "results_available", "can_regenerate", "can_say")
        return {
            "interruptible": self._interruptible.get(self._holder or "", True),
            "endpointing": self._words is not None and not self._answered,
            "agenda_open": self._results.orphaned and not self._next_reply,
            "interruption_open": False,
            **dict.fromkeys(usual, True),
        }

    def _ask(self, request: str, did: str, of: Any = None, kind: Kind = _NONE) -> Verdict | None:
        """Post a request that the session has granted."""
        verdict = self._post(request, of)
        if isinstance(verdict, Refused):
            self._otherwise(verdict, did, *kind)
        return verdict

    def _user(self, speaks: bool) -> None:
        if speaks != self._user_speaks:
            self._user_speaks = speaks
            if speaks:
                self._spoke, self._answered = True, False
            self._post("user_started_speaking" if speaks else "user_stopped_speaking", None)

    def _interruption(self) -> None:
        """The session interrupts the agent because of voice activity."""
        verdict = self._post("barge_in", None)
        self._barged_in = None if verdict is None else (self._now, verdict)
        acts = self._holder is not None or self._in_tools
        if verdict is not None and acts and "interrupt_speech" not in verdict.actions:
            self._by_noise = True

    def _interrupted_for_nothing(self) -> None:
        if self._by_noise and self._barged_in is not None:
            self._by_noise, (at, verdict) = False, self._barged_in
            self._otherwise(verdict, f"the agent was interrupted at {at:.1f} s by a noise", "N", "")

    def _created(self, event: Recorded) -> None:
        self._interrupted_for_nothing()
        speech = event.text("speech")
        self._interruptible[speech] = event.fields.get("interruptible") is not False
        since = None if self._answered else self._words
        if since is not None and event.text("source") != "say" and event.t - since < AT_ONCE:
            self._speculative.append(speech)
            early = "the model was asked before the turn was committed"
            self._ask("preemptive_generation", early, kind=_A if self._calls else _NONE)
            return
        if since is not None and event.text("source") != "say":
            self._commit()
            self._turn_asked(speech)
        elif event.text("source") != "say" and self._commit_of is None:
            if self._spoke and not self._user_speaks:  # a realtime model: no transcript yet
                self._answered = True
            if self.ends.due:
                self.ends.continued(speech)
            reply = self._ask("reply", "the model was asked")
            if reply is not None and "request_with_results" in reply.actions:
                self._otherwise(reply, "the model was asked without the results", *_C)
        elif event.text("source") != "say":
            self._turn_asked(speech)
        self._queue.append(speech)
        self._pass_floor_on()

    def _commit(self) -> None:
        self._answered = True
        self.ends.committed()
        self._waited_for_tools = bool(self._calls)
        verdict = self._ask("turn_committed", "the turn was answered")
        self._commit_of = (self._now, verdict) if verdict else None

    def _turn_asked(self, speech: str | None) -> None:
        if not self._asked:
            self._asked = True
            self.ends.asked(speech)
            self._post("reply_requested", None)

    def _message(self) -> None:
        if self._words is None:  # typed, or given by the application
            return
        if not self._answered:
            self._commit()
        if self._commit_of is not None and self._now - self._commit_of[0] > LONG:
            waited = self._now - self._commit_of[0]
            kind = _D if self._waited_for_tools else _NONE
            self._otherwise(self._commit_of[1], f"the turn waited for {waited:.1f} s", *kind)
        self._words, self._spoke, self._answered, self._commit_of = None, False, False, None
        if not self._asked:
            self._turn_asked(self._speculative[-1] if self._speculative else None)
        self._asked = False
        self._queue += self._speculative
        self._speculative.clear()
        self._pass_floor_on()

    def _pass_floor_on(self) -> None:
        if self._holder is None and self._queue:
            self._holder = self._queue.pop(0)
            self._in_step = True
            self._post("step_started", self._holder)

    def _end_step(self) -> None:
        if self._in_step:
            self._in_step = False
            self._post("step_finished", self._holder)
        self._holder = None
        self._pass_floor_on()

    def _interrupted(self, speech: str) -> None:
        if speech not in self._interruptible:
            return
        if speech == self._holder:
            self._post("step_interrupted", speech)
        else:
            self._post("speech_interrupted", None)
        if self._words is not None and not self._answered and speech not in self._speculative:
            self._commit()

    def _disallowed(self, speech: str) -> None:
        if speech in self._interruptible:
            self._interruptible[speech] = False
            if speech == self._holder:
                self._post("interruptions_disallowed", speech)

    def _done(self, speech: str, interrupted: bool) -> None:
        self.ends.done(speech, interrupted)
        self._interruptible.pop(speech, None)
        for waiting in (self._speculative, self._queue, self._in_tools):
            if speech in waiting:
                waiting.remove(speech)
        if speech == self._holder:
            self._end_step()

    def _playback_started(self) -> None:
        self._heard = True
        if (
            self._holder is None
        ):  # the turn's message comes late, or the reply has called its tools first
            self._queue = [*self._speculative[:1], *self._in_tools[-1:]][:1]
            for speech in self._queue:
                waiting = self._speculative if speech in self._speculative else self._in_tools
                waiting.remove(speech)
            self._pass_floor_on()
        elif self._stopped and self._queue:
            self._end_step()
        if self._holder is not None:
            self._stopped = False
            verdict = self._ask("start_playout", "the agent spoke", self._holder, _OVER_THE_USER)
            if verdict and "start_output" not in verdict.actions:
                self._otherwise(verdict, "the agent spoke", *_OVER_THE_USER)
            self._post("playout_started", self._holder)
            if self.ends.due:
                self.ends.heard()
                self._post("turn_replied", None)

    def _playback_finished(self, interrupted: bool) -> None:
        self._heard, self._stopped = False, interrupted
        if self._holder is not None:
            self._post("step_interrupted" if interrupted else "playout_finished", self._holder)
            self._wait_for_tools()

    def _tool(self, event: Recorded) -> None:
        update, call = event.text("update"), event.text("call")
        if update == "started":
            self._calls[call] = event.text("name")
            self.ends.called()
            self._post("tool_started", None)
            self._wait_for_tools()
            return
        for waiting in self._calls_of.values():
            waiting.pop(call, None)
        if update == "ended" and call in self._calls:
            tool = self._calls.pop(call)
            self._post("tool_ended", None)
            at, verdict = self._barged_in or (0.0, None)
            cancelled = event.text("status") == "cancelled" and self._now - at < AT_ONCE
            if verdict is not None and cancelled and self._continues(tool):
                self._otherwise(verdict, f"the call of {tool} was cancelled", "D", "")
            if not self._calls:
                self._post(
                    "tools_released" if self._results.interrupted(call) else "tools_drained", None
                )

    def _handed_over(self, old: str, new: str) -> None:
        """A call that awaits a task waits with its agent, until the task hands back."""
        if self._calls:
            self._calls_of[old] = self._calls
            self._post("tools_drained", None)
        self._calls = self._calls_of.pop(new, {})
        for _ in self._calls:
            self._post("tool_started", None)

    def _wait_for_tools(self) -> None:
        """A reply that has called tools and is not playing has no step until they end."""
        if self._calls and self._holder is not None and not self._heard and not self._stopped:
            self._in_tools.append(self._holder)
            self._end_step()


class SessionTriggers:
    """The triggers of the flow `session`."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._began = False

    def process(self, event: Recorded) -> None:
        """Post the triggers of an event."""
        if event.text("type") == "agent_handoff":
            self._post("agent_phase_changed" if self._began else "session_started", None)
            self._began = True
        elif event.name == "close_late":
            self._post("close_requested", None)

    def host_facts(self) -> Mapping[str, bool]:
        """No host fact is known."""
        return {}
