import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { AddressGuard } from '../lib/address-guard.ts'
import { pinRemote, sshCommand } from './git-remote.ts'

const guard = new AddressGuard([], async () => [
  { address: '2606:4700::1', family: 6 },
  { address: '8.8.8.8', family: 4 },
])

test('a name over http is tied to all its checked addresses, under the port of the URL', async () => {
  assert.deepEqual(await pinRemote('https://Host.example./a.git', guard, {}), {
    url: 'https://host.example/a.git',
    config: ['http.curloptResolve=host.example:443:[2606:4700::1],8.8.8.8'],
    needsCurlResolve: true,
  })
  const { config } = await pinRemote('http://host.example:8080/a', guard, {})
  assert.deepEqual(config, ['http.curloptResolve=host.example:8080:[2606:4700::1],8.8.8.8'])
})

test('an address over http is given in its usual spelling and needs no tie', async () => {
  for (const url of ['http://0x8080808/a', 'http://134744072/a', 'http://8.8.8.8/a']) {
    assert.deepEqual(await pinRemote(url, guard, {}), { url: 'http://8.8.8.8/a', config: [], needsCurlResolve: false })
  }
  const { url } = await pinRemote('https://[2606:4700:0::1]/a', guard, {})
  assert.equal(url, 'https://[2606:4700::1]/a')
})

test('ssh asks for the user git unless the URL names another one', async () => {
  assert.equal((await pinRemote('ssh://host.example/a', guard, {})).url, 'ssh://git@host.example/a')
  assert.equal((await pinRemote('ssh://me@host.example:2222/a', guard, {})).url, 'ssh://me@host.example:2222/a')
  assert.equal((await pinRemote('git@host.example:a/b', guard, {})).url, 'git@host.example:a/b')
})

/** What the real ssh makes of the command, run by a shell as git runs it. */
const settingsOf = (command: string): Map<string, string> => {
  const output = execFileSync('sh', ['-c', `${command} "$@"`, 'ssh', '-G', '-p', '2222', 'git@host.example'])
  return new Map(
    output
      .toString()
      .split('\n')
      .map((line) => [line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1)]),
  )
}

test('ssh connects to the checked address, knows the host by its name and uses the given files only', () => {
  const settings = settingsOf(
    sshCommand({
      host: 'host.example',
      port: 2222,
      address: { address: '2606:4700::1', family: 6 },
      privateKeyFile: '/data dir/ключ',
      knownHostsFile: '/data dir/known; id',
    }),
  )
  const expected = {
    hostname: '2606:4700::1',
    hostkeyalias: '[host.example]:2222',
    identityfile: '/data dir/ключ',
    identitiesonly: 'yes',
    identityagent: 'none',
    userknownhostsfile: '/data dir/known; id',
    globalknownhostsfile: '/dev/null',
    stricthostkeychecking: 'accept-new',
    batchmode: 'yes',
    user: 'git',
    port: '2222',
  }
  for (const [name, value] of Object.entries(expected)) assert.equal(settings.get(name), value, name)
})

test('without a key no key is tried, and nothing that a shell or ssh would expand is taken', () => {
  const target = { host: 'host.example', port: 22, address: { address: '8.8.8.8', family: 4 } } as const
  const settings = settingsOf(sshCommand(target))
  assert.equal(settings.get('identityfile'), 'none')
  assert.equal(settings.get('hostkeyalias'), 'host.example')
  for (const path of ["/a'b", '/a"b', '/a%h', '/$HOME', '~/x', 'relative', '/a\nb', '/a\\b']) {
    assert.throws(() => sshCommand({ ...target, privateKeyFile: path }), /cannot be given to ssh/, path)
    assert.throws(() => sshCommand({ ...target, knownHostsFile: path }), /cannot be given to ssh/, path)
  }
  for (const host of ["a'b", 'a b', '$(id)', 'a;b'])
    assert.throws(() => sshCommand({ ...target, host }), /cannot be given/)
})
