// npm run test:vm [-- systemd|plain [STEP]]: the runtime and the service on a machine with cgroup v2, once under systemd
// and once without, as a virtual machine. Emulated where there is no KVM: then it takes about half an hour.
import { execFileSync, spawn } from 'node:child_process'
import { accessSync, constants, cpSync, globSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findMachine, type Image, makeDisk, makeImage, missingPackages } from '../vm/image.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'tmp', 'vm')
const timeoutMs = 90 * 60_000

interface Result {
  readonly title: string
  readonly problem?: string
  readonly seconds: number
}

const missing = missingPackages()
if (missing.length > 0) {
  console.error(`Missing on this machine: apt install ${missing.join(' ')}`)
  process.exit(2)
}
mkdirSync(folder, { recursive: true })
const image = makeImage(folder)
const repository = packRepository()
const [only, step = ''] = process.argv.slice(2)
const results: Result[] = []
for (const mode of ['plain', 'systemd']) if (only === undefined || only === mode) results.push(...(await boot(mode)))

console.log()
for (const { title, problem, seconds } of results)
  console.log(`${problem ? '✖' : '✔'} ${title} (${seconds} s)${problem ? `: ${problem}` : ''}`)
process.exitCode = results.some(({ problem }) => problem) ? 1 : 0

/** What git knows or would add, and the packages. */
function packRepository(): string {
  const [files, disk] = [join(folder, 'repository'), join(folder, 'repository.img')]
  rmSync(files, { recursive: true, force: true })
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const file of list.split('\0').filter(Boolean)) cpSync(join(root, file), join(files, file))
  for (const modules of globSync('{,*/}node_modules', { cwd: root }))
    execFileSync('cp', ['-al', '-T', join(root, modules), join(files, modules)]) // links: there are many, and none is changed
  makeDisk(files, disk, '2G')
  rmSync(files, { recursive: true })
  return disk
}

/** Runs the machine until it goes off, shows what it says, and answers with what it found. */
async function boot(mode: string): Promise<Result[]> {
  console.log(`\nA machine with ${mode === 'plain' ? 'cgroup v2 and no systemd' : 'systemd'} starts.`)
  const [command = '', ...args] = qemu(image, mode)
  const startedAt = Date.now()
  const child = spawn('nice', ['-n', '10', command, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  const found: Result[] = []
  let isDone = false
  for await (const text of createInterface({ input: child.stdout })) {
    const line = text.replaceAll('\r', '')
    const [, word, json = ''] = /^@@(\w+) (.*)$/.exec(line) ?? []
    if (word === 'result') found.push(JSON.parse(json) as Result)
    else if (word === 'done') isDone = true
    else console.log(line)
  }
  const seconds = Math.round((Date.now() - startedAt) / 1000)
  const problem = isDone ? {} : { problem: `it went off early; see ${join(folder, `${mode}.log`)}` }
  return [...found, { title: `the machine (${mode})`, seconds, ...problem }]
}

function qemu({ disk, kernel, initrd }: Image, mode: string): string[] {
  const { qemu: program, machine, emulated, console: serial } = findMachine()
  const words = `root=/dev/vda rw console=${serial} quiet panic=-1 botberth.step=${step.replaceAll(' ', '_')}`
  const hardware = hasKvm() ? '-accel kvm -cpu host' : `-accel tcg,thread=multi -cpu ${emulated}`
  const line = '-device virtio-serial-pci -device virtconsole,chardev=results -chardev stdio,id=results,signal=off'
  return [
    program,
    ...`-machine ${machine} ${hardware} -smp 2 -m 3072 -nographic -nodefaults -no-reboot`.split(' '),
    ...`-device virtio-rng-pci ${line}`.split(' '),
    '-serial',
    `file:${join(folder, `${mode}.log`)}`,
    '-kernel',
    kernel,
    '-initrd',
    initrd,
    '-append',
    mode === 'plain' ? `${words} init=/sbin/plain-init` : words,
    // What is written goes with the machine: the images stay as they are.
    ...[disk, repository].flatMap((file) => ['-drive', `file=${file},if=virtio,format=raw,snapshot=on,cache=unsafe`]),
  ]
}

function hasKvm(): boolean {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}
