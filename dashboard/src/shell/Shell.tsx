import { ActionIcon, AppShell, Burger, Button, Group, Kbd, Text, Tooltip, useMantineColorScheme } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef } from 'react'
import { focusSearch, useHotkeys } from '../hotkeys.ts'
import icon from '../icon.svg'
import { hub } from '../live/hub.ts'
import { followStream } from '../query-client.ts'
import { useLanguage, useTexts } from '../texts/texts.ts'
import { Icon } from '../ui/Icon.tsx'
import { AccountMenu } from './AccountMenu.tsx'
import { LiveBadge } from './LiveBadge.tsx'
import { Menu } from './Menu.tsx'
import { openPalette } from './palette-state.ts'
import { UnderWayButton } from './UnderWayButton.tsx'

const Palette = lazy(async () => ({ default: (await import('./Palette.tsx')).Palette }))
const UnderWay = lazy(async () => ({ default: (await import('./UnderWay.tsx')).UnderWay }))
const Shortcuts = lazy(async () => ({ default: (await import('./Shortcuts.tsx')).Shortcuts }))

/** What stands around every page of somebody who is signed in. */
export function Shell() {
  const t = useTexts()
  const navigate = useNavigate()
  const [isMenuOpen, menu] = useDisclosure()
  const [isSheetOpen, sheet] = useDisclosure()
  const [isUnderWayOpen, underWay] = useDisclosure()
  const main = useRef<HTMLElement>(null)
  useEffect(() => {
    const stop = followStream()
    hub.start()
    return stop
  }, [])
  useFocusOnNavigation(main, menu.close)
  useHotkeys([
    { keys: '?', label: t.shortcuts.sheet, run: sheet.open },
    { keys: '/', label: t.shortcuts.search, run: focusSearch },
    { keys: 'a', label: t.underWay.title, run: underWay.open },
    { keys: 'n', label: t.shortcuts.newBot, run: () => void navigate({ to: '/bots/new' }) },
    { keys: 'g h', label: t.nav.home, run: () => void navigate({ to: '/' }) },
    { keys: 'g b', label: t.nav.bots, run: () => void navigate({ to: '/bots' }) },
    { keys: 'g a', label: t.nav.activity, run: () => void navigate({ to: '/activity' }) },
    { keys: 'g k', label: t.nav.keys, run: () => void navigate({ to: '/keys' }) },
    { keys: 'g w', label: t.nav.webhooks, run: () => void navigate({ to: '/webhooks' }) },
    { keys: 'g p', label: t.nav.profile, run: () => void navigate({ to: '/profile' }) },
  ])
  return (
    <>
      <a className="skip" href="#content">
        {t.skip}
      </a>
      <AppShell
        header={{ height: 56 }}
        navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isMenuOpen } }}
        padding="md"
      >
        <AppShell.Header>
          <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
            <Group gap="xs" wrap="nowrap">
              <Burger
                opened={isMenuOpen}
                onClick={menu.toggle}
                hiddenFrom="sm"
                size="sm"
                aria-label={t.nav.open}
                aria-expanded={isMenuOpen}
              />
              <Link
                to="/"
                aria-label={t.product}
                style={{ display: 'flex', gap: 8, alignItems: 'center', color: 'inherit', textDecoration: 'none' }}
              >
                <img src={icon} alt="" width={28} height={28} />
                <Text fw={700} visibleFrom="xs">
                  {t.product}
                </Text>
              </Link>
            </Group>
            <Group gap={6} wrap="nowrap">
              <LiveBadge />
              <UnderWayButton onOpen={underWay.open} />
              <SearchButton />
              <SchemeButton />
              <LanguageButton />
              <AccountMenu />
            </Group>
          </Group>
        </AppShell.Header>
        <AppShell.Navbar p="xs" aria-label={t.nav.label}>
          <Menu />
        </AppShell.Navbar>
        <AppShell.Main id="content" ref={main} tabIndex={-1}>
          <Outlet />
        </AppShell.Main>
      </AppShell>
      <Suspense>
        <Palette />
        {isSheetOpen && <Shortcuts onClose={sheet.close} />}
        {isUnderWayOpen && <UnderWay onClose={underWay.close} />}
      </Suspense>
    </>
  )
}

/** Whoever hears the page is taken to its beginning, as a page that loads would. */
function useFocusOnNavigation(main: React.RefObject<HTMLElement | null>, moved: () => void): void {
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const before = useRef(path)
  useEffect(() => {
    if (before.current === path) return
    before.current = path
    moved()
    main.current?.focus({ preventScroll: true })
  }, [path, main, moved])
}

function SearchButton() {
  const t = useTexts()
  return (
    <>
      <Button
        variant="default"
        size="xs"
        visibleFrom="sm"
        onClick={openPalette}
        leftSection={<Icon name="search" size={14} />}
        rightSection={<Kbd size="xs">Ctrl K</Kbd>}
      >
        {t.nav.search}
      </Button>
      <ActionIcon variant="default" size="lg" hiddenFrom="sm" onClick={openPalette} aria-label={t.nav.search}>
        <Icon name="search" />
      </ActionIcon>
    </>
  )
}

function SchemeButton() {
  const t = useTexts()
  const { setColorScheme, colorScheme } = useMantineColorScheme()
  const isDark =
    colorScheme === 'dark' || (colorScheme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches)
  const label = isDark ? t.nav.light : t.nav.dark
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        visibleFrom="xs"
        onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
        aria-label={label}
      >
        <Icon name={isDark ? 'sun' : 'moon'} />
      </ActionIcon>
    </Tooltip>
  )
}

function LanguageButton() {
  const { t, language, choose } = useLanguage()
  const other = language === 'en' ? 'ko' : 'en'
  return (
    <Tooltip label={t.nav.changeLanguage}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        visibleFrom="xs"
        onClick={() => choose(other)}
        aria-label={t.nav.changeLanguage}
        lang={other}
      >
        <Icon name="language" />
      </ActionIcon>
    </Tooltip>
  )
}
