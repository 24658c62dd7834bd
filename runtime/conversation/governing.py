"""Puts a flow in charge of a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from turnfsm.fsm import Flow, HostError
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.proof import Proof, require_proof
from turnfsm.runtime.turn import TurnRuntime

from .conductor import Conductor
from .custom import CustomHost
from .ports import Session
from .vocabulary import flow_for

__all__ = ["govern"]


def govern(
    session: Session,
    flow: Flow | str | Path = "turn",
    *,
    timers: Mapping[str, float] | None = None,
    actions: object | None = None,
    sinks: Iterable[Sink] = (),
    proof: Proof = "require",
) -> Conductor:
    """Put a flow in charge of a session of your own.

    Args:
        session: Carries out the decisions of the flow.
        flow: A `Flow`, the name of a shipped one, or a path.
        timers: Seconds that override those of the flow.
        actions: Has a method for each action and host fact that the flow itself declares.
        sinks: Each gets every record of the journal.
        proof: What happens with a flow that is not proved: ``require`` raises, ``warn`` logs and
            records it, ``off`` does not check.

    Returns:
        The conductor, to which the session reports. Its `turn` is the runtime, with the journal.

    Raises:
        FlowError: The flow cannot be used, or is not proved.
        HostError: It lacks names that a conversation needs, or one of its own actions has no
            method.
    """
    loaded = flow_for(flow, f"a {type(session).__name__}")
    if any(action.backchannel for action in loaded.actions.values()):
        raise HostError(
            f"flow {loaded.name!r} has 'backchannels', and only TurnSession and TurnGovernor play "
            "them beside the agent's speech; write 'backchannels: null' in a flow that extends it"
        )
    if sounds := [repr(action.audio) for action in loaded.actions.values() if action.audio]:
        raise HostError(
            f"flow {loaded.name!r} plays {', '.join(sounds)}, and only TurnSession and "
            "TurnGovernor can play a sound; write 'say: TEXT' instead of 'audio'"
        )
    conductor = Conductor(session, Ledger())
    host = CustomHost(loaded, conductor.host, session, actions, lambda: None)
    if host.left_to_agent:
        raise HostError(
            f"flow {loaded.name!r} declares {', '.join(host.left_to_agent)}, and nothing carries "
            "that out; give govern(actions=...) an object with a method of each name"
        )
    runtime = TurnRuntime(loaded, host, timers=timers, sinks=sinks)
    conductor.govern(runtime, require_proof(loaded, proof))  # it takes the longest, so it is last
    return conductor
