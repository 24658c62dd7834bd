"""The subclasses of LiveKit's classes by which the binding overrides."""

from turnfsm.runtime.livekit.overrides import (
    activity,
    arriving,
    hearing,
    leaving,
    realtime,
    recognition,
    run,
    session,
    speech,
    tools,
)

GOVERNED = (
    *(activity.GovernedActivity, hearing.HearingActivity, arriving.ArrivingActivity),
    *(leaving.LeavingActivity, realtime.RealtimeActivity),
    *(recognition.GovernedRecognition, run.GovernedRun),
    *(session.GovernedSession, speech.GovernedHandle, tools.GovernedExecutor),
)
