/** A bot that runs. */
export interface RunningBot {
  readonly botId: string
  /** The process that keeps its exit code; undefined if it is not known, or not yet behind all walls. */
  readonly monitor: number | undefined
}

export interface EnteredNetwork {
  /** In front of a command: it runs inside. Execs in place, so pid and descriptors stay. */
  readonly enter: readonly string[]
  /** A descriptor that the sandbox has to hold for as long as anything inside it runs: the network ends with it. */
  readonly lifeline?: number
}

/** Networks of bots, however this machine makes them. */
export interface Networks {
  /** The address on which we listen for bots, and the one at which they find us; undefined if they cannot. */
  readonly door: { readonly listen: string; readonly host: string } | undefined
  /** Processes of ours that run beside each bot for its network. */
  readonly helpers: number
  /** What bots are told of names and of who knows more of them. */
  readonly names: Readonly<Record<'resolv.conf' | 'hosts', string>>
  /** Lets bots reach this TCP port of the door. */
  openDoor(port: number): Promise<void>
  enter(botId: string): Promise<EnteredNetwork>
  /** As the bot sees it. `pid`: one of its processes. */
  counters(botId: string, pid: number | undefined): { rxBytes: number; txBytes: number } | undefined
  /** Connections that bots were not given since it was asked last, as far as that is known. Some may come twice. */
  takeRefusals(): Promise<readonly { botId: string; to: string; port: number }[]>
  /** Writes the rules anew if they have gone or become wrong. */
  repair(): Promise<void>
  /** Those of bots that do not run. */
  prune(): Promise<void>
  remove(botId: string): Promise<void>
  /** Takes everything away that we made. */
  destroy(): Promise<void>
}

/** Networks with a problem work, but not for everything. */
export interface FoundNetworks {
  readonly networks?: Networks
  readonly problem?: string
  readonly remedy?: string
}
