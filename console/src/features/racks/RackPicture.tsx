import { type KeyboardEvent, useRef, useState } from 'react'
import type { Rack } from '#contract/racks/racks.ts'
import { cx } from '../../ui/cx.ts'
import css from './Racks.module.css'
import { letterOf, type Shelf, shelfSaid, stepFrom, toneOf } from './rack-shelves.ts'

/** Measures of the drawing. */
/** Above the 24 px that a target must have (WCAG 2.5.8) where the picture is drawn 5 % smaller. */
const unitHeight = 26
const width = 280
const rail = 26
const inner = width - 2 * rail

interface RackPictureProps {
  rack: Rack
  shelves: readonly Shelf[]
  /** The shelf that is marked, by its key. */
  current: string | null
  onCurrent: (key: string | null) => void
  onOpen: (shelf: Shelf) => void
}

/**
 * A rack from its front. Each server and each free unit is a button: arrows, Home and End move, Enter
 * opens. A server of half the depth takes the left half at the front, the right half at the rear.
 */
export function RackPicture({ rack, shelves, current, onCurrent, onOpen }: RackPictureProps) {
  const [at, setAt] = useState(0)
  const picture = useRef<SVGSVGElement>(null)
  const reached = Math.min(at, shelves.length - 1)
  const onKeyDown = (event: KeyboardEvent<SVGElement>) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const to = stepFrom(reached, event.key, shelves.length)
    if (to !== null) {
      setAt(to)
      picture.current?.querySelector<SVGElement>(`[data-shelf="${to}"]`)?.focus()
    } else if (event.key === 'Enter' || event.key === ' ') onOpen(shelves[reached]!)
    else return
    event.preventDefault()
  }
  return (
    <svg
      ref={picture}
      className={css['picture']}
      viewBox={`0 0 ${width} ${rack.units * unitHeight + 8}`}
      role="group"
      aria-label={`Rack ${rack.name}, from above to below`}
      onKeyDown={onKeyDown}
    >
      <rect
        className={css['frame']}
        x="0.5"
        y="0.5"
        width={width - 1}
        height={rack.units * unitHeight + 7}
        rx="4"
      />
      {Array.from({ length: rack.units }, (_, i) => (
        <text
          key={i}
          className={css['number']}
          x={rail - 6}
          y={4 + (rack.units - i - 0.5) * unitHeight}
          aria-hidden="true"
        >
          {i + 1}
        </text>
      ))}
      {shelves.map((shelf, i) => {
        const { server } = shelf
        const face = server?.placement?.face ?? 'both'
        const x = rail + (face === 'rear' ? inner / 2 : 0)
        const y = 4 + (rack.units - shelf.unit - shelf.height + 1) * unitHeight
        const wide = face === 'both' ? inner : inner / 2
        return (
          <g
            // By its place, so that the focus stays where a server takes a free unit.
            key={i}
            role="button"
            tabIndex={i === reached ? 0 : -1}
            data-shelf={i}
            aria-label={shelfSaid(shelf)}
            className={cx(
              css['shelf'],
              css[toneOf(shelf)],
              shelf.key === current && css['current'],
            )}
            onClick={() => {
              setAt(i)
              onOpen(shelf)
            }}
            onFocus={() => {
              setAt(i)
              onCurrent(shelf.key)
            }}
            onBlur={() => onCurrent(null)}
            onPointerEnter={() => onCurrent(shelf.key)}
            onPointerLeave={() => onCurrent(null)}
          >
            <rect
              x={x + 1}
              y={y + 1}
              width={wide - 2}
              height={shelf.height * unitHeight - 2}
              rx="2"
            />
          </g>
        )
      })}
      {/* Beside the buttons, whose names say more than a cut name and a letter. */}
      <g className={css['texts']} aria-hidden="true">
        {shelves.map(({ server, unit, height }) => {
          if (server === null) return null
          const face = server.placement?.face ?? 'both'
          const x = rail + (face === 'rear' ? inner / 2 : 0)
          const middle = 4 + (rack.units - unit - height / 2 + 1) * unitHeight
          return (
            <g key={server.id}>
              <text className={css['letter']} x={x + 12} y={middle}>
                {letterOf(server)}
              </text>
              <text x={x + 22} y={middle}>
                {short(server.name, face === 'both' ? 27 : 12)}
              </text>
            </g>
          )
        })}
      </g>
    </svg>
  )
}

const short = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`
