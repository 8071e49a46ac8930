// Made by `npm run gen` from the contract. Change that, not this file.

export interface ApiKey {
  readonly id: string
  readonly name: string
  /** The last four characters of the key. */
  readonly last4: string
  /** When it was made. */
  readonly createdAt: string
  /** When it was last used, to the minute; null: never. */
  readonly lastUsedAt: string | null
}

export interface Session {
  readonly id: string
  /** The browser and its system, as far as they are known. */
  readonly client: string | null
  /** Where its pages were last opened from. */
  readonly ip: string | null
  /** The sign-in. */
  readonly createdAt: string
  /** When a page was last opened in it; null: not known. */
  readonly lastUsedAt: string | null
  /** When it ends by itself. */
  readonly expiresAt: string
  /** Whether this request was made in it. */
  readonly current: boolean
}

export interface Backup {
  readonly id: string
  readonly botId: string
  /** `running`: waits its turn, or is being made. */
  readonly status: 'running' | 'completed' | 'failed'
  /** Of the archive. */
  readonly sizeBytes: number | null
  /** SHA-256 of the archive, in hexadecimal. */
  readonly checksum: string | null
  /** It can be neither deleted nor pruned. */
  readonly locked: boolean
  /** A daily one, of which so many are kept as `backups.keep` of the bot says. */
  readonly scheduled: boolean
  readonly error: {
    /** Stable, in snake_case. */
    readonly code: string
    readonly message: string
  } | null
  readonly lastRestore: {
    readonly id: string
    readonly status: 'running' | 'completed' | 'failed'
    readonly error: {
      /** Stable, in snake_case. */
      readonly code: string
      readonly message: string
    } | null
    /** When it was asked for. */
    readonly createdAt: string
    /** When it ended. */
    readonly finishedAt: string | null
  } | null
  /** When it was asked for. */
  readonly createdAt: string
  /** When it was complete. */
  readonly completedAt: string | null
}

export interface Bot {
  readonly id: string
  readonly name: string
  readonly type: 'custom' | 'git' | 'marketplace'
  /** As it was sent; null: found from the files. */
  readonly language: string | null
  /** `new`: never deployed. */
  readonly status: 'new' | 'active' | 'expired'
  /** Of its server. */
  readonly identifier: string
  readonly gitUrl: string | null
  readonly gitBranch: string | null
  readonly autoDeployEnabled: boolean
  readonly templateId: string | null
  readonly repo: {
    readonly installationId: number
    readonly repoId: number
    readonly fullName: string
    /** Why it cannot be deployed from: the installation is suspended, or no longer holds the repository, which may be gone or somebody else’s. Null: all is well. */
    readonly problem: 'suspended' | 'removed' | 'deleted' | 'transferred' | null
  } | null
  readonly server: {
    readonly identifier: string
    readonly state: 'offline' | 'starting' | 'running' | 'stopping' | 'crashed'
    /** When a crashed server is started again; null: not by itself. */
    readonly restartAt: string | null
  }
  readonly lastDeployment: {
    readonly id: string
    readonly status: string
    /** When it was asked for. */
    readonly createdAt: string
  } | null
  readonly limits: {
    /** Memory in MB. */
    readonly memoryMb: number
    /** CPU cores; 0.5 is half of one. While it starts, a bot may take up to two. */
    readonly cpus: number
    /** Disk in MB. */
    readonly diskMb: number
  }
  readonly startCommand: string | null
  readonly buildCommand: string | null
  readonly backups: {
    readonly daily: boolean
    readonly keep: number
  }
  /** When it stops unless it is renewed. */
  readonly expiresAt: string
  /** When it was made. */
  readonly createdAt: string
  /** When it was last changed. */
  readonly updatedAt: string
}

export interface Deployment {
  readonly id: string
  readonly botId: string
  /** Who asked for it, in a short word. */
  readonly source: string
  readonly status: 'queued' | 'fetching' | 'installing' | 'building' | 'starting' | 'succeeded' | 'failed' | 'canceled' | 'superseded'
  readonly branch: string | null
  readonly commitSha: string | null
  readonly commitMsg: string | null
  /** The deployment whose release it started again; null: it built one. */
  readonly rollbackOf: string | null
  readonly error: {
    /** Stable, in snake_case. */
    readonly code: string
    readonly message: string
    /** The last lines of the log, at most 8 KiB. */
    readonly lastLog: string
  } | null
  readonly steps: readonly {
    readonly name: 'fetching' | 'installing' | 'building' | 'starting'
    readonly status: 'running' | 'waiting' | 'succeeded' | 'failed' | 'canceled' | 'skipped'
    /** When the step began. */
    readonly startedAt: string
    readonly durationMs: number | null
  }[]
  /** When it was asked for. */
  readonly createdAt: string
  /** When its turn came. */
  readonly startedAt: string | null
  /** When it ended. */
  readonly finishedAt: string | null
  /** From its turn to its end. */
  readonly durationMs: number | null
}

export interface VariableChange {
  readonly key: string
  readonly change: 'added' | 'changed' | 'removed'
}

export interface Health {
  readonly status: 'ok' | 'degraded'
  readonly db: 'connected' | 'disconnected'
  /** Seconds since the server started. */
  readonly uptime: number
}

export interface Template {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly language: string
  readonly variables: readonly TemplateVariable[]
}

export interface TemplateVariable {
  readonly key: string
  readonly description: string
  readonly required: boolean
  readonly secret: boolean
}

export interface Version {
  /** Digits and dots. */
  readonly version: string
  readonly apiPrefix: 'v1'
}

export interface Listing {
  /** The id of the bot’s user on the chat platform. */
  readonly botId: string
  readonly name: string
  readonly avatarUrl: string | null
  readonly shortDescription: string
  /** Markdown. */
  readonly description: string
  readonly tags: readonly string[]
  readonly inviteUrl: string | null
  readonly supportUrl: string | null
  readonly websiteUrl: string | null
  readonly owner: {
    readonly name: string
    readonly avatarUrl: string | null
  }
  /** Null: it has never told. */
  readonly serverCount: number | null
  /** When it last told its server count. */
  readonly statsAt: string | null
  /** In the present month, by UTC. */
  readonly votesThisMonth: number
  readonly votesTotal: number
  /** Its statistics come from this service’s hosting. Ends 3 days after the last. */
  readonly isCertified: boolean
  /** When it was listed. */
  readonly createdAt: string
}

export interface LogLines {
  /** Oldest first. */
  readonly data: readonly {
    readonly seq: number
    /** When the line was read. */
    readonly at: string
    /** `system`: said by Botberth. */
    readonly stream: 'stdout' | 'stderr' | 'system'
    /** The step of a deployment, or `run`. */
    readonly phase: string
    readonly text: string
  }[]
  /** To ask for the lines before these; null: none are kept. */
  readonly before: number | null
  /** To ask for what comes after these. */
  readonly after: number | null
}

export interface LogsQuery {
  /** How many lines at most; the newest ones unless `after` is given. */
  readonly tail?: number
  readonly before?: number
  readonly after?: number
  readonly since?: string
  readonly until?: string
  readonly stream?: 'stdout' | 'stderr' | 'system'
  /** Only lines that hold this text; case is ignored. */
  readonly q?: string
}

export interface AuditEvent {
  readonly id: string
  readonly kind: 'login' | 'logout' | 'logout_everywhere' | 'key_created' | 'key_revoked' | 'device_approved' | 'device_denied' | 'codehost_connected' | 'codehost_disconnected' | 'suspended' | 'unsuspended' | 'listing_created' | 'listing_key_issued' | 'listing_given' | 'listing_taken' | 'listing_deleted'
  readonly details: Readonly<Record<string, string>>
  readonly ip: string | null
  /** When it happened. */
  readonly createdAt: string
}

export interface Limits {
  /** Bots that you may have; null: as many as you like. */
  readonly bots: number | null
  readonly apiKeys: number
}

export interface Me {
  readonly id: string
  readonly name: string
  readonly avatarUrl: string | null
  /** Id on the chat platform; null: never signed in through it. */
  readonly chatUserId: string | null
  readonly role: 'owner' | 'user'
  readonly limits: Limits
}

