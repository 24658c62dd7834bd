"""A call to a governed Pipecat pipeline: SmallWebRTC, and a browser as the caller.

`python -m room --host pipecat` plays the demo's conversation over it; with `talk` you are the
caller.
"""
