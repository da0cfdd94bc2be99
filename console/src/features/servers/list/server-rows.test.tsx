// @vitest-environment happy-dom
import { cleanup, configure, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ListedServer } from '#contract/servers/servers.ts'
import { DataTable } from '../../../ui/table/DataTable.tsx'
import { useSelection } from '../../../ui/table/selection.ts'
import { overscan } from '../../../ui/table/virtual.ts'
import { serverColumns } from './server-columns.tsx'

// Code that loads at its first use takes longer than the default of one second on a busy machine.
configure({ asyncUtilTimeout: 10_000 })

const at = new Date().toISOString()
const serverAt = (i: number): ListedServer => ({
  id: `id-${i}`,
  name: `amber-falcon-${i}`,
  status: 'maintenance',
  type: 'worker',
  nodeAddresses: [`10.0.0.${i}`],
  datacenter: { id: 'd', code: 'PL-POZ-1' },
  cluster: null,
  capacity_commitment: null,
  talos: {
    version: 'v1.13.9',
    stage: 'maintenance',
    reachable: true,
    last_contact_at: at,
    unreachable_since: null,
    reason: null,
  },
  kubernetes: null,
  identity: { state: 'confirmed', uuid: 'u', serial: 's' },
  hardware: { maker: null, model: null, cores: null, memory_bytes: null, disk_bytes: null },
  ineligible: null,
  operation_id: null,
  created_at: at,
})
const servers = Array.from({ length: 400 }, (_, i) => serverAt(i))

/** How often a cell of the column of names has been rendered, and the table's header. */
const [cell, header] = [vi.fn<() => void>(), vi.fn<() => void>()]
const columns = serverColumns.map((column) =>
  column.id === 'name'
    ? {
        ...column,
        cell: (s: ListedServer) => (cell(), s.name),
        width: () => (header(), 200),
      }
    : column,
)
const parts = {
  label: 'Servers',
  rowKey: (s: ListedServer) => s.id,
  rowName: (s: ListedServer) => s.name,
  href: (s: ListedServer) => `/infra/servers/${s.id}`,
  detail: () => <p>Disks</p>,
  empty: null,
}

const noActions = () => []

function List({ rows = servers, actions = () => [] }: { rows?: readonly ListedServer[] | null; actions?: (s: ListedServer) => { label: string }[] }) {
  return <DataTable {...parts} rows={rows ?? undefined} columns={columns} actions={actions} selection={useSelection()} />
}
/** Indexes of the rows that are rendered in full, and the number of those of which only the name is. */
const inFull = () => [...document.querySelectorAll<HTMLElement>('tbody tr[data-id]')].map((row) => Number(row.dataset['row']))
const names = () => document.querySelectorAll('tbody tr[data-row]:not([data-id])').length

afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

test('of many servers only those in view have rows, with at most 32 elements each', () => {
  const { rerender } = render(<List rows={null} />)
  rerender(<List />)
  const rows = [...document.querySelectorAll('tbody tr[data-row]')]
  expect(rows.length).toBe(Math.ceil((innerHeight - 160) / 36))
  for (const row of rows) expect(row.querySelectorAll('*').length).toBeLessThan(32)
})

test('a page without height, such as a hidden one, renders one row', () => {
  vi.stubGlobal('innerHeight', 0)
  render(<List />)
  expect(document.querySelectorAll('tbody tr[data-row]').length).toBe(1)
})

test('the rows are not gone through again when the page around them renders', () => {
  const rowName = vi.spyOn(parts, 'rowName')
  const { rerender } = render(<List rows={servers} actions={noActions} />)
  expect(rowName).toHaveBeenCalled()
  rowName.mockClear()
  rerender(<List rows={servers} actions={noActions} />)
  expect(rowName).not.toHaveBeenCalled()
  rowName.mockRestore()
})

test('the actions of a row are determined only when its menu is opened', async () => {
  const actions = vi.fn<(s: ListedServer) => { label: string }[]>(() => [{ label: 'Rename' }])
  render(<List actions={actions} />)
  expect(actions).not.toHaveBeenCalled()
  const button = screen.getByRole('button', { name: 'Actions for amber-falcon-3' })
  fireEvent.click(button)
  expect(actions.mock.calls).toEqual([[servers[3]]])
  expect(await screen.findByRole('menuitem', { name: 'Rename' })).toBeTruthy()
  expect(button.getAttribute('aria-expanded')).toBe('true')
})

test('one timer keeps the times of all rows', () => {
  vi.useFakeTimers({ now: Date.parse(at) })
  const timers = vi.getTimerCount()
  render(<List rows={servers.slice(0, 100)} />)
  expect(vi.getTimerCount() - timers).toBeLessThanOrEqual(1)
  const time = document.querySelector('tbody time')
  expect(time?.textContent).toBe('just now')
  vi.advanceTimersByTime(30_000)
  expect(time?.textContent).toBe('30 s ago')
  vi.useRealTimers()
})

