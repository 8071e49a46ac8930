import { Client, Events, GatewayIntentBits, MessageFlags } from 'discord.js'

const token = process.env.DISCORD_TOKEN

if (token) await run(token)
else waitForToken()

async function run(token) {
  const client = new Client({ intents: [GatewayIntentBits.Guilds] })

  client.once(Events.ClientReady, async (ready) => {
    console.log(`Connected as ${ready.user.tag}, in ${ready.guilds.cache.size} servers.`)
    await ready.application.commands.set([{ name: 'ping', description: 'Answers with the time that a message takes.' }])
  })

  client.on(Events.InteractionCreate, async (interaction) => {
    if (!interaction.isChatInputCommand() || interaction.commandName !== 'ping') return
    await interaction.reply({ content: `Pong! ${client.ws.ping} ms`, flags: MessageFlags.Ephemeral })
  })

  client.on(Events.Error, (error) => console.error('The connection reported an error:', error.message))

  process.on('SIGTERM', async () => {
    await client.destroy()
    console.log('Disconnected. Goodbye.')
    process.exit(0)
  })

  await client.login(token)
}

/** Not a failure: the bot is fine, it only lacks its token. */
function waitForToken() {
  console.log('DISCORD_TOKEN is not set. Set it under Variables and restart; until then this bot waits.')
  const waiting = setInterval(() => {}, 60_000)
  process.on('SIGTERM', () => clearInterval(waiting))
}
