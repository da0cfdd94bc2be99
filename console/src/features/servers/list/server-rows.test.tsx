// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import type { Server } from '#contract/servers/servers.ts'
import { DataTable } from '../../../ui/table/DataTable.tsx'
import { useSelection } from '../../../ui/table/selection.ts'
import { serverColumns } from './server-columns.tsx'

const at = new Date().toISOString()
const servers = Array.from({ length: 1000 }, (_, i) => ({
  id: `id-${i}`,
  name: `amber-falcon-${i}`,
  status: 'maintenance',
  type: 'worker',
  nodeAddresses: [`10.0.0.${i}`],
  datacenter: { id: 'd', code: 'PL-POZ-1' },
  cluster: null,
  capacity_commitment: null,
  talos: { version: 'v1.13.9', stage: 'maintenance', reachable: true, last_contact_at: at, reason: null, unreachable_since: null },
  identity: { state: 'confirmed', uuid: 'u', serial: 's' },
  eligibility: [],
  operation_id: null,
  kubernetes: null,
})) as unknown as Server[]

const idOf = (s: Server) => s.id
const nameOf = (s: Server) => s.name
const hrefOf = (s: Server) => `/infra/servers/${s.id}`
const detailOf = () => <p>Disks</p>

function List({ actions, isLoading = false }: { actions: (s: Server) => { label: string }[]; isLoading?: boolean }) {
  const selection = useSelection()
  return (
    <DataTable
      label="Servers"
      rows={isLoading ? undefined : servers}
      columns={serverColumns}
      rowKey={idOf}
      rowName={nameOf}
      href={hrefOf}
      actions={actions}
      detail={detailOf}
      selection={selection}
      empty={null}
    />
  )
}

afterEach(cleanup)

test('of a thousand servers only those in view have rows, with at most 32 elements each', () => {
  const { rerender } = render(<List isLoading actions={() => [{ label: 'Rename' }]} />)
  rerender(<List actions={() => [{ label: 'Rename' }]} />)
  const rows = [...document.querySelectorAll('tbody tr[data-row]')]
  expect(rows.length).toBe(Math.ceil(innerHeight / 36))
  for (const row of rows) expect(row.querySelectorAll('*').length).toBeLessThan(32)
})

test('the actions of a row are determined only when its menu is opened', async () => {
  const actions = vi.fn<(s: Server) => { label: string }[]>(() => [{ label: 'Rename' }])
  render(<List actions={actions} />)
  expect(actions).not.toHaveBeenCalled()
  const button = screen.getByRole('button', { name: 'Actions for amber-falcon-3' })
  fireEvent.click(button)
  expect(actions.mock.calls).toEqual([[servers[3]]])
  expect(await screen.findByRole('menuitem', { name: 'Rename' })).toBeTruthy()
  expect(button.getAttribute('aria-expanded')).toBe('true')
})

test('one timer keeps the times of all rows', () => {
  vi.useFakeTimers({ now: Date.parse(at) })
  const timers = vi.getTimerCount()
  render(<List actions={() => []} />)
  expect(vi.getTimerCount() - timers).toBeLessThanOrEqual(1)
  const time = document.querySelector('tbody time')
  expect(time?.textContent).toBe('just now')
  vi.advanceTimersByTime(30_000)
  expect(time?.textContent).toBe('30 s ago')
  vi.useRealTimers()
})
