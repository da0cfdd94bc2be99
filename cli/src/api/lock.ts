import { randomUUID } from 'node:crypto'
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { CliError } from '../exit.ts'

/** A holder keeps it for one refresh: at most three tries of 30 s. */
const staleMs = 120_000
const patienceMs = 45_000

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (e) {
    return e instanceof Error && 'code' in e && e.code === 'EPERM'
  }
}

/** The holder is gone: dead on this machine, or, wherever it ran (a home folder on the network), much too old. */
async function abandoned(path: string, text: string): Promise<boolean> {
  const [pid, host] = text.split(' ')
  if (host === hostname() && /^\d+$/.test(pid ?? '') && !isAlive(Number(pid))) return true
  const age = await stat(path).then(
    (s) => Date.now() - s.mtimeMs,
    () => 0,
  )
  return age > staleMs
}

/** Takes an abandoned lock away; what it took by mistake, because another process was faster, it puts back. */
async function clear(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`
  try {
    await rename(path, aside)
    if ((await readFile(aside, 'utf8')) !== text) await link(aside, path)
  } catch (e) {
    if (!(e instanceof Error && 'code' in e && (e.code === 'ENOENT' || e.code === 'EEXIST'))) throw e
  } finally {
    await rm(aside, { force: true })
  }
}

/**
 * Runs `work` while this process alone holds the lock file. Node has no flock, so the file's existence is the lock, and it names
 * its holder so that one who was killed doesn't hold it for ever. Throws CliError where it stays taken.
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const text = `${process.pid} ${hostname()} ${randomUUID()}`
  const until = Date.now() + patienceMs
  for (;;) {
    try {
      const file = await open(path, 'wx', 0o600)
      await file.writeFile(text)
      await file.close()
      break
    } catch (e) {
      if (!(e instanceof Error && 'code' in e && e.code === 'EEXIST')) throw e
    }
    const held = await readFile(path, 'utf8').catch(() => null)
    if (held !== null && (await abandoned(path, held))) await clear(path, held)
    if (Date.now() > until) throw new CliError('failure', `Another steelyard holds ${path}`, { hint: 'Remove the file if no other one is running' })
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 60))
  }
  try {
    return await work()
  } finally {
    // Only if it is still ours: a process that was stopped for a minute has lost it to another.
    if ((await readFile(path, 'utf8').catch(() => null)) === text) await rm(path, { force: true })
  }
}
