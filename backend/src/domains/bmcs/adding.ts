/**
 * Adds BMCs: by addresses, by a network, or from CSV. Listed ones are rows at once, so that they are
 * asked again if they don't answer yet; of a network only those that answer become rows. The
 * operation has one step per address with its result.
 */
import { randomUUID } from 'node:crypto'
import { type bmcAdd, bmcLimit } from '#contract/bmcs/bmcs.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import { type Operation, operationTable, type Step } from '#contract/operations.ts'
import { counted } from '#contract/words.ts'
import { inTransaction } from '../../db/db.ts'
import { oneByOne, type Job, type Outcome } from '../../engine/engine.ts'
import type { Caller } from '../../http/caller.ts'
import { demandRoom } from '../../room.ts'
import type { Asking } from './contact/asking.ts'
import { fromCsv, type NewBmc } from './file.ts'
import type { BmcWorld } from './parts.ts'
import { type Probe, probing } from './probing.ts'
import { newRows } from './rows.ts'
import * as store from './store.ts'

export const bmcAddQueue = 'bmc-add'
const atOnce = 16
/** A run ends after this, in ms, so that the engine sees that it goes on. */
const runMs = 20_000
/** Looks at the addresses of an operation, one step for each. */
function reconciling({ db, operations }: Pick<BmcWorld, 'db' | 'operations'>, probe: Probe) {
  return async (job: Job): Promise<Outcome> => {
    const work = await operations.carriedBy(db, job)
    if (!work) return undefined
    const { operation, isCancelled } = work
    const isOpen = ({ status }: Step) =>
      status === 'todo' || status === 'running' || status === 'waiting'
    const open = operation.steps.filter(isOpen)
    if (isCancelled || open.length === 0) {
      const found = operation.steps.filter((s) => s.status === 'done').length
      const failed = operation.steps.filter((s) => s.status === 'failed').length
      await job.fence.write(async (tx) => {
        await operations.steps(
          tx,
          operation.id,
          open.map(({ key }) => ({ key, status: 'skipped', reason: 'Cancelled' })),
        )
        await operations.set(tx, operation.id, {
          status: isCancelled ? 'cancelled' : failed > 0 ? 'failed' : 'done',
          reason: `${counted(found, 'BMC', 'BMCs')} found${failed > 0 ? `, ${failed} failed` : ''}`,
        })
      })
      return undefined
    }
    const args = await operations.argumentsOf(db, operation.id, 'bmcAdd')
    const write = oneByOne(job.fence)
    await write((tx) => operations.set(tx, operation.id, { status: 'running' }))
    const until = job.now() + runMs
    const left = open.values()
    const next = async (): Promise<void> => {
      for (const { key } of left) {
        const result = await probe(job, key.slice('probe/'.length), args)
        await write((tx) => operations.step(tx, operation.id, key, result))
        if (job.now() >= until) return
      }
    }
    await Promise.all(Array.from({ length: atOnce }, next))
    return { againMs: 0 }
  }
}

export function adding(world: BmcWorld, asking: Asking) {
  const { db, clock, engine, operations, datacenters, policy } = world
  const rows = newRows(world)
  const { rowOf, added } = rows
  const probe = probing(world, asking, rows)

  const request = async (
    caller: Caller,
    {
      addresses,
      cidr,
      csv,
      port,
      credential_id,
      username,
      password,
      datacenter_id,
    }: Input<typeof bmcAdd>['body'],
  ): Promise<{ operation: Operation }> => {
    const site = datacenter_id ?? null
    const network = cidr === undefined ? [] : policy.readNetwork(cidr, port)
    const listed: NewBmc[] =
      csv !== undefined
        ? await fromCsv(world, csv, port, site)
        : [
            ...new Set(
              (addresses ?? []).map((text, i) => policy.read(text, port, `addresses.${i}`)),
            ),
          ].map((address) => ({
            address,
            ...(username !== undefined && password !== undefined && { username, password }),
            wishes: { datacenter_id: site },
          }))
    const all = cidr === undefined ? listed.map(({ address }) => address) : network
    if (all.length === 0) throw new Problem('invalid', 'There is no address to look at')
    const made = await inTransaction(db, async (tx) => {
      const code = site === null ? null : await datacenters.find(tx, site)
      if (site !== null && code === null)
        throw new Problem('not_found', `Datacenter ${site} not found`)
      if (credential_id !== undefined && !(await store.holdCredential(tx, credential_id)))
        throw new Problem('not_found', `Credential ${credential_id} not found`)
      if (listed.length > 0) {
        await demandRoom(tx, 'bmc', bmcLimit, listed.length)
        const there = await store.amongAddresses(tx, all, port)
        const [first] = there
        if (first !== undefined && there.size === listed.length && listed.length === 1)
          throw new Problem('conflict', `The BMC at ${first} is listed already`)
        const place = { port, credential_id: credential_id ?? null }
        const listing = await Promise.all(
          listed.filter(({ address }) => !there.has(address)).map((one) => rowOf(tx, one, place)),
        )
        // Its own step asks it first.
        const later = new Date(clock.now() + 10 * 60_000)
        await added(tx, caller, await store.insert(tx, listing, later))
      }
      const name =
        cidr ?? (all.length === 1 ? all[0]! : counted(all.length, 'address', 'addresses'))
      return operations.create(tx, caller, {
        kind: 'bmcAdd',
        target: { id: site, name: code === null ? name : `${name} to ${code.code}` },
        arguments: {
          datacenter_id: site,
          credential_id: credential_id ?? null,
          port,
          scan: cidr !== undefined,
        },
        steps: all.map((address) => ({
          key: `probe/${address}`,
          title: operationTable.bmcAdd.steps.probe({ address }),
        })),
        queue: bmcAddQueue,
        queueKey: randomUUID(),
        audit: { after: { addresses: cidr ?? all, port } },
      })
    })
    return { operation: made }
  }

  engine.register({
    queue: bmcAddQueue,
    reconcile: reconciling(world, probe),
    concurrency: 2,
    deadlineMs: 5 * 60_000,
  })
  return { request }
}
