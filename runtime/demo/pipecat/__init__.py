"""The demo in a governed Pipecat pipeline."""

from .hold import PipelineStack, hold

__all__ = ["PipelineStack", "hold"]
