"""A real room: a LiveKit server, workers and callers on this machine; or a Pipecat pipeline.

`python -m room` plays the demo's conversation in it. `tests/room` uses its parts. This
package is not installed with turnfsm.
"""
