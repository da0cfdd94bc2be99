/**
 * A VLAN for forty servers of two clusters, whose links have other names: stopped at the canary that
 * refuses, mended, rolled out, undone by one act.
 */
import { expect, test } from 'vitest'
import { hasEnded, type Operation } from '#contract/operations.ts'
import { serverUpdate } from '#contract/servers/servers.ts'
import {
  sharedPatchCreate,
  sharedPatchGet,
  sharedPatchPreview,
  sharedPatchRollOut,
  sharedPatchUndo,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'

const world = await clusterWorld({ servers: 40 })
const { admin } = world
const all = world.take(40)
const made = await Promise.all(
  [all.slice(0, 20), all.slice(20)].map((nodes) => world.create(nodes)),
)
for (const { operation } of made)
  if ((await world.ended(operation.id)).status !== 'done') throw new Error('No cluster')
for (const { id } of all)
  await admin.call(serverUpdate, { params: { id }, body: { labels: { net: 'storage' } } })

const vlan = (parent: string) =>
  `apiVersion: v1alpha1\nkind: VLANConfig\nname: vlan120\nvlanID: 120\nparent: ${parent}\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: {{link}}\n`
const parentOf = (node: { id: string }) =>
  /kind: VLANConfig\n(?:[a-zA-Z0-9]+: .*\n)*?parent: (\S+)/.exec(
    world.machine(node).disk.state.config ?? '',
  )?.[1]
const withVlan = () => all.filter((node) => parentOf(node) !== undefined)
const targets = { labels: ['net=storage'] }

const doneOf = ({ steps }: Operation) => steps.filter((s) => s.status === 'done').length
/**
 * Waits until the operation has ended. Each server has the time of a whole operation, because a trial
 * of a network waits for seconds on every server.
 */
async function ended(id: string): Promise<Operation> {
  for (let done = 0; ;) {
    const before = done
    const operation = await world.until(
      () => world.operation(id),
      (one) => hasEnded(one) || doneOf(one) > before,
    )
    if (hasEnded(operation)) return operation
    done = doneOf(operation)
  }
}

test('a VLAN goes to forty servers of two clusters: stopped at the canary, mended, rolled out, undone by one act', async () => {
  const preview = async (body: string) =>
    (await admin.call(sharedPatchPreview, { body: { name: 'vlan', body, targets } })).answer!
  // The link of one server, which others lack.
  const links = (await preview(vlan('{{link}}'))).groups.map(({ example }) => example)
  const link = /^\+parent: (\S+)$/m.exec(links[0]!)![1]!
  const wrong = await preview(vlan(link))
  const refusing = wrong.refused[0]!
  expect(refusing.reason).toContain(`${refusing.server.name} has no link ${link}`)
  expect(wrong.refused.length).toBeLessThan(40)
  const saved = await admin.call(sharedPatchCreate, {
    body: { name: 'vlan', body: vlan(link), targets },
  })
  const params = { id: saved.answer!.id }
  const rollOut = async () => {
    const body = { canary_id: refusing.server.id }
    const called = await admin.call(sharedPatchRollOut, { params, body })
    return ended(called.answer!.operation.id)
  }
  const stopped = await rollOut()
  expect(stopped).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining(`Stopped at ${refusing.server.name}: `) as string,
  })
  expect(stopped.steps.map((s) => s.status)).toEqual(['failed', ...Array(39).fill('todo')])
  expect(withVlan()).toEqual([])

  const shown = await preview(vlan('{{link}}'))
  expect([shown.refused, shown.groups.map((g) => g.servers.length)]).toEqual([[], [40]])
  await admin.call(sharedPatchUpdate, { params, body: { body: vlan('{{link}}') } })
  const rolled = await rollOut()
  expect(rolled).toMatchObject({ status: 'done', reason: null })
  expect(rolled.steps.map((s) => s.status)).toEqual(all.map(() => 'done'))
  expect(withVlan()).toHaveLength(40)
  expect(new Set(all.map(parentOf)).size).toBeGreaterThan(1)
  expect((await admin.call(sharedPatchGet, { params })).answer).toMatchObject({
    servers: { targets: 40, current: 40, behind: 0 },
  })

  const undo = await admin.call(sharedPatchUndo, { params, body: {} })
  expect(await ended(undo.answer!.operation.id)).toMatchObject({ status: 'done' })
  expect(withVlan()).toEqual([])
}, 1_800_000)
