"""Loads flows from YAML, and reports every problem of a file with its place and its remedy."""

from .loader import load_flow, load_shipped, parse_flow, shipped_flows

__all__ = ["load_flow", "load_shipped", "parse_flow", "shipped_flows"]
