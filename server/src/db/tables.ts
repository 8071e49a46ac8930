import type { ColumnType, Generated } from 'kysely'

/** The tables as the queries see them; the migrations are what makes them. */
export interface Tables {
  rate_limits: RateLimitsTable
  users: UsersTable
  api_keys: ApiKeysTable
  sessions: SessionsTable
  one_time_codes: OneTimeCodesTable
  device_pairings: DevicePairingsTable
  audit_events: AuditEventsTable
  idempotency_keys: IdempotencyKeysTable
  sandbox_applications: SandboxApplicationsTable
  sandbox_members: { organization: string; member: string }
  sandbox_repositories: SandboxRepositoriesTable
  sandbox_installations: SandboxInstallationsTable
  sandbox_installation_repositories: { installation_id: number; repository_id: number }
  sandbox_tokens: SandboxTokensTable
  sandbox_statuses: SandboxStatusesTable
  sandbox_deliveries: SandboxDeliveriesTable
  bots: BotsTable
  servers: ServersTable
  startup_variables: StartupVariablesTable
  deployment_variables: DeploymentVariablesTable
  deployments: DeploymentsTable
  backups: BackupsTable
  restores: RestoresTable
  removals: { bot_id: string; node_id: string }
  events: EventsTable
  webhook_subscriptions: WebhookSubscriptionsTable
  webhook_deliveries: WebhookDeliveriesTable
  resource_samples: ResourceSamplesTable
  codehost_connections: CodehostConnectionsTable
  codehost_links: CodehostLinksTable
  codehost_events: CodehostEventsTable
  codehost_redeliveries: { guid: string; tries: number; asked_at: Date }
  commit_statuses: CommitStatusesTable
  instance: { name: string; value: string }
  listings: ListingsTable
  list_keys: ListKeysTable
  standings: StandingsTable
  listing_days: { bot_id: string; day: Day; votes: Generated<number>; server_count: number | null }
  votes: { day: Day; bot_id: string; chat_user_id: string; voted_at: Date }
  registrations: RegistrationsTable
  reports: ReportsTable
  hidden_bots: { application_id: string; bot_id: string; hidden_at: Date }
}

/** Objects come out as they are and go in as text. */
type Json<T> = ColumnType<T, string, string>

interface RateLimitsTable {
  key: string
  hits: number
  expires_at: Date
}

interface UsersTable {
  id: string
  chat_user_id: string | null
  name: string
  avatar_url: string | null
  role: 'owner' | 'user'
  suspended_at: Date | null
  bots_max: number | null
  created_at: Date
  updated_at: Date
}

interface ApiKeysTable {
  id: string
  user_id: string
  name: string
  hash: Buffer
  last4: string
  created_at: Date
  last_used_at: Date | null
  is_bootstrap: Generated<boolean>
}

interface SessionsTable {
  id: string
  user_id: string
  cookie_hash: Buffer
  created_at: Date
  expires_at: Date
  client: string | null
  ip: string | null
  last_used_at: Date | null
}

interface OneTimeCodesTable {
  hash: Buffer
  kind: 'login' | 'owner' | 'invite' | 'codehost'
  data: Json<Record<string, string>>
  expires_at: Date
}

interface DevicePairingsTable {
  id: string
  device_code_hash: Buffer
  user_code: string
  client_name: string
  user_id: string | null
  status: 'pending' | 'approved' | 'denied'
  created_at: Date
  expires_at: Date
}

interface AuditEventsTable {
  id: string
  user_id: string
  kind: string
  details: Json<Record<string, string>>
  ip: string | null
  created_at: Date
}

interface IdempotencyKeysTable {
  credential: string
  key: string
  fingerprint: Buffer
  status: Generated<number | null>
  answer: ColumnType<unknown, string | null | undefined, string | null>
  location: Generated<string | null>
  record_id: Generated<string | null>
  expires_at: Date
}

interface BotsTable {
  id: string
  user_id: string
  identifier: string
  name: string
  type: 'custom' | 'git' | 'marketplace'
  language: string | null
  git_url: string | null
  git_branch: string | null
  auto_deploy_enabled: boolean
  template_id: string | null
  start_command: string | null
  build_command: string | null
  memory_mb: number
  cpus: number
  disk_mb: number
  backups_daily: Generated<boolean>
  backups_keep: Generated<number>
  backup_due_at: Generated<Date | null>
  first_deployed_at: Date | null
  is_expired: Generated<boolean>
  deploy_key: Generated<Buffer | null>
  expires_at: Date
  created_at: Date
  updated_at: Date
}

export type ServerState = 'offline' | 'starting' | 'running' | 'stopping' | 'crashed'

interface LastExit {
  code: number | null
  signal: string | null
  oomKilled: boolean
  /** Missing in rows from before it was known. */
  diskFull?: boolean
  at: string
}

