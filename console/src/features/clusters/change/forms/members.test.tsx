// @vitest-environment happy-dom
import { cleanup, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  aFreeServer,
  answers,
  commands,
  forget,
  ids,
  plannedChange,
  sentDespite,
  show,
  withoutCli,
} from '../testing/form-world.tsx'

const diskless = {
  ...aFreeServer,
  id: '00000000-0000-4000-8000-000000000009',
  name: 'free-2',
  eligibility: [{ check: 'disk', ok: false, reason: 'The server has no disk' }],
}

const worn = {
  ...aFreeServer,
  id: '00000000-0000-4000-8000-000000000008',
  name: 'free-0',
  finding: {
    kind: 'server_install_failed',
    severity: 'attention',
    reason: '5 installations failed here: input/output error.',
  },
}

beforeEach(() => {
  // A page of all servers may hold no free one.
  answers['serverList'] = ({ cluster }: { cluster?: string }) => ({
    items: cluster === 'none' ? [aFreeServer, diskless] : [],
  })
})
afterEach(forget)

const tick = async (name: RegExp) => {
  ;(await screen.findByRole('checkbox', { name })).focus()
  await userEvent.keyboard(' ')
}

describe('Add servers', () => {
  test('sends the chosen server with its role and disks', async () => {
    await show('grow')
    await tick(/^free-1/)
    await userEvent.click(screen.getByRole('button', { name: 'Control plane' }))
    expect(await plannedChange()).toEqual({
      kind: 'grow',
      servers: [
        { node_id: ids.free, role: 'control_plane', install_disk: '/dev/sda', workload_disks: [] },
      ],
    })
  })

  test('the command names the disks and the interface', async () => {
    answers['serverList'] = {
      items: [
        {
          ...aFreeServer,
          resources: {
            ...aFreeServer.resources,
            disks: [
              ...aFreeServer.resources.disks,
              { id: 'nvme0n1', size: 2 * 10 ** 12, content: 'empty' },
            ],
          },
        },
      ],
    }
    await show('grow')
    await tick(/^free-1/)
    expect((await commands())[0]).toBe(
      'steelyard cluster grow web --worker free-1 --install-disk free-1=/dev/sda --workload-disk free-1=/dev/nvme0n1',
    )
  })

  test('shows the last, and marked with the reason, servers on which installations failed', async () => {
    answers['serverList'] = { items: [worn, aFreeServer, diskless] }
    await show('grow')
    await screen.findByRole('checkbox', {
      name: /^free-0 Install failed\s*5 installations failed here: input\/output error\./,
    })
    const names = screen.getAllByRole('checkbox', { name: /^free-/ })
    expect(names.map((box) => box.closest('label')?.textContent?.slice(0, 6))).toEqual([
      'free-1',
      'free-0',
      'free-2',
    ])
  })

  test('asks for a server, and says why one can not join', async () => {
    await show('grow')
    const refused = await screen.findByRole<HTMLInputElement>('checkbox', {
      name: /^free-2 .*The server has no disk/,
    })
    expect(refused.disabled).toBe(true)
    expect(await sentDespite('Choose at least one server')).toEqual([])
  })
})

describe('Remove servers', () => {
  test('sends what happens to each server', async () => {
    await show('shrink')
    await tick(/^w-1/)
    await tick(/^Keep the workload disks of w-1/)
    expect(await plannedChange()).toEqual({
      kind: 'shrink',
      servers: [{ node_id: ids.w1, keep_workload_disks: true, force: false }],
    })
  })

  test('removes by force only the server that is named', async () => {
    await show('shrink', ids.w1)
    await tick(/^cp-2/)
    await tick(/cp-2 by force/)
    expect(await plannedChange()).toEqual({
      kind: 'shrink',
      servers: [
        { node_id: ids.w1, keep_workload_disks: false, force: false },
        { node_id: ids.cp2, keep_workload_disks: false, force: true },
      ],
    })
  })

  test('asks for a server', async () => {
    await show('shrink')
    expect(await sentDespite('Choose at least one server')).toEqual([])
  })
})

describe('Remove servers as a command', () => {
  test('names the servers that are removed by force apart from the others', async () => {
    await show('shrink', ids.w1)
    await tick(/^Keep the workload disks of w-1/)
    await tick(/^cp-2/)
    await tick(/cp-2 by force/)
    expect((await commands())[0]).toBe(
      'steelyard cluster shrink web --server w-1 --force cp-2 --keep-workload-disks',
    )
  })

  test('is left out if the workload disks of only some servers are kept', async () => {
    await show('shrink', ids.w1, { moreWorkers: true })
    await tick(/^w-2/)
    expect((await commands())[0]).toBe('steelyard cluster shrink web --server w-1,w-2')
    cleanup()
    await show('shrink', ids.w1, { moreWorkers: true })
    await tick(/^w-2/)
    await tick(/^Keep the workload disks of w-1/)
    expect(await commands()).toEqual(withoutCli)
  })
})

describe('Change roles', () => {
  test('sends the other role of each server', async () => {
    await show('role')
    await tick(/^cp-2/)
    await tick(/^w-1/)
    screen.getByText(/worker, becomes a control plane/)
    expect(await plannedChange()).toEqual({
      kind: 'role',
      servers: [
        { node_id: ids.cp2, role: 'worker' },
        { node_id: ids.w1, role: 'control_plane' },
      ],
    })
  })

  test('asks for a server', async () => {
    await show('role')
    expect(await sentDespite('Choose at least one server')).toEqual([])
  })
})

describe('Replace a server', () => {
  test('sends the server of the page and the free one', async () => {
    await show('replace', ids.cp1)
    await userEvent.selectOptions(await screen.findByLabelText('Takes its place'), ids.free)
    expect(await plannedChange()).toEqual({
      kind: 'replace',
      node_id: ids.cp1,
      keep_workload_disks: false,
      by: { node_id: ids.free, workload_disks: [] },
    })
  })

  test('offers a server on which installations failed last, with the reason', async () => {
    answers['serverList'] = { items: [worn, aFreeServer] }
    await show('replace')
    const by = await screen.findByLabelText('Takes its place')
    await screen.findByRole('option', { name: /^free-0/ })
    expect(
      [...by.querySelectorAll('option:not([hidden])')].map((o) => o.textContent?.slice(0, 55)),
    ).toEqual([
      expect.stringMatching(/^free-1/),
      expect.stringMatching(/^free-0\s+Install failed: 5 installations failed here/),
    ])
  })

  test('offers only servers that may join, and asks for both', async () => {
    await show('replace')
    const by = await screen.findByLabelText('Takes its place')
    await screen.findByRole('option', { name: /^free-1/ })
    expect(
      [...by.querySelectorAll('option:not([hidden])')].map((o) => o.textContent?.slice(0, 6)),
    ).toEqual(['free-1'])
    expect(await sentDespite('Choose the server that leaves')).toEqual([])
    screen.getByText('Choose the server that takes its place')
  })
})
