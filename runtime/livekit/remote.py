"""Triggers that a participant of the room posts by RPC."""

from __future__ import annotations

from functools import partial

from livekit import rtc

from turnfsm.fsm import Refused
from turnfsm.runtime.turn import TurnRuntime

__all__ = ["RemoteTriggers"]

REFUSED = 1409
"""The code of the RPC error that gives the reason of a refusal."""


class RemoteTriggers:
    """Registers an RPC method for each trigger of the flow that declares one (`rpc`).

    Args:
        turn: Gets the triggers.
        room: The room; its local participant offers the methods once it is connected.
    """

    def __init__(self, turn: TurnRuntime, room: rtc.Room) -> None:
        self._turn, self._room = turn, room
        triggers = turn.flow.triggers
        self._methods = {t.rpc: name for name, t in triggers.items() if t.rpc is not None}
        self._registered = False
        if self._methods:
            room.on("connection_state_changed", self._state_changed)
            self._register()

    def close(self) -> None:
        """The session has closed: unregister the methods."""
        if self._methods:
            self._room.off("connection_state_changed", self._state_changed)
        if self._registered and self._room.isconnected():
            for method in self._methods:
                self._room.local_participant.unregister_rpc_method(method)

    def _state_changed(self, state: int) -> None:
        self._register()

    def _register(self) -> None:
        if self._registered or not self._room.isconnected():
            return
        self._registered = True
        for method, trigger in self._methods.items():
            self._room.local_participant.register_rpc_method(method, partial(self._post, trigger))

    async def _post(self, trigger: str, data: rtc.RpcInvocationData) -> str:
        verdict = self._turn.post(trigger, caller=data.caller_identity)
        if isinstance(verdict, Refused):
            raise rtc.RpcError(REFUSED, verdict.why)
        return self._turn.state
