import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

/**
 * Uses 0.3 s of processor time in a child, and in a process whose parent has ended. Prints what was
 * counted, and how.
 */
const program = `
import { spawnSync } from 'node:child_process'
import { processorTime } from '${import.meta.dirname}/processor-time.mjs'
const { seconds, how } = processorTime()
const busy = 'for (let used = 0; used < 300_000; ) { const { user, system } = process.cpuUsage(); used = user + system }; console.log("used")'
const used = (shell) => {
  const before = seconds()
  spawnSync('sh', ['-c', shell], { env: { ...process.env, BUSY: busy, NODE: process.execPath } })
  return seconds() - before
}
console.log(JSON.stringify({ how, child: used('"$NODE" -e "$BUSY"'), orphan: used('("$NODE" -e "$BUSY" &) | cat') }))
`

test.runIf(process.platform === 'linux')(
  'the processor time of children is counted, and that of programs without a parent if the account may make a cgroup',
  () => {
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    })
    const { how, child, orphan } = JSON.parse(stdout) as {
      how: string
      child: number
      orphan: number
    }
    expect(child).toBeGreaterThanOrEqual(0.3)
    expect(how).toMatch(/^of all processes$|^without programs that lost their parent/)
    expect(how === 'of all processes' ? orphan : child).toBeGreaterThanOrEqual(0.3)
  },
)
