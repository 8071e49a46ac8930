import type { Deployment } from '@botberth/sdk'
import { useNavigate } from '@tanstack/react-router'
import { api } from '../../api.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { VariableChanges } from './VariableChanges.tsx'

/** Says what comes back and what does not before it does it. */
export function RollBack({ deployment, onClose }: { deployment: Deployment | undefined; onClose(): void }) {
  const t = useTexts()
  const navigate = useNavigate()
  const action = useAction(
    () =>
      api.deployments.rollBack(deployment?.botId ?? '', { deploymentId: deployment?.id ?? '', source: 'dashboard' }),
    {
      changes: [['deployments', deployment?.botId]],
      after: ({ id, botId }) => {
        onClose()
        void navigate({ to: '/bots/$botId/deployments/$deploymentId', params: { botId, deploymentId: id } })
      },
    },
  )
  return (
    <Confirm
      isOpen={deployment !== undefined}
      onClose={onClose}
      title={t.deployments.rollBackTitle}
      text={t.deployments.rollBackText}
      details={deployment && <VariableChanges deployment={deployment} />}
      button={t.deployments.rollBackButton}
      action={action}
      isHarmless
    />
  )
}
