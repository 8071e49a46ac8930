// Runs inside the virtual machine: tries one thing after the other and tells the host by lines that begin with @@.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const root = join(import.meta.dirname, '..')
const runtime = 'server/src/runtime/process'

interface Step {
  readonly title: string
  readonly files: readonly string[]
  /** Without it the step tried something else than it should have. */
  readonly says: RegExp
  readonly enter?: readonly string[]
}

const asAnn = 'setpriv --reuid ann --regid ann --init-groups env XDG_RUNTIME_DIR=/run/user/1000'.split(' ')
// As a service of the user's own manager, which is where such a server runs.
const inUserService = [...asAnn, ...'systemd-run --user --pipe --wait --quiet --same-dir'.split(' ')]
const walls = ['confinement', 'network', 'process-runtime', 'reach', 'seccomp'].map(
  (name) => `${runtime}/${name}.test.ts`,
)
const groups = `${runtime}/cgroups/*.test.ts`

const steps: Record<string, readonly Step[]> = {
  plain: [
    { title: 'groups of cgroup v2, as root', files: [groups], says: /groups by cgroup v2[^]*groups by cgroup v2/ },
  ],
  systemd: [
    { title: 'groups by systemd, as root', files: [groups], says: /groups by systemd scopes/ },
    {
      title: 'groups by systemd, as a user who lingers',
      files: [groups],
      says: /groups by systemd scopes/,
      enter: inUserService,
    },
    { title: 'the service', files: ['vm/service.test.ts'], says: /goes on/ },
    { title: 'the runtime, as root', files: walls, says: /process-runtime/ },
    { title: 'the runtime, as a user who lingers', files: walls, says: /process-runtime/, enter: inUserService },
  ],
}

const only = /botberth\.step=(\S*)/.exec(readFileSync('/proc/cmdline', 'utf8'))?.[1]?.replaceAll('_', ' ') ?? ''
const mode = process.argv[2] ?? ''
// There is no way out of here; but bots are told of a resolver, as on any machine.
writeFileSync('/etc/resolv.conf', 'nameserver 192.0.2.53\n')
if (mode === 'systemd') {
  await run(['loginctl', 'enable-linger', 'ann'])
  while (!existsSync('/run/user/1000/bus')) await sleep(500) // her manager takes its time
}
for (const step of steps[mode]?.filter(({ title }) => title.includes(only)) ?? []) await take(step)
console.log('@@done {}')

async function take({ title, files, says, enter = [] }: Step): Promise<void> {
  console.log(`\n${title}`)
  const startedAt = Date.now()
  const node = [process.execPath, '--test', '--test-isolation=none', '--test-reporter=spec', ...files]
  const { code, output } = await run([...enter, ...node])
  const problem =
    code !== 0 ? `exit code ${code}` : says.test(output) ? undefined : `nothing was said of ${says.source}`
  console.log(`@@result ${JSON.stringify({ title, problem, seconds: Math.round((Date.now() - startedAt) / 1000) })}`)
}

function run([command = '', ...args]: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        process.stdout.write(chunk)
      })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}
