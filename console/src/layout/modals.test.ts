import { afterEach, expect, test, vi } from 'vitest'
import { modals, modalStore, shownModal } from './modals.ts'

afterEach(() => {
  vi.useRealTimers()
  modalStore.set({})
})

test('one dialog at a time, in the specified order', () => {
  modals.open('confirmServersWithoutPatch', { servers: [] })
  modals.open('editServerName', { serverId: 's', name: 'n' })
  expect(shownModal(modalStore.get())).toBe('editServerName')
  modals.open('showClusterKey', { clusterIds: [] })
  expect(shownModal(modalStore.get())).toBe('showClusterKey')
})

test('closing clears data and callbacks after a moment', () => {
  vi.useFakeTimers()
  modals.open('editServerName', { serverId: 's', name: 'n' }, { onConfirm: () => undefined })
  modals.close('editServerName')
  expect(modalStore.get().editServerName).toMatchObject({ open: false, data: { serverId: 's' } })
  vi.runAllTimers()
  expect(modalStore.get().editServerName).toBeUndefined()
})

test('a dialog that is reopened meanwhile stays', () => {
  vi.useFakeTimers()
  modals.open('editServerName', { serverId: 'a', name: 'n' })
  modals.close('editServerName')
  modals.open('editServerName', { serverId: 'b', name: 'n' })
  vi.runAllTimers()
  expect(modalStore.get().editServerName).toMatchObject({ open: true, data: { serverId: 'b' } })
})

test('leaving the page closes every dialog', () => {
  vi.useFakeTimers()
  modals.open('editServerName', { serverId: 's', name: 'n' })
  modals.open('showClusterKey', { clusterIds: [] })
  modals.closeAll()
  expect(shownModal(modalStore.get())).toBeNull()
  vi.runAllTimers()
  expect(modalStore.get()).toEqual({ editServerName: undefined, showClusterKey: undefined, confirmServersWithoutPatch: undefined })
})