export interface OwnListing {
  /** The id of the bot’s user on the chat platform. */
  readonly botId: string
  readonly name: string
  readonly avatarUrl: string | null
  readonly shortDescription: string
  /** Markdown. */
  readonly description: string
  readonly tags: readonly string[]
  readonly inviteUrl: string | null
  readonly supportUrl: string | null
  readonly websiteUrl: string | null
  readonly owner: {
    readonly name: string
    readonly avatarUrl: string | null
  }
  /** Null: it has never told. */
  readonly serverCount: number | null
  /** When it last told its server count. */
  readonly statsAt: string | null
  /** In the present month, by UTC. */
  readonly votesThisMonth: number
  readonly votesTotal: number
  /** Its statistics come from this service’s hosting. Ends 3 days after the last. */
  readonly isCertified: boolean
  /** When it was listed. */
  readonly createdAt: string
  readonly applicationId: string
  /** The operator has taken it from the list. */
  readonly isHidden: boolean
  /** When the certification ends, or has ended, unless statistics arrive; null: never had it. */
  readonly certifiedUntil: string | null
  readonly votesToday: number
  /** Null: it has none; issue one. */
  readonly key: {
    readonly last4: string
    /** When it was issued. */
    readonly createdAt: string
    /** To the minute; null: never. */
    readonly lastUsedAt: string | null
  } | null
}

export interface Registration {
  readonly id: string
  readonly botId: string
  readonly applicationId: string
  /** To be put into the bot’s About Me. */
  readonly verificationCode: string
  /** Until when it can be verified. */
  readonly expiresAt: string
  /** When it was begun. */
  readonly createdAt: string
}

export interface OperatorUser {
  readonly id: string
  readonly name: string
  readonly avatarUrl: string | null
  /** Id on the chat platform; null: never signed in through it. */
  readonly chatUserId: string | null
  readonly role: 'owner' | 'user'
  readonly limits: Limits
  readonly suspended: boolean
  /** First sign-in. */
  readonly createdAt: string
}

export interface Report {
  readonly id: string
  readonly botId: string
  readonly botName: string
  readonly isHidden: boolean
  readonly reason: string
  /** Null: had not signed in, or has left. */
  readonly reporter: {
    readonly id: string
    readonly name: string
  } | null
  /** When it was reported. */
  readonly createdAt: string
}

export interface Wall {
  readonly name: 'files' | 'users' | 'calls' | 'limits' | 'network' | 'disk'
  /** `soft`: it holds mistakes, and a hostile bot only in part. */
  readonly state: 'on' | 'soft' | 'off'
  /** What it is made of, or what is missing. */
  readonly detail: string
  /** What mends it, unless it is on. */
  readonly remedy: string | null
}

export interface Problem {
  /** Where the error is described. */
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** The path that was asked for. */
  readonly instance: string
  /** Stable; compare this one. */
  readonly code: 'invalid_json' | 'validation_failed' | 'invalid_request' | 'url_not_allowed' | 'archive_invalid' | 'unauthenticated' | 'signature_invalid' | 'forbidden' | 'account_suspended' | 'signups_closed' | 'authorization_denied' | 'not_found' | 'method_not_allowed' | 'request_timeout' | 'invalid_state' | 'bot_expired' | 'limit_reached' | 'secret_not_repeatable' | 'authorization_pending' | 'login_not_configured' | 'codehost_not_configured' | 'codehost_not_connected' | 'already_listed' | 'code_not_found' | 'code_expired' | 'already_voted' | 'payload_too_large' | 'unsupported_media_type' | 'range_not_satisfiable' | 'idempotency_key_reused' | 'rate_limited' | 'header_too_large' | 'internal' | 'platform_failed' | 'unavailable' | 'platform_timeout'
  /** The same as `detail`. */
  readonly message: string
  readonly requestId: string
  readonly errors?: readonly {
    /** JSON pointer to the field. */
    readonly pointer: string
    readonly detail: string
  }[]
}

export interface Deleted {
  readonly id: string
  readonly deleted: true
}

export interface PageQuery {
  readonly page?: number
  /** Above 100 it is served as 100. */
  readonly limit?: number
}

export interface Resources {
  readonly identifier: string
  readonly state: 'offline' | 'starting' | 'running' | 'stopping' | 'crashed'
  /** 100 is one core. */
  readonly cpuPercent: number
  readonly memoryBytes: number
  readonly memoryLimitBytes: number
  readonly diskBytes: number
  readonly diskLimitBytes: number
  readonly networkRxBytes: number
  readonly networkTxBytes: number
  readonly processes: number
  readonly uptimeMs: number
  /** Since it was last started by hand or deployed. */
  readonly restarts: number
  /** When a crashed server is started again; null: not by itself. */
  readonly restartAt: string | null
  readonly lastExit: {
    readonly code: number | null
    readonly signal: string | null
    /** Whether it ran out of memory. */
    readonly oomKilled: boolean
    /** Whether it was stopped because its disk is full. */
    readonly diskFull?: boolean
    /** When it ended. */
    readonly at: string
  } | null
  /** When the numbers were taken. */
  readonly sampledAt: string
}

export interface Delivery {
  /** As in `X-Service-Delivery`: the same for all attempts. */
  readonly id: string
  readonly eventId: string
  readonly event: 'deploy.completed' | 'server.crashed' | 'backup.completed' | 'ping'
  readonly status: 'pending' | 'delivered' | 'failed' | 'canceled' | 'dropped'
  /** Why it ended without being delivered. */
  readonly reason: 'attempts_failed' | 'subscription_disabled' | 'backlog_full' | 'interrupted_repeatedly' | null
  /** When it is tried next; null: not again, or this very moment. */
  readonly nextAttemptAt: string | null
  /** When it happened. */
  readonly createdAt: string
  /** When it ended; null: it has not yet. */
  readonly finishedAt: string | null
  /** The oldest first; the last 20. */
  readonly attempts: readonly {
    /** 1 to 4, as in `X-Service-Attempt`. */
    readonly number: number
    readonly trigger: 'schedule' | 'test' | 'redelivery'
    /** When it began. */
    readonly at: string
    /** Null: nobody was there to see its end. */
    readonly durationMs: number | null
    /** `interrupted`: this server stopped in the middle of it; it is made again under the same number. */
    readonly outcome: 'succeeded' | 'failed' | 'interrupted'
    /** Null: there was no answer. */
    readonly statusCode: number | null
    /** Null: it succeeded. */
    readonly error: 'timeout' | 'dns' | 'connection' | 'tls' | 'http_status' | 'protocol' | 'blocked_address' | 'secret_unreadable' | 'interrupted' | null
    /** The first bytes of the answer’s body, at most 4 KiB. */
    readonly answer: string | null
  }[]
}

export interface Subscription {
  readonly id: string
  readonly url: string
  readonly events: readonly ('deploy.completed' | 'server.crashed' | 'backup.completed')[]
  readonly status: 'active' | 'disabled'
  /** Deliveries in a row that failed for good. At 10 it is disabled. */
  readonly consecutiveFailures: number
  /** Since when it is disabled. */
  readonly disabledAt: string | null
  /** `owner`: you did it. Null: it is active. */
  readonly disabledReason: 'consecutive_failures' | 'owner' | null
  /** When an attempt was last made; null: never. */
  readonly lastDeliveryAt: string | null
  /** When it was made. */
  readonly createdAt: string
}

/** The bodies of webhook deliveries, by event. */
export interface WebhookEvents {
  'deploy.completed': {
    /** Id of the event; the same for every subscription and attempt. */
    readonly id: string
    /** When it happened. */
    readonly timestamp: string
    readonly botId: string
    readonly botName: string
    readonly event: 'deploy.completed'
    readonly commitSha: string | null
    /** At most 1 KiB. */
    readonly commitMsg: string | null
    readonly branch: string | null
    readonly durationMs: number
  }
  'server.crashed': {
    /** Id of the event; the same for every subscription and attempt. */
    readonly id: string
    /** When it happened. */
    readonly timestamp: string
    readonly botId: string
    readonly botName: string
    readonly event: 'server.crashed'
    /** Its last lines, at most 8 KiB. */
    readonly lastLog: string
  }
  'backup.completed': {
    /** Id of the event; the same for every subscription and attempt. */
    readonly id: string
    /** When it happened. */
    readonly timestamp: string
    readonly botId: string
    readonly botName: string
    readonly event: 'backup.completed'
    readonly backupId: string
    readonly sizeBytes: number
  }
}

/** Something to upload. What can be read only once is never sent again by itself. */
export type Bytes = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>

