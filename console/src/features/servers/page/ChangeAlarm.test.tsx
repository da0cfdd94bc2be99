// @vitest-environment happy-dom
import { cleanup, render } from '@testing-library/react'
import type { ComponentProps } from 'react'
import { afterEach, expect, test } from 'vitest'
import { ChangeAlarm } from './ChangeAlarm.tsx'

afterEach(cleanup)

const at = '2026-11-27T08:00:00.000Z'
const id = '3f0c7a52-6b1e-4c6e-9f0a-2d8b7c1e5a44'
type Shown = ComponentProps<typeof ChangeAlarm>['server']
const shown = (more: Partial<Shown>, after: Shown['talos']['silent_after'] = null) =>
  render(
    <ChangeAlarm
      server={{
        id,
        name: 'cp-1',
        cluster: { id, name: 'web' },
        pending: null,
        trial: null,
        talos: { silent_after: after },
        ...more,
      }}
    />,
  )

test('a server that fell silent after a change names it, and leads to what takes it back', () => {
  const change = { at, title: 'Change patches of cp-1', operation_id: null, take_back: null }
  const { container } = shown({}, change)
  expect(container.textContent).toContain('cp-1 fell silent after a change: Change patches of cp-1')
  expect(container.querySelectorAll('a')).toHaveLength(0)
  cleanup()
  const upgraded = shown({}, { ...change, take_back: 'talos' })
  expect(upgraded.getByText('Roll Talos back').getAttribute('href')).toContain(
    '/change/rollbackTalos',
  )
})

test('a patch that waits says why, and leads to the server that is not well', () => {
  const reason = 'cp-1 is changed as soon as the other control planes are well. cp-2 is not Ready'
  const { container, getByText } = shown({
    pending: { reason, since: at, waits_for: [{ id, name: 'cp-2' }] },
  })
  expect(container.textContent).toContain(`The saved patches are not sent yet. ${reason}.`)
  expect(getByText('Look at cp-2').getAttribute('href')).toBe(`/infra/servers/${id}`)
})

test('a change on trial, and one that was undone, say so', () => {
  const reason = 'The server did not answer within 60 s with the change, so Talos has undone it'
  const { container } = shown({ trial: { state: 'undone', reason, since: at } })
  expect(container.textContent).toContain(`A change of the network was undone. ${reason}.`)
  expect(container.textContent).toContain(
    'It is not sent again until the patches of the server are changed',
  )
  cleanup()
  const running = shown({ trial: { state: 'running', reason: 'Talos undoes it', since: at } })
  expect(running.container.textContent).toContain(
    'A change of the network is on trial. Talos undoes it.',
  )
  expect(running.container.textContent).not.toContain('not sent again')
})

test('nothing is said of a server without either', () => {
  expect(shown({}).container.textContent).toBe('')
})

test('a server that failed in its cluster leads to where it is tried again', () => {
  const failure = { reason: 'came back in maintenance', since: at }
  const { container } = shown({ failure })
  expect(container.textContent).toContain('cp-1 failed in its cluster.')
  expect(container.querySelector('a')?.getAttribute('href')).toBe(
    `/infra/clusters/${id}?tab=timeline`,
  )
  cleanup()
  expect(shown({ failure: null }).container.textContent).toBe('')
})
