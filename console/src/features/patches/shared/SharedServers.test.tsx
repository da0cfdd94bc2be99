// @vitest-environment happy-dom
import type { UseQueryResult } from '@tanstack/react-query'
import { cleanup, render, screen, within } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import type { Operation } from '#contract/operations.ts'
import { SharedServers } from './SharedServers.tsx'

afterEach(cleanup)

const operation = (status: Operation['status']) =>
  ({
    status,
    steps: [{ key: 's', node_id: 'n1', status: 'waiting', reason: 'The window is closed' }],
  }) as unknown as Operation
const show = (status: Operation['status']) =>
  render(
    <SharedServers
      name="sysctls"
      servers={[
        {
          server: { id: 'n1', name: 'amber-1' },
          cluster: null,
          role: null,
          state: 'behind',
          revision: null,
        },
      ]}
      operation={operation(status)}
      answer={{ error: null, isRefetchError: false } as unknown as UseQueryResult}
    />,
  )
const row = () => within(screen.getByRole('table')).getByRole('row', { name: /amber-1/ })

test('a server waits for its turn only until the roll-out has ended', () => {
  show('running')
  expect(row().textContent).toContain('Waiting')
  cleanup()
  show('cancelled')
  expect(row().textContent).toContain('Behind')
  expect(row().textContent).not.toContain('Waiting')
})
