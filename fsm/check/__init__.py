"""Proves flows: every reachable configuration is visited before a flow runs."""
