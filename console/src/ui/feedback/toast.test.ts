import { beforeEach, expect, test, vi } from 'vitest'

const raised: string[] = []
vi.mock('./ToastView.tsx', () => ({
  raise: (_tone: string, text: string) => raised.push(text),
  takeOff: () => undefined,
}))
const { toast } = await import('./toast.ts')
const settled = () => vi.dynamicImportSettled()

beforeEach(() => {
  raised.splice(0)
  toast.hearErrors()
})

test('after an error that suppresses others, further errors are not shown until hearErrors is called', async () => {
  toast.lastError('Session expired. Please sign in again.', 'session')
  toast.error('Your preferences could not be saved: Session expired. Please sign in again.', {
    id: 'preferences',
  })
  toast.success('Server name was updated successfully')
  await settled()
  expect(raised).toEqual([
    'Session expired. Please sign in again.',
    'Server name was updated successfully',
  ])
  toast.hearErrors()
  toast.error('An unexpected error occurred: Invalid email or password')
  await settled()
  expect(raised.at(-1)).toBe('An unexpected error occurred: Invalid email or password')
})
