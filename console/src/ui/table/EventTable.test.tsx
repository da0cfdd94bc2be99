// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import { EventTable, type Happened } from './EventTable.tsx'

afterEach(cleanup)

const event = (more: Partial<Happened>): Happened => ({
  id: 'talos-1',
  at: '2026-01-15T14:00:00Z',
  message: 'kubelet is running: Health check successful',
  type: 'service',
  by: null,
  operation_id: null,
  source: 'talos',
  count: 1,
  first_at: null,
  ...more,
})

test('an event that repeats shows how often it happened, and since when', () => {
  const rows = [
    event({ id: 'talos-2', count: 720, first_at: '2026-01-15T12:00:00Z' }),
    event({ message: 'install: stop', type: 'sequence' }),
  ]
  render(<EventTable noun="server" rows={rows} sources error={null} onRetry={() => {}} />)
  const repeated = screen.getByTitle(/^kubelet is running: .* \(720 times since .+\)$/)
  expect(repeated.textContent).toBe('720× kubelet is running: Health check successful')
  expect(screen.getByTitle('install: stop').textContent).toBe('install: stop')
})
