/** Shared patches in files. */
import { expect, test } from 'vitest'
import { Problem } from '#contract/errors.ts'
import { patchMask } from '#contract/patches.ts'
import {
  sharedPatchCreate,
  sharedPatchPreview,
  sharedPatchRollOut,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { anOperation, id } from '../../testing/things.ts'
import { numberedServer } from '../../testing/installation.ts'
import { withRack, writes } from '../../testing/rack.ts'

const three = () =>
  withRack(
    [1, 2, 3].map((n) => ({
      ...numberedServer(n, { name: `poz-${n}` }),
      labels: n === 3 ? {} : { net: 'storage' },
      datacenter: null,
    })),
  )
const body = 'machine:\n  sysctls:\n    vm.swappiness: "10"\n'
const shared = (more = '', text = body) =>
  `kind: shared-patch\nname: calm\nbody: |\n${text.replaceAll(/^(?=.)/gm, '  ')}targets:\n  labels: [net=storage]\n${more}`
const same = '0 to create, 0 to change, 0 to remove, 1 unchanged\n'

test('one file saves a shared patch and rolls it out, its differences first, and the next plan is empty', async () => {
  const { there, apply, diff } = await three()
  const text = shared('roll_out: true\ncanary: poz-2\n')
  const shown = await diff(text)
  expect(shown.exit).toBe(1)
  expect(shown.out).toContain('+ shared-patch calm\n')
  expect(shown.out).toContain('    roll_out: none → poz-2 first\n')
  expect(shown.out).toContain('    2 servers (poz-1, poz-2), without a reboot:\n')
  expect(shown.out).toContain('+    vm.swappiness: "10"\n')
  expect(writes(there)).toEqual(['sharedPatchPreview'])

  expect((await apply(text, '--yes --wait')).exit).toBe(0)
  expect(there.api.callsOf(sharedPatchCreate)[0]!.body).toMatchObject({
    name: 'calm',
    weight: 500,
    body,
    targets: { labels: ['net=storage'], cluster_ids: [], roles: [], node_ids: [] },
  })
  expect(there.api.callsOf(sharedPatchRollOut).map((c) => c.body)).toEqual([
    { canary_id: id(2), in_window: false },
  ])
  expect(there.applied.map(({ kind }) => kind)).toEqual(['shared_patch'])
  expect((await apply(text, '')).out).toBe(same)

  // A server that gets the label is behind, and the same file rolls it out to that server.
  there.servers[2]!.labels = { net: 'storage' }
  const more = await apply(text, '--yes --in-window --wait')
  expect(more.out).toContain('roll_out: 1 server behind → poz-2 first')
  // The canary has the patch already.
  expect(there.api.callsOf(sharedPatchRollOut)[1]!.body).toEqual({ in_window: true })
  expect(writes(there).filter((c) => c === 'sharedPatchCreate')).toHaveLength(1)
})

test('a patch of several documents is one document of the file', async () => {
  const { there, apply } = await three()
  const vlan =
    'apiVersion: v1alpha1\nkind: VLANConfig\nname: vlan120\nvlanID: 120\nparent: {{link}}\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: {{link}}\n'
  expect((await apply(shared('', vlan))).exit).toBe(0)
  expect(there.sharedPatches).toMatchObject([{ body: vlan, variables: ['link'] }])
})

test('without roll_out a file only saves, and changes what differs', async () => {
  const { there, apply, diff } = await three()
  const saved = await apply(shared())
  expect(saved.exit).toBe(0)
  expect(there.api.callsOf(sharedPatchRollOut)).toEqual([])
  expect((await apply(shared(), '')).out).toBe(same)
  const changed = shared('weight: 7\n', body.replace('10', '20')).replace(
    'labels: [net=storage]',
    'servers: [poz-3]',
  )
  const shown = await diff(changed)
  for (const line of [
    'weight: 500 → 7',
    'targets.labels: [net=storage] → none',
    'targets.servers: none → [poz-3]',
    '+     vm.swappiness: "20"',
    '1 server (poz-3)',
  ])
    expect(shown.out).toContain(line)
  expect((await apply(changed)).exit).toBe(0)
  expect(there.api.callsOf(sharedPatchUpdate)).toMatchObject([
    {
      body: { weight: 7, targets: { labels: [], node_ids: [id(3)] } },
      headers: { 'if-match': '"1"' },
    },
  ])
  expect((await apply(changed, '')).out).toBe(same)
})

test('labels of the same file are set first, so the servers are known only then', async () => {
  const { there, apply } = await three()
  const text = `kind: server\nserial: S-3\nlabels: {net: storage}\n---\n${shared('roll_out: true\n')}`
  const applied = await apply(text, '--yes --wait')
  expect(applied.out).toContain('(what it changes on servers is known after the lines above)')
  expect(writes(there).filter((call) => call !== 'sharedPatchServers')).toEqual([
    'serverUpdate',
    'sharedPatchCreate',
    'sharedPatchRollOut',
  ])
  expect((await apply(text, '')).out).toContain('2 unchanged')
})

test('a server that would refuse the roll-out is named with its line, and nothing is changed', async () => {
  const { there, apply } = await three()
  const group = { servers: 2, unchanged: 1, groups: [], losses: [] }
  const refused = [{ server: { id: id(1), name: 'poz-1' }, reason: 'poz-1 has no link enp1s0' }]
  there.api.on(sharedPatchPreview, () => ({ ...group, refused }))
  const stopped = await apply(shared('roll_out: true\n'))
  expect(stopped.exit).not.toBe(0)
  expect(stopped.err).toContain(':3: poz-1 refuses it: poz-1 has no link enp1s0')
  expect(writes(there)).toEqual(['sharedPatchPreview'])
  // Saving sends nothing, so it is possible.
  const saved = await apply(shared())
  expect(saved.exit).toBe(0)
  expect(saved.out).toContain('poz-1: refused, poz-1 has no link enp1s0')

  there.api.on(sharedPatchPreview, () => {
    throw new Problem('invalid', 'Line 3: There is no variable {{nmae}}')
  })
  expect((await apply(shared('weight: 1\n'))).err).toContain('There is no variable {{nmae}}')
})

test.each([
  ['  servers: [poz-9]\n', 'There is no server poz-9, and no document describes it'],
  ['  clusters: [web]\n', 'There is no cluster web, and no document describes it'],
  ['canary: poz-9\n', 'There is no server poz-9, and no document describes it'],
  ['  labels: [a=b=c]\n', 'labels'],
  ['  node_ids: [x]\n', 'There is no field targets.node_ids'],
])('%j is refused before the first call', async (more, sentence) => {
  const { there, apply } = await three()
  const text = shared(more)
  const refused = await apply(
    more.includes('a=b=c') ? text.replace('  labels: [net=storage]\n', '') : text,
  )
  expect(refused.exit).not.toBe(0)
  expect(refused.err).toContain(sentence)
  expect(writes(there)).toEqual([])
})

test('a mask for a secret that is not stored is refused, and a file with the secret is sent again', async () => {
  const { there, apply, diff } = await three()
  const secret = body.replace('10', 'swordfish')
  const masked = body.replace('10', patchMask)
  expect((await apply(shared('', masked))).err).toContain('Enter the secret itself')
  expect((await apply(shared('', secret))).exit).toBe(0)
  there.sharedPatches[0]!.body = masked
  expect((await diff(shared('', masked))).exit).toBe(0)
  const again = await diff(shared('', secret))
  expect(again.exit).toBe(0)
  expect(again.out).toContain('its secrets cannot be compared, so they are sent again')
})

test('while its roll-out runs the document waits, and --at is refused', async () => {
  const { there, apply } = await three()
  expect((await apply(shared())).exit).toBe(0)
  const at = await apply(shared('roll_out: true\n'), '--yes --at 2027-01-01T00:00:00Z')
  expect(at.err).toContain('begins at once or with --in-window, not --at')
  const [patch] = there.sharedPatches
  there.operations.push(
    anOperation({
      kind: 'sharedPatchRollOut',
      target: { kind: 'shared_patch', id: patch!.id, name: 'calm' },
      status: 'running',
      ended_at: null,
    }),
  )
  const waiting = await apply(shared('roll_out: true\n'))
  expect(waiting.out).toMatch(/shared-patch calm waits: .*Apply again when it has ended/)
  expect(there.api.callsOf(sharedPatchRollOut)).toEqual([])
})

test('--prune removes a shared patch that no server has, and says why it keeps another', async () => {
  const { there, apply } = await three()
  const other = 'kind: server\nserial: S-3\nname: poz-3\n'
  expect((await apply(shared('roll_out: true\n'), '--yes --wait')).exit).toBe(0)
  const kept = await apply(other, '--yes --prune')
  expect(kept.out).toContain('The shared patch calm is in no document, but 2 servers have it.')
  expect(there.sharedPatches).toHaveLength(1)
  const taken = shared('roll_out: true\n').replace('  labels: [net=storage]\n', '  {}\n')
  expect((await apply(taken, '--yes --wait')).exit).toBe(0)
  expect((await apply(other, '--yes --prune')).exit).toBe(0)
  expect(there.sharedPatches).toEqual([])
})

test('an export has the names of the targets, and applies to nothing', async () => {
  const { there, apply, cli } = await three()
  expect(
    (await apply(shared().replace('  labels: [net=storage]', '  servers: [poz-1]'))).exit,
  ).toBe(0)
  const exported = await cli.run('export --kind shared-patch')
  expect(exported.out).toContain('targets:\n  servers:\n    - poz-1\n')
  expect((await apply(exported.out, '')).out).toBe(same)
  expect(there.sharedPatches).toHaveLength(1)
})