/** Every code that an error answer may have. */
export type ErrorCode =
  | 'invalid_json'
  | 'validation_failed'
  | 'invalid_request'
  | 'url_not_allowed'
  | 'archive_invalid'
  | 'unauthenticated'
  | 'signature_invalid'
  | 'forbidden'
  | 'account_suspended'
  | 'signups_closed'
  | 'authorization_denied'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'invalid_state'
  | 'bot_expired'
  | 'limit_reached'
  | 'secret_not_repeatable'
  | 'authorization_pending'
  | 'login_not_configured'
  | 'codehost_not_configured'
  | 'codehost_not_connected'
  | 'already_listed'
  | 'code_not_found'
  | 'code_expired'
  | 'already_voted'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'range_not_satisfiable'
  | 'idempotency_key_reused'
  | 'rate_limited'
  | 'header_too_large'
  | 'internal'
  | 'platform_failed'
  | 'unavailable'
  | 'platform_timeout'

/** What each operation takes and answers. */
export interface Operations {
  /** Whether the service and its database work */
  getHealth: {
    answer: Health
  }
  /** The version of the service and of this API */
  getVersion: {
    answer: Version
  }
  /** The templates that a bot can start from */
  listTemplates: {
    answer: {
      readonly data: readonly Template[]
    }
  }
  /** Create an API key; it is shown this once */
  createApiKey: {
    body: {
      readonly name: string
    }
    answer: {
      readonly id: string
      readonly name: string
      /** The last four characters of the key. */
      readonly last4: string
      /** When it was made. */
      readonly createdAt: string
      /** When it was last used, to the minute; null: never. */
      readonly lastUsedAt: string | null
      /** Shown this once. */
      readonly key: string
    }
  }
  /** List your API keys, newest first */
  listApiKeys: {
    answer: {
      readonly data: readonly ApiKey[]
    }
  }
  /** Revoke an API key; it stops working at once */
  revokeApiKey: {
    params: {
      readonly id: string
    }
    answer: Deleted
  }
  /** Sign in through the chat platform (for browsers) */
  loginWithChat: {
    query: {
      /** A path of this server to go to afterwards. */
      readonly returnTo?: string
      /** The code of an invitation. */
      readonly invite?: string
      /** Sandbox only: the name to sign in under. */
      readonly login_hint?: string
      readonly prompt?: 'none' | 'consent'
    }
    answer: null
  }
  /** Where the chat platform sends the browser back to */
  finishChatLogin: {
    query: {
      readonly code?: string
      readonly state?: string
      readonly error?: string
    }
    answer: null
  }
  /** Exchange the session cookie for an access token of 7 days */
  createAccessToken: {
    answer: {
      readonly accessToken: string
      /** When it ends. */
      readonly expiresAt: string
    }
  }
  /** Sign out, here or everywhere */
  logout: {
    body: {
      /** End all your sessions. */
      readonly everywhere?: boolean
    }
    answer: {
      /** How many sessions ended. */
      readonly signedOut: number
    }
  }
  /** Where you are signed in, newest first */
  listSessions: {
    answer: {
      readonly data: readonly Session[]
    }
  }
  /** Sign out one browser; its tokens end at once */
  endSession: {
    params: {
      readonly id: string
    }
    answer: Deleted
  }
  /** Ask for a key that somebody approves in the dashboard */
  startDevicePairing: {
    body: {
      readonly name?: string
    }
    answer: {
      /** The device keeps this to itself. */
      readonly deviceCode: string
      /** Shown to the person, who compares it. */
      readonly userCode: string
      readonly verificationUrl: string
      /** Seconds to wait between two questions. */
      readonly interval: number
      /** Until when it can be approved. */
      readonly expiresAt: string
    }
  }
  /** Fetch the key, once, after it was approved */
  claimDeviceKey: {
    body: {
      readonly deviceCode: string
    }
    answer: {
      readonly key: string
    }
  }
  /** What a device that shows this code asks for */
  getDevicePairing: {
    params: {
      readonly userCode: string
    }
    answer: {
      readonly userCode: string
      /** What the device calls itself. */
      readonly clientName: string
      readonly status: 'pending' | 'approved' | 'denied'
      /** When the device asked. */
      readonly createdAt: string
      /** Until when it can be approved. */
      readonly expiresAt: string
    }
  }
  /** Approve or deny a pairing */
  decideDevicePairing: {
    params: {
      readonly userCode: string
    }
    body: {
      readonly approve: boolean
    }
    answer: {
      readonly userCode: string
      /** What the device calls itself. */
      readonly clientName: string
      readonly status: 'pending' | 'approved' | 'denied'
      /** When the device asked. */
      readonly createdAt: string
      /** Until when it can be approved. */
      readonly expiresAt: string
    }
  }
  /** List your bots, newest first */
  listBots: {
    answer: {
      readonly data: readonly Bot[]
    }
  }
  /** Create a bot */
  createBot: {
    body: {
      readonly name: string
      /** `custom`: an empty project; `git`: from a repository; `marketplace`: from a template. */
      readonly type: 'custom' | 'git' | 'marketplace'
      readonly language?: string
      /** Required for the type `git`. */
      readonly gitUrl?: string
      /** Left out: the branch that the repository’s HEAD names. */
      readonly gitBranch?: string
      readonly autoDeployEnabled?: boolean
      /** For the type `marketplace`; left out: the first template of the language, else the first of all. */
      readonly templateId?: string
    }
    answer: Bot
  }
  /** One of your bots */
  getBot: {
    params: {
      readonly id: string
    }
    answer: Bot
  }
  /** Change a bot */
  updateBot: {
    params: {
      readonly id: string
    }
    body: {
      readonly name?: string
      readonly autoDeployEnabled?: boolean
      readonly gitBranch?: string
      readonly language?: string
      readonly startCommand?: string
      readonly buildCommand?: string
      readonly limits?: {
        /** Memory in MB. */
        readonly memoryMb?: number
        /** CPU cores; 0.5 is half of one. While it starts, a bot may take up to two. */
        readonly cpus?: number
        /** Disk in MB. */
        readonly diskMb?: number
      }
      readonly backups?: {
        readonly daily?: boolean
        readonly keep?: number
      }
    }
    answer: Bot
  }
  /** Delete a bot and everything that belongs to it */
  deleteBot: {
    params: {
      readonly id: string
    }
    answer: Deleted
  }
  /** Extend a bot by 7 days, from now or from its present end, whichever is later */
  renewBot: {
    params: {
      readonly id: string
    }
    answer: Bot
  }
  /** The key with which this bot’s repository is fetched over ssh; made when it is first asked for */
  makeDeployKey: {
    params: {
      readonly id: string
    }
    answer: {
      /** ed25519, in the format of OpenSSH. */
      readonly publicKey: string
      /** Lines of a known_hosts file. */
      readonly hostKeys: readonly string[]
    }
  }
  /** Everybody’s bots, newest first */
  listAllBots: {
    query: PageQuery
    answer: {
      readonly data: readonly {
        readonly id: string
        readonly name: string
        readonly type: 'custom' | 'git' | 'marketplace'
        /** As it was sent; null: found from the files. */
        readonly language: string | null
        /** `new`: never deployed. */
        readonly status: 'new' | 'active' | 'expired'
        /** Of its server. */
        readonly identifier: string
        readonly gitUrl: string | null
        readonly gitBranch: string | null
        readonly autoDeployEnabled: boolean
        readonly templateId: string | null
        readonly repo: {
          readonly installationId: number
          readonly repoId: number
          readonly fullName: string
          /** Why it cannot be deployed from: the installation is suspended, or no longer holds the repository, which may be gone or somebody else’s. Null: all is well. */
          readonly problem: 'suspended' | 'removed' | 'deleted' | 'transferred' | null
        } | null
        readonly server: {
          readonly identifier: string
          readonly state: 'offline' | 'starting' | 'running' | 'stopping' | 'crashed'
          /** When a crashed server is started again; null: not by itself. */
          readonly restartAt: string | null
        }
        readonly lastDeployment: {
          readonly id: string
          readonly status: string
          /** When it was asked for. */
          readonly createdAt: string
        } | null
        readonly limits: {
          /** Memory in MB. */
          readonly memoryMb: number
          /** CPU cores; 0.5 is half of one. While it starts, a bot may take up to two. */
          readonly cpus: number
          /** Disk in MB. */
          readonly diskMb: number
        }
        readonly startCommand: string | null
        readonly buildCommand: string | null
        readonly backups: {
          readonly daily: boolean
          readonly keep: number
        }
        /** When it stops unless it is renewed. */
        readonly expiresAt: string
        /** When it was made. */
        readonly createdAt: string
        /** When it was last changed. */
        readonly updatedAt: string
        readonly owner: {
          readonly id: string
          readonly name: string
        }
      }[]
      readonly page: number
      /** As served: at most 100. */
      readonly limit: number
      readonly total: number
      readonly totalPages: number
    }
  }
  /** The languages that bots can be deployed in, and how people write them */
  listLanguages: {
    answer: {
      readonly data: readonly {
        readonly id: string
        readonly name: string
        readonly spellings: readonly string[]
      }[]
    }
  }
  /** Replace the project’s files by those of an archive */
  uploadSource: {
    params: {
      readonly id: string
    }
    body: Bytes
    answer: {
      /** Of the bot. */
      readonly id: string
      /** How many the project has now. */
      readonly files: number
      readonly sizeBytes: number
    }
  }
  /** What the bot’s folder holds */
  listFiles: {
    params: {
      readonly id: string
    }
    answer: {
      readonly data: readonly {
        readonly name: string
        /** `other`: links, sockets and the like; they are not followed. */
        readonly type: 'file' | 'folder' | 'other'
        /** 0 for whatever is no file. */
        readonly sizeBytes: number
        /** When its content last changed. */
        readonly modifiedAt: string
      }[]
    }
  }
  /** A file, or what a folder holds */
  readFile: {
    params: {
      readonly id: string
      /** From the top of the project, such as `src/bot.js`. Its slashes may be sent as they are or as `%2F`. */
      readonly path: string
    }
    answer: {
      readonly data: readonly {
        readonly name: string
        /** `other`: links, sockets and the like; they are not followed. */
        readonly type: 'file' | 'folder' | 'other'
        /** 0 for whatever is no file. */
        readonly sizeBytes: number
        /** When its content last changed. */
        readonly modifiedAt: string
      }[]
    } | Uint8Array
  }
  /** Write a file, with the folders that lead to it */
  writeFile: {
    params: {
      readonly id: string
      /** From the top of the project, such as `src/bot.js`. Its slashes may be sent as they are or as `%2F`. */
      readonly path: string
    }
    body: Bytes
    answer: {
      readonly path: string
      readonly sizeBytes: number
    }
  }
  /** Remove a file, or a folder with all that is in it */
  deleteFile: {
    params: {
      readonly id: string
      /** From the top of the project, such as `src/bot.js`. Its slashes may be sent as they are or as `%2F`. */
      readonly path: string
    }
    answer: {
      /** Of the bot. */
      readonly id: string
      readonly path: string
      readonly deleted: true
    }
  }
  /** Deploy a bot */
  createDeployment: {
    body: {
      readonly botId: string
      /** Who asks, in a short word; answered as sent. */
      readonly source?: string
    }
    answer: Deployment
  }
  /** The deployments of a bot, newest first */
  listDeployments: {
    params: {
      readonly id: string
    }
    query: PageQuery
    answer: {
      readonly data: readonly Deployment[]
      readonly page: number
      /** As served: at most 100. */
      readonly limit: number
      readonly total: number
      readonly totalPages: number
    }
  }
  /** One deployment */
  getDeployment: {
    params: {
      readonly id: string
    }
    answer: Deployment
  }
  /** The log of a deployment */
  readDeploymentLogs: {
    params: {
      readonly id: string
    }
    query: LogsQuery
    answer: LogLines
  }
  /** What became of the variables since a deployment was started */
  listVariableChanges: {
    params: {
      readonly id: string
    }
    answer: {
      readonly data: readonly VariableChange[]
    }
  }
  /** Cancel a deployment that waits or is being built */
  cancelDeployment: {
    params: {
      readonly id: string
    }
    answer: Deployment
  }
  /** Start the release of an earlier deployment again */
  rollBack: {
    params: {
      readonly id: string
    }
    body: {
      readonly deploymentId: string
      /** Who asks, in a short word; answered as sent. */
      readonly source?: string
    }
    answer: Deployment
  }
  /** Where our app is installed on the code host and you may use it */
  listInstallations: {
    answer: {
      readonly data: readonly {
        readonly id: number
        readonly account: {
          readonly login: string
          /** `User`, `Organization` or `Enterprise`. */
          readonly type: string
          readonly avatarUrl: string | null
        }
        readonly repositorySelection: 'all' | 'selected'
        /** When the app was installed. */
        readonly createdAt: string
      }[]
      /** False: connect your account first. */
      readonly connected: boolean
      /** Where to install the app on more repositories; null: no code host is set up, or it cannot be asked. */
      readonly installUrl: string | null
    }
  }
  /** All repositories of an installation that you may use */
  listRepositories: {
    params: {
      readonly id: string
    }
    answer: {
      readonly data: readonly {
        readonly id: number
        readonly fullName: string
        readonly private: boolean
        readonly defaultBranch: string
        /** Its page. */
        readonly url: string
        /** When somebody last pushed to it; null: never. */
        readonly pushedAt: string | null
      }[]
    }
  }
  /** Link a bot to a repository, from which it is deployed from then on */
  connectRepo: {
    body: {
      readonly installationId: number
      /** `<owner>/<repository>` */
      readonly repoFullName: string
      readonly repoId: number
      readonly botId: string
    }
    answer: {
      readonly botId: string
      readonly installationId: number
      readonly repoId: number
      readonly repoFullName: string
      /** Whose pushes are deployed. */
      readonly branch: string
      /** When it was linked. */
      readonly connectedAt: string
    }
  }
  /** End the link between a bot and its repository */
  disconnectRepo: {
    params: {
      readonly id: string
    }
    answer: {
      readonly botId: string
      readonly disconnected: true
    }
  }
  /** Where the code host tells of pushes and of changes to installations */
  receiveCodehostEvent: {
    body: Bytes
    answer: {
      /** False: it had come before. */
      readonly accepted: boolean
    }
  }
  /** Whether your account on the code host is connected, and which one */
  getCodehostStatus: {
    answer: {
      readonly connected: boolean
      readonly login: string | null
      readonly avatarUrl: string | null
      /** When it was connected. */
      readonly connectedAt: string | null
    }
  }
  /** Connect your account on the code host (for browsers) */
  connectCodehost: {
    query: {
      /** A path of this server to go to afterwards. */
      readonly returnTo?: string
      /** The account that the code host suggests. */
      readonly login_hint?: string
      readonly prompt?: 'none' | 'consent' | 'select_account'
    }
    answer: null
  }
  /** Where the code host sends the browser back to */
  finishCodehostConnect: {
    query: {
      readonly code?: string
      readonly state?: string
      readonly error?: string
    }
    answer: null
  }
  /** Disconnect your account on the code host */
  disconnectCodehost: {
    answer: {
      readonly disconnected: true
    }
  }
  /** Start, stop or restart a server */
  setPower: {
    params: {
      /** Of the server, or the id of its bot. */
      readonly identifier: string
    }
    body: {
      readonly signal: 'start' | 'stop' | 'restart'
    }
    answer: {
      readonly identifier: string
      readonly state: 'offline' | 'starting' | 'running' | 'stopping' | 'crashed'
      readonly signal: 'start' | 'stop' | 'restart'
    }
  }
  /** Stop a server at once, without letting it finish */
  killServer: {
    params: {
      /** Of the server, or the id of its bot. */
      readonly identifier: string
    }
    answer: {
      readonly identifier: string
      readonly state: 'offline' | 'starting' | 'running' | 'stopping' | 'crashed'
      readonly signal: 'kill'
    }
  }
  /** What a server uses right now */
  getResources: {
    params: {
      /** Of the server, or the id of its bot. */
      readonly identifier: string
    }
    answer: Resources
  }
  /** What a server used, by the minute, oldest first */
  listResourceHistory: {
    params: {
      /** Of the server, or the id of its bot. */
      readonly identifier: string
    }
    query: {
      readonly minutes?: number
    }
    answer: {
      readonly data: readonly {
        /** The minute. */
        readonly at: string
        readonly cpuPercent: number
        readonly memoryBytes: number
        readonly networkRxBytes: number
        readonly networkTxBytes: number
        /** Null: it was not looked at. */
        readonly diskBytes: number | null
      }[]
    }
  }
  /** What a server wrote */
  readServerLogs: {
    params: {
      /** Of the server, or the id of its bot. */
      readonly identifier: string
    }
    query: LogsQuery
    answer: LogLines
  }
  /** The start command and the environment variables */
  getStartup: {
    params: {
      /** Of the server, or the id of its bot. */
      readonly identifier: string
    }
    answer: {
      /** Null: found from the project. */
      readonly startCommand: string | null
      readonly variables: readonly {
        readonly key: string
        /** Null if it is secret. */
        readonly value: string | null
        readonly secret: boolean
        /** When it was last set. */
        readonly updatedAt: string
      }[]
    }
  }
  /** Replace all environment variables at once */
  setStartup: {
    params: {
      /** Of the server, or the id of its bot. */
      readonly identifier: string
    }
    body: {
      readonly variables: readonly {
        readonly key: string
        readonly value?: string
        /** Never answered again. As it was unless given; false at first. */
        readonly secret?: boolean
      }[]
    }
    answer: {
      /** Null: found from the project. */
      readonly startCommand: string | null
      readonly variables: readonly {
        readonly key: string
        /** Null if it is secret. */
        readonly value: string | null
        readonly secret: boolean
        /** When it was last set. */
        readonly updatedAt: string
      }[]
      readonly restartRequired: boolean
    }
  }
  /** Create or replace an environment variable */
  setVariable: {
    params: {
      /** Of the server, or the id of its bot. */
      readonly identifier: string
    }
    body: {
      readonly key: string
      readonly value: string
      /** Never answered again. As it was unless given; false at first. */
      readonly secret?: boolean
    }
    answer: {
      readonly key: string
      /** Null if it is secret. */
      readonly value: string | null
      /** When it was set. */
      readonly updatedAt: string
      /** Whether the running bot still has the old one. */
      readonly restartRequired: boolean
    }
  }
  /** Remove an environment variable */
  deleteVariable: {
    params: {
      /** Of the server, or the id of its bot. */
      readonly identifier: string
      readonly key: string
    }
    answer: Deleted
  }
  /** Logs, states, deployments and resources as they happen, in one stream of server-sent events */
  openStream: {
    query: {
      /** Up to 50, separated by commas: `bot:ID:logs`, `bot:ID:state`, `bot:ID:resources`, `deployment:ID`, `me` (every state and deployment of yours). */
      readonly topics: string
      /** How many lines of each log to begin with; otherwise logs begin with the next line. */
      readonly tail?: number
      /** The `id` of the last event that was received, if it cannot be sent as `Last-Event-ID`. */
      readonly lastEventId?: string
    }
    answer: string
  }
  /** Back up a bot */
  createBackup: {
    params: {
      readonly id: string
    }
    answer: Backup
  }
  /** The backups of a bot, newest first */
  listBackups: {
    params: {
      readonly id: string
    }
    answer: {
      readonly data: readonly Backup[]
    }
  }
  /** One backup */
  getBackup: {
    params: {
      readonly id: string
      readonly backupId: string
    }
    answer: Backup
  }
  /** Delete a backup */
  deleteBackup: {
    params: {
      readonly id: string
      readonly backupId: string
    }
    answer: Deleted
  }
  /** Keep a backup from being deleted and pruned */
  lockBackup: {
    params: {
      readonly id: string
      readonly backupId: string
    }
    answer: Backup
  }
  /** Let a backup be deleted and pruned again */
  unlockBackup: {
    params: {
      readonly id: string
      readonly backupId: string
    }
    answer: Backup
  }
  /** Bring a bot back to what it was */
  restoreBackup: {
    params: {
      readonly id: string
      readonly backupId: string
    }
    answer: Backup
  }
  /** The archive of a backup */
  downloadBackup: {
    params: {
      readonly id: string
      readonly backupId: string
    }
    answer: string | Uint8Array
  }
  /** A link to the archive that works for 15 minutes without a credential */
  linkBackup: {
    params: {
      readonly id: string
      readonly backupId: string
    }
    answer: {
      readonly url: string
      /** Until when it works. */
      readonly expiresAt: string
    }
  }
  /** What a link to an archive leads to */
  downloadByLink: {
    params: {
      readonly backupId: string
    }
    query: {
      readonly expires?: string
      readonly signature?: string
    }
    answer: string | Uint8Array
  }
  /** Subscribe a URL to events of your bots */
  createSubscription: {
    body: {
      readonly url: string
      readonly events: readonly ('deploy.completed' | 'server.crashed' | 'backup.completed')[]
      /** The key of the signature, as UTF-8. Use 24 random characters or more. */
      readonly secret?: string | null
    }
    answer: {
      readonly id: string
      readonly url: string
      readonly events: readonly ('deploy.completed' | 'server.crashed' | 'backup.completed')[]
      readonly status: 'active' | 'disabled'
      /** Deliveries in a row that failed for good. At 10 it is disabled. */
      readonly consecutiveFailures: number
      /** Since when it is disabled. */
      readonly disabledAt: string | null
      /** `owner`: you did it. Null: it is active. */
      readonly disabledReason: 'consecutive_failures' | 'owner' | null
      /** When an attempt was last made; null: never. */
      readonly lastDeliveryAt: string | null
      /** When it was made. */
      readonly createdAt: string
      /** Shown this once. */
      readonly secret: string
    }
  }
  /** List your subscriptions, newest first */
  listSubscriptions: {
    answer: {
      readonly data: readonly Subscription[]
    }
  }
  /** One subscription */
  getSubscription: {
    params: {
      readonly id: string
    }
    answer: Subscription
  }
  /** Change a subscription, or enable it again */
  updateSubscription: {
    params: {
      readonly id: string
    }
    body: {
      readonly url?: string
      readonly events?: readonly ('deploy.completed' | 'server.crashed' | 'backup.completed')[]
      /** The key of the signature, as UTF-8. Use 24 random characters or more. */
      readonly secret?: string | null
      readonly status?: 'active' | 'disabled'
    }
    answer: Subscription
  }
  /** Remove a subscription with its deliveries; no further attempt is made */
  deleteSubscription: {
    params: {
      readonly id: string
    }
    answer: Deleted
  }
  /** Send the event `ping` */
  testSubscription: {
    params: {
      readonly id: string
    }
    answer: Delivery
  }
  /** What was sent to a subscription, newest first, and what came of it */
  listDeliveries: {
    params: {
      readonly id: string
    }
    query: PageQuery
    answer: {
      readonly data: readonly Delivery[]
      readonly page: number
      /** As served: at most 100. */
      readonly limit: number
      readonly total: number
      readonly totalPages: number
    }
  }
  /** One delivery, with the body that is sent */
  getDelivery: {
    params: {
      readonly id: string
      readonly deliveryId: string
    }
    answer: {
      /** As in `X-Service-Delivery`: the same for all attempts. */
      readonly id: string
      readonly eventId: string
      readonly event: 'deploy.completed' | 'server.crashed' | 'backup.completed' | 'ping'
      readonly status: 'pending' | 'delivered' | 'failed' | 'canceled' | 'dropped'
      /** Why it ended without being delivered. */
      readonly reason: 'attempts_failed' | 'subscription_disabled' | 'backlog_full' | 'interrupted_repeatedly' | null
      /** When it is tried next; null: not again, or this very moment. */
      readonly nextAttemptAt: string | null
      /** When it happened. */
      readonly createdAt: string
      /** When it ended; null: it has not yet. */
      readonly finishedAt: string | null
      /** The oldest first; the last 20. */
      readonly attempts: readonly {
        /** 1 to 4, as in `X-Service-Attempt`. */
        readonly number: number
        readonly trigger: 'schedule' | 'test' | 'redelivery'
        /** When it began. */
        readonly at: string
        /** Null: nobody was there to see its end. */
        readonly durationMs: number | null
        /** `interrupted`: this server stopped in the middle of it; it is made again under the same number. */
        readonly outcome: 'succeeded' | 'failed' | 'interrupted'
        /** Null: there was no answer. */
        readonly statusCode: number | null
        /** Null: it succeeded. */
        readonly error: 'timeout' | 'dns' | 'connection' | 'tls' | 'http_status' | 'protocol' | 'blocked_address' | 'secret_unreadable' | 'interrupted' | null
        /** The first bytes of the answer’s body, at most 4 KiB. */
        readonly answer: string | null
      }[]
      /** Byte for byte. */
      readonly body: string
    }
  }
  /** Send a delivery that has ended once more */
  redeliver: {
    params: {
      readonly id: string
      readonly deliveryId: string
    }
    answer: Delivery
  }
  /** Who you are */
  getMe: {
    answer: Me
  }
  /** What happened to your account: log-ins, keys, sign-outs */
  listAuditEvents: {
    query: PageQuery
    answer: {
      readonly data: readonly AuditEvent[]
      readonly page: number
      /** As served: at most 100. */
      readonly limit: number
      readonly total: number
      readonly totalPages: number
    }
  }
  /** The templates, without spending the public limit */
  listMyTemplates: {
    answer: {
      readonly data: readonly Template[]
    }
  }
  /** Everything that is kept about you */
  exportMe: {
    answer: {
      /** Now. */
      readonly exportedAt: string
      readonly me: Me
      readonly apiKeys: readonly ApiKey[]
      readonly sessions: readonly Session[]
      readonly bots: readonly {
        readonly id: string
        readonly name: string
        readonly type: string
        /** When it was made. */
        readonly createdAt: string
      }[]
      readonly webhooks: readonly {
        readonly id: string
        readonly url: string
        /** When it was made. */
        readonly createdAt: string
      }[]
      readonly codehost: {
        readonly login: string
        /** When it was connected. */
        readonly connectedAt: string
      } | null
      readonly listings: readonly {
        readonly botId: string
        readonly name: string
        /** When it was listed. */
        readonly createdAt: string
      }[]
      readonly votes: readonly {
        readonly botId: string
        /** When you voted for it; kept for 90 days. */
        readonly votedAt: string
      }[]
      readonly audit: readonly AuditEvent[]
    }
  }
  /** Delete your account and everything in it */
  deleteMe: {
    answer: {
      readonly id: string
      readonly deleted: true
    }
  }
  /** The machine and the version that runs on it */
  getHost: {
    answer: {
      readonly version: string
      readonly node: string
      readonly publicUrl: string
      readonly addresses: readonly string[]
      readonly disk: {
        readonly totalBytes: number
        readonly freeBytes: number
      }
      readonly signups: string
      /** Whether only this machine can reach the server. */
      readonly isLocal: boolean
      /** What keeps bots from each other and from this machine. */
      readonly walls: readonly Wall[]
    }
  }
  /** Everybody who has an account, newest first */
  listUsers: {
    query: PageQuery
    answer: {
      readonly data: readonly OperatorUser[]
      readonly page: number
      /** As served: at most 100. */
      readonly limit: number
      readonly total: number
      readonly totalPages: number
    }
  }
  /** Suspend somebody, or change their limits */
  updateUser: {
    params: {
      readonly id: string
    }
    body: {
      readonly suspended?: boolean
      readonly limits?: {
        /** null: the default of this server. */
        readonly bots?: number | null
      }
    }
    answer: OperatorUser
  }
  /** What people reported about listed bots, newest first */
  listReports: {
    query: PageQuery
    answer: {
      readonly data: readonly Report[]
      readonly page: number
      /** As served: at most 100. */
      readonly limit: number
      readonly total: number
      readonly totalPages: number
    }
  }
  /** Hide a bot from the list, or show it again */
  updateListing: {
    params: {
      readonly botId: string
    }
    body: {
      readonly hidden: boolean
    }
    answer: OwnListing
  }
  /** Make a link with which one person can sign up, within 7 days */
  createInvite: {
    answer: {
      readonly id: string
      readonly url: string
      /** Until when it works. */
      readonly expiresAt: string
    }
  }
  /** Tell how many servers your bot is in */
  postStats: {
    body: {
      /** Servers that the bot is in. */
      readonly server_count: number
    }
    answer: {
      readonly message: string
      readonly isCertified: boolean
    }
  }
  /** Whether somebody voted for your bot today */
  checkVote: {
    query: {
      /** Id on the chat platform. */
      readonly user_id: string
    }
    answer: {
      readonly voted: boolean
      /** When; null: not today. */
      readonly votedAt: string | null
    }
  }
  /** The same, for programs that name the bot in the path */
  postStatsOf: {
    params: {
      readonly botId: string
    }
    body: {
      /** Servers that the bot is in. */
      readonly server_count: number
    }
    answer: {
      readonly message: string
      readonly isCertified: boolean
    }
  }
  /** Whether somebody voted for your bot today, as a number */
  checkVoteNumber: {
    query: {
      /** Id on the chat platform. */
      readonly userId: string
    }
    answer: {
      /** 1 or 0. */
      readonly voted: number
    }
  }
  /** The same, for programs that name the bot in the path */
  checkVoteNumberOf: {
    params: {
      readonly botId: string
    }
    query: {
      /** Id on the chat platform. */
      readonly userId: string
    }
    answer: {
      /** 1 or 0. */
      readonly voted: number
    }
  }
  /** Search the list */
  listListings: {
    query: {
      /** Words, or beginnings of words, that all have to be there. */
      readonly q?: string
      readonly tag?: string
      readonly sort?: 'votes' | 'servers' | 'newest'
      /** True: only those that are. */
      readonly certified?: boolean
      readonly page?: number
      /** Above 100 it is served as 100. */
      readonly limit?: number
    }
    answer: {
      readonly data: readonly Listing[]
      readonly page: number
      /** As served: at most 100. */
      readonly limit: number
      readonly total: number
      readonly totalPages: number
    }
  }
  /** One bot of the list */
  getListing: {
    params: {
      readonly botId: string
    }
    answer: {
      /** The id of the bot’s user on the chat platform. */
      readonly botId: string
      readonly name: string
      readonly avatarUrl: string | null
      readonly shortDescription: string
      /** Markdown. */
      readonly description: string
      readonly tags: readonly string[]
      readonly inviteUrl: string | null
      readonly supportUrl: string | null
      readonly websiteUrl: string | null
      readonly owner: {
        readonly name: string
        readonly avatarUrl: string | null
      }
      /** Null: it has never told. */
      readonly serverCount: number | null
      /** When it last told its server count. */
      readonly statsAt: string | null
      /** In the present month, by UTC. */
      readonly votesThisMonth: number
      readonly votesTotal: number
      /** Its statistics come from this service’s hosting. Ends 3 days after the last. */
      readonly isCertified: boolean
      /** When it was listed. */
      readonly createdAt: string
      /** Its place by recent votes; null: beyond 100. */
      readonly rank: number | null
    }
  }
  /** Votes and servers of a bot by UTC day, the oldest first */
  listListingDays: {
    params: {
      readonly botId: string
    }
    query: {
      readonly days?: number
    }
    answer: {
      readonly data: readonly {
        readonly day: string
        readonly votes: number
        /** As last told on that day; null: not told. */
        readonly serverCount: number | null
      }[]
    }
  }
  /** Servers, votes and check mark of a bot as an image */
  getListingWidget: {
    params: {
      readonly botId: string
    }
    answer: string | Uint8Array
  }
  /** Vote for a bot, once a UTC day */
  voteForListing: {
    params: {
      readonly botId: string
    }
    answer: {
      readonly voted: true
      /** Now. */
      readonly votedAt: string
      /** When you can vote for it again. */
      readonly nextVoteAt: string
    }
  }
  /** Tell the operator what is wrong with a bot */
  reportListing: {
    params: {
      readonly botId: string
    }
    body: {
      readonly reason: string
    }
    answer: {
      readonly id: string
      readonly botId: string
      /** Now. */
      readonly createdAt: string
    }
  }
  /** Register a bot: get a code that proves that it is yours */
  createRegistration: {
    body: {
      readonly botId: string
      readonly applicationId?: string
    }
    answer: Registration
  }
  /** Your registrations that wait for their verification, newest first */
  listRegistrations: {
    answer: {
      readonly data: readonly Registration[]
    }
  }
  /** One registration */
  getRegistration: {
    params: {
      readonly id: string
    }
    answer: Registration
  }
  /** List the bot, if the code stands in its About Me; its key is answered this once */
  verifyRegistration: {
    params: {
      readonly id: string
    }
    answer: {
      /** The id of the bot’s user on the chat platform. */
      readonly botId: string
      readonly name: string
      readonly avatarUrl: string | null
      readonly shortDescription: string
      /** Markdown. */
      readonly description: string
      readonly tags: readonly string[]
      readonly inviteUrl: string | null
      readonly supportUrl: string | null
      readonly websiteUrl: string | null
      readonly owner: {
        readonly name: string
        readonly avatarUrl: string | null
      }
      /** Null: it has never told. */
      readonly serverCount: number | null
      /** When it last told its server count. */
      readonly statsAt: string | null
      /** In the present month, by UTC. */
      readonly votesThisMonth: number
      readonly votesTotal: number
      /** Its statistics come from this service’s hosting. Ends 3 days after the last. */
      readonly isCertified: boolean
      /** When it was listed. */
      readonly createdAt: string
      /** Shown this once. */
      readonly key: string
    }
  }
  /** Your listed bots, newest first */
  listMyListings: {
    answer: {
      readonly data: readonly OwnListing[]
    }
  }
  /** Change what the list says of your bot */
  updateMyListing: {
    params: {
      readonly botId: string
    }
    body: {
      readonly shortDescription?: string
      readonly description?: string
      readonly tags?: readonly string[]
      readonly inviteUrl?: string | null
      readonly supportUrl?: string | null
      readonly websiteUrl?: string | null
    }
    answer: OwnListing
  }
  /** Take your bot from the list; its key stops at once */
  deleteMyListing: {
    params: {
      readonly botId: string
    }
    answer: Deleted
  }
  /** Issue a new key for your bot; the old one stops at once */
  reissueListKey: {
    params: {
      readonly botId: string
    }
    answer: {
      readonly botId: string
      /** Shown this once. */
      readonly key: string
      readonly last4: string
    }
  }
  /** Give your listing to somebody else who has an account here */
  transferListing: {
    params: {
      readonly botId: string
    }
    body: {
      readonly chatUserId: string
    }
    answer: {
      readonly botId: string
      readonly owner: {
        readonly name: string
        readonly avatarUrl: string | null
      }
    }
  }
  /** Have each vote for your bot sent to a URL */
  putVoteWebhook: {
    params: {
      readonly botId: string
    }
    body: {
      readonly url: string
      /** The key of the signature, as UTF-8. Use 24 random characters or more. */
      readonly secret?: string | null
    }
    answer: {
      readonly id: string
      readonly url: string
      readonly events: readonly 'vote'[]
      readonly status: 'active' | 'disabled'
      /** Deliveries in a row that failed for good. At 10 it is disabled. */
      readonly consecutiveFailures: number
      /** Since when it is disabled. */
      readonly disabledAt: string | null
      /** `owner`: you did it. Null: it is active. */
      readonly disabledReason: 'consecutive_failures' | 'owner' | null
      /** When an attempt was last made; null: never. */
      readonly lastDeliveryAt: string | null
      /** When it was made. */
      readonly createdAt: string
      /** Shown this once; null: as before. */
      readonly secret: string | null
    }
  }
  /** Where the votes for your bot are sent to */
  getVoteWebhook: {
    params: {
      readonly botId: string
    }
    answer: {
      readonly id: string
      readonly url: string
      readonly events: readonly 'vote'[]
      readonly status: 'active' | 'disabled'
      /** Deliveries in a row that failed for good. At 10 it is disabled. */
      readonly consecutiveFailures: number
      /** Since when it is disabled. */
      readonly disabledAt: string | null
      /** `owner`: you did it. Null: it is active. */
      readonly disabledReason: 'consecutive_failures' | 'owner' | null
      /** When an attempt was last made; null: never. */
      readonly lastDeliveryAt: string | null
      /** When it was made. */
      readonly createdAt: string
    }
  }
  /** Send votes nowhere; no further attempt is made */
  deleteVoteWebhook: {
    params: {
      readonly botId: string
    }
    answer: Deleted
  }
  /** Send the event `ping` */
  testVoteWebhook: {
    params: {
      readonly botId: string
    }
    answer: {
      /** As in `X-Service-Delivery`: the same for all attempts. */
      readonly id: string
      readonly eventId: string
      readonly event: 'vote' | 'ping'
      readonly status: 'pending' | 'delivered' | 'failed' | 'canceled' | 'dropped'
      /** Why it ended without being delivered. */
      readonly reason: 'attempts_failed' | 'subscription_disabled' | 'backlog_full' | 'interrupted_repeatedly' | null
      /** When it is tried next; null: not again, or this very moment. */
      readonly nextAttemptAt: string | null
      /** When it happened. */
      readonly createdAt: string
      /** When it ended; null: it has not yet. */
      readonly finishedAt: string | null
      /** The oldest first; the last 20. */
      readonly attempts: readonly {
        /** 1 to 4, as in `X-Service-Attempt`. */
        readonly number: number
        readonly trigger: 'schedule' | 'test' | 'redelivery'
        /** When it began. */
        readonly at: string
        /** Null: nobody was there to see its end. */
        readonly durationMs: number | null
        /** `interrupted`: this server stopped in the middle of it; it is made again under the same number. */
        readonly outcome: 'succeeded' | 'failed' | 'interrupted'
        /** Null: there was no answer. */
        readonly statusCode: number | null
        /** Null: it succeeded. */
        readonly error: 'timeout' | 'dns' | 'connection' | 'tls' | 'http_status' | 'protocol' | 'blocked_address' | 'secret_unreadable' | 'interrupted' | null
        /** The first bytes of the answer’s body, at most 4 KiB. */
        readonly answer: string | null
      }[]
    }
  }
  /** What was sent to your vote webhook, newest first, and what came of it */
  listVoteDeliveries: {
    params: {
      readonly botId: string
    }
    query: PageQuery
    answer: {
      readonly data: readonly {
        /** As in `X-Service-Delivery`: the same for all attempts. */
        readonly id: string
        readonly eventId: string
        readonly event: 'vote' | 'ping'
        readonly status: 'pending' | 'delivered' | 'failed' | 'canceled' | 'dropped'
        /** Why it ended without being delivered. */
        readonly reason: 'attempts_failed' | 'subscription_disabled' | 'backlog_full' | 'interrupted_repeatedly' | null
        /** When it is tried next; null: not again, or this very moment. */
        readonly nextAttemptAt: string | null
        /** When it happened. */
        readonly createdAt: string
        /** When it ended; null: it has not yet. */
        readonly finishedAt: string | null
        /** The oldest first; the last 20. */
        readonly attempts: readonly {
          /** 1 to 4, as in `X-Service-Attempt`. */
          readonly number: number
          readonly trigger: 'schedule' | 'test' | 'redelivery'
          /** When it began. */
          readonly at: string
          /** Null: nobody was there to see its end. */
          readonly durationMs: number | null
          /** `interrupted`: this server stopped in the middle of it; it is made again under the same number. */
          readonly outcome: 'succeeded' | 'failed' | 'interrupted'
          /** Null: there was no answer. */
          readonly statusCode: number | null
          /** Null: it succeeded. */
          readonly error: 'timeout' | 'dns' | 'connection' | 'tls' | 'http_status' | 'protocol' | 'blocked_address' | 'secret_unreadable' | 'interrupted' | null
          /** The first bytes of the answer’s body, at most 4 KiB. */
          readonly answer: string | null
        }[]
      }[]
      readonly page: number
      /** As served: at most 100. */
      readonly limit: number
      readonly total: number
      readonly totalPages: number
    }
  }
}

