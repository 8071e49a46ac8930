import { Paper, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { templatesQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { FromEmpty } from './FromEmpty.tsx'
import { FromRepository } from './FromRepository.tsx'
import { FromTemplate } from './FromTemplate.tsx'

const route = getRouteApi('/shell/bots/new')

export function NewBot() {
  const t = useTexts()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const source = ['repository', 'empty'].includes(search.source ?? '') ? search.source : 'template'
  const templates = useQuery(templatesQuery)
  const hints = { template: t.newBot.templateHint, repository: t.newBot.repositoryHint, empty: t.newBot.emptyHint }
  return (
    <Page title={t.newBot.title}>
      <Paper withBorder p="lg" maw={760}>
        <Stack>
          <Title order={2} size="h5" id="source">
            {t.newBot.source}
          </Title>
          <SegmentedControl
            aria-labelledby="source"
            fullWidth
            value={source}
            onChange={(value) => void navigate({ search: { source: value }, replace: true })}
            data={(['template', 'repository', 'empty'] as const).map((value) => ({ value, label: t.newBot[value] }))}
          />
          <Text c="dimmed" size="sm">
            {hints[source as keyof typeof hints]}
          </Text>
          {source === 'template' && (
            <Loaded query={templates}>{(all) => <FromTemplate templates={all} first={search.template} />}</Loaded>
          )}
          {source === 'repository' && <FromRepository />}
          {source === 'empty' && <FromEmpty />}
        </Stack>
      </Paper>
    </Page>
  )
}
