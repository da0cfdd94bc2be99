/**
 * `user recover EMAIL [--reset-second-factor]`: lets in an administrator who can't sign in. The only
 * one has nobody else to ask. Possible only on the machine itself, and reveals nothing there: whoever
 * can run it has the database and the key file.
 */
import * as z from 'zod/mini'
import { Problem } from '#contract/errors.ts'
import { email as emailSchema } from '#contract/sessions.ts'
import { minuteOf } from '#contract/words.ts'
import type { Config } from '../config.ts'
import type { Database } from '../db/db.ts'
import { demandMigrated, readMigrations } from '../db/migrate.ts'
import type { Recovered } from '../domains/users/recovery.ts'
import type { Domains } from '../parts.ts'
import { checkFingerprint, readKeyFile } from '../vault/key-file.ts'
import { demandHasRun, withDatabase, withSettings } from './command.ts'
import { domainsFor } from './domains.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

const secondFactorFlag = '--reset-second-factor'
/** Number of administrators that a refusal names. */
const mostNamed = 10

interface Asked {
  readonly email: string
  readonly secondFactor: boolean
}

export async function userRecover(args: readonly string[], around: Surroundings): Promise<number> {
  const usage = (why: string): number => {
    around.err(`${why}\nUsage: steelyard user recover EMAIL [${secondFactorFlag}]\n`)
    return exitCodes.usage
  }
  const [given, more] = args.filter((arg) => arg !== secondFactorFlag)
  if (given === undefined || more !== undefined) return usage('Give one email address')
  const email = z.safeParse(emailSchema, given)
  if (!email.success) return usage(`${given.slice(0, 100)} is not an email address`)
  const asked = { email: email.data, secondFactor: args.includes(secondFactorFlag) }
  return withSettings(around, async (config) => {
    await demandHasRun(config)
    const keys = await readKeyFile(config.keyFile)
    const recover = async (database: Database): Promise<number> => {
      await demandMigrated(database.pool, await readMigrations())
      await checkFingerprint(database.db, keys, config.keyFile)
      const domains = domainsFor(around, { config, database, keys, owner: 'user recover' })
      return letIn(domains, asked, config, around)
    }
    return withDatabase(config, around, recover, { mayMake: false })
  })
}

async function letIn(
  { accounts, users }: Pick<Domains, 'accounts' | 'users'>,
  asked: Asked,
  config: Config,
  around: Surroundings,
): Promise<number> {
  try {
    const recovered = await accounts.recover(asked.email, asked)
    around.out(`${said(recovered, asked, config, around).join('\n')}\n`)
    return exitCodes.ok
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    around.err(`${error.message}. Nothing was changed. ${await whoHelps(users, around)}\n`)
    return error.code === 'not_found' ? exitCodes.notFound : exitCodes.conflict
  }
}

function said(
  { url, expires_at, failuresCleared, hadSecondFactor }: Recovered,
  { email, secondFactor }: Asked,
  { publicUrl, localSignIn }: Config,
  { environment, ownCommand }: Surroundings,
): string[] {
  const factor = hadSecondFactor
    ? secondFactor
      ? 'The second factor is removed, and the sessions have ended'
      : `The second factor stays. If it is lost: ${ownCommand} user recover ${email} ${secondFactorFlag}`
    : secondFactor && 'There was no second factor to remove'
  return [
    `${email} can set a new password once, until ${minuteOf(new Date(expires_at))}, while Steelyard runs:`,
    url,
    !environment['STEELYARD_PUBLIC_URL']?.trim() &&
      `If you reach Steelyard at another address than ${publicUrl}, open the link there`,
    failuresCleared > 0 && `Failed sign-ins that were cleared: ${failuresCleared}`,
    factor,
    !localSignIn &&
      'Passwords are switched off: start Steelyard with STEELYARD_LOCAL_SIGN_IN=1 to sign in with the new one',
  ].filter((line) => line !== false)
}

/** What to do instead, after a refusal. */
async function whoHelps(
  users: Domains['users'],
  { ownCommand }: Pick<Surroundings, 'ownCommand'>,
): Promise<string> {
  if ((await users.count()) === 0)
    return `There are no users yet: ${ownCommand} user add --first EMAIL`
  const admins = await users.administrators(mostNamed)
  return admins.length === 0
    ? "No administrator is enabled, which Steelyard itself doesn't allow: restore a backup from before the database was changed"
    : `Administrators, who can help and whom this command lets in: ${admins.map(({ email }) => email).join(', ')}`
}
