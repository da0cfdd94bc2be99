import type { AddressState } from '#contract/network/address-map.ts'
import { type ReactNode, useMemo, useState } from 'react'
import type { Cidr } from '#contract/network/addresses.ts'
import { addressText, amount, firstFree, type DrawnRun, rangeText } from './address-grid.ts'
import { stateWords } from './AddressCells.tsx'
import css from './AddressMap.module.css'
import { Button } from '../inputs/Button.tsx'

/** Lines shown at first, and added with each click. */
const page = 100

interface AddressRangesProps<Run extends DrawnRun> {
  cidr: Cidr
  runs: readonly Run[]
  /** Shows only runs with this state. */
  only: AddressState | null
  /** Index in `runs` of the selected run. */
  current: number
  by: ((run: Run) => ReactNode) | undefined
  onGo: (value: bigint) => void
}

/** The map as text: every run in order, for screen readers and for searching. */
export function AddressRanges<Run extends DrawnRun>({
  cidr,
  runs,
  only,
  current,
  by,
  onGo,
}: AddressRangesProps<Run>) {
  const [shown, setShown] = useState(page)
  // Indexes in `runs`; null means all.
  const wanted = useMemo(
    () => (only === null ? null : runs.flatMap((run, at) => (run.state === only ? at : []))),
    [runs, only],
  )
  const count = wanted?.length ?? runs.length
  const listed =
    wanted?.slice(0, shown) ?? Array.from({ length: Math.min(count, shown) }, (_, at) => at)
  const next = firstFree(runs)
  const reachable = { tabIndex: 0 }
  return (
    <section className={css['ranges']} aria-label="Ranges">
      <div className={css['rangehead']}>
        <h2 className="h2">Ranges</h2>
        <span className="t3 fs12 hide-sm">
          arrow keys move, Enter pins an address, Enter again copies it
        </span>
        {next === null ? (
          <span className="t3 fs13 right">No free address</span>
        ) : (
          <button type="button" className={css['next']} onClick={() => onGo(next)}>
            Next free: <span className="mono">{addressText(cidr.family, next)}</span>
          </button>
        )}
      </div>
      <div className={css['list']} {...reachable} role="group" aria-label="List of ranges">
        <table>
          <thead>
            <tr>
              <th scope="col">Addresses</th>
              <th scope="col">State</th>
              <th scope="col">By</th>
            </tr>
          </thead>
          <tbody>
            {listed
              .map((at) => ({ at, run: runs[at]! }))
              .map(({ at, run }) => (
                <tr key={at} aria-current={at === current ? 'true' : undefined}>
                  <td>
                    <button type="button" onClick={() => onGo(run.first)}>
                      {rangeText(cidr, run.first, run.last)}
                    </button>
                  </td>
                  <td className={run.state === 'free' ? css['free'] : undefined}>
                    {stateWords[run.state]}
                  </td>
                  <td>
                    {(run.state === 'free' ? null : by?.(run)) ??
                      counted(run.last - run.first + 1n)}
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
        {count === 0 && <p className={css['more']}>None.</p>}
        {count > shown && (
          <p className={css['more']}>
            <Button size="small" onClick={() => setShown(shown + page)}>
              {`Show more of ${amount(BigInt(count))}`}
            </Button>
          </p>
        )}
      </div>
    </section>
  )
}

const counted = (n: bigint): string => `${amount(n)} ${n === 1n ? 'address' : 'addresses'}`
