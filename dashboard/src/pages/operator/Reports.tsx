import { Anchor, Button, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { reportsQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useAction } from '../../ui/action.ts'
import { Empty } from '../../ui/Empty.tsx'
import { ErrorCard } from '../../ui/ErrorCard.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Pages } from '../../ui/Pages.tsx'
import { Time } from '../../ui/Time.tsx'
import type { TabProps } from './Users.tsx'

/** What visitors of the public list say about bots on it. */
export function Reports({ page, onPage }: TabProps) {
  const t = useTexts()
  const query = useQuery(reportsQuery(page))
  const hide = useAction(
    ({ botId, hidden }: { botId: string; hidden: boolean }) => api.operator.updateListing(botId, { hidden }),
    { changes: [['operator', 'reports']], done: () => t.common.saved },
  )
  return (
    <>
      {hide.error !== undefined && <ErrorCard error={hide.error} />}
      <Loaded query={query}>
        {({ data, totalPages }) =>
          data.length === 0 ? (
            <Empty icon="check" title={t.operator.noReports} hint={t.operator.noReportsHint} />
          ) : (
            <>
              <ListTable
                label={t.operator.reports}
                head={
                  <>
                    <Table.Th>{t.common.name}</Table.Th>
                    <Table.Th>{t.operator.reason}</Table.Th>
                    <Table.Th>{t.operator.reporter}</Table.Th>
                    <Table.Th>{t.common.when}</Table.Th>
                    <Table.Th>{t.common.actions}</Table.Th>
                  </>
                }
              >
                {data.map(({ id, botId, botName, isHidden, reason, reporter, createdAt }) => (
                  <Table.Tr key={id}>
                    <Table.Td className="break">
                      <Anchor href={`/list/bots/${botId}`}>{botName}</Anchor>
                      {isHidden && (
                        <Text size="xs" c="dimmed">
                          {t.operator.hidden}
                        </Text>
                      )}
                    </Table.Td>
                    <Table.Td maw={360} className="break">
                      {reason}
                    </Table.Td>
                    <Table.Td>{reporter?.name ?? t.operator.anonymous}</Table.Td>
                    <Table.Td>
                      <Time at={createdAt} />
                    </Table.Td>
                    <Table.Td>
                      <Button
                        size="compact-sm"
                        variant="default"
                        loading={hide.isRunning}
                        onClick={() => hide.run({ botId, hidden: !isHidden })}
                      >
                        {isHidden ? t.operator.show : t.operator.hide}
                      </Button>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </ListTable>
              <Pages page={page} totalPages={totalPages} onChange={onPage} />
            </>
          )
        }
      </Loaded>
    </>
  )
}
