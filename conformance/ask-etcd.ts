/** Runs the code of the published etcd, the Go program in `etcd/`, on snapshots. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  answersOf,
  type EtcdFound,
  etcdAnswersFile,
  leftAfterWrites,
  simulatedSnapshot,
  writesFile,
} from './snapshots.ts'

/**
 * The content that etcd finds in a snapshot and in a member that is restored from it. Throws with
 * etcd's message if it refuses the snapshot.
 */
export function readByEtcd(program: string, file: string): EtcdFound {
  const { status, stdout, stderr } = spawnSync(program, ['read', file], {
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  })
  if (status !== 0) throw new Error(stderr.trim())
  return JSON.parse(stdout) as EtcdFound
}

/**
 * Saves a snapshot of a new member of the published etcd, into which the writes of `writesFile`
 * were made.
 */
export function saveByEtcd(program: string, file: string): void {
  const { status, stderr } = spawnSync(program, ['save', writesFile, file], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr.trim())
}

/**
 * Whether etcd finds the committed answers in the snapshot of `simulatedSnapshot()`, and refuses
 * damaged ones. Without `isCheck` the answers are written.
 */
export function askEtcd(
  program: string,
  folder: string,
  isCheck: boolean,
  say: (text: string) => void,
): boolean {
  const snapshot = simulatedSnapshot()
  const found = readByEtcd(program, written(folder, 'simulated.snapshot', snapshot))
  const answers = `${JSON.stringify(answersOf(snapshot, found), null, 1)}\n`
  const isSame = answers === readFileSync(etcdAnswersFile, { encoding: 'utf8', flag: 'a+' })
  if (!isCheck) writeFileSync(etcdAnswersFile, answers)
  say(
    `etcd ${found.etcd}: ${found.keys.length} keys of a simulated snapshot read and restored, ${isSame ? 'answered as committed' : 'answered otherwise than committed'}`,
  )
  return [
    isSame,
    ...refusals(program, folder, snapshot, say),
    ownSnapshot(program, folder, say),
    throughSteelyard(program, folder, say),
  ].every(Boolean)
}

/**
 * Whether etcd refuses a snapshot with a changed byte, a truncated one, and one without its hash.
 */
function refusals(
  program: string,
  folder: string,
  snapshot: Buffer,
  say: (text: string) => void,
): boolean[] {
  const changed = Buffer.from(snapshot)
  changed[changed.length - 1]! ^= 1
  const damaged = {
    'a wrong hash': changed,
    'no hash': snapshot.subarray(0, -32),
    'its end missing': snapshot.subarray(0, 40_000),
  }
  return Object.entries(damaged).map(([what, bytes]) => {
    try {
      readByEtcd(program, written(folder, 'damaged.snapshot', bytes))
    } catch {
      return true
    }
    say(`etcd reads a simulated snapshot with ${what}`)
    return false
  })
}

/**
 * Whether a snapshot that etcd saves now has the objects of `writesFile`, so that the committed
 * snapshot can be made again.
 */
function ownSnapshot(program: string, folder: string, say: (text: string) => void): boolean {
  const file = join(folder, 'saved.snapshot')
  saveByEtcd(program, file)
  const found = Object.fromEntries(
    readByEtcd(program, file).keys.map(({ key, revision, value }) => [key, { revision, value }]),
  )
  const isSame = isDeepStrictEqual(found, leftAfterWrites())
  if (!isSame) say('etcd has other keys in its own snapshot than were written')
  return isSame
}

const backendTest = 'backend/src/domains/snapshots/published-etcd.test.ts'

/**
 * Whether Steelyard restores the snapshot that etcd has just saved, and etcd the one that Steelyard
 * then takes of a simulated cluster.
 */
function throughSteelyard(program: string, folder: string, say: (text: string) => void): boolean {
  const { status, stdout, stderr } = spawnSync(
    'npx',
    ['vitest', 'run', '--project', 'backend-machines', backendTest],
    {
      cwd: join(import.meta.dirname, '..'),
      encoding: 'utf8',
      env: { ...process.env, CONFORMANCE_ETCD: folder },
    },
  )
  if (status !== 0) {
    say(`Steelyard fails with a snapshot that etcd has just saved:\n${stdout}${stderr}`)
    return false
  }
  const expected = JSON.parse(readFileSync(join(folder, 'taken.json'), 'utf8')) as {
    revision: number
    uids: string[]
  }
  const { keys, revision, written: isWritten } = readByEtcd(program, join(folder, 'taken.snapshot'))
  const found = new Set(keys.map(({ value }) => (value.metadata as { uid?: string }).uid))
  const lost = expected.uids.filter((uid) => !found.has(uid))
  const isWhole = lost.length === 0 && revision === expected.revision && isWritten
  const seen = `${expected.uids.length} objects at revision ${expected.revision}`
  say(
    isWhole
      ? `etcd restores ${seen} from a snapshot that Steelyard has taken`
      : `etcd finds ${lost.length} objects less, at revision ${revision}, than the ${seen}`,
  )
  return isWhole
}

function written(folder: string, name: string, bytes: Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}
