import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import type { Server } from '#contract/servers/servers.ts'
import { taking, withRoles } from './choice.ts'
import { blank, bodyOf, KeptDraft } from './draft.ts'
import { replacedText, setForAll, withPatch } from './set-for-all.ts'

const server = (id: string, disks: readonly string[], links: readonly string[]) =>
  ({
    id,
    name: id,
    talos: { installed: null },
    hardware: { cores: 8, memory_bytes: null },
    resources: {
      node_addresses: [],
      processors: [],
      memory: [],
      disks: disks.map((d, i) => ({ id: d, content: 'empty', size: (i + 1) * 10 ** 12 })),
      interfaces: links.map((l) => ({ id: l, link_state: true })),
    },
  }) as unknown as Server
const fleet = [
  server('a', ['nvme0n1', 'nvme1n1', 'sda'], ['eth0', 'eth1']),
  server('b', ['sda', 'sdb'], ['eth0']),
  server('c', ['nvme0n1'], ['eth0']),
]

const edge = { name: 'edge-net', weight: 500, labels: {}, body: 'machine: {}' }

test('a choice is set for every selected server that supports it, and the label shows the number of these servers', () => {
  let chosen = taking(fleet)
  const pick = (...path: string[]) => {
    let items = setForAll(
      chosen,
      fleet,
      (to) => (chosen = to),
      (to) => withRoles(to, fleet),
      () => (chosen = withPatch(chosen, edge)),
    )
    let picked: (typeof items)[number] | undefined
    for (const label of path) {
      picked = items.find((i) => typeof i === 'object' && 'label' in i && i.label === label)
      if (typeof picked === 'object' && 'items' in picked) items = [...picked.items]
    }
    if (typeof picked !== 'object' || !('label' in picked) || 'items' in picked)
      throw new Error(`No ${path.join(' › ')}`)
    void picked.run?.()
    return picked.hint
  }
  expect(pick('Role', 'Worker')).toBeUndefined()
  expect(Object.values(chosen).map((c) => [c.role, c.roleSet])).toEqual(
    Array.from({ length: 3 }, () => ['worker', true]),
  )
  pick('Role', 'As proposed: the smallest servers are control planes')
  expect(Object.values(chosen).every((c) => c.role === 'control_plane' && !c.roleSet)).toBe(true)
  expect(pick('Workload interface', 'eth1')).toBe('1 of 3')
  expect(Object.values(chosen).map((c) => c.link)).toEqual(['eth1', '', ''])
  expect(pick('Install disk', 'sda')).toBe('2 of 3')
  expect(Object.values(chosen).map((c) => [c.installDisk, c.workloadDisks])).toEqual([
    ['sda', ['nvme1n1']],
    ['sda', ['sdb']],
    ['nvme0n1', []],
  ])
  pick('Workload disks', 'All other empty disks')
  expect(chosen['a']!.workloadDisks).toEqual(['nvme0n1', 'nvme1n1'])
  pick('Workload disks', 'None')
  expect(Object.values(chosen).flatMap((c) => c.workloadDisks)).toEqual([])
  pick('Patch', 'The same new patch')
  const sent = () => bodyOf({ ...blank, servers: chosen }).servers.map((s) => s.patch)
  expect(sent()).toEqual([edge, edge, edge])
  // A draft stored in the browser keeps the patch.
  expect(
    z.safeParse(KeptDraft, JSON.parse(JSON.stringify({ ...blank, servers: chosen }))).data?.servers[
      'a'
    ]?.patch,
  ).toEqual(edge)
  pick('Patch', 'No new patch')
  expect(sent()).toEqual([undefined, undefined, undefined])
})

test('the dialog names the servers whose drafted patches would be replaced', () => {
  const other = { ...edge, name: 'ntp' }
  const three = [
    { name: 'a', draft: edge },
    { name: 'b', draft: other },
    { name: 'c', draft: undefined },
  ]
  expect(replacedText(three, edge)).toBe('It replaces these drafted patches: ntp of b.')
  expect(replacedText([three[0]!, three[2]!], edge)).toBeNull()
  const items = setForAll(
    { ...taking(fleet), a: { ...taking(fleet)['a']!, patch: edge } },
    fleet,
    () => undefined,
    (to) => to,
    () => undefined,
  )
  const patch = items.find((i) => typeof i === 'object' && 'items' in i && i.label === 'Patch') as {
    items: readonly object[]
  }
  expect(patch.items[1]).toMatchObject({
    label: 'No new patch',
    note: 'Discards the drafted patches: edge-net of 1 server',
  })
})
