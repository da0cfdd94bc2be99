/** Registers the machine at an address in one transaction: a new server, or a note or alarm at a known one. */
import type { AuditAction } from '#contract/audit.ts'
import type { Clock } from '../../../clock.ts'
import type { Tx } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import type { Recorder } from '../../../record.ts'
import type { Reading } from '../../../talos-fleet/reading.ts'
import { newName } from './name.ts'
import { readingColumns } from '../contact/observe.ts'
import { audited } from '../present.ts'
import { type Candidate, recognise } from './recognise.ts'
import * as store from '../store.ts'

export interface Registration {
  readonly kind: 'new' | 'known' | 'moved' | 'alarm'
  readonly server: store.ServerRow
  /** The result, for the operation's step. */
  readonly sentence: string
}

export interface RegisterOptions {
  readonly datacenterId: string | null
  /**
   * Name of the join token that the machine announced itself with. It has then shown the one-time host name that was given to its address, which is all that
   * a person could check from afar: what is new, or waits for its first confirmation, counts as confirmed. One that came back from a cluster, or that
   * something contradicted, still waits for a person.
   */
  readonly token?: string
}

export interface RegisterParts {
  readonly clock: Clock
  readonly random: () => number
  readonly recorder: Recorder
}

/** Attempts to find a free name. With 10,000 of five million names in use, a second one is rarely needed. */
const mostNames = 50
const announced = (token: string): string => `Announced itself with the join token ${token}`

export function registering({ clock, random, recorder: { record, tell } }: RegisterParts) {
  const note = async (tx: Tx, caller: Caller, row: store.ServerRow, action: AuditAction, change: store.ServerChange): Promise<store.ServerRow> => {
    const after = await store.update(tx, row.id, change, new Date(clock.now()))
    await record(tx, caller, {
      action,
      target: { kind: 'server', id: row.id, name: row.name },
      before: audited(row),
      after: audited(after),
      event: { name: 'server.updated', version: after.version },
    })
    return after
  }

  /** undefined if a concurrent call has registered the same machine. */
  const makeNew = async (
    tx: Tx,
    caller: Caller,
    found: Candidate,
    reading: Reading,
    { datacenterId, token }: RegisterOptions,
  ): Promise<store.ServerRow | undefined> => {
    const at = new Date(clock.now())
    const { identity, fingerprint, address } = found
    const before = await store.removedByHardware(tx, identity.uuid, identity.serial)
    const server: Omit<store.NewServer, 'name'> = {
      datacenter_id: datacenterId,
      address,
      identity_state: token === undefined ? 'unconfirmed' : 'confirmed',
      identity_since: at,
      identity_note:
        [
          token !== undefined && announced(token),
          before && `This machine was ${before.name}, which was removed on ${before.removed_at!.toISOString().slice(0, 10)}`,
        ]
          .filter(Boolean)
          .join('. ') || null,
      predecessor_id: before?.id ?? null,
      uuid: identity.uuid,
      serial: identity.serial,
      manufacturer: identity.manufacturer,
      product: identity.product,
      fingerprint,
      stage: reading.status.stage,
      unmet: JSON.stringify(reading.status.unmet),
      reachable: true,
      created_at: at,
      updated_at: at,
      ...(readingColumns(reading, at) as Partial<store.NewServer>),
    }
    for (let tries = 0; tries < mostNames; tries++) {
      const made = await store.insert(tx, { ...server, name: newName(random) })
      if (!made && (await store.hasUuid(tx, identity.uuid))) return undefined
      if (!made) continue
      await record(tx, caller, {
        action: 'server.added',
        target: { kind: 'server', id: made.id, name: made.name },
        after: { ...audited(made), ...(token !== undefined && { join_token: token }) },
        event: { name: 'server.created', version: made.version },
      })
      return made
    }
    throw new Error('No name is free for a new server')
  }

  /**
   * The caller must not have locked server rows.
   * @returns null where the hardware is known at an address at which nobody has looked for it: look there (`twice`), and come back
   */
  const register = async (tx: Tx, caller: Caller, found: Candidate, reading: Reading, options: RegisterOptions): Promise<Registration | null> => {
    const { datacenterId, token } = options
    const at = new Date(clock.now())
    const { identity } = found
    const recognised = recognise(await store.lockByHardware(tx, identity.uuid, found.address), found)
    const seen = {
      fingerprint: found.fingerprint,
      stage: reading.status.stage,
      unmet: JSON.stringify(reading.status.unmet),
      reachable: true,
      unreachable_since: null,
      reason: null,
      ...readingColumns(reading, at),
    }
    switch (recognised.kind) {
      case 'unasked':
        return null
      case 'new': {
        const server = await makeNew(tx, caller, found, reading, options)
        if (!server) return register(tx, caller, found, reading, options)
        await store.writeContacts(tx, [{ id: server.id, at }])
        const { product, manufacturer } = identity
        return {
          kind: 'new',
          server,
          sentence: `Registered as ${server.name}: ${[manufacturer, product].filter(Boolean).join(' ') || `UUID ${identity.uuid}`}${server.identity_note ? `. ${server.identity_note}` : ''}`,
        }
      }
      case 'known': {
        // Its certificate may differ at another address, so only readings from the known address are stored.
        if (recognised.server.address !== found.address) return recognised
        const known = recognised.server
        const wanted = { ...seen, ...(datacenterId && known.datacenter_id === null && known.cluster_id === null && { datacenter_id: datacenterId }) }
        // Added by address, unconfirmed, and without a note that needs a decision.
        const trusted =
          token !== undefined && known.identity_state === 'unconfirmed' && known.identity_note === null
            ? ({ identity_state: 'confirmed', identity_since: at, identity_note: announced(token) } as const)
            : null
        const server = trusted ? await note(tx, caller, known, 'server.confirmed', { ...wanted, ...trusted }) : await store.update(tx, known.id, wanted, at)
        await store.writeContacts(tx, [{ id: server.id, at }])
        if (!trusted) await tell(tx, caller, { name: 'server.updated', object: { kind: 'server', id: server.id }, version: server.version })
        return { ...recognised, server }
      }
      case 'moved': {
        const server = await note(tx, caller, recognised.server, 'server.moved', { ...seen, address: found.address, identity_note: recognised.sentence })
        await store.writeContacts(tx, [{ id: server.id, at }])
        return { ...recognised, server }
      }
      default: {
        const { server } = recognised
        const isKnown = server.identity_state === 'changed' && server.seen_uuid === identity.uuid && server.seen_serial === identity.serial
        if (isKnown) return recognised
        const change = {
          identity_state: 'changed',
          identity_since: at,
          identity_note: recognised.sentence,
          seen_uuid: identity.uuid,
          seen_serial: identity.serial,
        } as const
        return { ...recognised, server: await note(tx, caller, server, 'server.identity_alarm', change) }
      }
    }
  }
  return register
}
