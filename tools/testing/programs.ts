/** Programs of others that tests run: from their registries, into a folder that later runs find. */
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** Where programs of registries are kept for later runs. */
export const programsFolder = join(process.cwd(), 'node_modules/.steelyard/generators')

const ran = (
  { status, error, stdout, stderr }: SpawnSyncReturns<string>,
  command: string,
): string => {
  if (status === 0) return stdout
  throw new Error(`${command} failed: ${error?.message ?? `${stdout}${stderr}`.slice(-4_000)}`)
}
/** @throws Error with the end of the output */
export const run = (
  command: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): string =>
  ran(
    spawnSync(command, args, {
      cwd,
      env: { ...process.env, ...env },
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    }),
    `${command} ${args[0]}`,
  )

/** Runs a program while this process keeps answering. Returns its code and its whole output. */
export async function runBeside(
  command: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const code = new Promise<number | null>((resolve, reject) =>
    child.once('close', resolve).once('error', reject),
  )
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, output: out + err }
}

/** The folder of the programs of an environment with these packages, by pip. */
export function python(name: string, packages: readonly string[]): string {
  const environment = join(programsFolder, `${name}-${packages.join('-').replaceAll('==', '')}`)
  const programs = join(environment, 'bin')
  // Made last, so that an environment without it is made again.
  const whole = join(environment, 'whole')
  if (!existsSync(whole)) {
    run('python3', ['-m', 'venv', '--clear', environment])
    run(join(programs, 'pip'), ['install', '--quiet', ...packages])
    mkdirSync(whole)
  }
  return programs
}
