/** What people decide about a BMC: its address and account, its certificate, its server, its end. */
import type { Bmc, bmcConfirm, bmcMatch, bmcUpdate } from '#contract/bmcs/bmcs.ts'
import { canConfirmBmc } from '#contract/bmcs/bmcs.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import { inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { existing, type Versions } from '../../http/tags.ts'
import { askAgain } from './again.ts'
import type { BmcWorld } from './parts.ts'
import { audited, present } from './present.ts'
import type { BmcRow } from './store.ts'
import * as store from './store.ts'

export interface Changing {
  readonly update: (
    caller: Caller,
    id: string,
    body: Input<typeof bmcUpdate>['body'],
    ifMatch: Versions,
  ) => Promise<Bmc>
  readonly confirm: (
    caller: Caller,
    id: string,
    body: Input<typeof bmcConfirm>['body'],
    ifMatch: Versions,
  ) => Promise<Bmc>
  readonly match: (
    caller: Caller,
    id: string,
    body: Input<typeof bmcMatch>['body'],
    ifMatch: Versions,
  ) => Promise<Bmc>
  readonly remove: (caller: Caller, id: string, ifMatch: Versions) => Promise<void>
}

/** @throws Problem operation_running while an operation acts through it */
async function demandIdle(
  { servers }: Pick<BmcWorld, 'servers'>,
  tx: Tx,
  { server_id, address }: BmcRow,
): Promise<void> {
  if (server_id === null) return
  const { operation_id, name } = await servers.locked(tx, server_id)
  if (operation_id !== null)
    throw new Problem(
      'operation_running',
      `An operation on ${name}, which the BMC at ${address} switches, has not ended`,
    )
}

const target = ({ id, address }: BmcRow) => ({ kind: 'bmc', id, name: address })

function updating(world: BmcWorld): Changing['update'] {
  const now = () => new Date(world.clock.now())
  const { db, record, policy, accounts, wake } = world
  return async (caller, id, { address, port, credential_id, username, password }, ifMatch) => {
    try {
      const after = await inTransaction(db, async (tx) => {
        const before = existing(await store.lock(tx, id), 'BMC', ifMatch)
        const place = {
          address: before.address,
          port: port ?? before.port,
        }
        if (address !== undefined || port !== undefined) {
          await demandIdle(world, tx, before)
          place.address = policy.read(address ?? before.address, place.port, 'address')
        }
        if (credential_id !== undefined && !(await store.holdCredential(tx, credential_id)))
          throw new Problem('not_found', `Credential ${credential_id} not found`)
        const account =
          credential_id !== undefined
            ? { credential_id, username: null, password_sealed: null }
            : username !== undefined && password !== undefined
              ? {
                  credential_id: null,
                  username,
                  password_sealed: await accounts.sealForBmc(tx, id, password),
                }
              : null
        const row = await store.update(tx, id, { ...place, ...account }, now())
        await record(tx, caller, {
          action: 'bmc.updated',
          target: target(row),
          before: audited(before),
          after: { ...audited(row), ...(password !== undefined && { password: 'changed' }) },
          event: { version: row.version },
        })
        await askAgain(world, tx, caller, [row])
        return (await store.find(tx, id))!
      })
      wake()
      return present(after)
    } catch (error) {
      if (violatedConstraint(error) !== 'bmc_place') throw error
      throw new Problem('conflict', 'Another BMC has this address already', {
        address: 'Another BMC has this address already',
      })
    }
  }
}