interface ServersTable {
  bot_id: string
  node_id: string | null
  wanted: Generated<'offline' | 'running'>
  state: Generated<ServerState>
  state_at: Date
  is_restart_wanted: Generated<boolean>
  is_expiry_stop: Generated<boolean>
  release_id: string | null
  deployment_id: string | null
  restore_id: Generated<string | null>
  is_swapped: Generated<boolean>
  instance_id: string | null
  started_at: Date | null
  restarts: Generated<number>
  crashes: Generated<Date[]>
  backoff: Generated<number>
  restart_at: Date | null
  last_exit: Json<LastExit> | null
}

interface StartupVariablesTable {
  bot_id: string
  key: string
  value: Buffer
  is_secret: boolean
  updated_at: Date
}

export type DeploymentStatus =
  | 'queued'
  | 'fetching'
  | 'installing'
  | 'building'
  | 'starting'
  | 'succeeded'
  | 'failed'
  | 'canceled'
  | 'superseded'

export interface Step {
  name: string
  status: 'running' | 'waiting' | 'succeeded' | 'failed' | 'canceled' | 'skipped'
  startedAt: string
  durationMs: number | null
}

interface DeploymentsTable {
  id: string
  bot_id: string
  node_id: string
  source: string
  status: DeploymentStatus
  branch: string | null
  commit_sha: string | null
  commit_msg: string | null
  rollback_of: string | null
  previous_release_id: string | null
  is_push: Generated<boolean>
  push_changes: Generated<string[] | null>
  is_cancel_wanted: Generated<boolean>
  not_before: Generated<Date | null>
  error: Json<{ code: string; message: string; lastLog: string }> | null
  steps: ColumnType<Step[], string | undefined, string>
  release: Json<{ start: string; env: Record<string, string> }> | null
  is_release_kept: Generated<boolean>
  created_at: Date
  started_at: Date | null
  finished_at: Date | null
}

interface DeploymentVariablesTable {
  deployment_id: string
  digests: ColumnType<Record<string, string>, string, string>
}

export interface BackupFailure {
  code: string
  message: string
}

interface BackupsTable {
  id: string
  bot_id: string
  node_id: string
  status: Generated<'running' | 'completed' | 'failed'>
  store: 'disk' | 's3'
  is_scheduled: boolean
  is_locked: Generated<boolean>
  is_deleted: Generated<boolean>
  size_bytes: Generated<string | null>
  content_bytes: Generated<string | null>
  checksum: Generated<string | null>
  error: Json<BackupFailure> | Generated<null>
  created_at: Date
  completed_at: Generated<Date | null>
}

/** What a restore brings, or what it takes the place of. */
export interface BotContent {
  releaseId: string | null
  variables: { key: string; value: string; isSecret: boolean; updatedAt: string }[]
}

interface RestoresTable {
  id: string
  bot_id: string
  backup_id: string
  node_id: string
  status: Generated<'running' | 'completed' | 'failed'>
  step: Generated<'preparing' | 'swapping' | 'trying' | 'going_back' | 'cleaning' | 'done'>
  wanted: Json<BotContent> | Generated<null>
  previous: Json<BotContent> | Generated<null>
  error: Json<BackupFailure> | Generated<null>
  created_at: Date
  finished_at: Generated<Date | null>
}

interface EventsTable {
  id: string
  user_id: string
  bot_id: string | null
  event: string
  body: string
  created_at: Date
}

