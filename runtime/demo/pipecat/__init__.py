"""The demo in a governed Pipecat pipeline."""

from .hold import PipelineStack, hold
from .text import TypedStack

__all__ = ["PipelineStack", "TypedStack", "hold"]
