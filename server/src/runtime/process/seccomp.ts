/**
 * The filter for bubblewrap's `--seccomp FD`: a classic BPF program as bytes. Undefined where we know no table for the
 * architecture.
 *
 * A deny list: it takes away what bots have no use for and what has let others out of such walls. All else stays
 * allowed, so that runtimes and libraries we do not know go on working. We write the program ourselves, because
 * libseccomp would bring a compiler or a native module along for what is one table and a handful of instructions.
 */
export function seccompFilter(architecture: string = process.arch): Buffer | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined
  const { column, audit, first } = architectures[architecture]
  return Buffer.concat([
    load(architectureAt),
    unlessEqual(audit, kill),
    load(numberAt),
    ...first,
    // First, because only these are both frequent and looked at each time.
    ...Object.values(conditional).map(({ numbers, body }) => on(numbers[column], ...body)),
    ...Object.values(denied).map((numbers) => on(numbers[column], refuse(eperm))),
    allow,
  ])
}

function on(number: number | undefined, ...body: readonly Buffer[]): Buffer {
  return number === undefined ? Buffer.alloc(0) : ifEqual(number, ...body)
}

/** Numbers on x64 and on arm64. */
type Numbers = readonly [x64: number, arm64?: number]

/** Each number stands so in the kernel's own tables and, but for the newest, in those of libseccomp. */
const denied: Record<string, Numbers> = {
  // Big parts of the kernel that have been rich in holes, and that act outside of a filter's sight.
  bpf: [321, 280],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  fanotify_init: [300, 262],
  // The kernel's keys belong to a user, not to a namespace.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Hands in other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  // Namespaces and mounts: in one of its own a bot would be root, and could ask the kernel for all that root may.
  unshare: [272, 97],
  setns: [308, 268],
  chroot: [161, 51],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  // Opens files by number, past every folder that hides them.
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  // The machine itself.
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  syslog: [103, 116],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  vhangup: [153, 58],
  iopl: [172],
  ioperm: [173],
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
}

// Classic BPF: one loaded word, compared with constants. Only these instructions, because kernels from 5.11 on try them
// out beforehand, and let calls that are always allowed pass without running the program.
const loadWord = 0x20
const andWith = 0x54
const jumpIfEqual = 0x15
const jumpIfAtLeast = 0x35
const jumpIfAnyBit = 0x45
const giveBack = 0x06
const instructionBytes = 8

// Offsets in struct seccomp_data. Of an argument we load the lower half, which both architectures keep first: the kernel
// itself looks at no more of these, so that nothing can hide in the upper half.
const numberAt = 0
const architectureAt = 4
const argumentAt = (index: number) => 16 + 8 * index

const eperm = 1
const enosys = 38
const eopnotsupp = 95
const eafnosupport = 97
const allow = instruction(giveBack, 0x7fff0000)
const kill = instruction(giveBack, 0x80000000)

// CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET. Not CLONE_NEWTIME, which clone() takes for a part of the signal.
const cloneNewAny = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
const tiocsti = 0x5412
const tioclinux = 0x541c
const [afUnix, afInet, afInet6, afNetlink] = [1, 2, 10, 16]
const sockPacket = 10

/**
 * Each family is a part of the kernel with holes of its own, loaded when somebody asks for it. Netlink is what
 * getaddrinfo and lists of network interfaces need.
 */
const socketBody = [
  load(argumentAt(0)),
  ...[afUnix, afInet6, afNetlink].map((family) => ifEqual(family, allow)),
  // AF_INET with this type is an old name of AF_PACKET; above its 4 bits the type holds flags.
  ifEqual(afInet, load(argumentAt(1)), instruction(andWith, 0xf), ifEqual(sockPacket, refuse(eafnosupport)), allow),
  refuse(eafnosupport),
]

/** What depends on the arguments. Every body ends by giving an answer back: it has loaded over the number. */
const conditional: Record<string, { readonly numbers: Numbers; readonly body: readonly Buffer[] }> = {
  clone: { numbers: [56, 220], body: [load(argumentAt(0)), ifAnyBit(cloneNewAny, refuse(eperm)), allow] },
  // Its flags are in memory, where no filter can look. The libc falls back to clone() on this very answer.
  clone3: { numbers: [435, 435], body: [refuse(enosys)] },
  // What a bot prints is a file outside of its disk, in which it could reserve all of the machine's. Libraries that are told
  // that the file system has no such thing do without.
  fallocate: { numbers: [285, 47], body: [refuse(eopnotsupp)] },
  // Both can put words into the terminal of who started us.
  ioctl: {
    numbers: [16, 29],
    body: [load(argumentAt(1)), ...[tiocsti, tioclinux].map((request) => ifEqual(request, refuse(eperm))), allow],
  },
  // Asking, and setting what is set anyway. Others make memory executable or its addresses easy to guess.
  personality: {
    numbers: [135, 92],
    body: [load(argumentAt(0)), ifEqual(0, allow), ifEqual(0xffffffff, allow), refuse(eperm)],
  },
  socket: { numbers: [41, 198], body: socketBody },
  // It makes sockets of the same families.
  socketpair: { numbers: [53, 199], body: socketBody },
}

// The same calls under other numbers: those with a bit of their own, and those from 512 on that kernels before 5.4 took
// without that bit.
const x32 = [ifAtLeast(0x40000000, kill), ifAtLeast(512, unlessAtLeast(548, kill))]

/** `audit`: AUDIT_ARCH_*. A 32-bit program on the same machine has another, and other numbers: it is killed. */
const architectures = {
  x64: { column: 0, audit: 0xc000003e, first: x32 },
  arm64: { column: 1, audit: 0xc00000b7, first: [] },
} as const

function refuse(errno: number): Buffer {
  return instruction(giveBack, 0x00050000 | errno)
}

function load(offset: number): Buffer {
  return instruction(loadWord, offset)
}

function ifEqual(value: number, ...body: readonly Buffer[]): Buffer {
  return jump(jumpIfEqual, value, { body, isUnless: false })
}

function unlessEqual(value: number, ...body: readonly Buffer[]): Buffer {
  return jump(jumpIfEqual, value, { body, isUnless: true })
}

function ifAtLeast(value: number, ...body: readonly Buffer[]): Buffer {
  return jump(jumpIfAtLeast, value, { body, isUnless: false })
}

function unlessAtLeast(value: number, ...body: readonly Buffer[]): Buffer {
  return jump(jumpIfAtLeast, value, { body, isUnless: true })
}

function ifAnyBit(bits: number, ...body: readonly Buffer[]): Buffer {
  return jump(jumpIfAnyBit, bits, { body, isUnless: false })
}

/** Jumps are only ever over a body, so that the program may grow as long as it likes. */
function jump(code: number, value: number, { body, isUnless }: { body: readonly Buffer[]; isUnless: boolean }): Buffer {
  const bytes = Buffer.concat(body)
  const over = bytes.length / instructionBytes
  if (over > 255) throw new RangeError(`a jump over ${over} instructions does not fit into its 8 bits`)
  return Buffer.concat([instruction(code, value, isUnless ? [over, 0] : [0, over]), bytes])
}

/** struct sock_filter; `jumps`: how many instructions are left out if the comparison holds, and if it does not. */
function instruction(code: number, value: number, jumps: readonly [number, number] = [0, 0]): Buffer {
  const bytes = Buffer.alloc(instructionBytes)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(jumps[0], 2)
  bytes.writeUInt8(jumps[1], 3)
  bytes.writeUInt32LE(value, 4)
  return bytes
}
