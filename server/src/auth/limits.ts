import type { UserRow } from './queries.ts'

/** How many bots somebody may have; null: as many as they like. What the operator set for them comes first. */
export function botsAllowed(
  { bots_max, role }: Pick<UserRow, 'bots_max' | 'role'>,
  botsPerUser: number | null,
): number | null {
  return bots_max ?? (role === 'owner' ? null : botsPerUser)
}
