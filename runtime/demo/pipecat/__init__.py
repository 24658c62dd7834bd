"""The demo in a governed Pipecat pipeline."""

from .hold import Parts, PipelineStack, hold
from .text import TypedStack

__all__ = ["Parts", "PipelineStack", "TypedStack", "hold"]
