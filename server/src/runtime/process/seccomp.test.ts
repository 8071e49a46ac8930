import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { RunError, run } from '../../lib/run.ts'
import { seccompFilter } from './seccomp.ts'
import { findToolchain } from './toolchain.ts'

type Architecture = 'x64' | 'arm64'

const [eperm, enosys, eopnotsupp, eafnosupport] = [1, 38, 95, 97]

// As libseccomp 2.5.4 resolves the names (467 from the kernel's own table): another source than the filter's.
const denied = {
  x64: [
    101, 103, 153, 155, 159, 161, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 175, 176, 179, 180, 212, 227,
    246, 248, 249, 250, 272, 298, 300, 303, 304, 305, 308, 310, 311, 313, 320, 321, 323, 425, 426, 427, 428, 429, 430,
    431, 432, 433, 438, 442, 443, 467,
  ],
  arm64: [
    18, 39, 40, 41, 42, 51, 58, 60, 89, 97, 104, 105, 106, 112, 116, 117, 142, 161, 162, 170, 171, 217, 218, 219, 224,
    225, 241, 262, 264, 265, 266, 268, 270, 271, 273, 280, 282, 294, 425, 426, 427, 428, 429, 430, 431, 432, 433, 438,
    442, 443, 467,
  ],
}
const calls = {
  x64: {
    clone: 56,
    clone3: 435,
    fallocate: 285,
    ioctl: 16,
    personality: 135,
    socket: 41,
    socketpair: 53,
    unshare: 272,
  },
  arm64: {
    clone: 220,
    clone3: 435,
    fallocate: 47,
    ioctl: 29,
    personality: 92,
    socket: 198,
    socketpair: 199,
    unshare: 97,
  },
}
/** Without a filter these end otherwise than with EPERM, so that we see whose answer it is. */
const toldApart = {
  x64: { adjtimex: 159, keyctl: 250, name_to_handle_at: 303, process_vm_readv: 310, ptrace: 101, setns: 308 },
  arm64: { adjtimex: 171, keyctl: 219, name_to_handle_at: 264, process_vm_readv: 270, ptrace: 117, setns: 268 },
}
const audit = { x64: 0xc000003e, arm64: 0xc00000b7 }
const upperHalf = 0xdead_0000_0000_0000n

type Case = readonly [call: keyof typeof calls.x64, args: readonly number[], errno: number]

const sigchld = 17
const cloneNew = {
  ns: 0x0002_0000,
  cgroup: 0x0200_0000,
  uts: 0x0400_0000,
  ipc: 0x0800_0000,
  user: 0x1000_0000,
  pid: 0x2000_0000,
  net: 0x4000_0000,
}
const threadFlags = 0x003d_0f00 // what glibc's pthread_create asks for

const refused: readonly Case[] = [
  ...Object.values(cloneNew).map((flag): Case => ['clone', [flag | sigchld], eperm]),
  ['clone', [threadFlags | cloneNew.net], eperm],
  ['clone3', [0, 0], enosys],
  ['fallocate', [1, 1], eopnotsupp],
  ['ioctl', [0, 0x5412], eperm], // TIOCSTI
  ['ioctl', [0, 0x541c], eperm], // TIOCLINUX
  ['personality', [0x0004_0000], eperm], // ADDR_NO_RANDOMIZE
  ['personality', [0x0040_0000], eperm], // READ_IMPLIES_EXEC
  // AF_UNSPEC, AX25, KEY, PACKET, RDS, CAN, TIPC, BLUETOOTH, ALG, VSOCK, QIPCRTR, SMC, XDP, and one there is not
  ...[0, 3, 15, 17, 21, 29, 30, 31, 38, 40, 42, 43, 44, 0x8000_0001].flatMap((family): Case[] => [
    ['socket', [family, 1], eafnosupport],
    ['socketpair', [family, 1], eafnosupport],
  ]),
  ['socket', [2, 10], eafnosupport], // AF_PACKET by its old name
  ['socket', [2, 10 | 0x8_0000], eafnosupport], // with SOCK_CLOEXEC
  ['socketpair', [2, 10], eafnosupport],
]
const allowed: readonly Case[] = [
  ['clone', [sigchld], 0],
  ['clone', [threadFlags], 0],
  ['ioctl', [0, 0x5401], 0], // TCGETS
  ['ioctl', [0x5412, 0], 0],
  ['personality', [0], 0],
  ['personality', [0xffff_ffff], 0],
  ...[1, 2, 10, 16].flatMap((family): Case[] => [
    ['socket', [family, 1], 0],
    ['socket', [family, 2 | 0x8_0000], 0],
    ['socketpair', [family, 1], 0],
  ]),
]

