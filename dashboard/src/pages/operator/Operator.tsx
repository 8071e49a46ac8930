import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { meQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { Empty } from '../../ui/Empty.tsx'
import { LinkButton } from '../../ui/Links.tsx'
import { Page } from '../../ui/Page.tsx'
import { AllBots } from './AllBots.tsx'
import { Host } from './Host.tsx'
import { Reports } from './Reports.tsx'
import { Users } from './Users.tsx'

const route = getRouteApi('/shell/operator')
const tabs = ['host', 'users', 'bots', 'reports'] as const

export function Operator() {
  const t = useTexts()
  const { tab = 'host', page = 1 } = route.useSearch()
  const navigate = route.useNavigate()
  const { data: me } = useQuery(meQuery)
  const onPage = (next: number) => void navigate({ search: { tab, page: next } })
  if (me?.role !== 'owner')
    return (
      <Empty
        isPage
        icon="operator"
        title={t.operator.title}
        hint={t.operator.forbidden}
        action={<LinkButton to="/">{t.errors.goHome}</LinkButton>}
      />
    )
  return (
    <Page title={t.operator.title} lead={t.operator.lead}>
      <nav className="tabs" aria-label={t.operator.title}>
        {tabs.map((name) => (
          <Link
            key={name}
            to="/operator"
            search={name === 'host' ? {} : { tab: name }}
            className="tab"
            aria-current={tab === name ? 'page' : undefined}
            // Otherwise the address without a tab counts as that of each.
            activeOptions={{ exact: true }}
          >
            {t.operator[name]}
          </Link>
        ))}
      </nav>
      {tab === 'users' && <Users page={page} onPage={onPage} />}
      {tab === 'bots' && <AllBots page={page} onPage={onPage} />}
      {tab === 'reports' && <Reports page={page} onPage={onPage} />}
      {!['users', 'bots', 'reports'].includes(tab) && <Host />}
    </Page>
  )
}
