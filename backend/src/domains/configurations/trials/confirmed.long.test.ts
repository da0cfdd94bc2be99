/**
 * Changes that cut a server off, with its loss confirmed. Steelyard knows that it would lose the
 * server; Talos brings it back within the time that was chosen, in both forms of the configuration.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { patchCreate, patchList, patchPreview, patchRemove } from '#contract/patches.ts'
import { undoTime } from '#contract/network/sent-change.ts'
import { undoSeconds } from '#contract/servers/losses.ts'
import { type Server, serverEvents } from '#contract/servers/servers.ts'
import { system } from '../../../http/caller.ts'
import { onEachMinor } from '../../clusters/testing/minors.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { undoneSentence } from './judge.ts'

const documents = (...texts: string[]) =>
  texts.map((text) => `apiVersion: v1alpha1\n${text}\n`).join('---\n')
const interfaces = (text: string) =>
  `machine:\n  network:\n    interfaces:\n${text.replaceAll(/^/gm, '      ')}\n`

/** What a person gets wrong. The firewall has documents only, in both minors. */
const wrong: Readonly<Record<string, (link: string) => string>> = {
  'a static address in the old form': (link) =>
    interfaces(`- interface: ${link}\n  addresses: [10.9.9.9/24]`),
  'a static address in a document': (link) =>
    documents(`kind: LinkConfig\nname: ${link}\naddresses: [{address: 10.9.9.9/24}]`),
  'a VLAN in the old form': (link) =>
    interfaces(`- interface: ${link}\n  vlans:\n    - vlanId: 7\n      addresses: [10.9.9.9/24]`),
  'a VLAN in a document': (link) =>
    documents(
      `kind: VLANConfig\nname: ${link}.7\nvlanID: 7\nparent: ${link}\naddresses: [{address: 10.9.9.9/24}]`,
    ),
  'a bond in the old form': (link) =>
    interfaces(
      `- interface: bond0\n  bond:\n    mode: 802.3ad\n    interfaces: [${link}]\n  addresses: [10.9.9.9/24]`,
    ),
  'a bond in a document': (link) =>
    documents(
      `kind: BondConfig\nname: bond0\nlinks: [${link}]\nbondMode: 802.3ad\naddresses: [{address: 10.9.9.9/24}]`,
    ),
  'a firewall that lets nobody in': () =>
    documents('kind: NetworkDefaultActionConfig\ningress: block'),
  'a firewall that lets others in': () =>
    documents(
      'kind: NetworkDefaultActionConfig\ningress: block',
      'kind: NetworkRuleConfig\nname: api\nportSelector: {ports: [50000], protocol: tcp}\ningress: [{subnet: 10.9.0.0/16}]',
    ),
}

/** The same with a part that needs a restart, so that no trial reaches it. */
const untried: Readonly<Record<string, (link: string) => string>> = Object.fromEntries(
  [
    'a static address in the old form',
    'a VLAN in a document',
    'a bond in the old form',
    'a bond in a document',
    'a firewall that lets nobody in',
  ].map((kind) => [
    kind,
    (link) => {
      // Talos reads it when it boots.
      const file =
        'machine:\n  files:\n    - {path: /var/lib/note, op: create, content: note, permissions: 0o644}\n'
      const body = wrong[kind]!(link)
      return body.startsWith('machine:\n')
        ? body.replace('machine:\n', file)
        : `${file}---\n${body}`
    },
  ]),
)

