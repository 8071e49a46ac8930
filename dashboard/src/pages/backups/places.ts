import type { Backup } from '@botberth/sdk'

/** As many as the server lets a bot have. */
export const placesMax = 10

/** Failed ones only tell what went wrong. */
export function takenPlaces(backups: readonly Backup[]): number {
  return backups.filter(({ status }) => status !== 'failed').length
}
