import { getRouteApi } from '@tanstack/react-router'
import { useTexts } from '../../texts/texts.ts'
import { Empty } from '../../ui/Empty.tsx'
import { LinkButton } from '../../ui/Links.tsx'
import { Page } from '../../ui/Page.tsx'

const route = getRouteApi('/shell/bots/$botId/backups')

/** The place for backups: the API has none yet. */
export function Backups() {
  const t = useTexts()
  const { botId } = route.useParams()
  return (
    <Page title={t.backups.title} isPart>
      <Empty
        icon="box"
        title={t.backups.soon}
        hint={t.backups.soonHint}
        action={
          <LinkButton to="/bots/$botId/variables" params={{ botId }} variant="default">
            {t.backups.toVariables}
          </LinkButton>
        }
      />
    </Page>
  )
}
