/**
 * Measures the speed of the list of servers in a browser whose processor is slowed 4 times: the first row, scrolling, typing, ⌘K and a
 * row's menu, and the number of requests and elements. With a second built checkout, measures the two checkouts in turns and prints the ratio.
 * The database then comes from the older checkout. In the ten minutes after the upgrade, the first full reading of each server may change it, and an open
 * list reloads: it makes six requests more, and single keystrokes and menus take longer.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../processes.ts'
import { addSimulated } from '../simulated.ts'
import { type Admin, callerOf, nodeOf, startOf, whenContacted, whenIdle } from './checkouts.ts'
import { launch } from './console.ts'
import type { Floor } from './floor.ts'
import { measure, type Measured } from './list-page.ts'
import { median } from './numbers.ts'
import { throttle } from './slowed.ts'

export interface Options {
  admin: Admin
  /** Each round measures each checkout once; medians are printed. */
  rounds: number
  /** Numbers of servers to measure at. */
  fleets: readonly number[]
  /** Folder of a second checkout, with its packages installed and its console built. */
  against: string | undefined
  /** Folder for the databases. They are reused if they exist. */
  data: string
  say: (what: string, value: string, bar?: string) => void
}

interface Row {
  key: Exclude<keyof Measured, 'callsList' | 'floor'>
  what: string
  unit: string
  bar?: string
  /** What the value may be at most, as a share of commit 8a935b3. */
  share?: (servers: number) => number
  floor?: keyof Floor
}
/** Times depend on the machine. Their shares are the bars of issue 10, divided by what commit 8a935b3 needed on the machine for which the bars were set. */
const rows: readonly Row[] = [
  { key: 'firstRow', what: 'first row of the list', unit: ' ms', share: (servers) => (servers > 1000 ? 0.7 : 0.86) },
  { key: 'scroll50', what: 'scrolling the list, 50 a page', unit: ' fps', bar: 'at least 55 fps' },
  { key: 'scroll1000', what: 'scrolling the list, 1,000 a page', unit: ' fps', bar: 'at least 55 fps' },
  { key: 'blank', what: 'frames with blank rows meanwhile', unit: ' %' },
  { key: 'keystroke', what: 'worst keystroke in the search', unit: ' ms', bar: 'at most 64 ms', share: () => 64 / 80, floor: 'keystroke' },
  { key: 'palette', what: '⌘K opens', unit: ' ms', bar: 'at most 70 ms', share: () => 70 / 136, floor: 'palette' },
  { key: 'menu', what: "a row's menu opens", unit: ' ms', bar: 'at most 64 ms', share: () => 64 / 72, floor: 'menu' },
  { key: 'requestsSignIn', what: 'requests of the sign-in page', unit: '', bar: 'at most 12' },
  { key: 'requestsList', what: 'requests of the list', unit: '', bar: 'at most 20' },
  { key: 'nodesPerRow', what: 'elements per row', unit: '' },
  { key: 'nodes1000', what: 'elements of the table, 1,000 a page', unit: '' },
]

export async function browserBudgets({ admin, rounds, fleets, against, data, say }: Options): Promise<void> {
  const checkouts = [...(against === undefined ? [] : [against]), process.cwd()]
  for (const servers of fleets) {
    const kept = join(data, String(servers))
    mkdirSync(kept, { recursive: true })
    const browser = await launch()
    const fleet = ['simulator/src/main.ts', '--servers', String(servers), '--data', join(kept, 'simulator')]
    const simulator = await run(nodeOf('.'), fleet, /^Simulator is ready/)
    try {
      const sinceStart = new Date().toISOString()
      // Adds the missing servers with the older checkout. The newer checkout can then upgrade its copy of the database.
      const { url, program } = await startOf({ checkout: checkouts[0]!, data: kept, servers }, admin)
      const whole = against !== undefined
      await addSimulated(callerOf(url, admin), join(kept, 'simulator', 'control.sock'), { whole })
      await whenContacted(callerOf(url, admin), { since: sinceStart, whole })
      await program.stop()
      const copies = checkouts.map((checkout, i) => ({ checkout, data: `${kept}-${i}`, measured: [] as Measured[] }))
      for (const { data: copy } of copies) {
        spawnSync('rm', ['-rf', copy])
        // `cp -a` keeps the owner of the database's files.
        spawnSync('cp', ['-a', kept, copy])
      }
      for (let round = 0; round < rounds; round++) {
        // One program runs at a time: the contacts of the other one would take processor time from the browser.
        for (const { checkout, data: copy, measured } of copies) {
          const { url, program } = await startOf({ checkout, data: copy, servers }, admin)
          try {
            // After a start the first contact with each server costs more than later ones, and takes processor time from the browser.
            await whenContacted(callerOf(url, admin), { whole: checkout !== process.cwd() })
            await whenIdle(program)
            measured.push(await measure(browser, url, admin, checkout === process.cwd()))
          } finally {
            await program.stop()
          }
        }
      }
      say(`in a browser with ${servers} servers, processor slowed ${throttle} times`, against === undefined ? '' : 'now / other')
      for (const { key, what, unit, bar, share, floor } of rows) {
        const [now, other] = copies.toReversed().map(({ measured }) => median(measured.map((one) => one[key])))
        const shown = (n: number) => n.toFixed(n < 100 && !Number.isInteger(n) ? 1 : 0)
        const value = other === undefined ? `${shown(now!)}${unit}` : `${shown(now!)} / ${shown(other)}${unit}`
        const most = share && `against 8a935b3 at most ${share(servers).toFixed(2)}`
        say(`  ${what}`, value, [bar, most, share && other !== undefined && `is ${(now! / other).toFixed(2)}`].filter(Boolean).join(', '))
        if (key === 'requestsList') {
          // A path that occurs twice is one that the page has read again meanwhile.
          const [calls] = copies
            .at(-1)!
            .measured.map(({ callsList }) => callsList)
            .toSorted((a, b) => b.length - a.length)
          say('    calls of the API among them, most in a round', String(calls!.length), calls!.join(' '))
        }
        if (floor === undefined) continue
        const least = median(copies.at(-1)!.measured.flatMap((one) => one.floor?.[floor] ?? []))
        say('    floor: the same page without scripts', `${shown(least)}${unit}`)
      }
    } finally {
      await browser.close()
      await simulator.stop()
    }
  }
}
