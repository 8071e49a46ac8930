import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { isSignedOut } from './api.ts'
import { readRange } from './logs/range.ts'
import { Login } from './pages/login/Login.tsx'
import { SignedIn } from './pages/login/SignedIn.tsx'
import { MissingPage, PageBroken } from './pages/Missing.tsx'
import { meQuery } from './queries.ts'
import { queryClient } from './query-client.ts'
import { Shell } from './shell/Shell.tsx'
import { Waiting } from './ui/Loaded.tsx'

interface PageSearch {
  readonly page?: number
}

/** Numbers of pages stand in the address, so that a place in a list can be shared. */
function readPage({ page }: Record<string, unknown>): PageSearch {
  return typeof page === 'number' && Number.isInteger(page) && page > 1 ? { page } : {}
}

function readPageAndTab(search: Record<string, unknown>): PageSearch & { tab?: string } {
  return { ...readPage(search), tab: readText(search['tab']) }
}

function readText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value) // an address that looks like one is read as one
  return typeof value === 'string' && value !== '' ? value : undefined
}

const root = createRootRoute({ component: Outlet, notFoundComponent: MissingPage, errorComponent: PageBroken })

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: ({ returnTo }: Record<string, unknown>): { returnTo?: string } => ({ returnTo: readText(returnTo) }),
  component: Login,
})
const signedIn = createRoute({ getParentRoute: () => root, path: '/signed-in', component: SignedIn })

const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    try {
      await queryClient.ensureQueryData(meQuery)
    } catch (error) {
      if (!isSignedOut(error)) throw error
      throw redirect({ to: '/login', search: location.href === '/' ? {} : { returnTo: location.href } })
    }
  },
  component: Shell,
  errorComponent: PageBroken,
})

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/home/Home.tsx'), 'Home'),
})
const bots = createRoute({
  getParentRoute: () => shell,
  path: '/bots',
  validateSearch: ({ q, state, sort }: Record<string, unknown>): { q?: string; state?: string; sort?: string } => ({
    q: readText(q),
    state: readText(state),
    sort: readText(sort),
  }),
  component: lazyRouteComponent(() => import('./pages/bots/Bots.tsx'), 'Bots'),
})
const newBot = createRoute({
  getParentRoute: () => shell,
  path: '/bots/new',
  validateSearch: ({ template, source }: Record<string, unknown>): { template?: string; source?: string } => ({
    template: readText(template),
    source: readText(source),
  }),
  component: lazyRouteComponent(() => import('./pages/new-bot/NewBot.tsx'), 'NewBot'),
})
const bot = createRoute({
  getParentRoute: () => shell,
  path: '/bots/$botId',
  component: lazyRouteComponent(() => import('./pages/bot/BotFrame.tsx'), 'BotFrame'),
})
const overview = createRoute({
  getParentRoute: () => bot,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/bot/Overview.tsx'), 'Overview'),
})
const logs = createRoute({
  getParentRoute: () => bot,
  path: '/logs',
  validateSearch: readRange,
  component: lazyRouteComponent(() => import('./pages/bot/Logs.tsx'), 'Logs'),
})
const deployments = createRoute({
  getParentRoute: () => bot,
  path: '/deployments',
  validateSearch: readPage,
  component: lazyRouteComponent(() => import('./pages/deployments/Deployments.tsx'), 'Deployments'),
})
const deployment = createRoute({
  getParentRoute: () => bot,
  path: '/deployments/$deploymentId',
  component: lazyRouteComponent(() => import('./pages/deployments/DeploymentPage.tsx'), 'DeploymentPage'),
})
const variables = createRoute({
  getParentRoute: () => bot,
  path: '/variables',
  component: lazyRouteComponent(() => import('./pages/variables/Variables.tsx'), 'Variables'),
})
const metrics = createRoute({
  getParentRoute: () => bot,
  path: '/metrics',
  component: lazyRouteComponent(() => import('./pages/metrics/Metrics.tsx'), 'Metrics'),
})
const repository = createRoute({
  getParentRoute: () => bot,
  path: '/repository',
  component: lazyRouteComponent(() => import('./pages/repository/Repository.tsx'), 'Repository'),
})
const files = createRoute({
  getParentRoute: () => bot,
  path: '/files',
  validateSearch: ({ path }: Record<string, unknown>): { path?: string } => ({ path: readText(path) }),
  component: lazyRouteComponent(() => import('./pages/files/Files.tsx'), 'Files'),
})
const backups = createRoute({
  getParentRoute: () => bot,
  path: '/backups',
  component: lazyRouteComponent(() => import('./pages/backups/Backups.tsx'), 'Backups'),
})
const settings = createRoute({
  getParentRoute: () => bot,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/settings/Settings.tsx'), 'Settings'),
})
const activity = createRoute({
  getParentRoute: () => shell,
  path: '/activity',
  validateSearch: readPageAndTab,
  component: lazyRouteComponent(() => import('./pages/activity/Activity.tsx'), 'Activity'),
})
const keys = createRoute({
  getParentRoute: () => shell,
  path: '/keys',
  component: lazyRouteComponent(() => import('./pages/keys/Keys.tsx'), 'Keys'),
})
const webhooks = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('./pages/webhooks/Webhooks.tsx'), 'Webhooks'),
})
const webhook = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks/$webhookId',
  validateSearch: readPage,
  component: lazyRouteComponent(() => import('./pages/webhooks/Webhook.tsx'), 'Webhook'),
})
const device = createRoute({
  getParentRoute: () => shell,
  path: '/device',
  validateSearch: ({ code }: Record<string, unknown>): { code?: string } => ({ code: readText(code) }),
  component: lazyRouteComponent(() => import('./pages/device/Device.tsx'), 'Device'),
})
const profile = createRoute({
  getParentRoute: () => shell,
  path: '/profile',
  component: lazyRouteComponent(() => import('./pages/profile/Profile.tsx'), 'Profile'),
})
const operator = createRoute({
  getParentRoute: () => shell,
  path: '/operator',
  validateSearch: readPageAndTab,
  component: lazyRouteComponent(() => import('./pages/operator/Operator.tsx'), 'Operator'),
})

const routeTree = root.addChildren([
  login,
  signedIn,
  shell.addChildren([
    home,
    bots,
    newBot,
    bot.addChildren([
      overview,
      logs,
      deployments,
      deployment,
      variables,
      metrics,
      repository,
      files,
      backups,
      settings,
    ]),
    activity,
    keys,
    webhooks,
    webhook,
    device,
    profile,
    operator,
  ]),
])

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: PageBroken,
  defaultPendingComponent: Waiting,
  defaultPendingMs: 150,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
