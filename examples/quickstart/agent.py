"""A whole voice agent. It needs no keys: its language model is a script."""

from livekit.agents import Agent, AgentServer, JobContext, RunContext, cli, function_tool

from turnfsm.livekit import TurnSession
from turnfsm.testing import Call, Reply, ScriptedLLM

server = AgentServer()


class Clerk(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You work at the counter of a bank.")
        self.transfers: list[int] = []

    @function_tool
    async def transfer(self, ctx: RunContext, amount: int) -> str:
        """Transfer money.

        Args:
            amount: in euros
        """
        await ctx.wait_for_playout()  # the caller hears what will happen, and may object
        self.transfers.append(amount)
        return f"{amount} euros were transferred"


def make_llm() -> ScriptedLLM:
    """Replaces a language model such as `openai.LLM()`."""
    return ScriptedLLM(
        on_user={
            "transfer": Reply(
                "I transfer fifty euros now.", calls=Call("transfer", {"amount": 50})
            ),
            "stop": "I have transferred nothing.",
        },
        on_tool={"transfer": "Your fifty euros are on their way."},
    )


@server.rtc_session()
async def entrypoint(ctx: JobContext) -> None:
    session = TurnSession(llm=make_llm())  # add stt=, tts= and vad= for voice
    await session.start(Clerk(), room=ctx.room)


if __name__ == "__main__":
    cli.run_app(server)
