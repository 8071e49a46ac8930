import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { limits, makeDiskHost } from '../../../test/disk-host.ts'
import { until } from '../../../test/until.ts'
import { findByArgument } from '../../lib/proc.ts'
import { openBareMounts } from './bare-mounts.ts'
import { loopDevice } from './disk-image.ts'
import { Reach } from './reach.ts'

const isRoot = process.getuid?.() === 0
const skip = !isRoot && 'NOT TRIED: only root can make mount namespaces'

test('what is mounted below a folder that is left aside is not seen there, now or later', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'botberth-bare-'))
  const mount = (...args: string[]) => execFileSync('mount', args)
  mount('--bind', '--make-shared', folder, folder)
  try {
    for (const name of ['before', 'after']) mkdirSync(join(folder, name))
    mount('-t', 'tmpfs', 'tmpfs', join(folder, 'before'))
    const bare = openBareMounts([folder, join(folder, 'missing')], tmpdir())
    assert(bare !== undefined)
    mount('-t', 'tmpfs', 'tmpfs', join(folder, 'after'))
    const seen = execFileSync('nsenter', [`--mount=${bare.path}`, '--', 'cat', '/proc/self/mountinfo']).toString()
    assert(!seen.includes(folder) && seen.includes(' / / '), seen)
    bare.close()
    assert.equal(openBareMounts([folder], join(folder, 'after')), undefined, 'it has to show what we see')
  } finally {
    execFileSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true })
  }
})

test('a bot that starts from there has its own disk, and sees and holds no other', async (t) => {
  const host = makeDiskHost(t, { isClosed: true })
  if (!host) return
  await host.runtime.openNetwork({ allowedNets: [] })
  const other = await host.startBot('echo up; exec sleep 300')
  const bot = await host.startBot('echo own >own; echo up; exec sleep 300')
  for (const { text } of [other, bot]) await until('both', async () => (await text()).includes('up'))
  assert.equal(await host.read(bot.botId, 'own'), 'own\n')
  const [monitor = 0] = findByArgument(bot.id)
  const mounts = readFileSync(`/proc/${monitor}/mountinfo`, 'utf8')
  assert(!mounts.includes(`${host.dataDir}/bots`), mounts)
  assert(mounts.includes(` ${deviceOf(host.dataDir, bot.botId)} `), mounts)
  assert(!mounts.includes(` ${deviceOf(host.dataDir, other.botId)} `), mounts)
  assert(/ \/mnt \S*nosuid\S*/.test(mounts) && / \/mnt \S*nodev/.test(mounts), mounts)
  await host.runtime.remove(other.botId)
  const loops = () => execFileSync('losetup', ['-a']).toString()
  await until('its loop device to go', () => Promise.resolve(!loops().includes(other.botId)))
  await host.runtime.stop(bot.id, 0)
  const again = await host.startBot('cat own; exec sleep 300', { botId: bot.botId, limits: { ...limits, diskMb: 64 } })
  await until('its file', async () => (await again.text()).includes('own'))
})

test('a device that is the disk of another bot by now is not taken', async (t) => {
  const host = makeDiskHost(t)
  if (!host) return
  const { botId } = await host.startBot('exec sleep 300')
  const device = deviceOf(host.dataDir, botId).replace('/dev/', '')
  const reach = new Reach({ bots: join(host.dataDir, 'bots') })
  reach.startFrom({ path: '/proc/self/ns/mnt' })
  const enter = (image: string) => {
    const [command = '', ...args] = reach.enter('', { openFiles: 100, disk: { device, image } })
    return () => execFileSync(command, [...args, 'true'])
  }
  assert.doesNotThrow(enter(join(host.dataDir, 'images', botId)))
  assert.throws(enter(join(host.dataDir, 'images', 'another')), { status: 125 })
})

function deviceOf(dataDir: string, botId: string): string {
  return `/dev/${loopDevice(join(dataDir, 'bots', botId))}`
}
