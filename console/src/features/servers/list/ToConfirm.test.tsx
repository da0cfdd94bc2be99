// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import type { ListedServer } from '#contract/servers/servers.ts'
import ToConfirm from './ToConfirm.tsx'

afterEach(cleanup)

const server = (name: string) =>
  ({ id: name, name, identity: { state: 'unconfirmed' } }) as ListedServer

test('the notice speaks of the page and leads to all servers to confirm, unless the page is the whole list', () => {
  const servers = [server('a'), server('b')]
  const { rerender } = render(<ToConfirm servers={servers} isWhole={false} />)
  const notice = screen.getByRole('status')
  expect(notice.textContent).toContain(
    '2 servers wait on this page for a user to confirm the hardware. All servers to confirm',
  )
  expect(screen.getByRole('link').getAttribute('href')).toBe('/infra/servers?confirmed=false')
  rerender(<ToConfirm servers={servers} isWhole />)
  expect(notice.textContent).toContain('2 servers wait for a user to confirm the hardware.')
  expect(screen.queryByRole('link')).toBeNull()
})
