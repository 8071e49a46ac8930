import { NavLink, ScrollArea } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { meQuery } from '../queries.ts'
import { useTexts } from '../texts/texts.ts'
import { Icon, type IconName } from '../ui/Icon.tsx'
import { MenuLink } from '../ui/Links.tsx'

export function Menu() {
  const t = useTexts()
  const { data: me } = useQuery(meQuery)
  const links = [
    ['/', 'home', t.nav.home],
    ['/bots', 'bot', t.nav.bots],
    ['/activity', 'activity', t.nav.activity],
    ['/keys', 'key', t.nav.keys],
    ['/webhooks', 'webhook', t.nav.webhooks],
    ['/profile', 'user', t.nav.profile],
    ...(me?.role === 'owner' ? ([['/operator', 'operator', t.nav.operator]] as const) : []),
  ] as const satisfies readonly (readonly [string, IconName, string])[]
  return (
    <ScrollArea type="auto" style={{ flex: 1 }}>
      {links.map(([to, icon, label]) => (
        <MenuLink
          key={to}
          to={to}
          label={label}
          leftSection={<Icon name={icon} />}
          activeOptions={{ exact: to === '/' }}
          activeProps={{ active: true }}
        />
      ))}
      <NavLink href="/list" label={t.nav.list} leftSection={<Icon name="list" />} />
      <NavLink href="/docs" label={t.nav.docs} leftSection={<Icon name="docs" />} />
    </ScrollArea>
  )
}
