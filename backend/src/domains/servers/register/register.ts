/**
 * Registers the machine at an address in one transaction: as a new server, or with a note or alarm
 * at a known server.
 */
import type { AuditAction } from '#contract/audit.ts'
import { Problem } from '#contract/errors.ts'
import { needsMac } from '#contract/servers/identity.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Tx } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import type { Platform } from '../../../platform.ts'
import { type Fleet, type Found, OtherHardware } from '../../../talos-fleet/fleet.ts'
import { newName } from './name.ts'
import { pack, readingColumns } from '../contact/observe.ts'
import { answered, claimed } from '../contact/other-hardware.ts'
import { audited } from '../present.ts'
import type {
  Candidate,
  Machine,
  Registered,
  Registering,
  RegisterOptions,
  Registration,
} from '../registering.ts'
import { boxesAmong, boxOf } from './boot.ts'
import { macsOf, recognise, sameAmong } from './recognise.ts'
import * as store from '../store.ts'

const macsIn = ({ reading }: Found): string[] => macsOf(reading.inventory.interfaces)

/** Limit of a probe of a silent address, in ms. */
export const probeDeadlineMs = 5_000
/**
 * Maximum number of attempts to find a free name. With 10,000 of five million names in use, a
 * second attempt is rarely needed.
 */
const mostNames = 50
const announced = (token: string): string => `Announced itself with the join token ${token}`

