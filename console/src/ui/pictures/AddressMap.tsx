import { type AddressState, addressStates } from '#contract/network/address-map.ts'
import {
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { type Cidr, formatCidr, parseAddress } from '#contract/network/addresses.ts'
import { useMedia } from '../../lib/use-media.ts'
import {
  addressText,
  amount,
  blockBits,
  cellAt,
  cellCount,
  type Counts,
  countsIn,
  holds,
  indexOf,
  lastIn,
  type DrawnRun,
  runAt,
  stepFrom,
  type Stretch,
  stretchText,
  wayTo,
  wholeOf,
} from './address-grid.ts'
import { AddressCells, stateWords } from './AddressCells.tsx'
import css from './AddressMap.module.css'
import { AddressRanges } from './AddressRanges.tsx'
import { Button } from '../inputs/Button.tsx'
import { Copyable, useCopy } from '../text/Copyable.tsx'
import { cx } from '../cx.ts'
import { TextInput } from '../inputs/Field.tsx'
import { Badge } from '../feedback/Status.tsx'

export interface AddressMapProps<Run extends DrawnRun> {
  /** Accessible name. */
  label: string
  cidr: Cidr
  /**
   * Runs of addresses with the same state, in order, covering the whole CIDR. Must be the same
   * array while nothing changes.
   */
  runs: readonly Run[]
  /** Facts about an address, for its card. */
  about?: (run: Run) => ReactNode
  /** What uses the addresses of a run, for the list of ranges. */
  by?: (run: Run) => ReactNode
  /** The initially selected address. */
  at?: bigint | null
  /** Only the picture, without list and address field, for instance beside a form. */
  alone?: boolean
}

/**
 * A map of a subnet: a cell per address up to a /22, larger subnets as blocks that open. Hover and
 * arrow keys show a cell's card, Enter pins it, and a second Enter copies the address. The map
 * works on runs, so its cost grows with the number of runs and not of addresses.
 */
export function AddressMap<Run extends DrawnRun>({
  label,
  cidr,
  runs,
  about,
  by,
  at = null,
  alone = false,
}: AddressMapProps<Run>) {
  const id = useId()
  const text = formatCidr(cidr)
  const whole = useMemo(() => wholeOf(cidr), [cidr])
  const start = at !== null && holds(whole, at) ? wayTo(whole, at) : [whole]
  const [way, setWay] = useState<readonly Stretch[]>(start)
  const [cursor, setCursor] = useState(
    at === null || !holds(whole, at) ? 0 : indexOf(start.at(-1)!, at),
  )
  const [held, setHeld] = useState(start.length > 1 || at !== null)
  const [hover, setHover] = useState<number | null>(null)
  const [focused, setFocused] = useState(false)
  const [only, setOnly] = useState<AddressState | null>(null)
  const [of, setOf] = useState(text)
  const narrow = useMedia('below', 'sm')
  const wide = useMedia('from', 'md')
  const grid = useRef<HTMLDivElement>(null)
  const { copied, copy } = useCopy()
  /** Shows the cells of the last stretch of `to`, with the cursor on the cell at index `cell`. */
  const show = (to: readonly Stretch[], cell = 0, holding = false) => {
    setWay(to)
    setCursor(cell)
    setHeld(holding)
    setHover(null)
  }
  // A new CIDR resets the selection.
  if (of !== text) {
    setOf(text)
    show([whole])
  }
  const now = way.at(-1)!
  const single = blockBits(now) === 0
  const count = cellCount(now)
  const columns = Math.min(count, count > 256 && wide && !alone ? 32 : 16)
  const counts = useMemo(() => countsIn(runs, now), [runs, now])
  const seen = held ? cursor : (hover ?? (focused ? cursor : null))
  const index = seen === null || seen >= count ? null : seen

  const goTo = (value: bigint) => {
    const to = wayTo(whole, value)
    show(to, indexOf(to.at(-1)!, value), true)
  }
  const goDown = (cell: number) => show([...way, cellAt(now, cell)])
  const goUp = (levels = 1) => show(way.slice(0, -levels), indexOf(way.at(-1 - levels)!, now.base))
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey) return
    const to = stepFrom(cursor, event.key, { columns, count, ends: event.ctrlKey })
    if (to !== null) {
      setCursor(to)
      setHover(null)
      setHeld(false)
    } else if (event.ctrlKey) return
    else if (event.key === 'Enter' || event.key === ' ') {
      if (!single) goDown(cursor)
      else if (held) copy(addressText(now.family, now.base + BigInt(cursor)))
      else setHeld(true)
    } else if (event.key === 'Escape' && held) setHeld(false)
    else if ((event.key === 'Escape' || event.key === 'Backspace') && way.length > 1) goUp()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const cellOf = (target: EventTarget) =>
    target instanceof Element
      ? target.closest<HTMLElement>('[data-cell]')?.dataset['cell']
      : undefined
  const current = index === null || !single ? -1 : runAt(runs, now.base + BigInt(index))
  return (
    <div className={cx(css['map'], alone && css['alone'])}>
      <div className={css['left']}>
        {!alone && (
          <div className={css['tools']}>
            <Jump
              whole={whole}
              text={text}
              onGo={(value) => (goTo(value), grid.current?.focus())}
            />
          </div>
        )}
        {way.length > 1 && (
          <nav className={css['way']} aria-label="Part of the subnet">
            {way.map((stretch, i) =>
              i === way.length - 1 ? (
                <b key={i} className="mono" aria-current="true">
                  {stretchText(stretch)}
                </b>
              ) : (
                <span key={i}>
                  <button type="button" onClick={() => goUp(way.length - 1 - i)}>
                    {stretchText(stretch)}
                  </button>{' '}
                  ›
                </span>
              ),
            )}
          </nav>
        )}
        <div className={css['hold']}>
          <div
            ref={grid}
            role="grid"
            tabIndex={0}
            aria-label={label}
            aria-activedescendant={`${id}-${Math.min(cursor, count - 1)}`}
            className={cx(css['grid'], !single && css['blocks'])}
            style={{ '--columns': columns } as React.CSSProperties}
            onKeyDown={onKeyDown}
            onFocus={() => setFocused(true)}
            onBlur={() => setFocused(false)}
            onPointerMove={(event) => {
              const over = cellOf(event.target)
              if (over !== undefined && event.pointerType !== 'touch') setHover(Number(over))
            }}
            onPointerLeave={() => setHover(null)}
            onClick={(event) => {
              const on = cellOf(event.target)
              if (on === undefined) return
              if (!single) return goDown(Number(on))
              setHeld(!(held && cursor === Number(on)))
              return setCursor(Number(on))
            }}
          >
            <AddressCells id={id} runs={runs} stretch={now} columns={columns} />
            {index !== null && (
              <span className={css['ring']} aria-hidden="true" style={ringAt(index, columns)} />
            )}
          </div>
          {index !== null && (
            <Card
              key={`${now.base}/${index}`}
              at={cellAt(now, index)}
              runs={runs}
              about={about}
              copied={copied}
              held={held}
              place={
                narrow || alone
                  ? null
                  : () => grid.current?.querySelector<HTMLElement>(`[data-cell="${index}"]`) ?? null
              }
            />
          )}
        </div>
        <Legend
          counts={counts}
          only={alone ? undefined : only}
          onOnly={setOnly}
          blocks={single ? null : blockBits(now)}
        />
      </div>
      {!alone && (
        <AddressRanges cidr={cidr} runs={runs} only={only} current={current} by={by} onGo={goTo} />
      )}
    </div>
  )
}

