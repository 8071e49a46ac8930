import { validationError } from '../lib/app-error.ts'

const topicsMax = 50

export type Topic =
  | { readonly name: string; readonly kind: 'logs' | 'state' | 'resources' | 'deployment'; readonly id: string }
  | { readonly name: string; readonly kind: 'me' }

/** Each once, in the order in which they were asked for. */
export function parseTopics(text: string): Topic[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))]
  if (names.length > topicsMax) throw wrong(`takes up to ${topicsMax} topics`)
  return names.map(parseTopic)
}

function parseTopic(name: string): Topic {
  if (name === 'me') return { name, kind: 'me' }
  const [, botId, kind] = /^bot:(\w{1,64}):(logs|state|resources)$/.exec(name) ?? []
  if (botId !== undefined) return { name, kind: kind as 'logs' | 'state' | 'resources', id: botId }
  const [, deploymentId] = /^deployment:(\w{1,64})$/.exec(name) ?? []
  if (deploymentId !== undefined) return { name, kind: 'deployment', id: deploymentId }
  throw wrong('takes bot:ID:logs, bot:ID:state, bot:ID:resources, deployment:ID and me, separated by commas')
}

function wrong(detail: string): Error {
  return validationError([{ pointer: '/topics', detail }])
}
