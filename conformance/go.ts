import { spawnSync } from 'node:child_process'

const say = (text: string) => process.stdout.write(`${text}\n`)

/**
 * Runs a command of Go that builds a published program, and returns whether it succeeded. If not,
 * prints that `what` was not tested, and why. That isn't a failure on a machine without Go or
 * without Go's module proxy, but it is where TEST_NOTHING_SKIPPED=1 is set: then the exit code of
 * this process becomes 1.
 */
export function buildWithGo(
  what: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): boolean {
  const { status, error, stderr } = spawnSync('go', args, {
    ...options,
    env: { ...process.env, ...options.env },
    encoding: 'utf8',
  })
  if (status === 0) return true
  const why = error ? 'there is no Go on this machine' : `it could not be built:\n${stderr.trim()}`
  say(`Not tested: ${what}, because ${why}`)
  if (process.env['TEST_NOTHING_SKIPPED'] === '1') process.exitCode = 1
  return false
}
