/** Use cases of credentials that several BMCs have in common. */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import {
  type BmcCredential,
  bmcCredentialCreate,
  bmcCredentialGet,
  bmcCredentialLimit,
  bmcCredentialList,
  bmcCredentialRemove,
  bmcCredentialUpdate,
} from '#contract/bmcs/credentials.ts'
import { Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import type { Input } from '#contract/operation.ts'
import { counted } from '#contract/words.ts'
import { inTransaction, violatedConstraint } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { serve } from '../../http/serve.ts'
import { existing, type Versions } from '../../http/tags.ts'
import { demandRoom } from '../../room.ts'
import type { BmcWorld } from './parts.ts'
import { presentCredential as present } from './present.ts'
import { askAgain } from './again.ts'
import * as store from './store.ts'

const takenOr = (error: unknown): unknown => {
  if (violatedConstraint(error) !== 'bmc_credential_name') return error
  const { taken } = nameSentences('Credential')
  return new Problem('name_taken', taken, { name: taken })
}

const remove = (
  { db, record }: BmcWorld,
  caller: Caller,
  id: string,
  ifMatch: Versions,
): Promise<void> =>
  inTransaction(db, async (tx) => {
    const row = existing(await store.lockCredential(tx, id), 'credential', ifMatch)
    const uses = row.bmcs ?? 0
    if (uses > 0)
      throw new Problem(
        'bmc_credential_in_use',
        `${counted(uses, 'BMC', 'BMCs')} ${uses === 1 ? 'uses' : 'use'} ${row.name}: give ${uses === 1 ? 'it' : 'them'} another credential first`,
      )
    await store.removeCredential(tx, id)
    await record(tx, caller, {
      action: 'bmc_credential.removed',
      target: { kind: 'bmc_credential', id, name: row.name },
      before: present(row),
      event: { version: row.version + 1 },
    })
  })

export function credentials(world: BmcWorld) {
  const { db, clock, record, accounts } = world
  const now = () => new Date(clock.now())

  const create = async (
    caller: Caller,
    { name, username, password }: Input<typeof bmcCredentialCreate>['body'],
  ): Promise<BmcCredential> => {
    const id = randomUUID()
    try {
      return await inTransaction(db, async (tx) => {
        await demandRoom(tx, 'bmc_credential', bmcCredentialLimit)
        const made = await store.insertCredential(tx, {
          id,
          name,
          username,
          password_sealed: await accounts.sealForCredential(tx, id, password),
          created_at: now(),
          updated_at: now(),
        })
        await record(tx, caller, {
          action: 'bmc_credential.created',
          target: { kind: 'bmc_credential', id, name },
          after: present(made),
          event: { version: made.version },
        })
        return present(made)
      })
    } catch (error) {
      throw takenOr(error)
    }
  }

  const update = async (
    caller: Caller,
    id: string,
    { name, username, password }: Input<typeof bmcCredentialUpdate>['body'],
    ifMatch: Versions,
  ): Promise<BmcCredential> => {
    try {
      const after = await inTransaction(db, async (tx) => {
        const before = existing(await store.lockCredential(tx, id), 'credential', ifMatch)
        const row = await store.updateCredential(tx, id, {
          ...(name !== undefined && { name }),
          ...(username !== undefined && { username }),
          ...(password !== undefined && {
            password_sealed: await accounts.sealForCredential(tx, id, password),
          }),
          updated_at: now(),
        })
        await record(tx, caller, {
          action: 'bmc_credential.updated',
          target: { kind: 'bmc_credential', id, name: row.name },
          before: present(before),
          after: { ...present(row), ...(password !== undefined && { password: 'changed' }) },
          event: { version: row.version },
        })
        if (username !== undefined || password !== undefined)
          await askAgain(world, tx, caller, await store.withCredential(tx, id))
        return row
      })
      world.wake()
      return present(after)
    } catch (error) {
      throw takenOr(error)
    }
  }

  return (app: FastifyInstance): void => {
    const on = serve(app)
    on(bmcCredentialList, async ({ query }) => {
      const { rows, total } = await store.credentialPage(db, query)
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    })
    on(bmcCredentialGet, async ({ params }) =>
      present(existing(await store.credential(db, params.id), 'credential')),
    )
    on(bmcCredentialCreate, ({ caller, body }) => create(caller, body))
    on(bmcCredentialUpdate, ({ caller, params, body, ifMatch }) =>
      update(caller, params.id, body, ifMatch),
    )
    on(bmcCredentialRemove, ({ caller, params, ifMatch }) =>
      remove(world, caller, params.id, ifMatch).then(() => undefined),
    )
  }
}
