import { SegmentedControl, Stack, Switch, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useTexts } from '../../texts/texts.ts'
import { type ChosenRepo, RepoPicker } from '../../ui/RepoPicker.tsx'
import { useCreateBot } from './create.ts'
import { Finish } from './Finish.tsx'

export function FromRepository() {
  const t = useTexts()
  const create = useCreateBot()
  const [way, setWay] = useState('address')
  const [name, setName] = useState('')
  const [gitUrl, setGitUrl] = useState('')
  const [gitBranch, setBranch] = useState('')
  const [repo, setRepo] = useState<ChosenRepo>()
  const [autoDeployEnabled, setAutoDeploy] = useState(true)
  const [isDeployed, setDeployed] = useState(true)
  const [isChecked, setChecked] = useState(false)
  const isByAddress = way === 'address'
  const url = isByAddress ? gitUrl.trim() : (repo?.url ?? '')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setChecked(true)
    if (name.trim() === '' || url === '') return
    const body = {
      name: name.trim(),
      type: 'git' as const,
      gitUrl: url,
      ...(gitBranch.trim() && { gitBranch: gitBranch.trim() }),
    }
    if (isByAddress || !repo) return create.run({ body, isDeployed })
    const { installationId, repoId, repoFullName } = repo
    create.run({ body: { ...body, autoDeployEnabled }, repo: { installationId, repoId, repoFullName }, isDeployed })
  }
  const choose = (chosen: ChosenRepo | undefined) => {
    setRepo(chosen)
    if (chosen && name === '') setName(chosen.repoFullName.split('/').at(-1) ?? '')
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <SegmentedControl
          aria-label={t.newBot.repository}
          value={way}
          onChange={setWay}
          data={[
            { value: 'address', label: t.newBot.byAddress },
            { value: 'codehost', label: t.newBot.fromCodehost },
          ]}
        />
        {isByAddress ? (
          <TextInput
            label={t.newBot.gitUrl}
            description={t.newBot.gitUrlHint}
            value={gitUrl}
            onChange={(event) => setGitUrl(event.currentTarget.value)}
            error={isChecked && url === '' && t.newBot.needsUrl}
          />
        ) : (
          <RepoPicker
            returnTo="/bots/new?source=repository"
            onChoose={choose}
            error={isChecked && url === '' ? t.newBot.needsRepo : undefined}
          />
        )}
        <TextInput
          label={t.newBot.name}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={128}
          error={isChecked && name.trim() === '' && t.newBot.needsName}
        />
        <TextInput
          label={`${t.newBot.branch} (${t.common.optional})`}
          description={t.newBot.branchHint}
          value={gitBranch}
          onChange={(event) => setBranch(event.currentTarget.value)}
        />
        {!isByAddress && (
          <Switch
            label={t.newBot.autoDeploy}
            description={t.newBot.autoDeployHint}
            checked={autoDeployEnabled}
            onChange={(event) => setAutoDeploy(event.currentTarget.checked)}
          />
        )}
        <Finish isDeployed={isDeployed} onChange={setDeployed} action={create} />
      </Stack>
    </form>
  )
}
