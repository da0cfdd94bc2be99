/** Looks at one address for a BMC. */
import { bmcLimit } from '#contract/bmcs/bmcs.ts'
import type { ArgumentsOf, Step } from '#contract/operations.ts'
import { readCertificate } from '#redfish/client/transport.ts'
import { RedfishError } from '#redfish/errors.ts'
import { usualLimits } from '#redfish/limits.ts'
import type { Job } from '../../engine/engine.ts'
import { system } from '../../http/caller.ts'
import { demandRoom } from '../../room.ts'
import type { Asking } from './contact/asking.ts'
import type { BmcWorld } from './parts.ts'
import { present } from './present.ts'
import type { NewRows } from './rows.ts'
import * as store from './store.ts'

/** An address of a network without a BMC is given up after this, in ms. */
const scanLimits = { ...usualLimits, connectMs: 5_000 }

/** The result of one address, as its step. */
export type Probe = (
  job: Job,
  address: string,
  how: ArgumentsOf<'bmcAdd'>,
) => Promise<Pick<Step, 'status' | 'reason'>>

export function probing(
  { db, clock, record, policy }: BmcWorld,
  { ask }: Asking,
  { rowOf, added }: NewRows,
): Probe {
  return async (job, address, { port, credential_id, datacenter_id, scan }) => {
    const verdict = policy.check(address, port)
    if (!verdict.ok) return { status: 'failed', reason: verdict.reason }
    let row = await store.at(db, { address, port })
    if (scan && row) return { status: 'skipped', reason: 'Listed already' }
    if (scan) {
      try {
        await readCertificate({ address, port }, scanLimits, job.signal)
      } catch (error) {
        if (!(error instanceof RedfishError)) throw error
        return { status: 'skipped', reason: 'No answer' }
      }
      row = await job.fence.write(async (tx) => {
        await demandRoom(tx, 'bmc', bmcLimit)
        const made = await rowOf(
          tx,
          { address, wishes: { datacenter_id } },
          { port, credential_id },
        )
        const rows = await store.insert(tx, [made], new Date(clock.now() + 60_000))
        await added(tx, system, rows)
        return rows[0]
      })
      if (!row) return { status: 'skipped', reason: 'Listed already' }
    }
    if (!row) return { status: 'failed', reason: 'It was removed meanwhile' }
    if (row.fingerprint === null) await ask(row.id, job.signal)
    const after = await store.find(db, row.id)
    if (!after) return { status: 'failed', reason: 'It was removed meanwhile' }
    if (after.status === 'unsupported' && scan) {
      // A network has other machines than BMCs.
      await job.fence.write(async (tx) => {
        await store.remove(tx, after.id)
        await record(tx, system, {
          action: 'bmc.removed',
          target: { kind: 'bmc', id: after.id, name: address },
          event: { version: after.version + 1 },
        })
      })
      return { status: 'skipped', reason: 'No BMC that speaks Redfish' }
    }
    const { certificate, vendor, model } = present(after)
    const what = [vendor, model].filter(Boolean).join(' ') || 'A BMC'
    return after.status === 'unconfirmed'
      ? { status: 'done', reason: `${what}, certificate ${certificate?.fingerprint ?? ''}` }
      : after.fingerprint !== null
        ? { status: 'done', reason: 'Confirmed already' }
        : { status: 'failed', reason: after.reason ?? 'No answer' }
  }
}
