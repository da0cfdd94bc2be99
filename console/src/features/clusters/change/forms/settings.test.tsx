// @vitest-environment happy-dom
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, test } from 'vitest'
import { answers, forget, ids, plannedChange, sentDespite, show } from '../testing/form-world.tsx'

afterEach(forget)

describe('Change patches', () => {
  test('removes a patch from the chosen servers only', async () => {
    await show('configure')
    await userEvent.type(await screen.findByLabelText(/^Patches to remove/), 'sysctls')
    await userEvent.click(screen.getByRole('checkbox', { name: 'w-1 worker' }))
    expect(await plannedChange()).toEqual({
      kind: 'configure',
      patches: [],
      remove: ['sysctls'],
      mends: [],
      node_ids: [ids.cp1, ids.cp2],
    })
  })

  test('takes back an earlier change, and mends the named control planes', async () => {
    const takeBack = '3f0c7a52-6b1e-4c6e-9f0a-2d8b7c1e5a44'
    await show('configure', undefined, { takeBack })
    await userEvent.type(await screen.findByLabelText(/^Control planes to mend/), 'cp-1')
    expect(screen.queryByLabelText('Name of the patch')).toBeNull()
    expect(await plannedChange()).toEqual({
      kind: 'configure',
      patches: [],
      remove: [],
      mends: ['cp-1'],
      take_back: takeBack,
    })
  })

  test('asks for a patch, for its text and for a possible weight', async () => {
    await show('configure')
    expect(await sentDespite('Enter a patch, or the name of a patch to remove')).toEqual([])
    await userEvent.type(screen.getByLabelText('Name of the patch'), 'sysctls')
    await userEvent.clear(screen.getByLabelText(/^Weight/))
    await userEvent.type(screen.getByLabelText(/^Weight/), '1000')
    expect(await sentDespite('Enter a patch')).toEqual([])
    screen.getByText('Weight must be between 0 and 999')
  })

  test('all servers are chosen and deselected at once', async () => {
    await show('configure', ids.w1)
    const all = await screen.findByRole<HTMLInputElement>('checkbox', {
      name: 'All servers of web',
    })
    expect(all.indeterminate).toBe(true)
    await userEvent.click(all)
    await userEvent.click(all)
    await userEvent.type(screen.getByLabelText(/^Patches to remove/), 'sysctls')
    expect(await sentDespite('Choose at least one server')).toEqual([])
  })
})

describe('Change the API endpoint', () => {
  test('sends the endpoint, and that it is a virtual IP', async () => {
    await show('endpoint')
    await userEvent.type(await screen.findByLabelText('New endpoint'), '10.0.0.100')
    await userEvent.click(screen.getByRole('checkbox', { name: /^Virtual IP/ }))
    expect(await plannedChange()).toEqual({
      kind: 'endpoint',
      endpoint: '10.0.0.100',
      virtual_ip: true,
      accept_unchecked: false,
    })
  })

  test('refuses a text that is no address', async () => {
    await show('endpoint')
    expect(await sentDespite('Enter the new endpoint')).toEqual([])
    await userEvent.type(screen.getByLabelText('New endpoint'), 'not an address')
    expect(await sentDespite('Enter an IP address or a DNS name')).toEqual([])
  })
})

describe('Change workload disks', () => {
  const disk = (id: string) => ({ id, size: 10 ** 12, content: 'empty' })

  test('adds a disk, removes another one, and never offers the install disk', async () => {
    answers['serverGet'] = {
      id: ids.w1,
      resources: {
        node_addresses: [],
        processors: [],
        memory: [],
        interfaces: [],
        disks: ['sda', 'nvme1n1', 'nvme2n1'].map(disk),
      },
    }
    await show('disks', ids.w1)
    await userEvent.click(await screen.findByRole('checkbox', { name: /^Add nvme2n1/ }))
    await userEvent.click(screen.getByRole('checkbox', { name: /^Remove nvme1n1/ }))
    expect(screen.queryByRole('checkbox', { name: /sda/ })).toBeNull()
    await userEvent.click(screen.getByRole('checkbox', { name: 'Wipe the removed disks' }))
    expect(await plannedChange()).toEqual({
      kind: 'disks',
      node_id: ids.w1,
      add: ['/dev/nvme2n1'],
      remove: ['/dev/nvme1n1'],
      wipe: true,
    })
  })

  test('asks for a server', async () => {
    await show('disks')
    expect(await sentDespite('Choose a server')).toEqual([])
  })
})

describe('Rotate secrets', () => {
  test('sends the chosen secret', async () => {
    await show('rotate')
    await userEvent.selectOptions(await screen.findByLabelText('What'), 'tokens')
    expect(await plannedChange()).toEqual({ kind: 'rotate', what: 'tokens' })
  })
})
