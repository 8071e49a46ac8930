import type { Deployment } from '@botberth/sdk'
import { Badge, Code, Group, List, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { hasCode } from '../../api.ts'
import { variableChangesQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Loaded } from '../../ui/Loaded.tsx'

const colours = { added: 'green', changed: 'yellow', removed: 'red' } as const

/** What became of the variables since a deployment, by name: values stay where they are. */
export function VariableChanges({ deployment }: { deployment: Deployment }) {
  const t = useTexts()
  const query = useQuery(variableChangesQuery(deployment.id))
  if (hasCode(query.error, 'invalid_state')) return null // from before this was written down
  return (
    <Stack gap="xs" component="section" aria-label={t.deployments.variables}>
      <Text size="sm" fw={600}>
        {t.deployments.variables}
      </Text>
      <Loaded query={query} lines={1}>
        {(changes) =>
          changes.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t.deployments.variablesSame}
            </Text>
          ) : (
            <List size="sm" listStyleType="none" spacing={4}>
              {changes.map(({ key, change }) => (
                <List.Item key={key}>
                  <Group gap="xs" wrap="nowrap">
                    <Badge size="sm" variant="light" tt="none" color={colours[change]}>
                      {t.deployments.variableChange[change]}
                    </Badge>
                    <Code className="break">{key}</Code>
                  </Group>
                </List.Item>
              ))}
            </List>
          )
        }
      </Loaded>
    </Stack>
  )
}
