#!/usr/bin/env node
import { version } from './version.ts'

const args = process.argv.slice(2)

if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
  process.stdout.write(`${version}\n`)
} else {
  const stop = new AbortController()
  process.once('SIGINT', () => {
    stop.abort()
    // Whoever asks twice does not want to wait.
    process.once('SIGINT', () => process.exit(130))
  })
  // A reader that has seen enough is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  // Nor is one who does not want to know how it goes: the work goes on.
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.exit(1)
  })
  const { systemIo } = await import('./io.ts')
  const { run } = await import('./program.ts')
  process.exitCode = await run(args, { io: systemIo, signal: stop.signal })
}
