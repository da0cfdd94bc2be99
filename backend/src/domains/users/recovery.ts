/**
 * Help for users who can't sign in: a link to set a new password, the removal of second factors and
 * of failed sign-ins. Administrators give it to users, and a command on the machine gives it to an
 * administrator whom nobody else can help.
 */
import { randomBytes } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import type { Answer } from '#contract/operation.ts'
import { resetLinkHours, type userResetPassword, type userUnlock } from '#contract/users.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import { type Caller, demandRole, onMachine } from '../../http/caller.ts'
import { existing } from '../../http/tags.ts'
import type { Platform } from '../../platform.ts'
import { hashOf, type Sessions } from '../sessions/api.ts'
import type { Users } from './api.ts'
import * as store from './store.ts'
import { targetOf } from './target.ts'

type Person = Parameters<typeof targetOf>[0]

export interface Recovered extends Answer<typeof userResetPassword> {
  readonly failuresCleared: number
  /** Whether the account had a second factor, which was removed if that was asked for. */
  readonly hadSecondFactor: boolean
}

interface RecoveryParts extends Pick<Platform, 'db' | 'clock' | 'record' | 'config'> {
  readonly sessions: Sessions
  readonly users: Users
}

export type Recovery = ReturnType<typeof recovery>

export function recovery({ db, clock, record, config, sessions, users }: RecoveryParts) {
  const now = () => new Date(clock.now())

  /** Creates a link in place of the person's previous link. */
  const offerLink = async (
    tx: Tx,
    caller: Caller,
    person: Person,
  ): Promise<Answer<typeof userResetPassword>> => {
    const token = randomBytes(32).toString('base64url')
    const expires_at = new Date(clock.now() + resetLinkHours * 3600_000)
    const offered_by = caller.kind === 'user' ? caller.userId : null
    await store.putReset(tx, {
      person_id: person.id,
      hash: hashOf(token),
      offered_by,
      created_at: now(),
      expires_at,
    })
    await record(tx, caller, {
      action: 'user.password_reset_offered',
      target: targetOf(person),
      after: { expires_at: expires_at.toISOString() },
    })
    // Browsers don't send the fragment, so the token is in no log.
    return {
      url: `${config.publicUrl}/auth/reset#${token}`,
      expires_at: expires_at.toISOString(),
    }
  }

  const removeFactors = async (tx: Tx, caller: Caller, person: Person): Promise<void> => {
    await sessions.resetSecondFactor(tx, caller, person)
    await sessions.endAll(tx, caller, person, 'second_factor_reset')
  }

  const clearFailures = async (
    tx: Tx,
    caller: Caller,
    person: Person,
  ): Promise<Answer<typeof userUnlock>> => {
    const failures_cleared = await sessions.unlock(tx, person.email)
    await record(tx, caller, {
      action: 'user.unlocked',
      target: targetOf(person),
      after: { failures_cleared },
    })
    return { failures_cleared }
  }

  return {
    /**
     * Creates a link with which the person can set a new password. @throws Problem not_found,
     * forbidden
     */
    resetPassword: (caller: Caller, id: string): Promise<Answer<typeof userResetPassword>> =>
      inTransaction(db, async (tx) => {
        await users.demandAdmin(tx, caller)
        const row = existing(await store.lock(tx, id), 'user')
        demandRole(caller, row.role)
        return offerLink(tx, caller, row)
      }),

    /**
     * Removes the second factors of somebody who has lost them, and ends all sessions. @throws
     * Problem not_found, forbidden
     */
    resetSecondFactor: (caller: Caller, id: string): Promise<void> =>
      inTransaction(db, async (tx) => {
        await users.demandAdmin(tx, caller)
        const row = existing(await store.lock(tx, id), 'user')
        demandRole(caller, row.role)
        await removeFactors(tx, caller, row)
      }),

    /** @throws Problem not_found, forbidden */
    unlock: (caller: Caller, id: string): Promise<Answer<typeof userUnlock>> =>
      inTransaction(db, async (tx) => {
        await users.demandAdmin(tx, caller)
        return clearFailures(tx, caller, existing(await store.lock(tx, id), 'user'))
      }),

    /**
     * Creates a link for an administrator who can't sign in, clears the failed sign-ins and, with
     * `secondFactor`, removes the second factors. For a command on the machine: it asks for no
     * permission, because whoever runs it has the database. @throws Problem not_found; conflict
     * for other users, whom an administrator helps
     */
    recover: (email: string, { secondFactor }: { secondFactor: boolean }): Promise<Recovered> =>
      inTransaction(db, async (tx) => {
        const row = await store.lockByEmail(tx, email)
        if (!row) throw new Problem('not_found', `There is no user ${email}`)
        if (row.role !== 'admin')
          throw new Problem(
            'conflict',
            `${email} has the role ${row.role}, and this command helps administrators only`,
          )
        // An administrator decided this, and can take it back.
        if (row.disabled_at !== null) throw new Problem('conflict', `${email} is disabled`)
        const { has_second_factor: hadSecondFactor } = await store.whole(tx, row.id)
        const link = await offerLink(tx, onMachine, row)
        const { failures_cleared: failuresCleared } = await clearFailures(tx, onMachine, row)
        if (secondFactor && hadSecondFactor) await removeFactors(tx, onMachine, row)
        return { ...link, failuresCleared, hadSecondFactor }
      }),
  }
}
