// @vitest-environment happy-dom
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ListedServer } from '#contract/servers/servers.ts'
import { DataTable } from '../../../ui/table/DataTable.tsx'
import { useSelection } from '../../../ui/table/selection.ts'
import { overscan, restMs } from '../../../ui/table/use-window.ts'
import { serverColumns } from './server-columns.tsx'

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

function List({
  rows = servers,
  actions = () => [],
}: {
  rows?: readonly ListedServer[] | null
  actions?: (s: ListedServer) => { label: string }[]
}) {
  return (
    <DataTable
      {...parts}
      rows={rows ?? undefined}
      columns={columns}
      actions={actions}
      selection={useSelection()}
    />
  )
}
/** Indexes of the rendered rows. */
const rendered = () =>
  [...document.querySelectorAll<HTMLElement>('tbody tr[data-id]')].map((row) =>
    Number(row.dataset['row']),
  )

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
  vi.advanceTimersToNextFrame()
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
  const runFrames = () => act(() => frames.splice(0).forEach((run) => run(performance.now())))
  /** Time of the last scroll event, in ms. The machine's speed must not decide what is fast. */
  let scrolledAt = 0
  const scrollTo = (px: number) =>
    act(() => {
      scrolled = px
      const event = new Event('scroll')
      Object.defineProperty(event, 'timeStamp', { value: (scrolledAt += 1000) })
      document.dispatchEvent(event)
    })
  const rest = () => act(() => void vi.advanceTimersByTime(restMs))
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    scrolled = 0
    scrolledAt = 0
    frames.length = 0
    vi.stubGlobal('requestAnimationFrame', (run: FrameRequestCallback) => frames.push(run))
    vi.stubGlobal('cancelAnimationFrame', () => frames.splice(0))
    vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockReturnValue(36)
    vi.spyOn(Element.prototype, 'getBoundingClientRect').mockImplementation(function rect(
      this: Element,
    ) {
      return this.tagName === 'TBODY'
        ? new DOMRect(0, -scrolled, 1000, 36_000)
        : new DOMRect(0, 0, 1000, 720)
    })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  test('a list of 200 servers is rendered whole', () => {
    render(<List rows={servers.slice(0, 200)} />)
    expect(rendered().length).toBe(200)
    expect(document.querySelector('tbody tr[aria-hidden]')).toBeNull()
  })

  test('the rows around the visible ones follow in the next frame, and the others keep their space', () => {
    render(<List />)
    expect(rendered().length).toBe(Math.ceil((innerHeight - 160) / 36))
    runFrames()
    expect(rendered()).toEqual(Array.from({ length: 21 + overscan + 3 }, (_, i) => i))
    const space = document.querySelector<HTMLElement>('tbody tr[aria-hidden]')
    expect(space?.style.height).toBe(`${36 * (400 - rendered().length)}px`)
  })

  test('scrolling by a few rows renders only the rows that come', () => {
    render(<List />)
    runFrames()
    cell.mockClear()
    header.mockClear()
    scrollTo(36 * 4)
    expect(cell).toHaveBeenCalledTimes(4)
    expect(header).not.toHaveBeenCalled()
  })

  test('after a jump the rows there show their names, and their columns once the list rests', () => {
    render(<List />)
    runFrames()
    cell.mockClear()
    scrollTo(36 * 300)
    const names = [...document.querySelectorAll('tbody tr[data-row]')].map((row) => row.textContent)
    expect([names[overscan], names.length]).toEqual([
      serverAt(300).name,
      overscan + 21 + overscan + 3,
    ])
    expect(cell).not.toHaveBeenCalled()
    rest()
    expect([rendered()[0], rendered().at(-1)]).toEqual([300 - overscan, 300 + 20 + overscan + 3])
  })

  test('a list that is shorter than the position of the one before shows its last rows', () => {
    const { rerender } = render(<List />)
    runFrames()
    scrollTo(36 * 390)
    rest()
    rerender(<List rows={servers.slice(0, 250)} />)
    expect(rendered().length).toBeGreaterThan(0)
    scrollTo(36 * 230)
    rest()
    expect(rendered().at(-1)).toBe(249)
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
