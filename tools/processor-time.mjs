// The processor time of this process and of everything that it starts: workers, PostgreSQL, the
// browser, and programs that lose their parent, as those of the fault tests do. Plain JavaScript,
// because the machine's own Node.js runs it.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The cgroup of this process in the unified hierarchy (cgroups(7)), or null. */
function ownGroup() {
  const mount = /^\S+ \S+ \S+ \S+ (\S+) .*- cgroup2 /m.exec(
    readFileSync('/proc/self/mountinfo', 'utf8'),
  )?.[1]
  const path = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
  return mount === undefined || path === undefined ? null : join(mount, path)
}

/**
 * Moves this process to a new cgroup, whose `cpu.stat` counts all processes that were ever in it.
 * @throws Error if this account may not do that
 */
function inNewGroup() {
  const parent = ownGroup()
  if (parent === null) throw new Error('no cgroup2')
  const group = join(parent, `steelyard-test-${process.pid}`)
  mkdirSync(group)
  const moveTo = (folder) => writeFileSync(join(folder, 'cgroup.procs'), String(process.pid))
  const seconds = () =>
    Number(/^usage_usec (\d+)$/m.exec(readFileSync(join(group, 'cpu.stat'), 'utf8'))[1]) / 1e6
  const end = () => {
    try {
      moveTo(parent)
      rmdirSync(group)
    } catch {
      // A program that a test has left running keeps the group.
    }
  }
  try {
    moveTo(group)
    seconds()
  } catch (error) {
    end()
    throw error
  }
  process.once('exit', end)
  return { seconds, how: 'of all processes' }
}

/**
 * Fields 14 to 17 of proc_pid_stat(5): the time of this process and of all children that it, or
 * they, waited for. In ticks of 10 ms.
 */
const ofWaitedFor = {
  seconds() {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100
  },
  how: 'without programs that lost their parent: this account may not make a cgroup',
}

/**
 * `seconds()`: processor time since the call, or of this process since its start. `how`: what it
 * counts, in words. Null where there is no /proc.
 */
export function processorTime() {
  try {
    return inNewGroup()
  } catch {
    return process.platform === 'linux' ? ofWaitedFor : null
  }
}