for (const architecture of ['x64', 'arm64'] as const) {
  const filter = program(architecture)

  test(`${architecture}: each call by its number gets the answer that the lists say`, () => {
    const { clone3, fallocate, socket, socketpair } = calls[architecture]
    const byNumber = new Map<number, Verdict>([
      ...denied[architecture].map((number) => [number, eperm] as const),
      [clone3, enosys],
      [fallocate, eopnotsupp],
      [socket, eafnosupport], // their first argument is 0 here
      [socketpair, eafnosupport],
    ])
    for (let number = 0; number <= 600; number++) {
      const isX32 = architecture === 'x64' && number >= 512 && number < 548
      const expected = isX32 ? 'kill' : (byNumber.get(number) ?? 'allow')
      assert.equal(interpret(filter, { number, architecture: audit[architecture], args: [] }), expected, `${number}`)
    }
  })

  test(`${architecture}: arguments decide where they should, whatever is in their upper halves`, () => {
    for (const [call, args, errno] of [...refused, ...allowed]) {
      const number = calls[architecture][call]
      for (const upper of [0n, upperHalf]) {
        const wide = args.map((arg) => BigInt(arg) | upper)
        const verdict = interpret(filter, { number, architecture: audit[architecture], args: wide })
        assert.equal(verdict, errno === 0 ? 'allow' : errno, `${call}(${args.join()})`)
      }
    }
  })

  test(`${architecture}: calls of another architecture kill`, () => {
    const others = [0x4000_0003, 0x4000_0028, audit[architecture === 'x64' ? 'arm64' : 'x64'], 0]
    for (const other of others)
      for (const number of [0, 1, 172, 1000])
        assert.equal(interpret(filter, { number, architecture: other, args: [] }), 'kill')
  })

  test(`${architecture}: calls with the bit of x32 kill where there is an x32`, () => {
    for (const number of [0x4000_0000, 0x4000_0001, 0x4000_0209, 0xffff_ffff]) {
      const verdict = interpret(filter, { number, architecture: audit[architecture], args: [] })
      assert.equal(verdict, architecture === 'x64' ? 'kill' : 'allow')
    }
    assert.equal(interpret(filter, { number: 0x3fff_ffff, architecture: audit[architecture], args: [] }), 'allow')
  })
}

test('there is no filter for an architecture whose numbers we do not know', () => {
  for (const architecture of ['ia32', 'arm', 'riscv64', '', 'constructor'])
    assert.equal(seccompFilter(architecture), undefined)
})

const toolchain = findToolchain()
const bubblewrap = toolchain.find('bwrap') ?? 'bwrap'
const foundPython = toolchain.find('python3')
const python = foundPython ?? 'python3'
const problem = findProblem()

testBehind('Node goes on working: threads, processes, network, cryptography, interfaces', async () => {
  const script = `
    const { Worker } = require('node:worker_threads')
    const { execFileSync } = require('node:child_process')
    const { once } = require('node:events')
    const { promisify } = require('node:util')
    async function main() {
      const [fromWorker] = await once(new Worker('require("node:worker_threads").parentPort.postMessage(7)', { eval: true }), 'message')
      const server = require('node:http').createServer((_, response) => response.end('page')).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const fetched = await (await fetch('http://localhost:' + server.address().port)).text()
      server.close().closeAllConnections()
      const crypto = require('node:crypto')
      console.log(JSON.stringify({
        fromWorker,
        fromChild: execFileSync(process.execPath, ['-p', '6 * 7']).toString().trim(),
        fromShell: execFileSync('/bin/sh', ['-c', 'echo a | cat; (echo b) & wait']).toString(),
        fetched,
        keyBytes: (await promisify(crypto.scrypt)('word', crypto.randomBytes(8), 16)).length,
        pair: (await promisify(crypto.generateKeyPair)('ed25519')).publicKey.type,
        loopback: Object.values(require('node:os').networkInterfaces()).flat().some(({ address }) => address === '127.0.0.1'),
        read: (await require('node:fs/promises').readFile('/proc/self/status', 'utf8')).match(/Seccomp:\\s*(\\d)/)[1],
      }))
    }
    main()`
  // Asked to, Node works through io_uring, and has to notice by itself that there is none.
  for (const env of [{}, { UV_USE_IO_URING: '1' }]) {
    const { stdout } = await runBehind([process.execPath, '-e', script], { env })
    assert.deepEqual(JSON.parse(stdout), {
      fromWorker: 7,
      fromChild: '42',
      fromShell: 'a\nb\n',
      fetched: 'page',
      keyBytes: 16,
      pair: 'public',
      loopback: true,
      read: '2',
    })
  }
})

