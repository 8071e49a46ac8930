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
  bots: BotsTable
  instance: { name: string; value: string }
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
}

interface OneTimeCodesTable {
  hash: Buffer
  kind: 'login' | 'owner' | 'invite'
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
  first_deployed_at: Date | null
  expires_at: Date
  created_at: Date
  updated_at: Date
}

interface SandboxApplicationsTable {
  id: string
  name: string
  description: string
}
