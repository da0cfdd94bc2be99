/** The build after this one, for tests of an upgrade: with one migration more. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Release } from '../artefact.ts'
import { builtSource } from '../build.ts'

const migrations = 'backend/src/db/migrations'

/** Builds it, and returns its version: `+test` after that of the release. */
export async function buildNext(release: Release): Promise<string> {
  const version = `${release.version}${release.version.includes('+') ? '.' : '+'}test`
  const count = readdirSync(join(release.home, migrations)).filter((n) => n.endsWith('.sql')).length
  const number = String(count + 1).padStart(4, '0')
  await builtSource(release, version, {
    [`${migrations}/${number}_release-trial.sql`]:
      'create table release_trial (id integer primary key);\n',
  })
  return version
}
