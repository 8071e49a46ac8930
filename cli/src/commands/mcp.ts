import type { Command } from 'commander'
import type { Context } from '../context.ts'
import type { Act } from '../program.ts'

export function registerMcp(program: Command, act: Act): void {
  program
    .command('mcp')
    .description(
      'a Model Context Protocol server on standard input and output, with which assistants look after your bots',
    )
    .option('--write', 'also let them change things: deploy, roll back, variables, power; they can only look otherwise')
    .action(act(serve))
}

async function serve(context: Context, { write }: { write?: boolean }): Promise<void> {
  context.needStdin()
  const client = await context.client()
  // Its library is more than all the rest together.
  const { serveTools } = await import('../mcp/serve.ts')
  await serveTools(context, client, { isWriting: write === true })
}
