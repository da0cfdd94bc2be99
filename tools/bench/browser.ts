/**
 * Measures the speed of the list of servers in a browser whose processor is slowed 4 times: the
 * first row, scrolling, typing, ⌘K and a row's menu, and the number of requests and elements. With
 * a second built checkout, measures the two checkouts in turns and prints the ratio. Each checkout
 * registers the same simulated fleet in its own database. In an upgraded database the first full
 * readings would change servers, and each change reloads an open list.
 */
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
/**
 * Times depend on the machine. Their shares are the bars of issue 10, divided by what commit
 * 8a935b3 needed on the machine for which the bars were set.
 */
const rows: readonly Row[] = [
  {
    key: 'firstRow',
    what: 'first row of the list',
    unit: ' ms',
    share: (servers) => (servers > 1000 ? 0.7 : 0.86),
  },
  { key: 'scroll50', what: 'scrolling the list, 50 a page', unit: ' fps', bar: 'at least 55 fps' },
  {
    key: 'scroll1000',
    what: 'scrolling the list, 1,000 a page',
    unit: ' fps',
    bar: 'at least 55 fps',
  },
  { key: 'blank', what: 'frames with blank rows meanwhile', unit: ' %' },
  {
    key: 'keystroke',
    what: 'worst keystroke in the search',
    unit: ' ms',
    bar: 'at most 64 ms',
    share: () => 64 / 80,
    floor: 'keystroke',
  },
  {
    key: 'palette',
    what: '⌘K opens',
    unit: ' ms',
    bar: 'at most 70 ms',
    share: () => 70 / 136,
    floor: 'palette',
  },
  {
    key: 'menu',
    what: "a row's menu opens",
    unit: ' ms',
    bar: 'at most 64 ms',
    share: () => 64 / 72,
    floor: 'menu',
  },
  { key: 'requestsSignIn', what: 'requests of the sign-in page', unit: '', bar: 'at most 12' },
  { key: 'requestsList', what: 'requests of the list', unit: '', bar: 'at most 20' },
  { key: 'nodesPerRow', what: 'elements per row', unit: '' },
  { key: 'nodes1000', what: 'elements of the table, 1,000 a page', unit: '' },
]

export async function browserBudgets({
  admin,
  rounds,
  fleets,
  against,
  data,
  say,
}: Options): Promise<void> {
  for (const servers of fleets) {
    const folder = join(data, 'browser', String(servers))
    const browser = await launch()
    const fleet = [
      'simulator/src/main.ts',
      '--servers',
      String(servers),
      '--data',
      join(folder, 'simulator'),
    ]
    const simulator = await run(nodeOf('.'), fleet, /^Simulator is ready/)
    try {
      const places = [
        ...(against === undefined
          ? []
          : [
              {
                checkout: against,
                data: join(folder, 'other'),
                servers,
                whole: true,
                measured: [] as Measured[],
              },
            ]),
        {
          checkout: process.cwd(),
          data: join(folder, 'now'),
          servers,
          whole: false,
          measured: [] as Measured[],
        },
      ]
      // One program runs at a time: the contacts of the other one would take processor time from
      // the browser.
      for (const { whole, ...place } of places) {
        mkdirSync(place.data, { recursive: true })
        const { url, program } = await startOf(place, admin)
        try {
          await addSimulated(callerOf(url, admin), join(folder, 'simulator', 'control.sock'), {
            whole,
          })
        } finally {
          await program.stop()
        }
      }
      for (let round = 0; round < rounds; round++) {
        for (const { whole, measured, ...place } of places) {
          const { url, program } = await startOf(place, admin)
          try {
            // After a start the first contact with each server costs more than later ones, and
            // takes processor time from the browser.
            await whenContacted(callerOf(url, admin), whole)
            await whenIdle(program)
            measured.push(await measure(browser, url, admin, !whole))
          } finally {
            await program.stop()
          }
        }
      }
      say(
        `in a browser with ${servers} servers, processor slowed ${throttle} times`,
        against === undefined ? '' : 'now / other',
      )
      for (const { key, what, unit, bar, share, floor } of rows) {
        const [now, other] = places
          .toReversed()
          .map(({ measured }) => median(measured.map((one) => one[key])))
        const shown = (n: number) => n.toFixed(n < 100 && !Number.isInteger(n) ? 1 : 0)
        const value =
          other === undefined ? `${shown(now!)}${unit}` : `${shown(now!)} / ${shown(other)}${unit}`
        const most = share && `against 8a935b3 at most ${share(servers).toFixed(2)}`
        say(
          `  ${what}`,
          value,
          [bar, most, share && other !== undefined && `is ${(now! / other).toFixed(2)}`]
            .filter(Boolean)
            .join(', '),
        )
        if (key === 'requestsList') {
          // A path that occurs twice is one that the page has read again meanwhile.
          const [calls] = places
            .at(-1)!
            .measured.map(({ callsList }) => callsList)
            .toSorted((a, b) => b.length - a.length)
          say(
            '    calls of the API among them, most in a round',
            String(calls!.length),
            calls!.join(' '),
          )
        }
        if (floor === undefined) continue
        const least = median(places.at(-1)!.measured.flatMap((one) => one.floor?.[floor] ?? []))
        say('    floor: the same page without scripts', `${shown(least)}${unit}`)
      }
    } finally {
      await browser.close()
      await simulator.stop()
    }
  }
}
