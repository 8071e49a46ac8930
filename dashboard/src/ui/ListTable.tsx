import { Paper, Table } from '@mantine/core'
import type { ReactNode } from 'react'

interface Props {
  /** What it is a list of, for those who do not see it. */
  readonly label: string
  /** Cells of the first row. */
  readonly head: ReactNode
  readonly children: ReactNode
}

/** A table that scrolls sideways where it is wider than the page, by keyboard too. */
export function ListTable({ label, head, children }: Props) {
  return (
    <Paper withBorder className="scroll" tabIndex={0} role="region" aria-label={label}>
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>{head}</Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Paper>
  )
}
