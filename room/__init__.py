"""A real room: a LiveKit server, workers and callers on this machine.

`python -m room` holds the demo's conversation in it; `tests/room` and `python -m bench room` use
the parts. Nothing of this is installed with turnfsm.
"""
