import { sql } from 'kysely'
import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { joinTokenCreate } from '#contract/join-tokens.ts'
import { startBackend } from '../testing/backend.ts'
import { DatabaseSilent } from '../db/away.ts'
import { asProblem } from './errors.ts'

const answered = (code: string) =>
  Object.assign(new DatabaseError('told by the database', 20, 'error'), { code })

test('a full disk of the database is reported as a full disk, not as overload', () => {
  const sentence = (code: string) => asProblem(answered(code), () => 0)?.message
  expect(sentence('53100')).toMatch(/disk of the database is full/)
  expect(sentence('53200')).toMatch(/too busy/)
  expect(sentence('53300')).toMatch(/cannot be reached/)
  expect(sentence('42601')).toBeUndefined()
})

test('a pool without a free connection is not reported as an unreachable database', () => {
  expect(asProblem(new DatabaseSilent('late'), () => 0)).toMatchObject({
    code: 'unavailable',
    message: 'The database did not answer in time. Please try again.',
  })
})

test('a change whose commit was not answered may be done, and the sentence says so', async () => {
  const backend = await startBackend()
  const { db } = backend.platform
  const admin = await backend.signIn()
  const create = () =>
    admin.call(joinTokenCreate, { body: { name: 'rack-12' } }, { idempotencyKey: 'once' })
  await sql`create function end_here() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`.execute(
    db,
  )
  await sql`create constraint trigger end_here after insert on join_token deferrable initially deferred for each row execute function end_here()`.execute(
    db,
  )
  expect(await create()).toMatchObject({
    status: 503,
    problem: {
      code: 'unavailable',
      error:
        'The database was lost while the change was stored, so it may be done. Look before you try again.',
    },
  })
  await sql`drop trigger end_here on join_token`.execute(db)
  expect((await create()).status).toBe(201)
})

test('an error is a problem of RFC 9457 for those who accept one, with the same fields', async () => {
  const { app } = await startBackend()
  const answer = async (accept: string) => {
    const { headers, statusCode, body } = await app.inject({
      url: '/v1/clusters',
      headers: { accept },
    })
    const { request_id, ...fields } = JSON.parse(body) as Record<string, unknown>
    expect([statusCode, typeof request_id]).toEqual([401, 'string'])
    return { media: headers['content-type'], fields }
  }
  const usual = await answer('application/json')
  expect(usual.media).toBe('application/json')
  expect(await answer('application/json, application/problem+json;q=0.9')).toEqual({
    media: 'application/problem+json',
    fields: {
      ...usual.fields,
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      detail: usual.fields['error'],
    },
  })
  for (const accept of ['*/*', 'application/problem+json;q=0', 'application/problem+jsonx'])
    expect(await answer(accept)).toEqual(usual)
})
