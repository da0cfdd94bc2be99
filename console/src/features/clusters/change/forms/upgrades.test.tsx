// @vitest-environment happy-dom
import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { answers, forget, ids, plannedChange, sentDespite, show } from '../testing/form-world.tsx'

afterEach(forget)

const version = { current: '', newest: '', next: null, after: null, reason: null }
const versionsAre = (talos: object, kubernetes: object) => {
  answers['clusterHealth'] = {
    versions: { talos: { ...version, ...talos }, kubernetes: { ...version, ...kubernetes } },
  }
}

describe('Upgrade Talos', () => {
  test('fills in the next version, and sends the first server', async () => {
    versionsAre({ current: 'v1.13.8', next: 'v1.13.9' }, {})
    await show('upgradeTalos')
    await userEvent.selectOptions(await screen.findByLabelText('First server'), ids.w1)
    expect(await plannedChange()).toEqual({
      kind: 'upgradeTalos',
      version: 'v1.13.9',
      canary: ids.w1,
      stage: false,
      snapshot: true,
    })
  })

  test('takes a snapshot first, into the chosen store, unless the user says no', async () => {
    const [disk, offsite] = ['disk', 'offsite'].map((name, i) => ({
      id: `00000000-0000-4000-9000-00000000000${i}`,
      name,
      problem: null,
    }))
    versionsAre({ current: 'v1.13.8', next: 'v1.13.9' }, {})
    answers['storeList'] = { items: [disk, offsite], total: 2 }
    answers['snapshotScheduleGet'] = { schedule: null }
    await show('upgradeTalos')
    await screen.findByText(/^No snapshot of etcd is taken before the upgrade. Choose a store/)
    await userEvent.selectOptions(screen.getByLabelText('Store of the snapshot'), offsite!.id)
    await screen.findByText(/^etcd is copied to the store offsite, encrypted/)
    const change = { kind: 'upgradeTalos', version: 'v1.13.9', stage: false }
    expect(await plannedChange()).toEqual({ ...change, snapshot: true, store_id: offsite!.id })
    await userEvent.click(screen.getByRole('checkbox', { name: 'Take a snapshot first' }))
    expect(await plannedChange()).toEqual({ ...change, snapshot: false })
  })

  test('keeps what was typed while a read that failed is repeated', async () => {
    answers['clusterHealth'] = () => {
      throw new Error('The cluster does not answer')
    }
    await show('upgradeTalos')
    await userEvent.type(await screen.findByLabelText('Talos version'), 'v1.13.9')
    answers['clusterHealth'] = () => new Promise(() => undefined)
    const { queryClient } = await import('../../../../api/query.ts')
    void queryClient.invalidateQueries()
    await vi.waitUntil(() => queryClient.isFetching() > 0)
    // Lets the form be rendered with the new state.
    await userEvent.keyboard('{Shift}')
    expect(screen.getByLabelText<HTMLInputElement>('Talos version').value).toBe('v1.13.9')
  })

  test('asks for a version if there is no newer one, and refuses a text that is none', async () => {
    versionsAre({ current: 'v1.13.9' }, {})
    await show('upgradeTalos')
    expect(await sentDespite('Enter the version')).toEqual([])
    await userEvent.type(screen.getByLabelText('Talos version'), 'newest')
    expect(await sentDespite('Enter a version such as v1.13.9')).toEqual([])
  })
})

describe('Roll Talos back', () => {
  test('sends the chosen server', async () => {
    await show('rollbackTalos')
    expect(await sentDespite('Choose a server')).toEqual([])
    await userEvent.selectOptions(screen.getByLabelText('Server'), ids.cp2)
    expect(await plannedChange()).toEqual({ kind: 'rollbackTalos', node_id: ids.cp2 })
  })
})

describe('Upgrade Kubernetes', () => {
  test('fills in the next version, and sends what the user accepts', async () => {
    versionsAre({}, { current: '1.35.4', next: '1.36.3' })
    await show('upgradeKubernetes')
    await userEvent.click(await screen.findByRole('checkbox', { name: /^Drain each server/ }))
    expect(await plannedChange()).toEqual({
      kind: 'upgradeKubernetes',
      version: '1.36.3',
      drain: true,
      accept_removed_apis: false,
      snapshot: true,
    })
  })

  test('says why there is no next version', async () => {
    versionsAre(
      {},
      {
        current: '1.35.4',
        after: 'talos',
        reason: 'Kubernetes 1.36.3 needs a newer Talos than v1.12.11: upgrade Talos first',
      },
    )
    await show('upgradeKubernetes')
    await screen.findByText(/needs a newer Talos than v1.12.11: upgrade Talos first/)
    expect(await sentDespite('Enter the version')).toEqual([])
  })
})

describe('Change extensions', () => {
  const extension = (name: string) => ({
    name: `siderolabs/${name}`,
    ref: '',
    author: '',
    description: '',
    tier: null,
  })
  const installed = (node_id: string, name: string, extensions: string[]) => ({
    node_id,
    name,
    extensions,
    kernel_args: [],
    reason: null,
  })
  const factoryHas = (...names: string[]) => {
    answers['extensionList'] = { items: names.map(extension), total: names.length }
  }

  test('begins with the installed extensions, so that nothing is removed by accident', async () => {
    factoryHas('gvisor', 'iscsi-tools')
    answers['clusterExtensions'] = {
      items: [
        installed(ids.cp1, 'cp-1', []),
        installed(ids.cp2, 'cp-2', []),
        installed(ids.w1, 'w-1', ['siderolabs/gvisor']),
      ],
    }
    await show('extensions')
    expect((await screen.findByText('w-1 now')).nextSibling?.textContent).toBe('gvisor')
    screen.getByText('cp-1, cp-2 now')
    ;(await screen.findByRole('checkbox', { name: /^iscsi-tools/ })).focus()
    await userEvent.keyboard(' ')
    expect(await plannedChange()).toEqual({
      kind: 'extensions',
      extensions: ['siderolabs/gvisor', 'siderolabs/iscsi-tools'],
    })
  })

  test('shows an extension that the version does not have, and sends only the chosen servers', async () => {
    factoryHas('iscsi-tools')
    answers['clusterExtensions'] = { items: [installed(ids.w1, 'w-1', ['siderolabs/gone'])] }
    await show('extensions', ids.w1)
    await screen.findByText(/gone is not available for v1.13.9/)
    await userEvent.click(
      within(screen.getByRole('list', { name: 'Chosen extensions' })).getByRole('button', {
        name: 'Remove gone',
      }),
    )
    expect(await plannedChange()).toEqual({
      kind: 'extensions',
      extensions: [],
      node_ids: [ids.w1],
    })
  })

  test('asks for something to set, and for a server', async () => {
    answers['clusterExtensions'] = { items: [] }
    await show('extensions')
    await userEvent.click(await screen.findByRole('checkbox', { name: /^Set the extensions/ }))
    await userEvent.click(screen.getByRole('checkbox', { name: 'All servers of web' }))
    expect(await sentDespite('Choose at least one server')).toEqual([])
  })
})
