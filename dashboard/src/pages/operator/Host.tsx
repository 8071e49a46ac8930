import type { Wall } from '@botberth/sdk'
import { Group, List, Paper, Progress, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { formatBytes } from '../../format.ts'
import { hostQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Loaded } from '../../ui/Loaded.tsx'
import { Sign } from '../../ui/StatusBadge.tsx'

export function Host() {
  const t = useTexts()
  const query = useQuery(hostQuery)
  return (
    <Loaded query={query} lines={6}>
      {({ version, node, publicUrl, addresses, disk, signups, isLocal, walls }) => {
        const usedPercent = Math.round((1 - disk.freeBytes / disk.totalBytes) * 100)
        const rows = [
          [t.operator.version, version],
          [t.operator.node, node],
          [t.operator.url, publicUrl],
          [t.operator.signups, t.operator.signupsAre[signups] ?? signups],
          [t.operator.reach, isLocal ? t.operator.local : t.operator.open],
        ]
        return (
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <Paper withBorder p="lg" component="section">
              <Table variant="vertical">
                <Table.Tbody>
                  {rows.map(([title, value]) => (
                    <Table.Tr key={title}>
                      <Table.Th w={140}>{title}</Table.Th>
                      <Table.Td className="break">{value}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
              <Text size="sm" mt="md">
                {t.operator.disk}: {t.operator.diskFree(formatBytes(disk.freeBytes), formatBytes(disk.totalBytes))}
              </Text>
              <Progress value={usedPercent} color={usedPercent > 90 ? 'red' : undefined} aria-label={t.operator.disk} />
              <Text size="sm" mt="md" fw={600}>
                {t.operator.addresses}
              </Text>
              <Text size="sm" className="break">
                {addresses.join(', ')}
              </Text>
              <Text size="sm" c="dimmed">
                {t.operator.addressesHint}
              </Text>
            </Paper>
            <Paper withBorder p="lg" component="section">
              <Title order={2} size="h5" mb="sm">
                {t.operator.walls}
              </Title>
              <List listStyleType="none" spacing="md">
                {walls.map((wall) => (
                  <List.Item key={wall.name}>
                    <WallItem wall={wall} />
                  </List.Item>
                ))}
              </List>
            </Paper>
          </SimpleGrid>
        )
      }}
    </Loaded>
  )
}

function WallItem({ wall: { name, state, detail, remedy } }: { wall: Wall }) {
  const t = useTexts()
  const color = { on: 'green', soft: 'yellow', off: 'red' }[state]
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Text fw={600}>{name}</Text>
        <Sign color={color} icon={state === 'on' ? 'check' : 'warning'} text={t.operator.wallStates[state]} />
      </Group>
      <Text size="sm" c="dimmed" className="break">
        {detail}
      </Text>
      {remedy !== null && (
        <Text size="sm" className="break">
          {t.operator.mend(remedy)}
        </Text>
      )}
    </Stack>
  )
}
