import { Client } from 'pg'
import { vi } from 'vitest'

/** Runs `act` and returns the SQL statements that this process sends meanwhile. */
export async function statementsDuring(act: () => Promise<unknown>): Promise<string[]> {
  const query = vi.spyOn(Client.prototype, 'query')
  try {
    await act()
    return query.mock.calls.map(([first]: unknown[]) =>
      typeof first === 'string' ? first : (first as { text: string }).text,
    )
  } finally {
    query.mockRestore()
  }
}
