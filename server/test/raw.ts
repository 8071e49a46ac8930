import { connect } from 'node:net'

/** Sends bytes as they are and gives back all that comes until the server closes or has been silent for a while. */
export function sendRaw(port: number, bytes: string | Buffer, silenceMs = 2_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    const finish = () => {
      socket.destroy()
      resolve(Buffer.concat(chunks).toString('latin1'))
    }
    socket.setTimeout(silenceMs, finish)
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('close', finish)
    // A reset after an answer is the server's way of refusing the rest of a request.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      ['ECONNRESET', 'EPIPE'].includes(error.code ?? '') ? finish() : reject(error),
    )
  })
}
