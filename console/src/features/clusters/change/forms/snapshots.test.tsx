// @vitest-environment happy-dom
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, test } from 'vitest'
import {
  aFreeServer,
  answers,
  forget,
  ids,
  plannedChange,
  sentDespite,
  show,
} from '../testing/form-world.tsx'

afterEach(forget)

const id = (n: number): string => `00000000-0000-4000-9000-00000000000${n}`
const at = '2026-11-20T02:00:00.000Z'
const snapshot = (n: number, cluster: object) => ({
  id: id(n),
  cluster,
  taken_at: at,
  created_at: at,
  store: { id: id(9), name: 'disk' },
  status: 'ready',
})
const own = { id: 'c1', name: 'web' }
const other = { id: 'c2', name: 'old-web' }

describe('Take a snapshot', () => {
  test("sends no store for the schedule's one, and the chosen store otherwise", async () => {
    answers['storeList'] = { items: [{ id: id(9), name: 'disk' }], total: 1 }
    await show('snapshot')
    expect(await plannedChange()).toEqual({ kind: 'snapshot' })
    await userEvent.selectOptions(
      screen.getByLabelText('Store'),
      await screen.findByRole('option', { name: 'disk' }),
    )
    expect(await plannedChange()).toEqual({ kind: 'snapshot', store_id: id(9) })
  })

  test('says that the stores could not be loaded, and loads them again', async () => {
    answers['storeList'] = () => {
      throw new Error('The database is away')
    }
    await show('snapshot')
    await screen.findByText('The stores could not be loaded: The database is away')
    answers['storeList'] = { items: [{ id: id(9), name: 'disk' }], total: 1 }
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
    await screen.findByRole('option', { name: 'disk' })
    expect(screen.queryByText(/could not be loaded/)).toBeNull()
  })
})

describe('Restore a snapshot', () => {
  test('sends the snapshot of the page, and the control planes whose etcd is wiped', async () => {
    answers['snapshotList'] = { items: [snapshot(1, own), snapshot(2, own)], total: 2 }
    await show('restore', undefined, { snapshot: id(2) })
    await userEvent.click(await screen.findByRole('checkbox', { name: /^cp-2/ }))
    expect(await plannedChange()).toEqual({
      kind: 'restore',
      snapshot_id: id(2),
      reset: [ids.cp1],
      servers: [],
    })
  })

  test('leaves out a control plane that does not answer, and says so', async () => {
    answers['snapshotList'] = { items: [snapshot(1, own)], total: 1 }
    const talos = { reachable: false }
    answers['serverList'] = { items: [{ ...aFreeServer, id: ids.cp2, talos }], total: 1 }
    await show('restore', undefined, { snapshot: id(1) })
    const silent = await screen.findByRole<HTMLInputElement>('checkbox', { name: /^cp-2/ })
    expect(silent.checked).toBe(false)
    screen.getByText(/does not answer: replace it after the restore/)
    expect(await plannedChange()).toMatchObject({ kind: 'restore', reset: [ids.cp1] })
  })

  test("names the other cluster of a snapshot, and offers the cluster's own snapshots first", async () => {
    answers['snapshotList'] = { items: [snapshot(1, other), snapshot(2, own)], total: 2 }
    answers['serverList'] = { items: [aFreeServer], total: 1 }
    await show('restore')
    const choice = await screen.findByLabelText('Snapshot')
    expect(
      [...choice.querySelectorAll('option:not([hidden])')].map(
        (o) => (o as HTMLOptionElement).value,
      ),
    ).toEqual([id(2), id(1)])
    await userEvent.selectOptions(choice, id(1))
    await userEvent.selectOptions(screen.getByLabelText('Onto'), 'other')
    await userEvent.click(await screen.findByRole('checkbox', { name: /^free-1/ }))
    expect(await plannedChange()).toMatchObject({
      kind: 'restore',
      snapshot_id: id(1),
      of: 'old-web',
      // The lost servers were control planes, so the new ones begin as such.
      servers: [{ node_id: ids.free, role: 'control_plane' }],
    })
  })

  test('many snapshots of other clusters hide neither an own one nor that of the page', async () => {
    answers['snapshotList'] = ({ cluster }: { cluster?: string }) =>
      cluster === own.id
        ? { items: [snapshot(1, own)], total: 1 }
        : { items: [snapshot(2, other)], total: 700 }
    answers['snapshotGet'] = snapshot(3, other)
    await show('restore', undefined, { snapshot: id(3) })
    const choice = await screen.findByLabelText<HTMLSelectElement>('Snapshot')
    expect(choice.querySelectorAll('option:not([hidden])')).toHaveLength(3)
    expect(choice.value).toBe(id(3))
    screen.getByText(/The newest 3 are offered; the command takes the id of any other/)
    expect(await plannedChange()).toMatchObject({ snapshot_id: id(3), of: 'old-web' })
  })

  test('asks for a snapshot and for servers, and says that there is none of either', async () => {
    await show('restore')
    await userEvent.selectOptions(await screen.findByLabelText('Onto'), 'other')
    await screen.findByText(/No server of PL-POZ-1 is free\./)
    expect(await sentDespite('Choose at least one server')).toEqual([])
    screen.getByText(/There is no snapshot that can be restored\./)
    expect(
      screen.getByRole('link', { name: 'Snapshots of the cluster' }).getAttribute('href'),
    ).toMatch(/\?tab=snapshots$/)
  })
})
