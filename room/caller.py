"""A person in a room: plays recorded speech in real time, listens, and records everything."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any, Self

from livekit import rtc
from livekit.rtc.data_stream import StreamError

from turnfsm.runtime.demo.audio import WavInput
from turnfsm.runtime.demo.speech import PCM, RATE

from .person import AGENT_STATE, Change, Person, Text
from .server import RoomServer

__all__ = ["Caller"]

_TRANSCRIPTS = "lk.transcription"
_FINAL, _SEGMENT = "lk.transcription_final", "lk.segment_id"
_COMES = 60.0  # the limit of every wait, in seconds


class Caller(Person):
    """One participant. Times are seconds of conversation, which begin with `enter`.

    Example::

        async with Caller(server, "room") as caller:
            await caller.agent_comes()
            await caller.say(recording("go_forward"))
    """

    def __init__(
        self, server: RoomServer, room: str, identity: str = "caller", *, subscribe: bool = True
    ) -> None:
        super().__init__(identity)
        self.room = rtc.Room()
        self.mic = WavInput(self.pace)
        self.agent: rtc.RemoteParticipant | None = None
        self.track: rtc.LocalTrackPublication | None = None
        self._server, self._name, self._subscribe = server, room, subscribe
        self._source = rtc.AudioSource(RATE, 1, queue_size_ms=100)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._agents: set[str] = set()

    async def __aenter__(self) -> Self:
        await self.enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    async def enter(self) -> None:
        """Join the room with an open microphone."""
        self.wall = time.time() - self.pace.now()
        self.room.on("participant_attributes_changed", self._attributes)
        self.room.on("participant_connected", self._participant)
        self.room.on("participant_disconnected", self._gone)
        self.room.on("track_subscribed", self._subscribed)
        self.room.register_text_stream_handler(_TRANSCRIPTS, self._transcript)
        token = self._server.token(self._name, self.identity)
        await self.room.connect(
            self._server.url, token, rtc.RoomOptions(auto_subscribe=self._subscribe)
        )
        for participant in self.room.remote_participants.values():
            self._participant(participant)
        track = rtc.LocalAudioTrack.create_audio_track("microphone", self._source)
        self.track = await self.room.local_participant.publish_track(
            track, rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
        )
        self._begin(self._speak())

    async def leave(self) -> None:
        """Hang up."""
        self.mic.close()
        await self.room.disconnect()
        await self.ear.aclose()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._source.aclose()

    async def say(self, pcm: PCM) -> float:
        """Speak. Returns the conversation time of the end."""
        return await self.mic.say(pcm)

    async def chat(self, text: str) -> None:
        """Send a message to the room's chat."""
        await self.room.local_participant.send_text(text, topic="lk.chat")

    async def press(self, key: str) -> None:
        """Send a DTMF tone."""
        code = "0123456789*#".index(key)
        await self.room.local_participant.publish_dtmf(code=code, digit=key)

    def mute(self, muted: bool) -> None:
        """Close or open the microphone."""
        assert self.track is not None
        assert self.track.track is not None
        track = self.track.track
        assert isinstance(track, rtc.LocalAudioTrack)
        (track.mute if muted else track.unmute)()

    def subscribe(self) -> None:
        """Subscribe to the agent's audio, if the caller has not done so from the start."""
        assert self.agent is not None
        for publication in self.agent.track_publications.values():
            publication.set_subscribed(True)

    async def rest(self, seconds: float) -> None:
        """Do nothing for a while."""
        await self.pace.sleep(seconds)

    def spoken(self) -> PCM:
        """Everything that the microphone has picked up."""
        return self.mic.track()

    @property
    def state(self) -> str:
        """The published state of the agent."""
        return self.agent.attributes.get(AGENT_STATE, "") if self.agent else ""

    @property
    def agent_texts(self) -> list[Text]:
        """The transcripts of all agents, including those that have left."""
        return [text for text in self.texts if text.of in self._agents]

    async def agent_comes(self, seconds: float = _COMES) -> None:
        """Wait for an agent that listens, and for a subscriber of the microphone."""
        await self.until(lambda: self.state == "listening", seconds, "no agent listened")
        assert isinstance(self.track, rtc.LocalTrackPublication)
        async with asyncio.timeout(seconds):
            await self.track.wait_for_subscription()

    async def text_seen(self, words: str, within: float = _COMES) -> float:
        """Wait until the agent has said this text. Returns the conversation time."""
        said = lambda: any(words in text.text for text in self.agent_texts)  # noqa: E731
        return await self.until(said, within, f"the agent has not said {words!r}")

    async def silence(self, seconds: float = 1.0, within: float = _COMES) -> None:
        """Wait until the agent listens and was silent for this time."""
        await self.until(
            lambda: self.state == "listening" and self.ear.quiet_for > seconds,
            within,
            "the agent did not become silent",
        )

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _speak(self) -> None:
        async for frame in self.mic:
            await self._source.capture_frame(frame)

    def _participant(self, participant: rtc.RemoteParticipant) -> None:
        if participant.kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT:
            self.agent = participant
            self._agents.add(participant.identity)
            self._attributes(list(participant.attributes), participant)

    def _gone(self, participant: rtc.RemoteParticipant) -> None:
        if participant is self.agent:
            self.agent = None

    def _attributes(self, changed: list[str], participant: rtc.Participant) -> None:
        if self.agent is not None and participant.identity == self.agent.identity:
            now = self.pace.now()
            known = participant.attributes
            self.changes += [Change(now, name, known.get(name, "")) for name in changed]

    def _subscribed(
        self, track: rtc.Track, _: rtc.RemoteTrackPublication, participant: rtc.RemoteParticipant
    ) -> None:
        audio = track.kind == rtc.TrackKind.KIND_AUDIO
        if audio and participant.kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT:
            self.ear.listen(track)

    def _transcript(self, reader: rtc.TextStreamReader, identity: str) -> None:
        self._begin(self._read(reader, identity))

    async def _read(self, reader: rtc.TextStreamReader, identity: str) -> None:
        about = reader.info.attributes or {}
        text = Text(identity, about.get(_SEGMENT, ""), about.get(_FINAL) == "true")
        self.texts.append(text)
        with suppress(StreamError):  # cut off, as by the end of the call
            async for piece in reader:
                text.pieces.append((self.pace.now(), piece))
        text.final = text.final or (reader.info.attributes or {}).get(_FINAL) == "true"
