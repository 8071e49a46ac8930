import { Avatar, Menu, Text, UnstyledButton, useMantineColorScheme } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../api.ts'
import { meQuery } from '../queries.ts'
import { useLanguage, useTexts } from '../texts/texts.ts'
import { useAction } from '../ui/action.ts'
import { Icon } from '../ui/Icon.tsx'

export function AccountMenu() {
  const t = useTexts()
  const { language, choose } = useLanguage()
  const { toggleColorScheme } = useMantineColorScheme()
  const { data: me } = useQuery(meQuery)
  const signOut = useAction(() => api.auth.signOut(), { after: () => location.assign('/login') })
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <UnstyledButton aria-label={t.nav.account}>
          <Avatar src={me?.avatarUrl} alt="" radius="xl" size={34}>
            <Icon name="user" />
          </Avatar>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} to="/profile" leftSection={<Icon name="user" size={16} />}>
          {t.nav.profile}
          <Text size="xs" c="dimmed" className="break">
            {me?.name}
          </Text>
        </Menu.Item>
        <Menu.Item
          hiddenFrom="xs"
          onClick={() => choose(language === 'en' ? 'ko' : 'en')}
          leftSection={<Icon name="language" size={16} />}
        >
          {t.nav.changeLanguage}
        </Menu.Item>
        <Menu.Item hiddenFrom="xs" onClick={toggleColorScheme} leftSection={<Icon name="sun" size={16} />}>
          {t.profile.theme}
        </Menu.Item>
        <Menu.Item onClick={() => signOut.run()} leftSection={<Icon name="external" size={16} />}>
          {t.nav.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
