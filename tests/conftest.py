"""Fixtures for all tests: `virtual_time` from the project's own pytest plugin."""

pytest_plugins = ["runtime.testing.plugin"]
