import { expect, test } from 'vitest'
import { whoSaid } from './history-entry.ts'

const operation = (by: string | null) => ({
  id: '0198c0de-0000-7000-8000-000000000001',
  kind: 'serverReboot' as const,
  by,
})
const steelyard = { kind: 'steelyard', name: 'Steelyard' } as const
const ada = { kind: 'user', name: 'ada@example.com' } as const

test('an entry says who made the change, and for whom Steelyard made it', () => {
  expect(whoSaid({ by: ada, operation: null })).toBe('ada@example.com')
  expect(whoSaid({ by: ada, operation: operation(ada.name) })).toBe('ada@example.com')
  expect(whoSaid({ by: steelyard, operation: operation(ada.name) })).toBe(
    'Steelyard, for ada@example.com',
  )
  expect(whoSaid({ by: steelyard, operation: operation(null) })).toBe('Steelyard')
  expect(whoSaid({ by: { ...ada, kind: 'token' }, operation: null })).toBe(
    'ada@example.com, by API token',
  )
})
