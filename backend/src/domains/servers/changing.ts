/**
 * Users' changes of a server: each locks the server's row, checks a rule and writes row, audit
 * entry and event in one transaction.
 */
import type { AuditAction } from '#contract/audit.ts'
import { type ErrorCode, Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import type { Input } from '#contract/operation.ts'
import type { Operation } from '#contract/operations.ts'
import type { Verdict } from '#contract/rule.ts'
import {
  canConfirmServer,
  canLabelServer,
  canMoveServer,
  canRemoveServer,
  canRenameServer,
  type Server,
  type serverConfirm,
  type serverUpdate,
} from '#contract/servers/servers.ts'
import { type Db, inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import { checkVersion, type Versions } from '../../http/tags.ts'
import { needsMac } from '#contract/servers/identity.ts'
import { relabelling } from '../../labels.ts'
import type { Also } from './api.ts'
import { otherHardwareReason } from './contact/other-hardware.ts'
import { audited, present } from './present.ts'
import type { CallParts } from './parts.ts'
import { noPlace } from './places.ts'
import * as store from './store.ts'

export function demand(verdict: Verdict, code: ErrorCode): void {
  if (!verdict.ok) throw Problem.of(code, verdict)
}

/** @returns the datacenter's code. @throws Problem not_found */
export async function datacenterOf(
  datacenters: CallParts['datacenters'],
  tx: Tx,
  id: string,
): Promise<string> {
  const found = await datacenters.find(tx, id)
  if (!found)
    throw new Problem('not_found', `Datacenter ${id} not found`, {
      datacenter_id: 'There is no such datacenter',
    })
  return found.code
}

/** The server of a row, with the time of its last contact. */
export const shown = async (on: Db | Tx, row: store.ServerRow): Promise<Server> =>
  present(row, (await store.contactsOf(on, [row.id])).get(row.id) ?? null)

export function changing({
  db,
  clock,
  record,
  operations,
  datacenters,
  fleet,
  clusters,
  onRemoved,
}: CallParts) {
  const now = () => new Date(clock.now())

  /** Sets or lifts the quarantine of the locked row. */
  const quarantine = async (
    tx: Tx,
    caller: Caller,
    row: store.ServerRow,
    wanted: Input<typeof serverUpdate>['body']['quarantine'],
  ): Promise<store.ServerRow> => {
    if (wanted === undefined || (wanted?.reason ?? null) === (row.quarantine?.reason ?? null))
      return row
    demand(canLabelServer(row), 'transition_refused')
    const set = wanted && { ...wanted, by: callerName(caller), since: now().toISOString() }
    const after = await store.update(tx, row.id, { quarantine: set && JSON.stringify(set) }, now())
    await record(tx, caller, {
      action: set ? 'server.quarantined' : 'server.quarantine_lifted',
      target: { kind: 'server', id: row.id, name: row.name },
      before: row.quarantine,
      after: set,
      event: { name: 'server.updated', version: after.version },
    })
    return after
  }

  /** Changes the labels and notes of the locked row. */
  const relabel = async (
    tx: Tx,
    caller: Caller,
    row: store.ServerRow,
    body: Parameters<typeof relabelling>[1],
  ): Promise<store.ServerRow> => {
    const { columns, entries } = relabelling(row, body)
    if (entries.length === 0) return row
    demand(canLabelServer(row), 'transition_refused')
    const after = await store.update(tx, row.id, columns, now())
    const target = { kind: 'server', id: row.id, name: row.name } as const
    await record(
      tx,
      caller,
      entries.map(({ what, ...entry }) => ({
        action: `server.${what}` as const,
        target,
        ...entry,
        event: { name: 'server.updated' as const, version: after.version },
      })),
    )
    return after
  }

  /** A change by a user: locks the row, checks the rule, writes row, audit entry and event. */
  const change = (
    caller: Caller,
    id: string,
    ifMatch: Versions,
    action: AuditAction,
    decide: (tx: Tx, row: store.ServerRow, server: Server) => Promise<store.ServerChange>,
    more: Pick<Input<typeof serverUpdate>['body'], 'labels' | 'notes' | 'quarantine'> = {},
  ): Promise<Server> =>
    inTransaction(db, async (tx) => {
      const found = store.existing(await store.lockOne(tx, id), id)
      checkVersion(ifMatch, found.version)
      const labelled = await relabel(tx, caller, found, more)
      const row = await quarantine(tx, caller, labelled, more.quarantine)
      const wanted = await decide(tx, row, await shown(tx, row))
      if (Object.keys(wanted).length === 0) return shown(tx, row)
      const after = await store.update(tx, id, wanted, now())
      await record(tx, caller, {
        action,
        target: { kind: 'server', id, name: after.name },
        before: audited(row),
        after: audited(after),
        event: {
          name: action === 'server.removed' ? action : 'server.updated',
          version: after.version,
        },
      })
      return shown(tx, after)
    })

  return {
    confirm: (
      caller: Caller,
      id: string,
      said: Input<typeof serverConfirm>['body'],
      ifMatch?: Versions,
    ): Promise<Server> =>
      change(caller, id, ifMatch, 'server.confirmed', async (tx, row, server) => {
        demand(canConfirmServer(server), 'conflict')
        const [uuid, serial] = [said.uuid.toLowerCase(), said.serial]
        const trusted = {
          identity_state: 'confirmed',
          identity_since: now(),
          identity_note: null,
          seen_uuid: null,
          seen_serial: null,
        } as const
        // Whether the confirmed hardware answers is unknown until the next contact, which this
        // change causes.
        const unasked = { reachable: null, unreachable_since: null, reason: null } as const
        fleet.forget(id)
        if (uuid === row.uuid && serial === (row.serial ?? ''))
          return row.identity_state === 'changed' || row.seen_uuid !== null
            ? { ...trusted, ...(row.reason === otherHardwareReason && unasked) }
            : { ...trusted, identity_note: row.identity_note }
        const isSeen = uuid === row.seen_uuid && serial === (row.seen_serial ?? '')
        if (!isSeen)
          throw new Problem(
            'identity_changed',
            `The hardware of ${row.name} is UUID ${row.uuid}, serial ${row.serial || 'unknown'}: it has changed since you looked`,
          )
        if (row.cluster_id)
          throw new Problem(
            'conflict',
            `${row.name} is in the cluster ${row.cluster_name}: other hardware can't take its place there. Replace the server in the cluster`,
          )
        if (needsMac({ uuid, serial }))
          throw new Problem(
            'conflict',
            `Other machines have the UUID ${uuid} and the serial number ${serial || '(none)'} as well, so this machine can't be confirmed by them: remove ${row.name}, and add the machine by its address`,
          )
        const other = await store.identified(tx, { uuid, serial })
        if (other && other.id !== id)
          throw new Problem('conflict', `This hardware is already registered as ${other.name}`)
        // From now on this is a different machine, so readings of the old machine are cleared.
        return {
          ...trusted,
          uuid,
          serial,
          identity_mac: null,
          hardware: null,
          hardware_at: null,
          talos_version: null,
          schematic: null,
          secure_boot: null,
          system_disk: null,
          fingerprint: null,
          ...unasked,
        }
      }).catch(async (error: unknown) => {
        // A concurrent call has registered a server with this UUID.
        if (violatedConstraint(error) !== 'server_uuid') throw error
        const other = await store.identified(db, { ...said, uuid: said.uuid.toLowerCase() })
        throw new Problem(
          'conflict',
          `This hardware is already registered as ${other?.name ?? 'another server'}`,
        )
      }),

    async update(
      caller: Caller,
      id: string,
      body: Input<typeof serverUpdate>['body'],
      ifMatch?: Versions,
    ): Promise<Server> {
      try {
        return await change(
          caller,
          id,
          ifMatch,
          body.name === undefined ? 'server.moved_to_datacenter' : 'server.renamed',
          async (tx, row, server) => {
            const wanted: store.ServerChange = {}
            if (body.name !== undefined && body.name !== row.name) {
              demand(canRenameServer(server), 'name_fixed')
              wanted.name = body.name
            }
            if (body.datacenter_id !== undefined && body.datacenter_id !== row.datacenter_id) {
              demand(canMoveServer(server), 'server_in_cluster')
              if (body.datacenter_id !== null)
                await datacenterOf(datacenters, tx, body.datacenter_id)
              // It has left the racks of its former datacenter.
              Object.assign(wanted, { datacenter_id: body.datacenter_id }, noPlace)
            }
            return wanted
          },
          body,
        )
      } catch (error) {
        // The unique index decides between concurrent renames.
        if (violatedConstraint(error) !== 'server_name') throw error
        const { taken } = nameSentences('Server')
        throw new Problem('name_taken', taken, { name: taken })
      }
    },

    /** `force`: also removes a silent server of a cluster, and removes it from the cluster. */
    async remove(
      caller: Caller,
      id: string,
      {
        force = false,
        ifMatch,
        signal,
        also,
      }: { force?: boolean; ifMatch?: Versions; signal?: AbortSignal; also?: Also } = {},
    ): Promise<{ operation: Operation }> {
      const forgotten = force ? await clusters.forgetServer(caller, id, { ifMatch, signal }) : null
      if (forgotten) return { operation: forgotten }
      let operation: Operation | undefined
      await change(caller, id, ifMatch, 'server.removed', async (tx, row, server) => {
        demand(
          canRemoveServer(server),
          row.operation_id && !row.cluster_id ? 'operation_running' : 'server_in_cluster',
        )
        fleet.forget(id)
        operation = await operations.done(tx, caller, 'serverRemove', row)
        await also?.(tx, operation)
        await onRemoved(tx, id)
        return { status: 'deleted', removed_at: now(), type: 'unknown', ...noPlace }
      })
      return { operation: operation! }
    },
  }
}
