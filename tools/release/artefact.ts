/** What each part of a release gets and gives. `release.ts` has the list of the parts. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, statfsSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Platform } from './platforms.ts'

export interface Release {
  /** As `package.json` has it, or with an addition such as `+test`: in the names of the files and inside of them. */
  readonly version: string
  /** The platforms to make; all, unless the script is told otherwise. */
  readonly platforms: readonly Platform[]
  /** Folder of the finished files. */
  readonly out: string
  /** Folder of what was downloaded; it survives this run. */
  readonly cache: string
  /** Folder for everything in between; removed at the end. */
  readonly work: string
  /** The repository. */
  readonly home: string
  /** Time of the last commit in seconds, for the times inside of archives. */
  readonly epochSeconds: number
  readonly say: (line: string) => void
}

export interface Artefact {
  /** For `--only`. */
  readonly name: string
  /** Makes the files in `release.out`, and returns their names. */
  readonly make: (release: Release) => Promise<readonly string[]>
  /** Tries the files as an operator would. Throws if something is wrong. */
  readonly test?: (release: Release) => Promise<void>
}

/** A reason that the operator of the script can mend, printed without a stack. */
export class ReleaseRefused extends Error {
  override readonly name = 'ReleaseRefused'
}

interface RunOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  readonly input?: string
}

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs a program to its end, whatever its exit code is. */
export async function attempt(
  program: string,
  args: readonly string[],
  { cwd, env = process.env, input }: RunOptions = {},
): Promise<Ran> {
  const child = spawn(program, args, {
    cwd,
    env,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  const texts = { out: '', err: '' }
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (texts.out += text))
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (texts.err += text))
  child.stdin?.on('error', () => undefined).end(input)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ENOENT' ? new ReleaseRefused(`${program} is not installed`) : error),
    )
    child.once('close', resolve)
  })
  return { code, ...texts }
}

/** Runs a program and returns what it prints. @throws Error with its output if it fails */
export async function run(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { code, out, err } = await attempt(program, args, options)
  if (code !== 0)
    throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${(out + err).slice(-4000)}`)
  return out
}

/** SHA-256 of a file in hex. */
export async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** @throws ReleaseRefused if the disk of the folder has less room */
export function demandRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize < bytes)
    throw new ReleaseRefused(
      `The disk is full: ${Math.ceil(bytes / 1e6)} MB are needed where ${folder} is, and ${Math.floor((bavail * bsize) / 1e6)} MB are free`,
    )
}
