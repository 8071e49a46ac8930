import { Button, Group } from '@mantine/core'
import { useLanguage } from '../../texts/texts.ts'

/** For whoever reads the other language. */
export function LanguageLinks() {
  const { t, language, choose } = useLanguage()
  const other = language === 'en' ? 'ko' : 'en'
  return (
    <Group justify="center">
      <Button variant="subtle" size="compact-sm" lang={other} onClick={() => choose(other)}>
        {t.nav.changeLanguage}
      </Button>
    </Group>
  )
}
