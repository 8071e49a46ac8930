import { Button, Container } from '@mantine/core'
import { useTexts } from '../texts/texts.ts'
import { Empty } from '../ui/Empty.tsx'
import { ErrorCard } from '../ui/ErrorCard.tsx'
import { LinkButton } from '../ui/Links.tsx'
import { useTitle } from '../ui/Page.tsx'

export function Missing() {
  const t = useTexts()
  useTitle(t.errors.missing)
  return (
    <Container size="sm" py="xl">
      <Empty
        isPage
        icon="search"
        title={t.errors.missing}
        hint={t.errors.missingHint}
        action={<LinkButton to="/">{t.errors.goHome}</LinkButton>}
      />
    </Container>
  )
}

/** Where there is nothing around it. */
export function MissingPage() {
  return (
    <main>
      <Missing />
    </main>
  )
}

/** A page that threw, or whose code could not be loaded: the server may have a newer one. */
export function PageBroken({ error }: { error: unknown }) {
  const t = useTexts()
  useTitle(t.errors.page)
  return (
    <Container size="sm" py="xl">
      <ErrorCard error={error} title={t.errors.page} />
      <p>{t.errors.pageHint}</p>
      <Button onClick={() => location.reload()}>{t.errors.reload}</Button>
    </Container>
  )
}
