// Lets one command at a time install and build in a checkout. `npm ci` empties `node_modules` first,
// so that of two commands that are started at once on a fresh machine the second would remove what
// the first installs. Plain JavaScript, because the machine's own Node.js runs this file.
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

/** The holder touches the file every second. A file that is older belongs to nobody, in ms. */
const staleMs = 30_000

const unlessMissing = (read) => {
  try {
    return read()
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Whether the process that wrote the file has ended without removing it. */
function isLeft(file) {
  const holder = unlessMissing(() => readFileSync(file, 'utf8'))
  const touched = unlessMissing(() => statSync(file).mtimeMs)
  if (holder === undefined || touched === undefined) return false
  if (Date.now() - touched > staleMs) return true
  const [host, pid] = holder.split(' ')
  // Elsewhere, for instance in another container that has the same folder, the id says nothing.
  if (host !== hostname() || !/^[1-9][0-9]*$/.test(pid ?? '')) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

/**
 * Waits until no other process holds `file`, then holds it until `release` is called or this process
 * exits. Calls `waits` once if it has to wait. In a folder that this user can't write to nothing can
 * be installed either, so nothing is held.
 */
export async function holdAlone(file, waits) {
  for (let told = false; ; await sleep(200))
    try {
      writeFileSync(file, `${hostname()} ${process.pid}`, { flag: 'wx' })
      break
    } catch (error) {
      if (error.code === 'EACCES' || error.code === 'EPERM' || error.code === 'EROFS')
        return () => undefined
      if (error.code !== 'EEXIST') throw error
      if (isLeft(file)) rmSync(file, { force: true })
      else if (!told) {
        told = true
        waits()
      }
    }
  const touching = setInterval(
    () => unlessMissing(() => utimesSync(file, Date.now() / 1000, Date.now() / 1000)),
    1000,
  ).unref()
  const release = () => {
    clearInterval(touching)
    rmSync(file, { force: true })
    process.off('exit', release)
  }
  process.on('exit', release)
  return release
}
