/**
 * `user add --first EMAIL`: creates the first user, an admin. Possible only on the machine itself,
 * neither in the console nor by the API.
 */
import path from 'node:path'
import * as z from 'zod/mini'
import { Problem } from '#contract/errors.ts'
import { email as emailSchema, newPassword } from '#contract/sessions.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../db/db.ts'
import { migrate, readMigrations } from '../db/migrate.ts'
import { users } from '../domains/users/users.ts'
import { logger } from '../log.ts'
import { recorder } from '../record.ts'
import { withDatabase, withSettings } from './command.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

export async function userAdd(args: readonly string[], around: Surroundings): Promise<number> {
  const { err, out } = around
  const usage = (why: string): number => {
    err(`${why}\nUsage: steelyard user add --first EMAIL\n`)
    return exitCodes.usage
  }
  if (!args.includes('--first'))
    return usage(
      'This command can only create the first user; add others in the console or by `steelyard user add`',
    )
  const [given, more] = args.filter((arg) => arg !== '--first' && arg !== '--password-stdin')
  if (given === undefined || more !== undefined) return usage('Give one email address')
  const email = z.safeParse(emailSchema, given)
  if (!email.success) return usage(`${given.slice(0, 100)} is not an email address`)
  const log = logger({ level: 'warn', readable: around.readable, now: Date.now, write: err })
  const add = async (config: Config, { db, pool }: Database): Promise<number> => {
    await migrate(pool, await readMigrations())
    const { record } = recorder({ clock: systemClock })
    const people = users({ db, clock: systemClock, record, log, config })
    const areThere = (): number => {
      err(
        `There are users already: sign in and add more users in the console. If no administrator can sign in: ${around.ownCommand} user recover EMAIL\n`,
      )
      return exitCodes.conflict
    }
    if ((await people.count()) > 0) return areThere()
    const password = await around.askSecret(`Password for ${email.data} (12 to 128 characters): `)
    const read = z.safeParse(newPassword, password)
    if (!read.success) return usage(read.error.issues[0]!.message)
    const made = await people.createFirst({ email: email.data, password: read.data })
    if (!made) return areThere()
    out(
      `${made.email} can sign in now, as an admin of the data in ${path.resolve(config.dataFolder)}\n`,
    )
    return exitCodes.ok
  }
  return withSettings(
    around,
    (config) => withDatabase(config, around, (database) => add(config, database), { log }),
    {
      exitCode: (error) =>
        error instanceof Problem && error.code === 'invalid' ? exitCodes.usage : exitCodes.failure,
    },
  )
}
