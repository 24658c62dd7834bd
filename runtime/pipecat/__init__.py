"""`TurnGovernor`: Pipecat pipelines whose turns follow a flow."""

from turnfsm.runtime.conversation.policies import on_interruption, once

from .governor import TurnGovernor

__all__ = ["TurnGovernor", "on_interruption", "once"]
