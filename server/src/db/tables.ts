/** The tables as the queries see them; the migrations are what makes them. */
export interface Tables {
  rate_limits: RateLimitsTable
}

interface RateLimitsTable {
  key: string
  hits: number
  expires_at: Date
}
