import type { Template } from '@botberth/sdk'
import { Group, PasswordInput, Radio, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useTexts } from '../../texts/texts.ts'
import { useCreateBot } from './create.ts'
import { Finish } from './Finish.tsx'

interface Props {
  readonly templates: readonly Template[]
  /** The id of the one to begin with. */
  readonly first: string | undefined
}

export function FromTemplate({ templates, first }: Props) {
  const t = useTexts()
  const create = useCreateBot()
  const [id, setId] = useState(templates.some((one) => one.id === first) ? first : templates[0]?.id)
  const [name, setName] = useState(t.newBot.demoName)
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [isDeployed, setDeployed] = useState(true)
  const [isChecked, setChecked] = useState(false)
  const template = templates.find((one) => one.id === id)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setChecked(true)
    if (!template || name.trim() === '') return
    const variables = template.variables.flatMap(({ key, secret }) => {
      const value = values[key] ?? ''
      return value === '' ? [] : [{ key, value, secret }]
    })
    const body = {
      name: name.trim(),
      type: 'marketplace' as const,
      templateId: template.id,
      language: template.language,
    }
    create.run({ body, variables, isDeployed })
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <Radio.Group value={id ?? null} onChange={setId} label={t.newBot.chooseTemplate}>
          <SimpleGrid cols={{ base: 1, sm: 2 }} mt="xs">
            {templates.map((one) => (
              <Radio.Card key={one.id} value={one.id} p="md" radius="md" aria-label={one.name}>
                <Group wrap="nowrap" align="flex-start">
                  <Radio.Indicator />
                  <div>
                    <Text fw={600}>{one.name}</Text>
                    <Text size="sm" c="dimmed">
                      {one.description}
                    </Text>
                  </div>
                </Group>
              </Radio.Card>
            ))}
          </SimpleGrid>
        </Radio.Group>
        <TextInput
          label={t.newBot.name}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={128}
          error={isChecked && name.trim() === '' && t.newBot.needsName}
        />
        {template && template.variables.length > 0 && (
          <Stack gap="xs">
            <div>
              <Title order={3} size="h6">
                {t.newBot.variables}
              </Title>
              <Text size="sm" c="dimmed">
                {t.newBot.variablesHint}
              </Text>
            </div>
            {template.variables.map(({ key, description, required, secret }) => {
              const Field = secret ? PasswordInput : TextInput
              return (
                <Field
                  key={key}
                  label={key}
                  description={required ? `${description} ${t.newBot.required}` : description}
                  value={values[key] ?? ''}
                  onChange={(event) => setValues({ ...values, [key]: event.currentTarget.value })}
                  autoComplete="off"
                />
              )
            })}
          </Stack>
        )}
        <Finish isDeployed={isDeployed} onChange={setDeployed} action={create} />
      </Stack>
    </form>
  )
}