testWithPython('Python goes on working: threads, processes, network', async () => {
  const script = `
import json, multiprocessing, socket, subprocess, threading
seen = []
thread = threading.Thread(target=lambda: seen.append('thread'))
thread.start(); thread.join()
seen.append(subprocess.run(['/bin/echo', 'child'], capture_output=True, text=True).stdout.strip())
seen.append(subprocess.run('echo shell', shell=True, start_new_session=True, capture_output=True, text=True).stdout.strip())
process = multiprocessing.get_context('fork').Process(target=lambda: exit(7))
process.start(); process.join()
seen.append(process.exitcode)
left, right = socket.socketpair()
left.send(b'pair'); seen.append(right.recv(9).decode())
seen.append(socket.getaddrinfo('localhost', 80)[0][0] in (socket.AF_INET, socket.AF_INET6))
print(json.dumps(seen))`
  const { stdout } = await runBehind([python, '-c', script])
  assert.deepEqual(JSON.parse(stdout), ['thread', 'child', 'shell', 7, 'pair', true])
})

testWithPython('the kernel denies each number on the list', async (context) => {
  const architecture = here()
  const numbers = denied[architecture]
  const table = numbers.map((number) => [number, 0, 0, 0, 0, 0, 0])
  const errnos = await callAll(table)
  assert.deepEqual(
    numbers.map((number, index) => [number, errnos[index]]),
    numbers.map((number) => [number, eperm]),
  )
  const free = await callAll(table, { isFiltered: false })
  for (const [name, number] of Object.entries(toldApart[architecture]))
    assert.notEqual(free[numbers.indexOf(number)], eperm, `${name} says EPERM without the filter too`)
  context.diagnostic(`${free.filter((errno) => errno !== eperm).length} of ${numbers.length} end otherwise without it`)
})

testWithPython('the kernel denies by arguments, and nothing more', async () => {
  const table = (cases: readonly Case[]) => cases.map(([call, args]) => [calls[here()][call], ...args])
  const errnos = await callAll(table(refused))
  assert.deepEqual(
    refused.map(([call, args], index) => [call, args, errnos[index]]),
    refused,
  )
  // A thread without a stack is no call to make here; that threads work is seen above.
  const harmless = allowed.filter(([call, args]) => call !== 'clone' || args[0] === sigchld)
  assert.deepEqual(await callAll(table(harmless)), await callAll(table(harmless), { isFiltered: false }))
})

testWithPython('without it the same calls end otherwise', async () => {
  const { clone, ioctl, personality, socket, unshare } = calls[here()]
  const table = [
    [unshare, cloneNew.user],
    [clone, cloneNew.user | sigchld],
    [ioctl, 0, 0x5412],
    [personality, 0x0004_0000],
    [socket, 17, 3],
  ]
  const free = await callAll(table, { isFiltered: false })
  // It is no terminal; and a packet socket asks for a right that nobody has here, not for what the kernel has not.
  const enotty = 25
  assert.deepEqual(free, [0, 0, enotty, 0, eperm])
  assert.deepEqual(await callAll(table), [eperm, eperm, eperm, eperm, eafnosupport])
})

testBehind('no program makes a user namespace', async () => {
  const argv = [toolchain.find('unshare') ?? 'unshare', '-U', '/bin/true']
  await runBehind(argv, { isFiltered: false })
  await assert.rejects(runBehind(argv), (error: RunError) => error.lines.join().includes('Operation not permitted'))
})

