"""A teller on the telephone: everything that the caller notices is in bank.yaml."""

import asyncio

from livekit.agents import Agent, function_tool

from turnfsm.livekit import TurnContext


class Teller(Agent):
    """Reads balances and transfers money."""

    def __init__(self) -> None:
        super().__init__(instructions="You are a bank teller. Be brief.")
        self.transfers: list[tuple[int, str]] = []

    @function_tool
    async def ask_for_the_account(self, ctx: TurnContext) -> str:
        """Ask for the number of the account, before anything else is done with it."""
        ctx.session.turn.expect("digits", length=8)
        return "Ask for the number of the account."

    @function_tool
    async def read_balance(self, account: str) -> str:
        """Read the balance of an account."""
        await asyncio.sleep(4.0)  # the bank is slow
        return f"{account}: 1200 euros"

    @function_tool
    async def transfer(self, amount: int, account: str) -> str:
        """Transfer money to an account."""
        await asyncio.sleep(2.0)
        self.transfers.append((amount, account))
        return "transferred"
