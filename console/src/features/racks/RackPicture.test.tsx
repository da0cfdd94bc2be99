// @vitest-environment happy-dom
import { cleanup, fireEvent, render } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import type { Rack } from '#contract/racks/racks.ts'
import { type Shelf, shelvesOf } from './rack-shelves.ts'
import { RackPicture } from './RackPicture.tsx'
import { placed } from './testing/placed.ts'

afterEach(cleanup)

const rack = { id: 'r', name: 'A-07', units: 42 } as Rack
/** Thirty servers from below; the first six are two units high. */
const servers = Array.from({ length: 30 }, (_, i) =>
  placed(
    `calm-otter-${100 + i}`,
    { unit: i < 6 ? 2 * i + 1 : i + 7, height: i < 6 ? 2 : 1 },
    { type: i < 3 ? 'control_plane' : 'worker', cluster: { id: 'c', name: 'poz-shop' } },
  ),
)

test('every server and free unit of a rack is reached and opened by keyboard alone', () => {
  const opened: Shelf[] = []
  const shelves = shelvesOf(rack.units, servers)
  const { getAllByRole } = render(
    <RackPicture
      rack={rack}
      shelves={shelves}
      current={null}
      onCurrent={() => undefined}
      onOpen={(shelf) => opened.push(shelf)}
    />,
  )
  const buttons = getAllByRole('button')
  expect(buttons).toHaveLength(36)
  const stops = () => buttons.filter((one) => one.getAttribute('tabindex') === '0')
  expect(stops()).toEqual([buttons[0]])
  const press = (key: string) => fireEvent.keyDown(document.activeElement!, { key })
  buttons[0]!.focus()
  const said: (string | null)[] = []
  for (const _ of buttons) {
    said.push(document.activeElement!.getAttribute('aria-label'))
    press('Enter')
    press('ArrowDown')
  }
  expect(opened).toEqual(shelves)
  expect(said).toContain('Unit 42: free')
  expect(said.at(-1)).toBe('Units 1 to 2: calm-otter-100, control plane of poz-shop')
  expect(stops()).toEqual([buttons[35]])
  press('Home')
  expect(document.activeElement).toBe(buttons[0])
})