interface WebhookSubscriptionsTable {
  id: string
  user_id: string
  listing_id: Generated<string | null>
  url: string
  events: string[]
  secret: Buffer
  status: Generated<'active' | 'disabled'>
  disabled_at: Date | null
  disabled_reason: 'consecutive_failures' | 'owner' | null
  epoch: Generated<number>
  consecutive_failures: Generated<number>
  is_slow: Generated<boolean>
  last_delivery_at: Date | null
  created_at: Date
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed' | 'canceled' | 'dropped'

export interface Attempt {
  /** 1 to 4; the same again if it was interrupted. */
  number: number
  trigger: 'schedule' | 'test' | 'redelivery'
  at: string
  durationMs: number | null
  outcome: 'succeeded' | 'failed' | 'interrupted'
  statusCode: number | null
  error: string | null
  /** The first bytes of what was answered. */
  answer: string | null
}

interface WebhookDeliveriesTable {
  id: string
  subscription_id: string
  event_id: string
  epoch: number
  status: DeliveryStatus
  reason: string | null
  is_manual: Generated<boolean>
  tries: Generated<number>
  interruptions: Generated<number>
  attempts: ColumnType<Attempt[], string | undefined, string>
  next_at: Date | null
  claim_id: string | null
  node_id: string | null
  lease_until: Date | null
  created_at: Date
  delivered_at: Date | null
  finished_at: Date | null
}

interface ResourceSamplesTable {
  bot_id: string
  at: Date
  cpu_percent: number
  memory_bytes: string
  network_rx_bytes: string
  network_tx_bytes: string
  disk_bytes: string | null
}

/** Comes out as text, because it may be larger than a number; the platform's are not. */
type BigInt = ColumnType<string, number, number>

interface CodehostConnectionsTable {
  user_id: string
  account_id: BigInt
  login: string
  avatar_url: string | null
  tokens: Buffer
  expires_at: Date | null
  refresh_until: Generated<Date | null>
  is_refresh_uncertain: Generated<boolean>
  checked_at: Date
  connected_at: Date
}

export type LinkProblem = 'suspended' | 'removed' | 'deleted' | 'transferred'

interface CodehostLinksTable {
  bot_id: string
  installation_id: BigInt
  repo_id: BigInt
  full_name: string
  problem: Generated<LinkProblem | null>
  pushed_at: Generated<Date | null>
  pushes: ColumnType<
    { before: string; after: string; deploys: boolean; second: string | null }[],
    string | undefined,
    string
  >
  head_sha: Generated<string | null>
  connected_at: Date
}

interface CodehostEventsTable {
  id: string
  event: string
  body: string | null
  attempts: Generated<number>
  next_at: Date | null
  outcome: Generated<string | null>
  received_at: Date
}

interface CommitStatusesTable {
  deployment_id: string
  installation_id: BigInt
  repo_id: BigInt
  commit_sha: string
  state: 'pending' | 'success' | 'failure' | 'error'
  attempts: Generated<number>
  next_at: Date | null
  claimed_until: Date | null
  is_uncertain: Generated<boolean>
  created_at: Date
}

interface SandboxApplicationsTable {
  id: string
  name: string
  description: string
  bot_id: string | null
}

interface SandboxRepositoriesTable {
  id: Generated<number>
  owner: string
  name: string
  is_private: boolean
  default_branch: string
  announced: ColumnType<Record<string, string>, string | undefined, string>
  pushes_under_way: Generated<number>
  created_at: Date
  updated_at: Date
  pushed_at: Date | null
}

interface SandboxInstallationsTable {
  id: Generated<number>
  account: string
  holds_all: boolean
  suspended_by: string | null
  suspended_at: Date | null
  created_at: Date
  updated_at: Date
}

/** Goes in as `2026-01-31`. */
type Day = ColumnType<Date, string, string>

interface ListingsTable {
  bot_id: string
  application_id: string
  user_id: string
  name: string
  avatar_url: string | null
  short_description: Generated<string>
  description: Generated<string>
  tags: Generated<string[]>
  invite_url: Generated<string | null>
  support_url: Generated<string | null>
  website_url: Generated<string | null>
  words: string
  created_at: Date
  updated_at: Date
}

interface SandboxTokensTable {
  hash: Buffer
  kind: 'code' | 'manifest' | 'user' | 'refresh' | 'installation'
  login: string | null
  pair: string | null
  installation_id: number | null
  repository_ids: number[] | null
  permissions: ColumnType<Record<string, string> | null, string | null, string | null>
  redirect_uri: string | null
  challenge: string | null
  expires_at: Date
}

interface SandboxStatusesTable {
  id: Generated<number>
  repository_id: number
  sha: string
  state: string
  context: string
  description: string | null
  target_url: string | null
  creator: string | null
  created_at: Date
}

interface SandboxDeliveriesTable {
  id: Generated<number>
  guid: string
  event: string
  action: string | null
  body: string
  status: Generated<'waiting' | 'delivered' | 'failed'>
  attempts: Generated<number>
  is_repeat: Generated<boolean>
  answer_status: number | null
  answer: string | null
  attempted_at: Generated<Date | null>
  created_at: Date
}
interface ListKeysTable {
  bot_id: string
  hash: Buffer
  last4: string
  created_at: Date
  last_used_at: Date | null
}

interface ReportsTable {
  id: string
  bot_id: string
  bot_name: string
  user_id: string | null
  reason: string
  created_at: Date
}

interface StandingsTable {
  bot_id: string
  server_count: number | null
  stats_at: Date | null
  stats_spent_until: Date | null
  certified_until: Date | null
  is_badged: Generated<boolean>
  votes_total: Generated<number>
  votes_month: Generated<number>
  month: Day
  heat: number
  hidden_at: Date | null
  profile_at: Date | null
  created_at: Date
}

interface RegistrationsTable {
  id: string
  user_id: string
  bot_id: string
  application_id: string
  code: string
  created_at: Date
  expires_at: Date
}
