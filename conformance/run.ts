/**
 * Runs Talos's and etcd's own code. `npm run conformance` regenerates their answers and makes
 * 10,000 calls to a grpc-go server. `-- --check` fails if the answers differ from the committed
 * ones, and makes fewer calls. Both commands fail if a complete response of the server is lost.
 * Needs Go and its module proxy. What can't be built is named and not asked (`go.ts`): `npm test`
 * compares with the committed answers anyway.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSecrets } from '#talos/secrets/bundle.ts'
import { answersFile, authoritiesFile, versions } from './answers.ts'
import { askEtcd } from './ask-etcd.ts'
import { countLostCalls } from './calls.ts'
import { certificateCases, now, ourCertificates } from './certificates.ts'
import { type Cases, keyOf, patchesFor } from './compare.ts'
import { expressionsFor, questionOf, samples } from './expressions.ts'
import { buildWithGo } from './go.ts'
import { compareKubernetes } from './kubernetes-values.ts'
import { allCases } from './make-cases.ts'

if (process.argv.includes('redfish')) {
  // Takes the schemas of REDFISH_SCHEMAS, if it is set.
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'redfish-by-others']
  const env = { ...process.env, TEST_ALL: '1' }
  const { status } = spawnSync(process.execPath, vitest, { stdio: 'inherit', env })
  process.exit(status ?? 1)
}

const isCheck = process.argv.includes('--check')
const calls = isCheck ? 2_000 : 10_000
const say = (text: string) => process.stdout.write(`${text}\n`)
const number = (value: number) => value.toLocaleString('en-US')
const cases = allCases()
const folder = mkdtempSync(join(tmpdir(), 'conformance-'))

/** Builds a Go program of this folder and returns its path; null if it can't be built. */
function build(name: string): string | null {
  const program = join(folder, name)
  const isBuilt = buildWithGo(`conformance/${name}`, ['build', '-o', program, '.'], {
    cwd: join(import.meta.dirname, name),
  })
  return isBuilt ? program : null
}

/**
 * Whether the Go program of this Talos version gives the committed answers; null if the program
 * can't be built.
 */
function ask(version: string, certificates: Certificates): boolean | null {
  const program = build(version)
  if (program === null) return null
  const patches = patchesFor(cases, version)
  const expressions = expressionsFor(version).map(questionOf)
  const questions = writeQuestions(patches, expressions, certificates)
  const out = join(folder, `${version}.json`)
  const hasAuthorities = existsSync(authoritiesFile(version))
  const ran = spawnSync(
    program,
    [questions, out, ...(hasAuthorities ? [] : [authoritiesFile(version)])],
    { encoding: 'utf8' },
  )
  if (ran.status !== 0) throw new Error(`${version}: ${ran.stderr}`)
  const answers = readFileSync(out, 'utf8')
  const isSame = answers === readFileSync(answersFile(version), { encoding: 'utf8', flag: 'a+' })
  const lines = expressions.reduce((sum, { list }) => sum + list.length, 0)
  const asked = `${cases.generate.length} configurations, ${number(patches.length)} patches, ${number(lines)} expressions and ${certificateCases.length} certificates`
  say(
    `${version}: ${asked}, ${isSame ? 'answered as committed' : 'answered otherwise than committed'}`,
  )
  if (!isCheck) writeFileSync(answersFile(version), answers)
  return isSame
}

interface Certificates {
  readonly now: Date
  readonly issued: typeof certificateCases
  readonly ours: Awaited<ReturnType<typeof ourCertificates>>
}

/** Writes the cases for one Talos version and returns the path of the file. */
function writeQuestions(
  patches: Cases['patches'],
  expressions: readonly ReturnType<typeof questionOf>[],
  certificates: Certificates,
): string {
  const path = join(folder, 'cases.json')
  const keyed = <Case extends Parameters<typeof keyOf>[0]>(list: readonly Case[]) =>
    list.map((one) => ({ ...one, id: keyOf(one, cases.bases) }))
  writeFileSync(
    path,
    JSON.stringify({
      ...cases,
      generate: keyed(cases.generate),
      patches: keyed(patches),
      expressions,
      samples,
      certificates,
    }),
  )
  return path
}

/** Whether no response of a grpc-go server was lost; null if the server can't be built. */
async function call(): Promise<boolean | null> {
  const program = build('calls')
  if (program === null) return null
  const { lost } = await countLostCalls(program, calls)
  say(`grpc-go: ${number(lost.length)} of ${number(calls)} calls lost`)
  for (const reason of new Set(lost))
    say(`  ${reason}: ${number(lost.filter((one) => one === reason).length)}`)
  return lost.length === 0
}

/**
 * Whether the published etcd reads our snapshots as committed; null if the program can't be built.
 */
function readSnapshots(): boolean | null {
  const program = build('etcd')
  return program === null ? null : askEtcd(program, folder, isCheck, say)
}

async function main(): Promise<void> {
  const certificates = {
    now,
    issued: certificateCases,
    ours: await ourCertificates(readSecrets(cases.secrets)),
  }
  for (const version of versions) {
    if (ask(version, certificates) === false && isCheck) process.exitCode = 1
  }
  if ((await call()) === false) process.exitCode = 1
  if (readSnapshots() === false) process.exitCode = 1
}

const isKubernetes = process.argv.includes('kubernetes')

try {
  if (isKubernetes) {
    if (compareKubernetes(2_000, folder, say) === false) process.exitCode = 1
  } else await main()
} finally {
  rmSync(folder, { recursive: true })
}
