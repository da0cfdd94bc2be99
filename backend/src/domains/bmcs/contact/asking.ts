/**
 * Asks one BMC, and stores what it said. Who may be asked what depends on its status: without a
 * confirmed certificate only the certificate and the service root are read, and nothing secret is
 * sent; after a refusal of the password, or another certificate, nothing is asked any more.
 */
import { Problem } from '#contract/errors.ts'
import { powerStateOf } from '#redfish/acts/power.ts'
import { isLit } from '#redfish/acts/power.ts'
import { type Certificate, readCertificate } from '#redfish/client/transport.ts'
import { RedfishError } from '#redfish/errors.ts'
import { usualLimits } from '#redfish/limits.ts'
import { factsOf } from '#redfish/vendors/vendors.ts'
import { inTransaction } from '../../../db/db.ts'
import type { BmcWorld } from '../parts.ts'
import type { BmcRow } from '../store.ts'
import * as store from '../store.ts'
import { failureOf } from './errors.ts'
import { type Keeping, keeping } from './keeping.ts'
import { learn } from './learning.ts'

/** A BMC that answers is asked again after this, in ms. */
const everyMs = 60_000
/** One that answers slowly, or not. */
const slowEveryMs = 180_000
/** An answer that took longer is slow, in ms. */
const slowAnswerMs = 5_000
/** The whole inventory is read once a day. */
const inventoryMs = 24 * 3_600_000

export interface Asking extends Pick<Keeping, 'notePower'> {
  /** Asks the BMC once, and stores the result. Never throws for what the BMC does. */
  readonly ask: (id: string, signal: AbortSignal) => Promise<void>
}

const certificateColumn = ({ fingerprint, subject, issuer, validFrom, validTo }: Certificate) =>
  JSON.stringify({ fingerprint, subject, issuer, valid_from: validFrom, valid_to: validTo })

/** The other certificate that a BMC shows, which a user may confirm. Nothing is sent. */
const otherCertificate = async (
  { address, port }: BmcRow,
  error: unknown,
  signal: AbortSignal,
): Promise<Certificate | null> =>
  error instanceof RedfishError && error.kind === 'certificate'
    ? readCertificate({ address, port }, usualLimits, signal).catch(() => null)
    : null

/** Stores that a BMC could not be asked. */
function failing({ db, clock, log }: BmcWorld, { setStatus }: Keeping) {
  return async (
    id: string,
    error: unknown,
    tookMs: number,
    shown: Certificate | null,
  ): Promise<void> => {
    await inTransaction(db, async (tx) => {
      const row = await store.lock(tx, id)
      const contact = await store.lockContact(tx, id)
      if (!row || !contact) return
      const failure = failureOf(error, { status: row.status, failures: contact.failures })
      if (failure === undefined) log.error('bmc.contact_failed', { bmc_id: id, error })
      await store.updateContact(tx, id, {
        failures: contact.failures + 1,
        slow: true,
        due_at: new Date(clock.now() + (failure?.isPassing === false ? inventoryMs : slowEveryMs)),
        lease_until: null,
        owner: null,
      })
      const at = new Date(clock.now())
      const now = shown
        ? await store.update(tx, id, { certificate: certificateColumn(shown) }, at)
        : row
      if (failure) await setStatus(tx, now, failure.status ?? row.status, failure.reason)
    })
    log.debug('bmc.silent', { bmc_id: id, duration_ms: tookMs })
  }
}

export function asking(world: BmcWorld): Asking {
  const { db, clock, random, clients, policy } = world
  const now = () => new Date(clock.now())
  const keeps = keeping(world)
  const { setStatus, notePower, keep } = keeps

  /** Without a confirmed certificate. */
  const look = async (row: BmcRow, signal: AbortSignal): Promise<void> => {
    const place = { address: row.address, port: row.port }
    const verdict = policy.check(place.address, place.port)
    if (!verdict.ok) throw Problem.of('dial_refused', verdict)
    const shown = await readCertificate(place, usualLimits, signal)
    const root = await clients.unsigned(row, shown.fingerprint).root(signal)
    const { vendor } = factsOf({ root })
    await inTransaction(db, async (tx) => {
      const before = await store.lock(tx, row.id)
      if (!before || before.fingerprint !== null) return
      const after = await store.update(
        tx,
        row.id,
        {
          certificate: certificateColumn(shown),
          vendor: vendor ?? root.Vendor,
          model: root.Product,
        },
        now(),
      )
      await setStatus(tx, after, 'unconfirmed', null)
    })
  }

  /** With a confirmed certificate. */
  const contact = async (row: BmcRow, signal: AbortSignal): Promise<void> => {
    const client = await clients.of(row)
    const known = await store.contact(db, row.id)
    const isDue =
      row.system_path === null ||
      known?.inventory_at == null ||
      clock.now() - known.inventory_at.getTime() > inventoryMs
    if (isDue || row.system_path === null) {
      await keep(row.id, await learn(client, signal))
      return
    }
    const root = await client.root(signal)
    const { document } = await client.get('system', row.system_path, signal)
    const power = powerStateOf(document.PowerState, factsOf({ root, system: document }))
    await inTransaction(db, async (tx) => {
      const before = await store.lock(tx, row.id)
      if (!before) return
      await notePower(tx, before, power, { lit: isLit(document) })
      if (before.status === 'unreachable')
        await setStatus(tx, (await store.find(tx, row.id))!, 'ready', null)
    })
  }

  const failed = failing(world, keeps)

  return {
    notePower,
    async ask(id, signal) {
      const began = performance.now()
      const row = await store.find(db, id)
      if (!row) return
      try {
        if (row.fingerprint === null) await look(row, signal)
        else if (row.status === 'ready' || row.status === 'unreachable') await contact(row, signal)
        const tookMs = performance.now() - began
        const slow = tookMs > slowAnswerMs
        const pauseMs = row.fingerprint === null ? slowEveryMs : slow ? slowEveryMs : everyMs
        await store.updateContact(db, id, {
          failures: 0,
          slow,
          due_at: new Date(clock.now() + pauseMs * (0.95 + 0.1 * random())),
          lease_until: null,
          owner: null,
          ...(row.fingerprint !== null && { answered_at: now() }),
        })
      } catch (error) {
        if (signal.aborted) throw error
        const tookMs = performance.now() - began
        await failed(id, error, tookMs, await otherCertificate(row, error, signal))
      }
    },
  }
}