function confirming(world: BmcWorld): Changing['confirm'] {
  const now = () => new Date(world.clock.now())
  const { db, record, accounts, clients, wake } = world
  return async (caller, id, { fingerprint }, ifMatch) => {
    const after = await inTransaction(db, async (tx) => {
      const before = existing(await store.lock(tx, id), 'BMC', ifMatch)
      const shown = before.certificate?.fingerprint
      demand(canConfirmBmc(present(before)), 'bmc_not_ready')
      if (shown !== fingerprint)
        throw new Problem(
          'bmc_changed',
          `The BMC at ${before.address} showed the certificate ${shown}, not ${fingerprint.slice(0, 100)}: look at it again`,
        )
      if ((await accounts.of(tx, before)) === undefined)
        throw new Problem(
          'bmc_not_ready',
          `Give the BMC at ${before.address} a user name and a password first`,
        )
      const row = await store.update(
        tx,
        id,
        {
          fingerprint,
          status: 'unreachable',
          reason: 'Signing in for the first time',
          status_since: now(),
          // Other hardware may be behind another certificate, so it is read again.
          ...(before.status === 'changed' && {
            uuid: null,
            serial: null,
            macs: [],
            system_path: null,
          }),
        },
        now(),
      )
      await store.updateContact(tx, id, {
        due_at: now(),
        failures: 0,
        slow: false,
        session_sealed: null,
      })
      await record(tx, caller, {
        action: 'bmc.confirmed',
        target: target(row),
        before: audited(before),
        after: audited(row),
        event: { name: 'bmc.updated', version: row.version },
      })
      return row
    })
    clients.forget(id)
    wake()
    return present(after)
  }
}

function deciding(world: BmcWorld): Changing['match'] {
  const now = () => new Date(world.clock.now())
  const { db, record, servers, wake } = world
  return async (caller, id, { node_id }, ifMatch) => {
    const after = await inTransaction(db, async (tx) => {
      const before = existing(await store.lock(tx, id), 'BMC', ifMatch)
      if (before.server_id !== null)
        throw new Problem('conflict', `It switches ${before.server_name} already`)
      if (before.system_path === null)
        throw new Problem('bmc_not_ready', 'What the BMC tells of its server has not been read yet')
      const server = node_id === null ? null : await servers.locked(tx, node_id)
      const other = node_id === null ? undefined : await store.ofServer(tx, node_id)
      if (other)
        throw new Problem('conflict', `${server!.name} has the BMC at ${other.address} already`)
      const server_id =
        node_id ??
        (
          await servers.addBox(tx, caller, {
            bmc_id: id,
            uuid: before.uuid,
            serial: before.serial,
            manufacturer: before.vendor,
            product: null,
            hardware: {
              addresses: [],
              links: [],
              routes: [],
              processors: [],
              memory: [],
              disks: [],
              interfaces: before.macs.map((mac, i) => ({
                id: `port${i + 1}`,
                hardware_addr: mac,
              })),
            },
            datacenterId: before.wishes.datacenter_id ?? null,
            labels: before.wishes.labels ?? {},
          })
        ).id
      const row = await store.update(tx, id, { server_id, candidates: '[]', reason: null }, now())
      await servers.notePower(tx, server_id, {
        bmc_id: id,
        state: row.power,
        since: row.power_since,
      })
      await store.updateContact(tx, id, { due_at: now(), inventory_at: null })
      await record(tx, caller, {
        action: 'bmc.matched',
        target: target(row),
        before: audited(before),
        after: audited(row),
        event: { name: 'bmc.updated', version: row.version },
      })
      return row
    })
    wake()
    return present(after)
  }
}

function removing(world: BmcWorld): Changing['remove'] {
  const { db, record, servers, clients } = world
  return async (caller, id, ifMatch) => {
    const row = await inTransaction(db, async (tx) => {
      const before = existing(await store.lock(tx, id), 'BMC', ifMatch)
      await demandIdle(world, tx, before)
      await store.remove(tx, id)
      if (before.server_id !== null) {
        await servers.removeBox(tx, caller, before.server_id)
        await servers.notePower(tx, before.server_id, null)
      }
      await record(tx, caller, {
        action: 'bmc.removed',
        target: target(before),
        before: audited(before),
        event: { version: before.version + 1 },
      })
      return before
    })
    clients.forget(row.id)
  }
}

export const changing = (world: BmcWorld): Changing => ({
  update: updating(world),
  confirm: confirming(world),
  match: deciding(world),
  remove: removing(world),
})
