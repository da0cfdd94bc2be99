import { randomUUID } from 'node:crypto'
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { CliError } from '../exit.ts'

/** A process holds the lock during one refresh: at most three tries of 30 s. */
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

/**
 * Whether the lock is abandoned: its process ran on this machine and has died, or the lock is older
 * than `staleMs`.
 */
async function abandoned(path: string, text: string): Promise<boolean> {
  const [pid, host] = text.split(' ')
  if (host === hostname() && /^\d+$/.test(pid ?? '') && !isAlive(Number(pid))) return true
  const age = await stat(path).then(
    (s) => Date.now() - s.mtimeMs,
    () => 0,
  )
  return age > staleMs
}

/**
 * Removes an abandoned lock. If another process has acquired the lock in the meantime, restores
 * that process's lock.
 */
async function clear(path: string, text: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`
  try {
    await rename(path, aside)
    if ((await readFile(aside, 'utf8')) !== text) await link(aside, path)
  } catch (e) {
    if (!(e instanceof Error && 'code' in e && (e.code === 'ENOENT' || e.code === 'EEXIST')))
      throw e
  } finally {
    await rm(aside, { force: true })
  }
}

/**
 * Runs `work` while this process holds the lock file. Node.js has no flock, so the existence of the
 * file is the lock. The file contains the process id, so that the lock of a killed process can be
 * taken over. Throws CliError if the lock isn't released in time.
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
    if (Date.now() > until)
      throw new CliError('failure', `Another steelyard process holds the lock ${path}`, {
        hint: 'Remove the file if no other steelyard process is running',
      })
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 60))
  }
  try {
    return await work()
  } finally {
    // Removes only its own lock, because another process may have taken over the lock while this
    // process was suspended.
    if ((await readFile(path, 'utf8').catch(() => null)) === text) await rm(path, { force: true })
  }
}
