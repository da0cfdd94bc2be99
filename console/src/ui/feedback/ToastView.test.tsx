// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, test } from 'vitest'
import { toast } from './toast.ts'
import ToastView from './ToastView.tsx'

afterEach(cleanup)

test('an Undo that is refused says why', async () => {
  render(<ToastView />)
  toast.success('web-1 assigned to PL-POZ-1', {
    undo: async () => {
      throw new Error('web-1: It has joined a cluster')
    },
  })
  await userEvent.click(await screen.findByRole('button', { name: 'Undo' }))
  expect(await screen.findByText('web-1: It has joined a cluster')).toBeTruthy()
})
