/**
 * Kills the program with −9 while servers whose loss was confirmed are cut off: each is back within
 * the chosen minute, on both minors of Talos, in an operation and after a saved patch.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import { type Cluster, clusterCreate } from '#contract/clusters/clusters.ts'
import { patchCreate, patchList, patchRemove } from '#contract/patches.ts'
import { type Server, serverGet } from '#contract/servers/servers.ts'
import { startInstallation } from './testing/killing.ts'
import { ended, patiently } from './testing/world.ts'

const installation = await startInstallation({ servers: 4, seed: 'kill-losses' })
const { site, call } = installation
const sentence = 'The server did not answer within 60 s with the change, so Talos has undone it'

let sides: readonly { readonly cluster: Cluster; readonly worker: Server }[] = []

beforeAll(async () => {
  const nodes = await site.take(call, 4)
  const made = []
  for (const [i, talos_version] of ['v1.13.9', 'v1.14.1'].entries()) {
    const [controlPlane, worker] = nodes.slice(2 * i, 2 * i + 2) as [Server, Server]
    const { cluster, operation } = await call(clusterCreate, {
      body: {
        name: `kill-losses-${i}`,
        datacenter_id: site.datacenterId,
        servers: [
          { node_id: controlPlane.id, role: 'control_plane' },
          { node_id: worker.id, role: 'worker' },
        ],
        talos_version,
      },
    })
    made.push({ cluster, worker, operation })
  }
  for (const { operation } of made) expect((await ended(call, operation.id)).status).toBe('done')
  sides = made
}, 240_000)

const read = (id: string) => patiently(() => call(serverGet, { params: { id } }))
const until = async (id: string, is: (server: Server) => boolean): Promise<Server> => {
  for (const end = Date.now() + 150_000; ;) {
    const server = await read(id)
    if (is(server)) return server
    if (Date.now() > end) throw new Error(`${server.name}: ${JSON.stringify(server.trial)}`)
    await pause(300)
  }
}
const storedOf = async ({ worker }: (typeof sides)[number]) =>
  (await site.simulator.counters()).servers.find(
    (s) => s.uuid.toLowerCase() === worker.identity.uuid,
  )!

const forms = {
  documents: (link: string) =>
    `apiVersion: v1alpha1\nkind: LinkConfig\nname: ${link}\naddresses: [{address: 10.9.9.9/24}]\n`,
  'the old form': (link: string) =>
    `machine:\n  network:\n    interfaces:\n      - interface: bond0\n        bond: {mode: 802.3ad, interfaces: [${link}]}\n        addresses: [10.9.9.9/24]\n`,
}

test.each([
  ['before the trials', 'trial:before', 0, 'documents'],
  ['after the first was sent', 'trial:after', 1, 'the old form'],
  ['while the servers are away', 10_000, 0, 'the old form'],
  ['when their time ends', 61_000, 1, 'documents'],
] as const)(
  'a confirmed loss interrupted by kill −9 %s (%s)',
  { timeout: 300_000 },
  async (_name, when, first, form) => {
    const [operated, patched] = [sides[first]!, sides[1 - first]!]
    const before = await Promise.all([operated, patched].map(storedOf))
    const bodyFor = (server: Server) =>
      forms[form](server.resources.interfaces.find((i) => i.link_state === true)!.id)
    const loss = ({ name }: Server) => [{ name, undo_after_seconds: 60 }]
    const save = () =>
      patiently(() =>
        call(patchCreate, {
          params: { id: patched.worker.id },
          body: {
            name: 'wrong',
            body: bodyFor(patched.worker),
            confirmed_loss: loss(patched.worker),
          },
        }),
      )
    const operate = async () => {
      const { operation } = await patiently(() =>
        call(clusterChange, {
          params: { id: operated.cluster.id },
          body: {
            change: {
              kind: 'configure',
              patches: [{ name: 'wrong', body: bodyFor(operated.worker) }],
              node_ids: [operated.worker.id],
            },
            confirmed_loss: loss(operated.worker),
          },
        }),
      )
      return operation
    }
    const both = async () => {
      await save()
      return operate()
    }
    const kill = async () => {
      // The first trial kills the program, so that the other one begins after the restart.
      if (when === 'trial:before') {
        const begun = await installation.killedAt(when, operate)
        await save()
        return begun
      }
      if (when === 'trial:after') {
        await installation.killedAt(when, save)
        return operate()
      }
      return installation.killedAfter(when, both)
    }
    const operation = await kill()
    const end = await ended(call, operation.id, 150_000)
    expect(end.steps.find((s) => s.status === 'failed')).toMatchObject({
      key: `configure/${operated.worker.id}`,
      reason: sentence,
    })
    const undone = await until(patched.worker.id, ({ trial }) => trial?.state === 'undone')
    expect(undone.trial!.reason).toBe(sentence)
    for (const { worker } of sides) await until(worker.id, ({ talos }) => talos.reachable === true)
    const after = await Promise.all([operated, patched].map(storedOf))
    for (const [i, { applies }] of after.entries())
      expect(applies - before[i]!.applies).toBeLessThanOrEqual(1)
    // What was saved stays until somebody takes it back.
    const { items } = await patiently(() => call(patchList, { params: { id: patched.worker.id } }))
    const patchId = items.find((p) => p.name === 'wrong')!.patch_id
    await patiently(() => call(patchRemove, { params: { id: patched.worker.id, patchId } }))
    for (const { worker } of sides)
      await until(
        worker.id,
        ({ trial, drift, operation_id }) =>
          trial === null && drift === null && operation_id === null,
      )
  },
)
