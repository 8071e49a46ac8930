"""A Discord bot with one slash command. Waits until its token is set."""

import asyncio
import os
import signal

import discord
from discord import app_commands


class Bot(discord.Client):
    def __init__(self) -> None:
        super().__init__(intents=discord.Intents(guilds=True))
        self.tree = app_commands.CommandTree(self)
        self.tree.add_command(ping)

    async def setup_hook(self) -> None:
        await self.tree.sync()

    async def on_ready(self) -> None:
        print(f"Connected as {self.user}, in {len(self.guilds)} servers.", flush=True)


@app_commands.command(description="Answers with the time that a message takes.")
async def ping(interaction: discord.Interaction) -> None:
    latency = round(interaction.client.latency * 1000)
    await interaction.response.send_message(f"Pong! {latency} ms", ephemeral=True)


async def run(token: str) -> None:
    bot = Bot()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: asyncio.create_task(bot.close()))
    async with bot:
        await bot.start(token)
    print("Disconnected. Goodbye.", flush=True)


async def wait_for_token() -> None:
    """Not a failure: the bot is fine, it only lacks its token."""
    print("DISCORD_TOKEN is not set. Set it under Variables and restart; until then this bot waits.", flush=True)
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    await stopping.wait()


if __name__ == "__main__":
    discord.utils.setup_logging()
    bot_token = os.environ.get("DISCORD_TOKEN")
    asyncio.run(run(bot_token) if bot_token else wait_for_token())
