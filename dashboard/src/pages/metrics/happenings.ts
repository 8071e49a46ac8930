import type { Deployment, LogLines } from '@botberth/sdk'
import { useQuery } from '@tanstack/react-query'
import { isCrash, momentOf } from '../../logs/markers.ts'
import { crashesQuery, deploymentsQuery } from '../../queries.ts'

/** Something that explains why a line goes up or down. */
export interface Happening {
  readonly kind: 'deployed' | 'failed' | 'crashed'
  readonly at: string
  readonly text: string
  readonly deploymentId?: string
}

/** Deployments and crashes of the last so many minutes, newest first. */
export function useHappenings(botId: string, minutes: number): readonly Happening[] {
  const { data: deployments, isPlaceholderData: isOfAnother } = useQuery(deploymentsQuery(botId, 1))
  const { data: crashes } = useQuery(crashesQuery(botId, minutes))
  const own = isOfAnother ? [] : (deployments?.data ?? [])
  return findHappenings(own, crashes?.data ?? [], Date.now() - minutes * 60_000)
}

export function findHappenings(
  deployments: readonly Deployment[],
  lines: LogLines['data'],
  sinceMs: number,
): readonly Happening[] {
  const deployed = deployments.flatMap((deployment): Happening[] => {
    const at = momentOf(deployment)
    const { id, status, commitSha, commitMsg } = deployment
    const text = commitSha ? `${commitSha.slice(0, 7)} ${commitMsg?.split('\n')[0] ?? ''}` : ''
    return at ? [{ kind: status === 'failed' ? 'failed' : 'deployed', at, text, deploymentId: id }] : []
  })
  const crashed = lines.filter(isCrash).map(({ at, text }): Happening => ({ kind: 'crashed', at, text }))
  return [...deployed, ...crashed]
    .filter(({ at }) => Date.parse(at) >= sinceMs)
    .toSorted((a, b) => b.at.localeCompare(a.at))
}
