/** Makes what answered at an address a server, in one transaction: a new one, or a note or an alarm at one that is known. */
import type { Clock } from '../../clock.ts'
import type { Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Recorder } from '../../record.ts'
import type { Reading } from '../../talos-fleet/reading.ts'
import { newName } from './name.ts'
import { readingColumns } from './observe.ts'
import { audited } from './present.ts'
import { type Candidate, recognise } from './recognise.ts'
import * as store from './store.ts'

export interface Registration {
  readonly kind: 'new' | 'known' | 'moved' | 'alarm'
  readonly server: store.ServerRow
  /** What happened, for the step of the operation. */
  readonly sentence: string
}

export interface RegisterParts {
  readonly clock: Clock
  readonly random: () => number
  readonly recorder: Recorder
}

/** Names tried before giving up: with 10,000 servers of five million names, the second is hardly ever needed. */
const mostNames = 50

export function registering({ clock, random, recorder: { record, tell } }: RegisterParts) {
  const note = async (tx: Tx, caller: Caller, row: store.ServerRow, action: string, change: store.ServerChange): Promise<store.ServerRow> => {
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

  /** undefined: the same machine was registered by somebody else a moment ago. */
  const makeNew = async (tx: Tx, caller: Caller, found: Candidate, reading: Reading, datacenterId: string | null): Promise<store.ServerRow | undefined> => {
    const at = new Date(clock.now())
    const { identity, fingerprint, address } = found
    const before = await store.removedByHardware(tx, identity.uuid, identity.serial)
    const server: Omit<store.NewServer, 'name'> = {
      datacenter_id: datacenterId,
      address,
      identity_state: 'unconfirmed',
      identity_since: at,
      identity_note: before ? `This machine was ${before.name}, which was removed on ${before.removed_at!.toISOString().slice(0, 10)}` : null,
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
        after: audited(made),
        event: { name: 'server.created', version: made.version },
      })
      return made
    }
    throw new Error('No name is free for a new server')
  }

  /** The caller has locked nothing of servers yet. */
  const register = async (tx: Tx, caller: Caller, found: Candidate, reading: Reading, datacenterId: string | null): Promise<Registration> => {
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
      case 'new': {
        const server = await makeNew(tx, caller, found, reading, datacenterId)
        if (!server) return register(tx, caller, found, reading, datacenterId)
        await store.writeContacts(tx, [{ id: server.id, at }])
        const { product, manufacturer } = identity
        return {
          kind: 'new',
          server,
          sentence: `Registered as ${server.name}: ${[manufacturer, product].filter(Boolean).join(' ') || `UUID ${identity.uuid}`}${server.identity_note ? `. ${server.identity_note}` : ''}`,
        }
      }
      case 'known': {
        // At another of its own addresses its certificate may be another one too: only what was read at the known address is kept.
        if (recognised.server.address !== found.address) return recognised
        const server = await store.update(
          tx,
          recognised.server.id,
          { ...seen, ...(datacenterId && recognised.server.datacenter_id === null && { datacenter_id: datacenterId }) },
          at,
        )
        await store.writeContacts(tx, [{ id: server.id, at }])
        await tell(tx, caller, { name: 'server.updated', object: { kind: 'server', id: server.id }, version: server.version })
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
