"""Sends an agent into every room that has a caller and no agent: at first, and when one has died.

    python supervisor.py NAME [SOCKET]      of the agent: @server.rtc_session(agent_name=NAME)

It looks at the rooms; LiveKit notices after about 20 s that a process has died. The jobs on the
same machine are watched more closely: each connects to SOCKET (`watched`), and the connection ends
with its process.

LIVEKIT_URL, LIVEKIT_API_KEY and LIVEKIT_API_SECRET say where. A LiveKit server that you host does
not send a second agent by itself. The agent goes on with the conversation if it keeps its session
in a store (docs/store.md).
"""

import asyncio
import logging
import sys
from contextlib import suppress

from livekit import api
from livekit.agents import JobContext
from livekit.protocol.models import ParticipantInfo

logger = logging.getLogger("supervisor")

LOOK = 0.25  # seconds between two looks
ON_ITS_WAY = 10.0  # seconds that an agent has from its dispatch until it is in the room


class Supervisor:
    """Looks after the rooms of a server.

    Args:
        name: Of the agent.
    """

    def __init__(self, client: api.LiveKitAPI, name: str) -> None:
        self._client = client
        self._name = name
        self._sent: dict[str, float] = {}  # rooms in which no agent was seen since
        self._dead: set[str] = set()  # LiveKit may show them in their room for a while

    async def run(self) -> None:
        """Look, again and again."""
        while True:
            try:
                answer = await self._client.room.list_rooms(api.ListRoomsRequest())
                for room in answer.rooms:
                    await self.look_after(room.name)
            except (api.TwirpError, OSError) as error:
                logger.warning("the server does not answer: %s", type(error).__name__)
            await asyncio.sleep(LOOK)

    async def look_after(self, room: str) -> bool:
        """Send an agent if there is a caller and no agent; True if one was sent."""
        answer = await self._client.room.list_participants(api.ListParticipantsRequest(room=room))
        agent = ParticipantInfo.Kind.AGENT
        callers = [person for person in answer.participants if person.kind != agent]
        agents = {person.identity for person in answer.participants if person.kind == agent}
        now = asyncio.get_running_loop().time()
        if agents - self._dead:
            self._sent.pop(room, None)
        if agents - self._dead or not callers:
            return False
        if now - self._sent.get(room, -ON_ITS_WAY) < ON_ITS_WAY:
            return False
        await self.send(room)
        return True

    async def send(self, room: str) -> None:
        """Send an agent."""
        self._sent[room] = asyncio.get_running_loop().time()
        request = api.CreateAgentDispatchRequest(agent_name=self._name, room=room)
        await self._client.agent_dispatch.create_dispatch(request)
        logger.info("an agent is sent into %s", room)

    async def watch(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A job has connected. Its connection ends with its process; if it has not said goodbye,
        another agent is sent at once, and what is left of it leaves the room."""
        try:
            room, identity = (await reader.readline()).decode().split()
            goodbye = await reader.read()
        except asyncio.CancelledError:
            return  # the supervisor ends, not the job
        finally:
            writer.close()
        if goodbye:
            return
        logger.warning("the agent of %s has died", room)
        self._dead.add(identity)
        await self.send(room)
        with suppress(api.TwirpError):
            gone = api.RoomParticipantIdentity(room=room, identity=identity)
            await self._client.room.remove_participant(gone)


async def watched(ctx: JobContext, path: str) -> None:
    """Have the supervisor of this machine know when this job's process dies."""
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except OSError as error:
        logger.error("no supervisor listens at %s (%s): nobody sends the next agent", path, error)
        return
    writer.write(f"{ctx.job.room.name} {ctx.token_claims().identity}\n".encode())

    async def goodbye() -> None:
        writer.write(b"goodbye")
        writer.close()

    ctx.add_shutdown_callback(goodbye)


async def main() -> None:
    logging.basicConfig(level=logging.INFO)
    async with api.LiveKitAPI() as client:
        supervisor = Supervisor(client, sys.argv[1])
        if len(sys.argv) > 2:
            await asyncio.start_unix_server(supervisor.watch, sys.argv[2])
        await supervisor.run()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
