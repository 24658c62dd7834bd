"""From YAML to a flow: every problem of a file at once, with its place and its remedy."""

from .loader import load_flow, parse_flow, shipped_flows

__all__ = ["load_flow", "parse_flow", "shipped_flows"]