/**
 * Grid position of the ring. Sets start and end of each axis, because an absolutely placed item
 * would otherwise extend to the end of the grid.
 */
function ringAt(index: number, columns: number): React.CSSProperties {
  const [column, row] = [(index % columns) + 2, Math.floor(index / columns) + 2]
  return { gridColumn: `${column} / ${column + 1}`, gridRow: `${row} / ${row + 1}` }
}

const StateCount = ({ state, counts }: { state: AddressState; counts: Counts }) => (
  <>
    <i className={cx(css['cell'], css[state])} />
    {stateWords[state]} <b>{amount(counts[state])}</b>
  </>
)

interface LegendProps {
  counts: Counts
  /**
   * State by which the list of ranges is filtered. Null: no filter. Undefined: there is no list.
   */
  only: AddressState | null | undefined
  onOnly: (state: AddressState | null) => void
  /** log2 of the number of addresses per cell; null if each cell is one address. */
  blocks: number | null
}

/** The legend with counts. A click filters the list. */
function Legend({ counts, only, onOnly, blocks }: LegendProps) {
  return (
    <ul className={css['legend']} aria-label="Legend">
      {addressStates
        .filter((state) => counts[state] > 0n || state === 'used' || state === 'free')
        .map((state) => {
          const inside = <StateCount state={state} counts={counts} />
          return (
            <li key={state}>
              {only === undefined ? (
                <span>{inside}</span>
              ) : (
                <button
                  type="button"
                  aria-pressed={only === state}
                  title="Show only these in the list"
                  onClick={() => onOnly(only === state ? null : state)}
                >
                  {inside}
                </button>
              )}
            </li>
          )
        })}
      {blocks !== null && (
        <li className="t3">a cell is {amount(1n << BigInt(blocks))} addresses</li>
      )}
    </ul>
  )
}

