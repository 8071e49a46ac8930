import { Autocomplete, Stack, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { languagesQuery } from '../../queries.ts'
import { useTexts } from '../../texts/texts.ts'
import { useCreateBot } from './create.ts'
import { Finish } from './Finish.tsx'

export function FromEmpty() {
  const t = useTexts()
  const create = useCreateBot()
  const { data: languages = [] } = useQuery(languagesQuery)
  const [name, setName] = useState('')
  const [language, setLanguage] = useState('JavaScript')
  const [isDeployed, setDeployed] = useState(true)
  const [isChecked, setChecked] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setChecked(true)
    if (name.trim() === '') return
    const wanted = language.trim()
    create.run({ body: { name: name.trim(), type: 'custom', ...(wanted && { language: wanted }) }, isDeployed })
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t.newBot.name}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={128}
          error={isChecked && name.trim() === '' && t.newBot.needsName}
        />
        <Autocomplete
          label={t.newBot.language}
          description={t.newBot.languageHint}
          value={language}
          onChange={setLanguage}
          data={languages.map((one) => one.name)}
          maxLength={64}
        />
        <Finish isDeployed={isDeployed} onChange={setDeployed} action={create} />
      </Stack>
    </form>
  )
}
