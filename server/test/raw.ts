import { Agent, request } from 'node:http'
import { connect } from 'node:net'

// Much longer than any answer takes: it ends a test that would wait for ever.
const silenceMs = 120_000

/**
 * Sends bytes as they are and gives back all that comes until the server closes, or, where it is not expected to, until
 * there is one whole answer.
 */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  { isClosedAfter = bytes.includes('Connection: close') } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    const finish = () => {
      socket.destroy()
      resolve(text)
    }
    socket.setTimeout(silenceMs, () => reject(new Error(`no more than this came: ${text}`)))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!isClosedAfter && isWhole(text)) finish()
    })
    socket.on('close', finish)
    // A reset after an answer is the server's way of refusing the rest of a request.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      ['ECONNRESET', 'EPIPE'].includes(error.code ?? '') ? finish() : reject(error),
    )
  })
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  const length = /^content-length: (\d+)/im.exec(text.slice(0, end))?.[1]
  return end !== -1 && length !== undefined && text.length >= end + 4 + Number(length)
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

interface Received {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

/** Sends one request after the other, over one connection for as long as the server keeps it open. */
export class Connection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  send({ method, path, headers, body }: Sent): Promise<Received> {
    return new Promise((resolve, reject) => {
      let isAnswered = false
      const asked = request({ host: '127.0.0.1', port: this.#port, agent: this.#agent, method, path, headers })
      asked.on('response', (answer) => {
        isAnswered = true
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            contentType: String(answer.headers['content-type']),
            text: Buffer.concat(chunks).toString(),
          }),
        )
      })
      // A reset after an answer is the server's way of refusing the rest of a request.
      asked.on('error', (error) => isAnswered || reject(error))
      asked.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
