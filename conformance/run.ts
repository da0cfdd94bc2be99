/**
 * Asks Talos's own code: `npm run conformance` writes its answers anew, `-- --check` fails where they are no longer those that are committed.
 * Needs Go and its module proxy; where either is missing it says so and ends well, because `npm test` compares with the committed answers in any case.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keyOf } from './compare.ts'
import { allCases } from './make-cases.ts'
import { answersFile, versions } from './answers.ts'

const isCheck = process.argv.includes('--check')
const say = (text: string) => process.stdout.write(`${text}\n`)
const cases = allCases()
const folder = mkdtempSync(join(tmpdir(), 'conformance-'))
const questions = join(folder, 'cases.json')
const keyed = <Case extends Parameters<typeof keyOf>[0]>(list: readonly Case[]) => list.map((one) => ({ ...one, id: keyOf(one, cases.bases) }))
writeFileSync(questions, JSON.stringify({ ...cases, generate: keyed(cases.generate), patches: keyed(cases.patches) }))

let changed = false
for (const version of versions) {
  const out = join(folder, `${version}.json`)
  const built = spawnSync('go', ['build', '-o', join(folder, version), '.'], { cwd: join(import.meta.dirname, version), encoding: 'utf8' })
  if (built.status !== 0) {
    say(
      `Talos's own code was not asked: ${built.error ? 'there is no Go on this machine' : `it could not be built (${built.stderr.trim().split('\n').at(-1)})`}.`,
    )
    say('The committed answers stand, and npm test compares with them.')
    break
  }
  const ran = spawnSync(join(folder, version), [questions, out], { encoding: 'utf8' })
  if (ran.status !== 0) throw new Error(`${version}: ${ran.stderr}`)
  const answers = readFileSync(out, 'utf8')
  const isSame = answers === readFileSync(answersFile(version), { encoding: 'utf8', flag: 'a+' })
  say(
    `${version}: ${cases.generate.length} configurations and ${cases.patches.length} patches, ${isSame ? 'answered as committed' : 'answered otherwise than committed'}`,
  )
  changed ||= !isSame
  if (!isCheck) writeFileSync(answersFile(version), answers)
}
rmSync(folder, { recursive: true })
if (isCheck && changed) process.exitCode = 1
