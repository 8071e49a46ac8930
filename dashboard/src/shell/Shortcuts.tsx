import { Alert, Kbd, Modal, Stack, Table, Text } from '@mantine/core'
import { hotkeys } from '../hotkeys.ts'
import { shortcuts } from '../settings.ts'
import { useStore } from '../store.ts'
import { useTexts } from '../texts/texts.ts'

/** Every key that works on the page behind it. */
export function Shortcuts({ onClose }: { onClose(): void }) {
  const t = useTexts()
  const isOn = useStore(shortcuts)
  const known = useStore(hotkeys)
  const rows = [{ keys: 'Ctrl K', label: t.shortcuts.palette }, { keys: 'Ctrl S', label: t.shortcuts.save }, ...known]
  return (
    <Modal opened onClose={onClose} title={t.shortcuts.title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Stack>
        <Text size="sm" c="dimmed">
          {t.shortcuts.lead}
        </Text>
        {!isOn && <Alert color="yellow">{t.shortcuts.off}</Alert>}
        <Table>
          <Table.Tbody>
            {rows.map(({ keys, label }) => (
              <Table.Tr key={keys + label}>
                <Table.Td w={110}>
                  {keys.split(' ').map((key) => (
                    <Kbd key={key} mr={4}>
                      {key}
                    </Kbd>
                  ))}
                </Table.Td>
                <Table.Td>{label}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Stack>
    </Modal>
  )
}
