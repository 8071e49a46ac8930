import type { Confinement } from '../confinement.ts'
import type { Network } from '../network.ts'
import type { EnteredNetwork, Networks, RunningBot } from '../networks.ts'

/** What root can make: cables to a bridge. A bot's network is known by the bot's number and stays when it stops. */
export class BridgedNetworks implements Networks {
  readonly door: { readonly listen: string; readonly host: string }
  readonly helpers = 0
  readonly names: Networks['names']
  readonly #network: Network
  readonly #confinement: Confinement
  readonly #running: () => readonly RunningBot[]

  constructor(network: Network, confinement: Confinement, running: () => readonly RunningBot[]) {
    this.#network = network
    this.#confinement = confinement
    this.#running = running
    this.door = { listen: network.gateway, host: network.gateway }
    this.names = { 'resolv.conf': network.resolvConf, hosts: network.hosts }
  }

  openDoor(port: number): Promise<void> {
    return this.#network.openDoor(port)
  }

  async enter(botId: string): Promise<EnteredNetwork> {
    const number = this.#confinement.number(botId)
    // A bridge takes 1023: those that are not used make room.
    return this.#network.ensure(number).catch(async () => {
      await this.prune()
      return this.#network.ensure(number)
    })
  }

  counters(botId: string): { rxBytes: number; txBytes: number } | undefined {
    const number = this.#confinement.findNumber(botId)
    return number === undefined ? undefined : this.#network.counters(number)
  }

  async takeRefusals(): Promise<{ botId: string; to: string; port: number }[]> {
    const bots = new Map(this.#running().map(({ botId }) => [this.#confinement.findNumber(botId), botId]))
    return (await this.#network.takeRefusals()).flatMap(({ index, to, port }) => {
      const botId = bots.get(index)
      return botId === undefined ? [] : [{ botId, to, port }]
    })
  }

  repair(): Promise<void> {
    return this.#network.repair()
  }

  async prune(): Promise<void> {
    const used = new Set(this.#running().map(({ botId }) => this.#confinement.findNumber(botId)))
    for (const index of this.#network.list()) if (!used.has(index)) await this.#network.remove(index)
  }

  async remove(botId: string): Promise<void> {
    const number = this.#confinement.findNumber(botId)
    if (number !== undefined) await this.#network.remove(number)
  }

  destroy(): Promise<void> {
    return this.#network.destroy()
  }
}
