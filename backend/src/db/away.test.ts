import { Client } from 'pg'
import { expect, test } from 'vitest'
import { DatabaseAway, typedError, typeErrors } from './away.ts'

test('a query after the end of its session fails as a lost connection while the socket is still open', () => {
  const client = new Client()
  typeErrors(client)
  // The driver throws it for a query after the server has said that it ends the session (57P01).
  const refused = new Error('Client has encountered a connection error and is not queryable')
  expect(typedError(client, refused)).toBe(refused)
  client.emit('error', new Error('terminating connection due to administrator command'))
  expect(client.connection.stream.destroyed).toBe(false)
  expect(typedError(client, refused)).toBeInstanceOf(DatabaseAway)
})
