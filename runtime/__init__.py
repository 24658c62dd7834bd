"""Runs flows: the event pump, the journal, timers, tasks, and the adapters."""