describe('a table that has a size', () => {
  let scrolled = 0
  const frames: FrameRequestCallback[] = []
  const runFrame = () => {
    for (const run of frames.splice(0)) run(performance.now())
  }
  const runFrames = () => {
    while (frames.length > 0) runFrame()
  }
  /** While a search box has the focus, rows come and go right after a frame. */
  const runSearchFrames = () => {
    while (frames.length > 0) {
      runFrame()
      vi.advanceTimersByTime(1)
    }
  }
  const scrollTo = (px: number) => {
    scrolled = px
    document.dispatchEvent(new Event('scroll'))
  }
  beforeEach(() => {
    scrolled = 0
    frames.length = 0
    vi.stubGlobal('requestAnimationFrame', (run: FrameRequestCallback) => frames.push(run))
    vi.stubGlobal('cancelAnimationFrame', () => frames.splice(0))
    vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockReturnValue(36)
    vi.spyOn(Element.prototype, 'getBoundingClientRect').mockImplementation(function rect(this: Element) {
      return this.tagName === 'TBODY' ? new DOMRect(0, -scrolled, 1000, 36_000) : new DOMRect(0, 0, 1000, 720)
    })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
  })

  test('the rows around the visible ones follow a few in a frame, and all others as names of one cell each', () => {
    render(<List />)
    expect([inFull().length <= Math.ceil(innerHeight / 36), names()]).toEqual([true, 0])
    for (let n = 0; frames.length > 0; n++) {
      const before = [inFull().length, names()] as const
      runFrame()
      expect(inFull().length - before[0]).toBeLessThanOrEqual(6)
      expect(names() - before[1]).toBeLessThanOrEqual(16)
      expect(n).toBeLessThan(100)
    }
    expect([inFull().at(-1), names()]).toEqual([20 + overscan, 400 - 21 - overscan])
    expect(document.querySelectorAll('tbody tr[data-row]:not([data-id]) *').length).toBe(names())
  })

  test('the first frame of a list adds no rows, the next frame does', () => {
    render(<List />)
    const first = inFull().length
    runFrame()
    expect(inFull().length).toBe(first)
    runFrame()
    expect(inFull().length).toBeGreaterThan(first)
  })

  test('scrolling on a computer on which a frame with new rows is late changes nothing on the page until the list rests', async () => {
    render(<List />)
    runFrames()
    // The frame that brings rows takes 400 ms.
    const now = vi.spyOn(performance, 'now')
    now.mockReturnValue(10_000)
    scrollTo(36 * 100)
    now.mockReturnValue(10_400)
    await new Promise((resolve) => setTimeout(resolve, 20))
    cell.mockClear()
    header.mockClear()
    for (let row = 101; row < 140; row++) scrollTo(36 * row)
    expect(cell).not.toHaveBeenCalled()
    expect([inFull().length + names(), names() > 300]).toEqual([400, true])
    runFrames()
    expect([inFull()[0]! <= 139, inFull().at(-1)]).toEqual([true, 139 + 20 + overscan])
    expect(header).not.toHaveBeenCalled()
  })

  test('scrolling by a row on a computer that is fast enough renders one row and nothing else', () => {
    render(<List />)
    runFrames()
    cell.mockClear()
    header.mockClear()
    scrollTo(36)
    expect(inFull().at(-1)).toBe(1 + 20 + overscan)
    expect(cell).toHaveBeenCalledTimes(1)
    expect(header).not.toHaveBeenCalled()
  })

  test('after a jump the visible rows come first', () => {
    render(<List />)
    runFrames()
    scrollTo(36 * 300)
    while (inFull().at(-1)! < 320) runFrame()
    expect(inFull()[0]).toBe(300)
  })

  test('another list shows its visible rows first, a few of them in full', () => {
    const { rerender } = render(<List />)
    runFrames()
    cell.mockClear()
    rerender(<List rows={servers.toReversed()} />)
    expect(cell).toHaveBeenCalledTimes(6)
    expect(names()).toBeLessThanOrEqual(Math.ceil(innerHeight / 36))
    runFrames()
    expect([inFull().length, names()]).toEqual([21 + overscan, 400 - 21 - overscan])
  })

  test('while the user types in a field, frames add no rows; they follow after a pause', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { rerender } = render(<List />)
    runFrames()
    document.dispatchEvent(new Event('input'))
    rerender(<List rows={servers.toReversed()} />)
    runFrames()
    expect(inFull().length).toBe(6)
    vi.advanceTimersByTime(250)
    runFrames()
    expect(inFull().length).toBe(21 + overscan)
  })

  test('while a search box has the focus, rows out of sight go a few at a time, and come back when the focus leaves', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const search = document.body.appendChild(Object.assign(document.createElement('input'), { type: 'search' }))
    const { rerender } = render(<List />)
    runFrames()
    const all = () => inFull().length + names()
    expect(all()).toBe(400)
    search.focus()
    runFrame()
    // The frame itself may have laid the page out already, for a letter or an answer.
    expect(all()).toBe(400)
    vi.advanceTimersByTime(1)
    expect(all()).toBe(300)
    runSearchFrames()
    expect(all()).toBeLessThanOrEqual(21 + 3 * overscan)
    cell.mockClear()
    rerender(<List rows={servers.toReversed()} />)
    expect(cell).toHaveBeenCalledTimes(3)
    search.blur()
    runFrames()
    expect(all()).toBe(400)
    search.remove()
  })

  test('the answer to a search shows its first rows also in a list that is otherwise whole', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const search = document.body.appendChild(Object.assign(document.createElement('input'), { type: 'search' }))
    const short = servers.slice(0, 150)
    const { rerender } = render(<List rows={short} />)
    expect(inFull().length).toBe(150)
    search.focus()
    rerender(<List rows={short.toReversed()} />)
    expect(inFull().length).toBe(3)
    runSearchFrames()
    expect(inFull().length).toBe(21 + 4)
    search.blur()
    runFrames()
    expect(inFull().length).toBe(150)
    search.remove()
  })

  test('a fetched list renders only the rows whose servers have changed', () => {
    const { rerender } = render(<List />)
    runFrames()
    cell.mockClear()
    rerender(<List rows={structuredClone(servers)} />)
    expect(cell).not.toHaveBeenCalled()
    rerender(<List rows={servers.with(3, { ...serverAt(3), name: 'renamed' })} />)
    expect(cell).toHaveBeenCalledTimes(1)
    expect(screen.getByRole('link', { name: 'renamed' })).toBeTruthy()
  })
})
