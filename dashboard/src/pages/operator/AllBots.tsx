import { Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { allBotsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Empty } from '../../ui/Empty.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Pages } from '../../ui/Pages.tsx'
import { DeploymentBadge, StateBadge } from '../../ui/StatusBadge.tsx'
import { Time } from '../../ui/Time.tsx'
import type { TabProps } from './Users.tsx'

export function AllBots({ page, onPage }: TabProps) {
  const t = useTexts()
  const query = useQuery(allBotsQuery(page))
  return (
    <Loaded query={query}>
      {({ data, totalPages }) =>
        data.length === 0 ? (
          <Empty icon="bot" title={t.operator.noBots} hint={t.operator.noBotsHint} />
        ) : (
          <>
            <ListTable
              label={t.operator.bots}
              head={
                <>
                  <Table.Th>{t.common.name}</Table.Th>
                  <Table.Th>{t.operator.owner}</Table.Th>
                  <Table.Th>{t.bots.state}</Table.Th>
                  <Table.Th>{t.bots.lastDeployment}</Table.Th>
                  <Table.Th>{t.bots.expires}</Table.Th>
                </>
              }
            >
              {data.map(({ id, name, owner, server, lastDeployment, expiresAt }) => (
                <Table.Tr key={id}>
                  <Table.Td maw={240} className="break">
                    {name}
                    <Text size="xs" c="dimmed">
                      {id}
                    </Text>
                  </Table.Td>
                  <Table.Td className="break">{owner.name}</Table.Td>
                  <Table.Td>
                    <StateBadge state={server.state} />
                  </Table.Td>
                  <Table.Td>{lastDeployment ? <DeploymentBadge status={lastDeployment.status} /> : '–'}</Table.Td>
                  <Table.Td>
                    <Time at={expiresAt} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </ListTable>
            <Pages page={page} totalPages={totalPages} onChange={onPage} />
          </>
        )
      }
    </Loaded>
  )
}
