import { type KeyboardEvent, useRef, useState } from 'react'
import type { Rack } from '#contract/racks/racks.ts'
import type { ListedServer } from '#contract/servers/servers.ts'
import { cx } from '../../ui/cx.ts'
import css from './Racks.module.css'
import {
  type Box,
  boxesOf,
  edge,
  framesOf,
  rail,
  stepFrom,
  unitHeight,
  width,
} from './rack-boxes.ts'
import { letterOf, type Shelf, shelfSaid, toneOf } from './rack-shelves.ts'

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
 * opens. A server of half the depth takes the left half at the front, the right half at the rear;
 * the servers of one chassis are a grid.
 */
export function RackPicture({ rack, shelves, current, onCurrent, onOpen }: RackPictureProps) {
  const [at, setAt] = useState(0)
  const picture = useRef<SVGSVGElement>(null)
  const boxes = boxesOf(rack.units, shelves)
  const reached = Math.min(at, shelves.length - 1)
  const onKeyDown = (event: KeyboardEvent<SVGElement>) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const to = stepFrom(boxes, reached, event.key)
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
      viewBox={`0 0 ${width} ${rack.units * unitHeight + 2 * edge}`}
      role="group"
      aria-label={`Rack ${rack.name}, from above to below`}
      onKeyDown={onKeyDown}
    >
      <rect
        className={css['frame']}
        x="0.5"
        y="0.5"
        width={width - 1}
        height={rack.units * unitHeight + 2 * edge - 1}
        rx="4"
      />
      {Array.from({ length: rack.units }, (_, i) => (
        <text
          key={i}
          className={css['number']}
          x={rail - 6}
          y={edge + (rack.units - i - 0.5) * unitHeight}
          aria-hidden="true"
        >
          {i + 1}
        </text>
      ))}
      {shelves.map((shelf, i) => {
        const box = boxes[i]!
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
              x={box.x + 1}
              y={box.y + 1}
              width={box.width - 2}
              height={box.height - 2}
              rx="2"
            />
          </g>
        )
      })}
      {/* Beside the buttons, whose names say more than a cut name and a letter. */}
      <g className={css['texts']} aria-hidden="true">
        {framesOf(rack.units, shelves).map(({ x, y, width: wide, height }) => (
          <rect
            key={`${x} ${y}`}
            className={css['chassis']}
            x={x}
            y={y}
            width={wide}
            height={height}
            rx="3"
          />
        ))}
        {shelves.map(({ server }, i) => {
          if (server === null) return null
          const box = boxes[i]!
          const middle = box.y + box.height / 2
          return (
            <g key={server.id}>
              <text className={css['letter']} x={box.x + 12} y={middle}>
                {letterOf(server)}
              </text>
              <text x={box.x + 22} y={middle}>
                {textIn(box, server)}
              </text>
            </g>
          )
        })}
      </g>
    </svg>
  )
}

/** What of bay and name has room beside the letter. */
function textIn(box: Box, { name, placement }: ListedServer): string {
  const room = Math.floor((box.width - 26) / 7.3)
  const bay = placement?.bay ?? null
  if (bay === null) return short(name, room)
  const left = room - bay.length - 2
  // Bays often differ at their end: node 1, node 2.
  if (left < 5) return bay.length <= room ? bay : room < 2 ? '' : `…${bay.slice(1 - room)}`
  return `${bay}: ${short(name, left)}`
}

const short = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`
