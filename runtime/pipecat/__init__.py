"""The adapter for Pipecat. `turnfsm.pipecat` has what applications use."""
