// Lets one command at a time install and build in a checkout. `npm ci` empties `node_modules` first,
// so that of two commands that are started at once on a fresh machine the second would remove what
// the first installs. Plain JavaScript, because the machine's own Node.js runs this file.
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The holder touches the file every second. If nobody can tell whether its process lives, for
 * instance because it runs in another container, an older file belongs to nobody. In ms.
 */
const staleMs = 30_000

const unlessMissing = (read) => {
  try {
    return read()
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * When a process started, as a word. An id may belong to another process later, such as after the
 * start of a machine. Undefined if there is no such process, or if it can't be told.
 */
function startOf(pid) {
  try {
    // The 22nd field, behind the name, which may have any character in it (proc(5)).
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${started}`
  } catch {
    const { status, stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
    })
    return status === 0 ? stdout.trim().replaceAll(/\s+/g, '_') : undefined
  }
}

/** Whether a process of this machine lives that started then; undefined if it can't be told. */
function lives(pid, started) {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (error.code === 'ESRCH') return false
  }
  const now = startOf(pid)
  return started === undefined || started === '-' || now === undefined ? undefined : now === started
}

/** Whether the process that wrote the file has ended without removing it. */
function isLeft(file, holder) {
  const [host, pid, started] = holder.split(' ')
  // The process is asked first: one that lives may be too busy to touch the file. In another
  // container that has the same folder the id says nothing.
  if (host === hostname() && /^[1-9][0-9]*$/.test(pid ?? '')) {
    const isAlive = lives(Number(pid), started)
    if (isAlive !== undefined) return !isAlive
  }
  const touched = unlessMissing(() => statSync(file).mtimeMs)
  return touched !== undefined && Date.now() - touched > staleMs
}

/**
 * Removes a file that its holder has left. Of several that wait, one removes it: the second would
 * remove the file of the first, which holds it by then.
 */
function clear(file, holder) {
  const claim = `${file}.left`
  try {
    linkSync(file, claim)
  } catch (error) {
    if (error.code === 'ENOENT') return
    if (error.code === 'EEXIST') {
      // Whoever made it was killed on the next two lines.
      const made = unlessMissing(() => statSync(claim).ctimeMs)
      if (made !== undefined && Date.now() - made > staleMs) rmSync(claim, { force: true })
      return
    }
    // A file system without links.
  }
  const isSame = unlessMissing(() => readFileSync(file, 'utf8')) === holder
  if (isSame) rmSync(file, { force: true })
  rmSync(claim, { force: true })
}

/**
 * Waits until no other process holds `file`, then holds it until `release` is called or this process
 * exits. Calls `waits` once if it has to wait. In a folder that this user can't write to nothing can
 * be installed either, so nothing is held.
 */
export async function holdAlone(file, waits) {
  const own = `${hostname()} ${process.pid} ${startOf(process.pid) ?? '-'} ${randomUUID()}`
  for (let told = false; ; await sleep(200))
    try {
      writeFileSync(file, own, { flag: 'wx' })
      break
    } catch (error) {
      if (error.code === 'EACCES' || error.code === 'EPERM' || error.code === 'EROFS')
        return () => undefined
      if (error.code !== 'EEXIST') throw error
      const holder = unlessMissing(() => readFileSync(file, 'utf8'))
      if (holder === undefined) continue
      if (isLeft(file, holder)) clear(file, holder)
      else if (!told) {
        told = true
        waits()
      }
    }
  const isOwn = () => unlessMissing(() => readFileSync(file, 'utf8')) === own
  const touching = setInterval(() => {
    if (isOwn()) unlessMissing(() => utimesSync(file, Date.now() / 1000, Date.now() / 1000))
  }, 1000).unref()
  const release = () => {
    clearInterval(touching)
    if (isOwn()) rmSync(file, { force: true })
    process.off('exit', release)
  }
  process.on('exit', release)
  return release
}
