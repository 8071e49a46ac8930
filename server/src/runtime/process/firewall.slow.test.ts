import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { shell } from '../../../test/network-lab.ts'

const canDoIt = process.getuid?.() === 0 && spawnSync('unshare', ['--net', 'nft', 'list', 'tables']).status === 0
const skip = !canDoIt && 'NOT TESTED: this needs root, iproute2, nftables and a kernel with them'

test('a firewall that lets bots neither out nor in is named, with the command that opens it', { skip }, () => {
  const script = `
    const { Network } = await import(process.argv[1])
    const options = { tag: 'fw', allowedNets: [], megabitsMax: 0, resolvers: ['1.1.1.1'] }
    const { spawnSync } = await import('node:child_process')
    const sh = (line) => spawnSync('sh', ['-ec', line], { stdio: 'inherit' })
    const seen = []
    const look = async () => seen.push(await Network.open(options).then(({ network, ...rest }) => ({ ...rest, network: !!network })))
    await look()
    sh("nft 'add table inet other; add chain inet other forward { type filter hook forward priority 0; policy drop; }'")
    await look()
    sh(seen[1].remedy)
    await look()
    sh("nft 'add chain inet other input { type filter hook input priority 0; policy drop; }'")
    await look()
    console.log(JSON.stringify(seen))`
  const alone = 'mount -t sysfs none /sys && mount -t tmpfs none /run && ip link set lo up && exec "$@"'
  const node = [process.execPath, '--input-type=module', '-e', script, join(import.meta.dirname, 'network.ts')]
  const seen = JSON.parse(shell(['unshare', '--net', '--mount', 'sh', '-c', alone, 'sh', ...node])) as {
    problem?: string
    network: boolean
  }[]
  assert.deepEqual(
    seen.map(({ network }) => network),
    [true, true, true, true],
    JSON.stringify(seen),
  )
  assert.deepEqual([seen[0]?.problem, seen[2]?.problem], [undefined, undefined])
  assert.match(seen[1]?.problem ?? '', /cannot get out/)
  assert.match(seen[3]?.problem ?? '', /door/)
})
