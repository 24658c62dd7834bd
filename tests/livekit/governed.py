"""The subclasses of LiveKit's classes by which the binding overrides."""

from turnfsm.runtime.livekit.overrides import (
    activity,
    answering,
    arriving,
    closing,
    generating,
    hearing,
    leaving,
    output,
    passing,
    producing,
    realtime,
    recognition,
    requests,
    run,
    session,
    speech,
    tools,
)

GOVERNED = (
    *(activity.GovernedActivity, producing.ProducingActivity, requests.RequestingActivity),
    *(passing.PassingActivity, hearing.HearingActivity, arriving.ArrivingActivity),
    *(leaving.LeavingActivity, realtime.RealtimeActivity, answering.AnsweringActivity),
    *(generating.GeneratingActivity, output.OutputActivity),
    *(recognition.GovernedRecognition, run.GovernedRun),
    *(session.GovernedSession, closing.ClosingSession),
    *(speech.GovernedHandle, tools.GovernedExecutor),
)