onEachMinor(async (minor) => {
  const world = await clusterWorld({ minor, servers: 3, seed: 'confirmed' })
  const { admin, backend } = world
  const { configurations, patches, changes } = backend.domains
  let cluster: Cluster
  let controlPlane: Server
  let worker: Server
  /** In no cluster. */
  let free: Server

  beforeAll(async () => {
    const nodes = world.take(2)
    ;[free] = world.take(1) as [Server]
    ;[controlPlane, worker] = nodes as [Server, Server]
    const made = await world.create(nodes)
    const { status, reason } = await world.ended(made.operation.id)
    if (status !== 'done') throw new Error(`The cluster was not made: ${reason}`)
    cluster = await world.cluster(made.cluster.id)
  }, 600_000)

  const machine = () => world.machine(worker)
  const params = () => ({ id: worker.id })
  const link = () => machine().managementLink.name
  const now = () => [machine().disk.state.config, machine().config?.text]
  const consent = (undo_after_seconds: number | null) => [{ name: worker.name, undo_after_seconds }]
  const answers = () =>
    world.until(
      () => world.server(worker.id),
      ({ trial, drift, talos }) => trial === null && drift === null && talos.reachable === true,
    )
  const undone = async () =>
    (
      await world.until(
        () => world.server(worker.id),
        ({ trial }) => trial?.state === 'undone',
      )
    ).trial
  const tried = async () => {
    await backend.publish()
    const { items } = (await admin.call(serverEvents, { params: params() })).answer!
    return items.filter((e) => e.type === 'server.change_tried').map((e) => e.message)
  }
  const remove = async () => {
    const { items } = (await admin.call(patchList, { params: params() })).answer!
    const patchId = items.find((p) => p.name === 'wrong')!.patch_id
    const removed = await admin.call(patchRemove, { params: { ...params(), patchId } })
    expect(removed.text).toBe('')
    await answers()
  }
  const previewed = async (server: Server, body: string) => {
    const asked = { params: { id: server.id }, body: { name: 'wrong', body } }
    const { answer, text } = await admin.call(patchPreview, asked)
    if (!answer) throw new Error(text)
    return answer.warnings.map((w) => w.message)
  }
  const configure = (body: string) => ({
    kind: 'configure' as const,
    patches: [{ name: 'wrong', body, weight: 500, labels: {} }],
    remove: [],
    mends: [],
    node_ids: [worker.id],
  })

  describe.each(Object.entries(wrong))('%s', (_, wrongOf) => {
    // A person may choose a minute at least, which two tests below wait for.
    test('of a saved patch is undone after the chosen time', { timeout: 120_000 }, async () => {
      await answers()
      const [before, body] = [now(), wrongOf(link())]
      const told = await previewed(worker, body)
      expect(told.filter((one) => /would lose|is tried first|undoes it/.test(one))).toEqual([
        expect.stringMatching(
          `^Steelyard would lose ${worker.name}: .*Once its loss is confirmed, the change is tried first: Talos undoes it after ${undoTime(undoSeconds.usual)} unless`,
        ),
      ])
      const patch = { name: 'wrong', body, weight: 500 }
      const after = { stored: [], more: [patch], confirmedLoss: consent(7) }
      const seen = await tried()
      await configurations.change(system, worker.id, after, (tx) =>
        patches.createIn(tx, system, worker.id, { ...patch, labels: {} }),
      )
      expect(await undone()).toMatchObject({ reason: undoneSentence(7_000) })
      expect(now()).toEqual(before)
      const messages = (await tried()).filter((one) => !seen.includes(one))
      for (const message of messages) expect(message).toContain('after 7 s')
      await world.until(
        () => world.server(worker.id),
        ({ talos }) => talos.reachable === true,
      )
      await remove()
    })

    test('of an operation is undone after the chosen time', { timeout: 120_000 }, async () => {
      await answers()
      const before = now()
      const { operation } = await changes.request(
        system,
        cluster.id,
        {
          change: configure(wrongOf(link())),
          confirmed_disks: [],
          confirmed_loss: consent(6),
        },
        AbortSignal.timeout(60_000),
      )
      const ended = await world.ended(operation.id)
      expect(ended).toMatchObject({ status: 'failed' })
      expect(ended.steps.find((s) => s.status === 'failed')).toMatchObject({
        key: `configure/${worker.id}`,
        reason: undoneSentence(6_000),
      })
      expect(now()).toEqual(before)
      await answers()
    })
  })

  test(
    'over the API, a minute is a minute, and a bare name five',
    { timeout: 240_000 },
    async () => {
      await answers()
      const [before, body] = [now(), wrong['a bond in a document']!(link())]
      const plan = await admin.call(clusterPlan, {
        params: { id: cluster.id },
        body: { change: configure(body) },
      })
      expect(plan.answer!.losses).toMatchObject([{ node_id: worker.id, tried: true }])
      const asked = { params: { id: cluster.id } }
      const refused = await admin.call(clusterChange, {
        ...asked,
        body: { change: configure(body), confirmed_loss: ['another'] },
      })
      expect(refused.problem).toMatchObject({ code: 'loss_not_confirmed' })
      const many = await admin.call(clusterChange, {
        ...asked,
        body: {
          change: { ...configure(body), node_ids: [worker.id, controlPlane.id] },
          confirmed_loss: [...consent(301), controlPlane.name],
        },
      })
      expect(many.problem).toMatchObject({ error: expect.stringContaining('In a roll-out') })
      const began = Date.now()
      const begun = await admin.call(clusterChange, {
        ...asked,
        body: { change: configure(body), confirmed_loss: consent(60) },
      })
      const ended = await world.ended(begun.answer!.operation.id)
      expect(ended.steps.find((s) => s.status === 'failed')?.reason).toBe(undoneSentence(60_000))
      expect(Date.now() - began).toBeGreaterThanOrEqual(55_000)
      expect(now()).toEqual(before)
      await answers()

      const made = await admin.call(patchCreate, {
        params: params(),
        body: { name: 'wrong', body, confirmed_loss: [worker.name] },
      })
      expect(made.status).toBe(201)
      const running = await world.until(
        () => world.server(worker.id),
        ({ trial }) => trial !== null && !machine().hasAddress,
      )
      expect(running.trial!.reason).toContain('Talos undoes it after 5 min unless')
      // A restart ends a trial early: its timer is in the machine's memory.
      await machine().lifecycle.powerOff()
      machine().lifecycle.powerOn()
      await undone()
      expect(now()).toEqual(before)
      await world.until(
        () => world.server(worker.id),
        ({ talos }) => talos.reachable === true,
      )
      await remove()
    },
  )

  test.each(Object.entries(untried))(
    'no way back is promised for %s with a restart',
    async (_, bodyOf) => {
      await answers()
      const body = bodyOf(link())
      const asked = { params: params(), body: { name: 'wrong', body } }
      const [said, refused] = [await previewed(worker, body), await admin.call(patchCreate, asked)]
      const plan = (
        await admin.call(clusterPlan, {
          params: { id: cluster.id },
          body: { change: configure(body) },
        })
      ).answer!
      for (const sentences of [
        said,
        [refused.problem!.error],
        plan.warnings,
        plan.losses.map((l) => l.reason),
      ]) {
        const first = sentences.find((one) => one.includes('would lose'))
        expect(first).toMatch(
          new RegExp(
            `^The change of the network of ${worker.name} can't be tried, because ${worker.name} restarts for it: nothing will undo it. Steelyard would lose`,
          ),
        )
        expect(sentences.join('\n')).not.toMatch(/undoes it after|is tried first/)
      }
      expect(plan.losses).toMatchObject([{ tried: false }])
      expect(refused.problem!.fields).toEqual({ confirmed_loss: worker.name })
    },
  )

  test('no way back is promised for an installation', async () => {
    const ofFree = world.machine(free).managementLink.name
    for (const wrongOf of Object.values(wrong)) {
      const body = wrongOf(ofFree)
      const refused = await admin.call(patchCreate, {
        params: { id: free.id },
        body: { name: 'wrong', body },
      })
      expect(refused.problem).toMatchObject({
        error: expect.stringMatching(
          /because it comes with the installation: nothing will undo it/,
        ),
        fields: { confirmed_loss: free.name },
      })
      expect((await previewed(free, body)).join('\n')).not.toMatch(/undoes it after|tried first/)
    }
  })
})