export function registering({
  db,
  clock,
  random,
  record,
  tell,
  fleet,
}: Platform & { fleet: Fleet }): Registering {
  const note = async (
    tx: Tx,
    caller: Caller,
    row: store.ServerRow,
    action: AuditAction,
    change: store.ServerChange,
  ): Promise<store.ServerRow> => {
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

  /**
   * Inserts new servers, each with a random name, and returns their rows. A machine whose UUID or
   * name was taken meanwhile is left out.
   */
  const insertNew = async (
    tx: Tx,
    caller: Caller,
    machines: readonly Machine[],
    { datacenterId, token, labels = {} }: RegisterOptions,
  ): Promise<store.ServerRow[]> => {
    const at = new Date(clock.now())
    const removed = await store.removedWith(
      tx,
      machines.map((m) => m.identity.uuid),
    )
    const made = await store.insert(
      tx,
      machines.map(({ identity, pin, address, reading, identityMac = null, note = null }) => {
        const before = removed.find(
          (r) =>
            r.uuid === identity.uuid &&
            r.serial === identity.serial &&
            r.identity_mac === identityMac,
        )
        const notes = [
          note,
          token !== undefined && announced(token),
          before &&
            `This machine was ${before.name}, which was removed on ${before.removed_at!.toISOString().slice(0, 10)}`,
        ]
        return {
          name: newName(random),
          datacenter_id: datacenterId,
          labels: JSON.stringify(labels),
          address,
          identity_state: token === undefined || note !== null ? 'unconfirmed' : 'confirmed',
          identity_mac: identityMac,
          identity_since: at,
          identity_note: notes.filter(Boolean).join('. ') || null,
          predecessor_id: before?.id ?? null,
          ...identity,
          fingerprint: pin.fingerprint,
          created_at: at,
          updated_at: at,
          ...readingColumns(pack(reading), at),
        } satisfies store.NewServer
      }),
    )
    await record(
      tx,
      caller,
      made.map((row) => ({
        action: 'server.added' as const,
        target: { kind: 'server', id: row.id, name: row.name },
        after: { ...audited(row), ...(token !== undefined && { join_token: token }) },
        event: { name: 'server.created' as const, version: row.version },
      })),
    )
    await store.writeContacts(
      tx,
      made.map(({ id }) => ({ id, at })),
    )
    return made
  }

  const registered = (server: store.ServerRow, doubt: string | null = null): Registered => {
    const what =
      [server.manufacturer, server.product].filter(Boolean).join(' ') || `UUID ${server.uuid}`
    return {
      kind: 'new',
      server,
      doubt,
      sentence: `Registered as ${server.name}: ${what}${server.identity_note ? `. ${server.identity_note}` : ''}`,
    }
  }

  /** Undefined if a concurrent call has registered the same machine. */
  const makeNew = async (
    tx: Tx,
    caller: Caller,
    found: Candidate,
    options: RegisterOptions,
  ): Promise<Registration | undefined> => {
    const { identity, identityMac = null } = found
    for (let tries = 0; tries < mostNames; tries++) {
      const [made] = await insertNew(tx, caller, [found], options)
      if (made) return registered(made, found.note)
      if (await store.identified(tx, { ...identity, identity_mac: identityMac })) return undefined
    }
    throw new Error('No name is free for a new server')
  }

  /**
   * The row of a box that only its BMC knew, if the machine agrees with it in two of three marks. The
   * row keeps its id, name, labels, place and notes.
   */
  const bootBox = async (
    tx: Tx,
    caller: Caller,
    found: Candidate,
    token: string | undefined,
  ): Promise<Registration | undefined> => {
    const box = await boxOf(tx, found.identity, macsIn(found))
    if (!box) return undefined
    const at = new Date(clock.now())
    const server = await note(tx, caller, box, 'server.booted', {
      fingerprint: found.pin.fingerprint,
      ...readingColumns(pack(found.reading), at),
      ...found.identity,
      address: found.address,
      identity_state: token === undefined ? 'unconfirmed' : 'confirmed',
      identity_since: at,
      identity_note: token === undefined ? null : announced(token),
    })
    await store.writeContacts(tx, [{ id: server.id, at }])
    return { kind: 'moved', server, sentence: `${server.name} booted: its BMC knew it before` }
  }

  const register: Registering['register'] = async (tx, caller, found, options) => {
    const { datacenterId, token } = options
    const at = new Date(clock.now())
    const { identity, reading } = found
    const booted = await bootBox(tx, caller, found, token)
    if (booted) return booted
    const known = await store.lockByHardware(tx, identity.uuid, found.address)
    const recognised = recognise(known, {
      ...found,
      macs: macsIn(found),
      addresses: reading.inventory.node_addresses,
    })
    const seen = () => ({
      fingerprint: found.pin.fingerprint,
      ...readingColumns(pack(reading), at),
    })
    switch (recognised.kind) {
      case 'unasked':
        return null
      case 'anonymous':
        return { kind: 'alarm', server: null, sentence: recognised.sentence }
      case 'new': {
        const { identityMac, note } = recognised
        const made = await makeNew(tx, caller, { ...found, identityMac, note }, options)
        return made ?? register(tx, caller, found, options)
      }
      case 'known': {
        // The machine's certificate may differ at another address, so only readings from the known
        // address are stored.
        if (recognised.server.address !== found.address) return { ...recognised, kind: 'known' }
        const known = recognised.server
        const wanted = {
          ...seen(),
          ...(datacenterId &&
            known.datacenter_id === null &&
            known.cluster_id === null && { datacenter_id: datacenterId }),
        }
        // Whether the token confirms the server: it was added by address, isn't confirmed yet, and
        // has no note that needs a user's decision.
        const trusted =
          token !== undefined &&
          known.identity_state === 'unconfirmed' &&
          known.identity_note === null
            ? ({
                identity_state: 'confirmed',
                identity_since: at,
                identity_note: announced(token),
              } as const)
            : null
        const server = trusted
          ? await note(tx, caller, known, 'server.confirmed', { ...wanted, ...trusted })
          : await store.update(tx, known.id, wanted, at)
        await store.writeContacts(tx, [{ id: server.id, at }])
        if (!trusted)
          await tell(tx, caller, {
            name: 'server.updated',
            object: { kind: 'server', id: server.id },
            version: server.version,
          })
        return { ...recognised, kind: 'known', server }
      }
      case 'moved': {
        const server = await note(tx, caller, recognised.server, 'server.moved', {
          ...seen(),
          address: found.address,
          identity_note: recognised.sentence,
        })
        await store.writeContacts(tx, [{ id: server.id, at }])
        return { ...recognised, kind: 'moved', server }
      }
      default: {
        const { server, sentence } = recognised
        const isKnown = server.seen_uuid === identity.uuid && server.seen_serial === identity.serial
        const change = isKnown
          ? {}
          : recognised.kind === 'claims'
            ? claimed(server, identity, sentence)
            : answered(server, { found: identity, at, isProven: false, isSilent: false })
        const isChange = Object.keys(change).length > 0
        return {
          kind: 'alarm',
          sentence,
          server: isChange
            ? await note(tx, caller, server, 'server.identity_alarm', change)
            : server,
        }
      }
    }
  }

  return {
    register,

    async registerNew(tx, caller, machines, options) {
      const uuids = machines.map((m) => m.identity.uuid)
      const addresses = machines.map((m) => m.address)
      const known = await store.knownAmong(tx, uuids, addresses)
      const taken = new Set(known.flatMap(({ uuid, address }) => [uuid, address]))
      const isNew = ({ identity, identity: { uuid }, address }: Machine, i: number) =>
        !needsMac(identity) &&
        !taken.has(uuid) &&
        !taken.has(address) &&
        uuids.indexOf(uuid) === i &&
        addresses.indexOf(address) === i
      const boxes = await boxesAmong(
        tx,
        machines.map(({ identity, reading }) => ({
          ...identity,
          macs: macsOf(reading.inventory.interfaces),
        })),
      )
      const fresh = machines.filter((one, i) => isNew(one, i) && !boxes.has(i))
      const made = fresh.length === 0 ? [] : await insertNew(tx, caller, fresh, options)
      return new Map(made.map((row) => [row.address, registered(row)] as const))
    },

    async candidate(address, found, signal) {
      const { identity } = found
      const seen = { address, identity, macs: macsIn(found) }
      const known = sameAmong(await store.withUuid(db, identity.uuid), seen)
      if (!known || known.address === address)
        return { ...found, address, elsewhere: { address: null, answers: false } }
      const at = (answers: boolean): Candidate => ({
        ...found,
        address,
        elsewhere: { address: known.address, answers },
      })
      try {
        const options = { signal, deadlineMs: probeDeadlineMs, lane: 'probe' } as const
        return at(
          await fleet
            .connection(known)
            .maintenance(
              (_, pin) => Promise.resolve(pin.fingerprint !== found.pin.fingerprint),
              options,
            ),
        )
      } catch (error) {
        // No answer, another machine, or an address that may not be dialled: the hardware isn't at
        // both addresses.
        const isRefused = error instanceof Problem && error.code === 'dial_refused'
        if (error instanceof TalosError || error instanceof OtherHardware || isRefused)
          return at(false)
        throw error
      }
    },

    async memberAt(on, uuid, address) {
      const row = (await store.withUuid(on, uuid)).find((s) => s.address === address)
      return row?.cluster_name
        ? { id: row.id, name: row.name, cluster_name: row.cluster_name }
        : null
    },
  }
}