testBehind('a 32-bit program is killed at its first call', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-'))
  try {
    const file = join(folder, 'program')
    writeFileSync(file, program32(here()), { mode: 0o755 })
    const [free, filtered] = [await exitCode([file], { isFiltered: false }), await exitCode([file], {})]
    if (free !== 7) return context.diagnostic(`NOT TESTED: 32-bit programs do not run here (${free})`)
    assert.equal(filtered, 128 + 31) // SIGSYS
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** A test that needs bubblewrap, and says so where there is none that works. */
function testBehind(title: string, body: (context: TestContext) => Promise<void>): void {
  test(`behind the filter: ${title}`, async (context) => {
    if (problem !== undefined) return context.diagnostic(`NOT TESTED: ${problem}`)
    await body(context)
  })
}

function testWithPython(title: string, body: (context: TestContext) => Promise<void>): void {
  testBehind(title, async (context) => {
    if (foundPython === undefined) return context.diagnostic('NOT TESTED: there is no Python')
    await body(context)
  })
}

function findProblem(): string | undefined {
  if (!seccompFilter()) return `no filter for ${process.arch}`
  // With a user namespace inside of the walls, which the tests make to see that only the filter is in their way.
  const [command = '', ...args] = wrap([toolchain.find('unshare') ?? 'unshare', '-U', '/bin/true'])
  const { status, stderr, error } = spawnSync(command, args, { timeout: 10_000 })
  return status === 0 ? undefined : `bubblewrap and unshare: ${error?.message ?? stderr.toString()}`
}

function here(): Architecture {
  return process.arch === 'x64' ? 'x64' : 'arm64'
}

function wrap(argv: readonly string[], options: readonly string[] = []): string[] {
  const walls = ['--unshare-user', '--unshare-pid', '--cap-drop', 'ALL', '--ro-bind', '/', '/']
  return [bubblewrap, ...walls, '--dev', '/dev', '--proc', '/proc', ...options, '--', ...argv]
}

interface Options {
  readonly isFiltered?: boolean
  readonly env?: Record<string, string>
}

async function runBehind(argv: readonly string[], { isFiltered = true, env = {} }: Options = {}) {
  const options = { env: { PATH: '/usr/bin:/bin', ...env }, timeoutMs: 60_000 }
  if (!isFiltered) return run(wrap(argv), options)
  const fd = filterFd()
  try {
    return await run(wrap(argv, ['--seccomp', '3']), { ...options, fds: [fd] })
  } finally {
    closeSync(fd)
  }
}

async function exitCode(argv: readonly string[], options: Options): Promise<number | null> {
  try {
    await runBehind(argv, options)
    return 0
  } catch (error) {
    if (error instanceof RunError) return error.exitCode
    throw error
  }
}

/** A new one for each run: bubblewrap reads it to its end. */
function filterFd(): number {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-'))
  try {
    writeFileSync(join(folder, 'filter'), program(here()))
    return openSync(join(folder, 'filter'), 'r')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** How each call ends, each in a process of its own: 0 or an error number. */
async function callAll(table: readonly (readonly number[])[], options: Options = {}): Promise<number[]> {
  const script = `
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *args):
    all = [*args, 0, 0, 0, 0, 0, 0][:6] # what is left out is whatever stands in the register
    child = os.fork()
    if child == 0:
        failed = libc.syscall(ctypes.c_long(number), *map(ctypes.c_ulong, all)) == -1
        os._exit(ctypes.get_errno() if failed else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps([call(*row) for row in json.loads(sys.argv[1])]))`
  const { stdout } = await runBehind([python, '-c', script, JSON.stringify(table)], options)
  return JSON.parse(stdout) as number[]
}

/** The smallest ELF file of the 32-bit sister architecture: exit(7). */
function program32(architecture: Architecture): Buffer {
  const isArm = architecture === 'arm64'
  const code = Buffer.from(isArm ? '0170a0e30700a0e3000000ef' : 'b801000000bb07000000cd80', 'hex')
  const [base, headerBytes, segmentBytes] = [0x10000, 52, 32]
  const size = headerBytes + segmentBytes + code.length
  const words = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer)
  return Buffer.concat([
    Buffer.from('7f454c46010101000000000000000000', 'hex'),
    words(2 | ((isArm ? 40 : 3) << 16), 1, base + headerBytes + segmentBytes, headerBytes, 0, isArm ? 0x0500_0000 : 0),
    words(headerBytes | (segmentBytes << 16), 1, 0),
    words(1, 0, base, base, size, size, 5, 0x1000),
    code,
  ])
}

function program(architecture: Architecture): Buffer {
  const bytes = seccompFilter(architecture)
  assert.ok(bytes && bytes.length % 8 === 0 && bytes.length / 8 <= 4096) // the kernel's bounds
  return bytes
}

type Verdict = 'allow' | 'kill' | number

interface Call {
  readonly number: number
  readonly architecture: number
  readonly args: readonly bigint[]
}

/** Classic BPF as the kernel runs it for seccomp; throws on what the kernel would not load. */
function interpret(bytes: Buffer, { number, architecture, args }: Call): Verdict {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(number, 0)
  data.writeUInt32LE(architecture, 4)
  args.forEach((arg, index) => data.writeBigUInt64LE(arg, 16 + 8 * index))
  let word = 0
  for (let at = 0; at < bytes.length; at += 8) {
    const [code, ifTrue, ifFalse] = [bytes.readUInt16LE(at), bytes.readUInt8(at + 2), bytes.readUInt8(at + 3)]
    const value = bytes.readUInt32LE(at + 4)
    const jump = (holds: boolean) => (at += 8 * (holds ? ifTrue : ifFalse))
    if (code === 0x20) word = data.readUInt32LE(value)
    else if (code === 0x54) word = (word & value) >>> 0
    else if (code === 0x15) jump(word === value)
    else if (code === 0x35) jump(word >= value)
    else if (code === 0x45) jump((word & value) !== 0)
    else if (code === 0x06) return verdictOf(value)
    else throw new Error(`instruction ${at / 8} is unknown: ${code}`)
  }
  throw new Error('the program ends without an answer')
}

function verdictOf(value: number): Verdict {
  if (value === 0x7fff_0000) return 'allow'
  if (value === 0x8000_0000) return 'kill'
  assert.equal(value >>> 16, 5) // SECCOMP_RET_ERRNO
  return value & 0xffff
}
