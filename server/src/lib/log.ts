import { styleText } from 'node:util'
import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/** JSON lines for machines; short coloured lines where a person looks on. Secrets have no field to stand in. */
export function makeLog(level: string): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorFields },
      // Nothing logs these on purpose; this is for an object that carries them along by accident.
      redact: { paths: secretPaths, censor: '[redacted]' },
    },
    process.stdout.isTTY ? forPeople(process.stdout) : forMachines(),
  )
}

function forMachines(): DestinationStream {
  const destination = pino.destination({ dest: 1, sync: true })
  destination.on('error', () => {}) // nobody reads any more: no reason to stop
  return destination
}

const secretNames = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'key',
  'accessToken',
  '["x-api-key"]',
  '["set-cookie"]',
]
const secretPaths = secretNames.flatMap((name) => {
  const dotted = name.startsWith('[') ? name : `.${name}`
  return [dotted.replace(/^\./, ''), `*${dotted}`, `*.headers${dotted}`]
})

/** Errors of libraries carry whole clients along, passwords included: only what names the fault is logged. */
function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) }
  const { code } = error as NodeJS.ErrnoException
  return {
    type: error.name,
    message: error.message,
    ...(code && { code }),
    stack: error.stack,
    ...(error.cause !== undefined && { cause: errorFields(error.cause) }),
  }
}

const colours = { debug: 'gray', info: 'cyan', warn: 'yellow', error: 'red', fatal: 'red' } as const

function forPeople(output: NodeJS.WriteStream): DestinationStream {
  return {
    write(line) {
      const { level, time, msg, ...rest } = JSON.parse(line) as Record<string, unknown>
      const { err, ...fields } = rest as { err?: ReturnType<typeof errorFields> }
      const label = styleText(colours[level as keyof typeof colours] ?? 'white', String(level).padEnd(5))
      const details = Object.entries(fields).map(
        ([name, value]) => ` ${name}=${isPlain(value) ? value : JSON.stringify(value)}`,
      )
      const problem = err ? `\n${describe(err)}` : ''
      output.write(
        `${String(time).slice(11, 19)} ${label} ${String(msg)}${styleText('gray', details.join(''))}${problem}\n`,
      )
    },
  }
}

/** Anything else is quoted: a value must not be able to colour, erase or forge lines of the terminal. */
function isPlain(value: unknown): value is string {
  return typeof value === 'string' && /^[ -~]*$/.test(value)
}

function describe({ stack, message, cause }: ReturnType<typeof errorFields>): string {
  const reason = cause ? `\ncaused by ${describe(cause as ReturnType<typeof errorFields>)}` : ''
  return `${String(stack ?? message)}${reason}`
}