interface CardProps<Run extends DrawnRun> {
  at: Stretch
  runs: readonly Run[]
  about: ((run: Run) => ReactNode) | undefined
  copied: boolean
  held: boolean
  /** The cell to float beside; null docks the card below the map. */
  place: (() => HTMLElement | null) | null
}

/**
 * A card with facts about a cell. The card follows the pointer until the card is pinned; then its
 * links can be used.
 */
function Card<Run extends DrawnRun>({ at, runs, about, copied, held, place }: CardProps<Run>) {
  const card = useRef<HTMLDivElement>(null)
  const floats = place !== null
  useLayoutEffect(() => {
    const [box, cell, frame] = [card.current, place?.() ?? null, card.current?.parentElement]
    if (!floats || box === null || cell === null || !frame) return
    const [c, f] = [cell.getBoundingClientRect(), frame.getBoundingClientRect()]
    // Stays within the map, so that elements beside the map remain usable.
    const room = (frame.parentElement ?? frame).getBoundingClientRect().width - box.offsetWidth
    box.style.left = `${Math.max(0, Math.min(c.left - f.left, room))}px`
    // Below the cell, or above it near the foot of the screen.
    const below = c.top + 8 + box.offsetHeight < document.documentElement.clientHeight - 40
    box.style.top = `${below ? c.bottom - f.top + 6 : c.top - f.top - box.offsetHeight - 6}px`
  })
  const single = at.bits === 0
  const run = single ? runs[runAt(runs, at.base)] : undefined
  const counts = single ? null : countsIn(runs, at)
  return (
    <div
      ref={card}
      className={cx(css['card'], floats ? css['float'] : css['docked'], held && css['held'])}
      role="group"
      aria-label={`About ${stretchText(at)}`}
      aria-live="polite"
    >
      <div className={css['cardhead']}>
        {held && single ? (
          <Copyable value={stretchText(at)} what="address" />
        ) : (
          <b className="mono">{stretchText(at)}</b>
        )}
        {copied && held ? (
          <Badge tone="ok">Copied</Badge>
        ) : (
          run && (
            <Badge
              tone={run.state === 'used' ? 'accent' : run.state === 'reserved' ? 'info' : 'line'}
            >
              {stateWords[run.state].toLowerCase()}
            </Badge>
          )
        )}
      </div>
      {run && about?.(run)}
      {counts && (
        <>
          <p className="t2 fs12">
            {amount(1n << BigInt(at.bits))} addresses, up to{' '}
            <span className="mono">{addressText(at.family, lastIn(at))}</span>
          </p>
          <ul className={css['legend']}>
            {addressStates
              .filter((state) => counts[state] > 0n)
              .map((state) => (
                <li key={state}>
                  <span>
                    <StateCount state={state} counts={counts} />
                  </span>
                </li>
              ))}
          </ul>
        </>
      )}
    </div>
  )
}

/** A field to go to an address. */
function Jump({
  whole,
  text,
  onGo,
}: {
  whole: Stretch
  text: string
  onGo: (value: bigint) => void
}) {
  const [typed, setTyped] = useState('')
  const [wrong, setWrong] = useState<string | null>(null)
  const id = useId()
  const go = (event: FormEvent) => {
    event.preventDefault()
    const address = parseAddress(typed)
    if (address === null) return setWrong('Enter an IP address')
    if (address.family !== whole.family || !holds(whole, address.value))
      return setWrong(`${typed} is outside ${text}`)
    setWrong(null)
    return onGo(address.value)
  }
  return (
    <form className={css['jump']} onSubmit={go} noValidate>
      <TextInput
        value={typed}
        onValue={(value) => {
          setTyped(value)
          setWrong(null)
        }}
        mono
        aria-label="Go to address"
        placeholder="Go to address"
        autoComplete="off"
        spellCheck={false}
        aria-invalid={wrong === null ? undefined : true}
        aria-describedby={wrong === null ? undefined : id}
      />
      <Button type="submit">Go</Button>
      <span id={id} className={css['wrong']} role="status">
        {wrong}
      </span>
    </form>
  )
}
