"""The subclasses of LiveKit's classes by which the binding overrides."""

from turnfsm.runtime.livekit.overrides import (
    activity,
    closing,
    generating,
    handoff,
    hearing,
    leaving,
    realtime,
    recognition,
    requests,
    run,
    session,
    speech,
    tools,
)

GOVERNED = (
    *(activity.GovernedActivity, requests.RequestingActivity, handoff.HandoffActivity),
    *(hearing.HearingActivity, leaving.LeavingActivity, realtime.RealtimeActivity),
    generating.GeneratingActivity,
    *(recognition.GovernedRecognition, run.GovernedRun),
    *(session.GovernedSession, closing.ClosingSession),
    *(speech.GovernedHandle, tools.GovernedExecutor),
)