/** Where each operation is. */
export const routes = {
  getHealth: { api: 'hosting', method: 'GET', path: '/health' },
  getVersion: { api: 'hosting', method: 'GET', path: '/version' },
  listTemplates: { api: 'hosting', method: 'GET', path: '/templates' },
  createApiKey: { api: 'hosting', method: 'POST', path: '/auth/api-keys', creates: true },
  listApiKeys: { api: 'hosting', method: 'GET', path: '/auth/api-keys' },
  revokeApiKey: { api: 'hosting', method: 'DELETE', path: '/auth/api-keys/{id}' },
  loginWithChat: { api: 'hosting', method: 'GET', path: '/auth/chat/login' },
  finishChatLogin: { api: 'hosting', method: 'GET', path: '/auth/chat/callback' },
  createAccessToken: { api: 'hosting', method: 'POST', path: '/auth/token' },
  logout: { api: 'hosting', method: 'POST', path: '/auth/logout' },
  listSessions: { api: 'hosting', method: 'GET', path: '/auth/sessions' },
  endSession: { api: 'hosting', method: 'DELETE', path: '/auth/sessions/{id}' },
  startDevicePairing: { api: 'hosting', method: 'POST', path: '/auth/device' },
  claimDeviceKey: { api: 'hosting', method: 'POST', path: '/auth/device/token' },
  getDevicePairing: { api: 'hosting', method: 'GET', path: '/auth/device/{userCode}' },
  decideDevicePairing: { api: 'hosting', method: 'POST', path: '/auth/device/{userCode}' },
  listBots: { api: 'hosting', method: 'GET', path: '/bots' },
  createBot: { api: 'hosting', method: 'POST', path: '/bots', creates: true },
  getBot: { api: 'hosting', method: 'GET', path: '/bots/{id}' },
  updateBot: { api: 'hosting', method: 'PATCH', path: '/bots/{id}' },
  deleteBot: { api: 'hosting', method: 'DELETE', path: '/bots/{id}' },
  renewBot: { api: 'hosting', method: 'POST', path: '/bots/{id}/renew' },
  makeDeployKey: { api: 'hosting', method: 'POST', path: '/bots/{id}/deploy-key' },
  listAllBots: { api: 'hosting', method: 'GET', path: '/operator/bots' },
  listLanguages: { api: 'hosting', method: 'GET', path: '/languages' },
  uploadSource: { api: 'hosting', method: 'PUT', path: '/bots/{id}/source' },
  listFiles: { api: 'hosting', method: 'GET', path: '/bots/{id}/files' },
  readFile: { api: 'hosting', method: 'GET', path: '/bots/{id}/files/{path}' },
  writeFile: { api: 'hosting', method: 'PUT', path: '/bots/{id}/files/{path}' },
  deleteFile: { api: 'hosting', method: 'DELETE', path: '/bots/{id}/files/{path}' },
  createDeployment: { api: 'hosting', method: 'POST', path: '/deployments', creates: true },
  listDeployments: { api: 'hosting', method: 'GET', path: '/bots/{id}/deployments' },
  getDeployment: { api: 'hosting', method: 'GET', path: '/deployments/{id}' },
  readDeploymentLogs: { api: 'hosting', method: 'GET', path: '/deployments/{id}/logs' },
  listVariableChanges: { api: 'hosting', method: 'GET', path: '/deployments/{id}/variables' },
  cancelDeployment: { api: 'hosting', method: 'POST', path: '/deployments/{id}/cancel' },
  rollBack: { api: 'hosting', method: 'POST', path: '/bots/{id}/rollback' },
  listInstallations: { api: 'hosting', method: 'GET', path: '/codehost/installations' },
  listRepositories: { api: 'hosting', method: 'GET', path: '/codehost/installations/{id}/repos' },
  connectRepo: { api: 'hosting', method: 'POST', path: '/codehost/connect-repo' },
  disconnectRepo: { api: 'hosting', method: 'DELETE', path: '/bots/{id}/repo' },
  receiveCodehostEvent: { api: 'hosting', method: 'POST', path: '/codehost/events' },
  getCodehostStatus: { api: 'hosting', method: 'GET', path: '/auth/codehost/status' },
  connectCodehost: { api: 'hosting', method: 'GET', path: '/auth/codehost/connect' },
  finishCodehostConnect: { api: 'hosting', method: 'GET', path: '/auth/codehost/callback' },
  disconnectCodehost: { api: 'hosting', method: 'DELETE', path: '/auth/codehost/disconnect' },
  setPower: { api: 'hosting', method: 'POST', path: '/servers/{identifier}/power' },
  killServer: { api: 'hosting', method: 'POST', path: '/servers/{identifier}/kill' },
  getResources: { api: 'hosting', method: 'GET', path: '/servers/{identifier}/resources' },
  listResourceHistory: { api: 'hosting', method: 'GET', path: '/servers/{identifier}/resources/history' },
  readServerLogs: { api: 'hosting', method: 'GET', path: '/servers/{identifier}/logs' },
  getStartup: { api: 'hosting', method: 'GET', path: '/servers/{identifier}/startup' },
  setStartup: { api: 'hosting', method: 'PUT', path: '/servers/{identifier}/startup' },
  setVariable: { api: 'hosting', method: 'PUT', path: '/servers/{identifier}/startup/variable' },
  deleteVariable: { api: 'hosting', method: 'DELETE', path: '/servers/{identifier}/startup/variable/{key}' },
  openStream: { api: 'hosting', method: 'GET', path: '/stream' },
  createBackup: { api: 'hosting', method: 'POST', path: '/bots/{id}/backups', creates: true },
  listBackups: { api: 'hosting', method: 'GET', path: '/bots/{id}/backups' },
  getBackup: { api: 'hosting', method: 'GET', path: '/bots/{id}/backups/{backupId}' },
  deleteBackup: { api: 'hosting', method: 'DELETE', path: '/bots/{id}/backups/{backupId}' },
  lockBackup: { api: 'hosting', method: 'POST', path: '/bots/{id}/backups/{backupId}/lock' },
  unlockBackup: { api: 'hosting', method: 'DELETE', path: '/bots/{id}/backups/{backupId}/lock' },
  restoreBackup: { api: 'hosting', method: 'POST', path: '/bots/{id}/backups/{backupId}/restore' },
  downloadBackup: { api: 'hosting', method: 'GET', path: '/bots/{id}/backups/{backupId}/download' },
  linkBackup: { api: 'hosting', method: 'POST', path: '/bots/{id}/backups/{backupId}/link' },
  downloadByLink: { api: 'hosting', method: 'GET', path: '/backups/{backupId}/download' },
  createSubscription: { api: 'hosting', method: 'POST', path: '/webhooks/subscriptions', creates: true },
  listSubscriptions: { api: 'hosting', method: 'GET', path: '/webhooks/subscriptions' },
  getSubscription: { api: 'hosting', method: 'GET', path: '/webhooks/subscriptions/{id}' },
  updateSubscription: { api: 'hosting', method: 'PATCH', path: '/webhooks/subscriptions/{id}' },
  deleteSubscription: { api: 'hosting', method: 'DELETE', path: '/webhooks/subscriptions/{id}' },
  testSubscription: { api: 'hosting', method: 'POST', path: '/webhooks/subscriptions/{id}/test' },
  listDeliveries: { api: 'hosting', method: 'GET', path: '/webhooks/subscriptions/{id}/deliveries' },
  getDelivery: { api: 'hosting', method: 'GET', path: '/webhooks/subscriptions/{id}/deliveries/{deliveryId}' },
  redeliver: { api: 'hosting', method: 'POST', path: '/webhooks/subscriptions/{id}/deliveries/{deliveryId}/redeliver' },
  getMe: { api: 'hosting', method: 'GET', path: '/me' },
  listAuditEvents: { api: 'hosting', method: 'GET', path: '/me/audit' },
  listMyTemplates: { api: 'hosting', method: 'GET', path: '/me/templates' },
  exportMe: { api: 'hosting', method: 'GET', path: '/me/export' },
  deleteMe: { api: 'hosting', method: 'DELETE', path: '/me' },
  getHost: { api: 'hosting', method: 'GET', path: '/operator/host' },
  listUsers: { api: 'hosting', method: 'GET', path: '/operator/users' },
  updateUser: { api: 'hosting', method: 'PATCH', path: '/operator/users/{id}' },
  listReports: { api: 'hosting', method: 'GET', path: '/operator/reports' },
  updateListing: { api: 'hosting', method: 'PATCH', path: '/operator/listings/{botId}' },
  createInvite: { api: 'hosting', method: 'POST', path: '/operator/invites', creates: true },
  postStats: { api: 'list', method: 'POST', path: '/bots/stats' },
  checkVote: { api: 'list', method: 'GET', path: '/bots/check-vote' },
  postStatsOf: { api: 'list', method: 'POST', path: '/bots/{botId}/stats' },
  checkVoteNumber: { api: 'list', method: 'GET', path: '/bots/check' },
  checkVoteNumberOf: { api: 'list', method: 'GET', path: '/bots/{botId}/check' },
  listListings: { api: 'list', method: 'GET', path: '/bots' },
  getListing: { api: 'list', method: 'GET', path: '/bots/{botId}' },
  listListingDays: { api: 'list', method: 'GET', path: '/bots/{botId}/history' },
  getListingWidget: { api: 'list', method: 'GET', path: '/bots/{botId}/widget.svg' },
  voteForListing: { api: 'list', method: 'POST', path: '/bots/{botId}/vote' },
  reportListing: { api: 'list', method: 'POST', path: '/bots/{botId}/reports', creates: true },
  createRegistration: { api: 'list', method: 'POST', path: '/registrations', creates: true },
  listRegistrations: { api: 'list', method: 'GET', path: '/registrations' },
  getRegistration: { api: 'list', method: 'GET', path: '/registrations/{id}' },
  verifyRegistration: { api: 'list', method: 'POST', path: '/registrations/{id}/verify' },
  listMyListings: { api: 'list', method: 'GET', path: '/my/bots' },
  updateMyListing: { api: 'list', method: 'PATCH', path: '/my/bots/{botId}' },
  deleteMyListing: { api: 'list', method: 'DELETE', path: '/my/bots/{botId}' },
  reissueListKey: { api: 'list', method: 'POST', path: '/my/bots/{botId}/key' },
  transferListing: { api: 'list', method: 'POST', path: '/my/bots/{botId}/transfer' },
  putVoteWebhook: { api: 'list', method: 'PUT', path: '/my/bots/{botId}/vote-webhook' },
  getVoteWebhook: { api: 'list', method: 'GET', path: '/my/bots/{botId}/vote-webhook' },
  deleteVoteWebhook: { api: 'list', method: 'DELETE', path: '/my/bots/{botId}/vote-webhook' },
  testVoteWebhook: { api: 'list', method: 'POST', path: '/my/bots/{botId}/vote-webhook/test' },
  listVoteDeliveries: { api: 'list', method: 'GET', path: '/my/bots/{botId}/vote-webhook/deliveries' },
} as const satisfies Record<keyof Operations, Route>

export interface Route {
  readonly api: 'hosting' | 'list'
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly path: string
  /** Makes a record, once for each Idempotency-Key. */
  readonly creates?: true
}
