// The SQL of the list's hot paths behind nothing but Fastify: no keys, no limits, no validation.
import { fastify } from 'fastify'
import pg from 'pg'
import { statsText, statsValues } from '../../server/src/list/stats.ts'
import { voteText } from '../../server/src/list/votes.ts'

const pool = new pg.Pool({ host: process.argv[2] ?? '', user: 'botberth', database: 'botberth', max: 20 })
const server = fastify()

// Everything but the secret is known by its place: the n-th key is that of the n-th bot.
const botOf = (key: unknown) => String(800_000_000_000_000_000n + BigInt(String(key).slice(-10)))

server.post('/list/api/bots/stats', async ({ headers, body }) => {
  const { server_count: serverCount } = body as { server_count: number }
  const values = statsValues({ botId: botOf(headers['x-api-key']), serverCount, isHosted: true }, new Date())
  const { rows } = await pool.query<{ is_certified: boolean }>({ name: 'stats', text: statsText, values })
  return { message: 'Statistics updated', isCertified: rows[0]?.is_certified }
})

server.get('/list/api/bots/check-vote', async ({ headers, query }) => {
  const { user_id: userId } = query as { user_id: string }
  const values = [new Date().toISOString().slice(0, 10), botOf(headers['x-api-key']), userId]
  const { rows } = await pool.query<{ voted_at: Date }>({ name: 'vote', text: voteText, values })
  return { voted: rows.length > 0, votedAt: rows[0]?.voted_at.toISOString() ?? null }
})

process.send?.(await server.listen({ host: '127.0.0.1', port: 0 }))
