"""A test kit for voice agents: virtual time, scripted speech, models and audio."""
