// The disk of the machine: Debian 12 with systemd and what docs/operate.md asks for. Making it takes minutes, so it is kept.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const mirror = process.env['DEBIAN_MIRROR'] ?? 'http://deb.debian.org/debian'

/** By the architecture of this machine: the guest has the same one, for the sake of the Node.js in node_modules. */
const machines = {
  arm64: {
    qemu: 'qemu-system-aarch64',
    package: 'qemu-system-arm',
    kernel: 'linux-image-arm64',
    console: 'ttyAMA0',
    machine: 'virt,gic-version=max',
    // The signing of pointers as the hardware does it would take most of the time.
    emulated: 'max,pauth-impdef=on',
  },
  x64: {
    qemu: 'qemu-system-x86_64',
    package: 'qemu-system-x86',
    kernel: 'linux-image-amd64',
    console: 'ttyS0',
    machine: 'q35',
    emulated: 'max',
  },
} as const

export function findMachine() {
  if (process.arch === 'arm64' || process.arch === 'x64') return machines[process.arch]
  throw new Error(`There is no virtual machine for ${process.arch}, only for arm64 and x64.`)
}

/** Of Debian, that this machine lacks. */
export function missingPackages(): string[] {
  const { qemu, package: name } = findMachine()
  const wanted = { [qemu]: name, debootstrap: 'debootstrap', 'mkfs.ext4': 'e2fsprogs' }
  const isThere = (program: string) =>
    ['/usr/sbin', '/usr/bin', '/sbin'].some((folder) => existsSync(join(folder, program)))
  return Object.entries(wanted).flatMap(([program, name]) => (isThere(program) ? [] : [name]))
}

const packages = `${findMachine().kernel}
systemd systemd-sysv dbus dbus-user-session libpam-systemd udev kmod procps perl
bubblewrap nftables iproute2 slirp4netns git ca-certificates e2fsprogs python3 curl`.split(/\s/)

/** What both ways of starting the machine do: tell the host, and go off. */
const unit = `[Unit]
Description=The tests
After=multi-user.target dbus.service

[Service]
Type=oneshot
ExecStartPre=mount /dev/vdb /opt/botberth
ExecStart=/opt/botberth/node_modules/.bin/node /opt/botberth/vm/guest.ts systemd
ExecStopPost=systemctl --no-block poweroff
WorkingDirectory=/opt/botberth
StandardOutput=file:/dev/hvc0
StandardError=inherit
TimeoutStartSec=infinity

[Install]
WantedBy=default.target
`

// Instead of systemd: a machine that has cgroup v2 and nobody who rules over it.
const init = `#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/shm && mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
modprobe virtio_console
ip link set lo up
mount /dev/vdb /opt/botberth
cd /opt/botberth && node_modules/.bin/node vm/guest.ts plain >/dev/hvc0 2>&1
exec poweroff -f -f
`

export interface Image {
  readonly disk: string
  readonly kernel: string
  readonly initrd: string
}

export function makeImage(folder: string): Image {
  const recipe = createHash('sha256')
    .update(JSON.stringify([packages, unit, init]))
    .digest('hex')
    .slice(0, 12)
  const base = join(folder, `debian-12-${process.arch}-${recipe}`)
  const image = { disk: join(base, 'disk.img'), kernel: join(base, 'vmlinuz'), initrd: join(base, 'initrd.img') }
  if (existsSync(base)) return image
  if (process.getuid?.() !== 0) throw new Error('debootstrap needs root.')
  console.log(`Making the image below ${folder}. This happens once and takes some minutes.`)
  const [root, made] = [`${base}.root`, `${base}.new`]
  for (const path of [root, made]) rmSync(path, { recursive: true, force: true })
  mkdirSync(made, { recursive: true })
  execFileSync('debootstrap', ['--variant=minbase', `--include=${packages.join(',')}`, 'bookworm', root, mirror], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  configure(root)
  for (const name of ['vmlinuz', 'initrd.img']) copyFileSync(join(root, name), join(made, name))
  makeDisk(root, join(made, 'disk.img'), '4G')
  rmSync(root, { recursive: true })
  renameSync(made, base)
  return image
}

function configure(root: string): void {
  const write = (path: string, text: string) => writeFileSync(join(root, path), text)
  write('etc/hostname', 'vm\n')
  write('etc/hosts', '127.0.0.1 localhost vm\n')
  write('etc/fstab', '/dev/vda / ext4 rw 0 0\n')
  write('etc/systemd/system/tests.service', unit)
  write('sbin/plain-init', init)
  chmodSync(join(root, 'sbin/plain-init'), 0o755)
  mkdirSync(join(root, 'opt/botberth'))
  // Its own Node.js, for installing: the one that a host would have.
  symlinkSync('/opt/botberth/node_modules/.bin/node', join(root, 'usr/local/bin/node'))
  inRoot(root, ['systemctl', 'enable', 'tests.service'])
  // They would write to the line that the results come by.
  inRoot(root, [
    'systemctl',
    'mask',
    'serial-getty@.service',
    'getty@.service',
    'apt-daily.timer',
    'apt-daily-upgrade.timer',
  ])
  inRoot(root, ['useradd', '--create-home', '--uid', '1000', 'ann'])
}

function inRoot(root: string, argv: readonly string[]): void {
  const { status, stderr } = spawnSync('chroot', [root, ...argv], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`)
}

/** An ext4 disk with these files. It takes no more room than they do. */
export function makeDisk(folder: string, file: string, size: string): void {
  rmSync(file, { force: true })
  execFileSync('mkfs.ext4', ['-q', '-d', folder, file, size], { stdio: ['ignore', 'ignore', 'inherit'] })
}
