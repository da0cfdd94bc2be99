import { createServer, type Server } from 'node:net'
import { Client } from 'pg'
import { expect, inject, test } from 'vitest'
import { freshDatabase } from '../testing/databases.ts'
import { whenOver } from '../testing/ending.ts'
import { placeOf } from './connection.ts'
import { findServer, NoServer, offersTls, sharesSessions } from './find.ts'
import { type DatabaseUrl, readDatabaseUrl } from './url.ts'

const real = await freshDatabase()
const place = { host: real.host ?? 'localhost', port: real.port ?? 5432 }

const urlWith = (hosts: DatabaseUrl['hosts'], query = ''): DatabaseUrl => {
  const read = readDatabaseUrl(`postgresql://x/y?${query}`)
  if (!read.ok) throw new Error(read.problem)
  return {
    ...read.url,
    hosts,
    user: real.user,
    password: real.password,
    database: real.database,
  }
}
const failure = (url: DatabaseUrl) =>
  findServer(url).then(
    () => undefined,
    (error: unknown) => error as NoServer,
  )
const listening = async (answer: string) => {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenOver(() => void server.close())
  return { host: '127.0.0.1', port: (server.address() as { port: number }).port }
}
const settings = async (database: string, text: string) => {
  const client = new Client({ ...inject('postgres').connection })
  await client.connect()
  await client.query(`alter database ${database} ${text}`)
  await client.end()
}

test('of several hosts, the one that answers is found, and the reasons of all are told if none does', async () => {
  const closed = { host: '127.0.0.1', port: 1 }
  expect(await findServer(urlWith([closed, place]))).toMatchObject(place)
  const error = await failure(urlWith([closed, { host: '127.0.0.1', port: 2 }]))
  expect(error?.message).toMatch(
    /^127\.0\.0\.1:1 does not answer: .*ECONNREFUSED.*; 127\.0\.0\.1:2 does not answer: /,
  )
  expect(error?.isReadOnly).toBe(false)
})

test('a host that accepts no writes is not used, and the reason is told', async () => {
  await settings(real.database!, 'set default_transaction_read_only = on')
  whenOver(() => settings(real.database!, 'reset default_transaction_read_only'))
  const error = await failure(urlWith([place]))
  expect(error).toBeInstanceOf(NoServer)
  expect(error?.message).toBe(
    `${placeOf(place)} accepts no writes (default_transaction_read_only is on)`,
  )
  expect(error?.isReadOnly).toBe(true)
})

test('a server that offers TLS is recognised, and one that refuses TLS is used without it only if the URL allows that', async () => {
  expect(await offersTls(await listening('S'))).toBe(true)
  expect(await offersTls(await listening('N'))).toBe(false)
  expect(await offersTls({ host: '127.0.0.1', port: 1 })).toBe(false)
  const plain = await listening('N')
  expect((await failure(urlWith([plain], 'sslmode=require')))?.message).toBe(
    'The server does not support SSL connections',
  )
})

test('sessions of their own are not taken for shared ones', async () => {
  expect(await sharesSessions(real)).toBe(false)
})
