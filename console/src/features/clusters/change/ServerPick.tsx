import type { ReactNode } from 'react'
import { Checkbox } from '../../../ui/inputs/Choices.tsx'
import css from './Change.module.css'

interface ServerPickProps<Row> {
  label: string
  rows: readonly Row[]
  chosen: (row: Row) => boolean
  onChange: (row: Row, on: boolean) => void
  /** Text beside the name. */
  note: (row: Row) => ReactNode
  /** Controls of the chosen servers by id. */
  more?: Readonly<Record<string, ReactNode>>
}

/** A list of the servers of a cluster with checkboxes. */
export const ServerPick = <Row extends { node_id: string; name: string }>({ label, rows, chosen, onChange, note, more }: ServerPickProps<Row>) => (
  <ul className={css['pick']} aria-label={label} tabIndex={0}>
    {rows.map((row) => (
      <li key={row.node_id}>
        <Checkbox
          checked={chosen(row)}
          onChange={(on) => onChange(row, on)}
          label={
            <>
              <b>{row.name}</b> <span className="t3">{note(row)}</span>
            </>
          }
        />
        {chosen(row) && more?.[row.node_id]}
      </li>
    ))}
  </ul>
)

export const roleText = (role: 'control_plane' | 'worker'): string => (role === 'control_plane' ? 'control plane' : 'worker')
