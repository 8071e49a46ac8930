import type { AuditEvent } from '@botberth/sdk'
import { Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { auditQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Empty } from '../../ui/Empty.tsx'
import { LinkButton } from '../../ui/Links.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { Loaded } from '../../ui/Loaded.tsx'
import { Page } from '../../ui/Page.tsx'
import { Pages } from '../../ui/Pages.tsx'
import { Time } from '../../ui/Time.tsx'
import { BotActivity } from './BotActivity.tsx'
import { describeDetails } from './details.ts'

const route = getRouteApi('/shell/activity')

export function Activity() {
  const t = useTexts()
  const { tab } = route.useSearch()
  const isBots = tab === 'bots'
  return (
    <Page title={t.activity.title} lead={isBots ? t.activity.botsLead : t.activity.lead}>
      <nav className="tabs" aria-label={t.activity.title}>
        {(
          [
            [t.activity.account, {}, !isBots],
            [t.activity.bots, { tab: 'bots' }, isBots],
          ] as const
        ).map(([label, search, isCurrent]) => (
          <Link
            key={label}
            to="/activity"
            search={search}
            className="tab"
            aria-current={isCurrent ? 'page' : undefined}
            // Otherwise the address without a tab counts as that of each.
            activeOptions={{ exact: true }}
          >
            {label}
          </Link>
        ))}
      </nav>
      {isBots ? <BotActivity /> : <AccountActivity />}
    </Page>
  )
}

function AccountActivity() {
  const t = useTexts()
  const { page = 1 } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(auditQuery(page))
  return (
    <Loaded query={query} lines={8}>
      {({ data, totalPages }) =>
        data.length === 0 ? (
          <Empty
            icon="activity"
            title={t.activity.empty}
            hint={t.activity.emptyHint}
            action={<LinkButton to="/bots/new">{t.activity.emptyAction}</LinkButton>}
          />
        ) : (
          <>
            <ListTable
              label={t.activity.title}
              head={
                <>
                  <Table.Th>{t.common.when}</Table.Th>
                  <Table.Th>{t.activity.what}</Table.Th>
                  <Table.Th>{t.activity.details}</Table.Th>
                  <Table.Th>{t.activity.from}</Table.Th>
                </>
              }
            >
              {data.map((event) => (
                <Row key={event.id} event={event} />
              ))}
            </ListTable>
            <Pages page={page} totalPages={totalPages} onChange={(next) => void navigate({ search: { page: next } })} />
          </>
        )
      }
    </Loaded>
  )
}

function Row({ event: { kind, details, ip, createdAt } }: { event: AuditEvent }) {
  const t = useTexts()
  return (
    <Table.Tr>
      <Table.Td>
        <Time at={createdAt} />
      </Table.Td>
      <Table.Td>{t.activity.kinds[kind] ?? kind}</Table.Td>
      <Table.Td maw={360}>
        <Text size="sm" c="dimmed" className="break">
          {describeDetails(details, t)}
        </Text>
      </Table.Td>
      <Table.Td>
        <Text size="sm" c="dimmed">
          {ip ?? '–'}
        </Text>
      </Table.Td>
    </Table.Tr>
  )
}
