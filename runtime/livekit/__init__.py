"""Connects the conversation with livekit-agents. `turnfsm.livekit` has the public names."""

from turnfsm.runtime.livekit_contract import check

check(strict=False)  # before a module imports a name that may be missing
