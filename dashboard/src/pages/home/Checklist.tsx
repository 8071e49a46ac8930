import type { Bot } from '@botberth/sdk'
import { Button, Group, List, Paper, Text, ThemeIcon, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { keysQuery, startupQuery } from '../../queries.ts'
import { readSetting, writeSetting } from '../../settings.ts'
import { useTexts } from '../../texts/texts.ts'
import { Icon } from '../../ui/Icon.tsx'
import { TextLink } from '../../ui/Links.tsx'

/** The first steps; they tick themselves, and the list goes when all are done. */
export function Checklist({ bots }: { bots: readonly Bot[] }) {
  const t = useTexts()
  const [isHidden, setHidden] = useState(readSetting('checklist') === 'hidden')
  const newest = bots[0]
  const { data: keys = [] } = useQuery(keysQuery)
  const { data: startup } = useQuery({ ...startupQuery(newest?.id ?? ''), enabled: newest !== undefined })
  const steps = [
    { text: t.home.steps.bot, isDone: bots.length > 0, to: '/bots/new' },
    {
      text: t.home.steps.deploy,
      isDone: bots.some(({ status }) => status !== 'new'),
      to: ofBot(newest, 'deployments'),
    },
    { text: t.home.steps.variables, isDone: (startup?.variables.length ?? 0) > 0, to: ofBot(newest, 'variables') },
    {
      text: t.home.steps.repository,
      isDone: bots.some(({ repo, type }) => repo || type === 'git'),
      to: ofBot(newest, 'repository'),
    },
    { text: t.home.steps.key, isDone: keys.length > 0, to: '/keys' },
  ]
  const done = steps.filter(({ isDone }) => isDone).length
  if (isHidden || done === steps.length) return null
  const hide = () => {
    writeSetting('checklist', 'hidden')
    setHidden(true)
  }
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="checklist">
      <Group justify="space-between" mb="sm">
        <Group gap="xs">
          <Title order={2} size="h5" id="checklist">
            {t.home.checklist}
          </Title>
          <Text size="sm" c="dimmed">
            {t.home.progress(String(done), String(steps.length))}
          </Text>
        </Group>
        <Button variant="subtle" size="compact-xs" onClick={hide}>
          {t.home.dismiss}
        </Button>
      </Group>
      <List spacing="xs" listStyleType="none" center>
        {steps.map(({ text, isDone, to }) => (
          <List.Item
            key={text}
            icon={
              <ThemeIcon size={22} radius="xl" variant="light" color={isDone ? 'green' : 'gray'}>
                <Icon name={isDone ? 'check' : 'clock'} size={13} />
              </ThemeIcon>
            }
          >
            {isDone || to === undefined ? (
              <Text span c={isDone ? 'dimmed' : undefined}>
                {text}
              </Text>
            ) : (
              <TextLink to={to}>{text}</TextLink>
            )}
            <Text span size="xs" c="dimmed">
              {' '}
              ({isDone ? t.home.stepDone : t.home.stepOpen})
            </Text>
          </List.Item>
        ))}
      </List>
    </Paper>
  )
}

function ofBot(bot: Bot | undefined, part: string): string | undefined {
  return bot && `/bots/${bot.id}/${part}`
}
