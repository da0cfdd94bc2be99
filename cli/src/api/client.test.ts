import { once } from 'node:events'
import { readFile, rm, stat } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { snapshotVerify } from '#contract/clusters/changes/snapshots.ts'
import { Problem } from '#contract/errors.ts'
import { serverAdd, serverGet, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { authorizeRefresh } from '#contract/sessions.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { anOperation, aServer, id, pageOf } from '../testing/things.ts'

describe('an expired access token', () => {
  test('an expired access token is refreshed once, with rotation, and the call is repeated', async () => {
    const api = await startApi()
    const cli = await startCli(api)
    api.tokens.clear()
    api.on(authorizeRefresh, ({ body }) => {
      expect(body).toEqual({ refresh_token: 'refresh-1', rotate: true })
      api.tokens.add('access-2')
      return { access_token: 'access-2', refresh_token: 'refresh-2' }
    })
    api.on(serverList, () => pageOf([aServer()]))
    expect((await cli.run('server list')).exit).toBe(0)
    expect(await cli.sessions.read(api.url)).toMatchObject({
      access_token: 'access-2',
      refresh_token: 'refresh-2',
    })
    expect((await stat(cli.sessions.path)).mode & 0o777).toBe(0o600)
    expect((await cli.run('server list')).exit).toBe(0)
    expect(api.callsOf(authorizeRefresh)).toHaveLength(1)
  })

  test('if many commands find an access token expired at the same time, it is refreshed only once', async () => {
    const api = await startApi()
    const cli = await startCli(api)
    api.tokens.clear()
    let refresh = 1
    api.on(authorizeRefresh, ({ body }) => {
      if (body.refresh_token !== `refresh-${refresh}`) throw new Problem('session_expired', 'Spent')
      refresh++
      api.tokens.add(`access-${refresh}`)
      return { access_token: `access-${refresh}`, refresh_token: `refresh-${refresh}` }
    })
    api.on(serverList, () => pageOf([]))
    const runs = await Promise.all(Array.from({ length: 8 }, () => cli.run('server list')))
    expect(runs.map((r) => r.exit)).toEqual(runs.map(() => 0))
    expect(api.callsOf(authorizeRefresh)).toHaveLength(1)
  })

  test('if the session has ended, the access token is deleted, and the error explains how to sign in', async () => {
    const api = await startApi()
    const cli = await startCli(api)
    api.tokens.clear()
    api.on(authorizeRefresh, () => {
      throw new Problem('session_expired', 'Ended')
    })
    const ran = await cli.run('server list')
    expect(ran).toMatchObject({
      exit: 3,
      out: '',
      err: `Session expired. Please sign in again.\nsteelyard login --url ${api.url}\n`,
    })
    expect(await cli.sessions.read(api.url)).toBeNull()
  })

  test('the late answer of a refresh is dropped if somebody else has signed in while the process was suspended', async () => {
    const api = await startApi()
    const cli = await startCli(api)
    api.tokens.clear()
    const viewer = {
      email: 'viewer@example.com',
      access_token: 'access-v',
      refresh_token: 'refresh-v',
    }
    api.on(authorizeRefresh, async () => {
      // Another process takes over the lock, as after two minutes.
      await rm(`${cli.sessions.path}.lock`)
      await cli.sessions.change(api.url, async () => null)
      await cli.sessions.change(api.url, async () => viewer)
      return { access_token: 'access-2', refresh_token: 'refresh-2' }
    })
    expect(await cli.run('server list')).toMatchObject({
      exit: 6,
      err: expect.stringContaining('Another steelyard process has changed the session') as string,
    })
    expect(await cli.sessions.read(api.url)).toEqual(viewer)
  })

  test.each([401, 200])(
    'a command is not continued with the rights of somebody who signs in meanwhile (after a %s)',
    async (status) => {
      const api = await startApi()
      const cli = await startCli(api)
      api.tokens.add('access-v')
      api.on(serverList, async () => {
        if (status === 401) api.tokens.delete('access-1')
        await cli.sessions.change(api.url, async () => ({
          email: 'viewer@example.com',
          access_token: 'access-v',
          refresh_token: 'refresh-v',
        }))
        if (status === 401) throw new Problem('session_expired', 'Ended')
        return pageOf([aServer({ id: id(1), name: 'a' })])
      })
      api.on(serverUpdate, () => aServer())
      expect(await cli.run('server rename a b')).toMatchObject({
        exit: 3,
        err: `The command was begun as a@example.com, but viewer@example.com has signed in to ${api.url} meanwhile\nRun the command again\n`,
      })
      expect(api.callsOf(serverUpdate)).toEqual([])
    },
  )

  test('an access token from STEELYARD_TOKEN is not refreshed', async () => {
    const api = await startApi()
    const cli = await startCli()
    cli.env['STEELYARD_TOKEN'] = 'from-elsewhere'
    cli.env['STEELYARD_URL'] = api.url
    expect(await cli.run('server list')).toMatchObject({
      exit: 3,
      err: 'STEELYARD_TOKEN is not valid, or has expired\n',
    })
    api.tokens.add('from-elsewhere')
    api.on(serverList, () => pageOf([]))
    expect(await cli.run('server list')).toMatchObject({ exit: 0, out: 'No servers\n' })
    await expect(readFile(cli.sessions.path)).rejects.toThrow('ENOENT')
  })
})

describe('requests', () => {
  test('a token is sent only to the address that issued it', async () => {
    const [api, other] = [await startApi(), await startApi()]
    const cli = await startCli(api)
    expect(await cli.run(`server list --url ${other.url}`)).toMatchObject({ exit: 3 })
    expect(other.calls).toHaveLength(0)
  })

  test('requests are validated against the contract before they are sent', async () => {
    const api = await startApi()
    const cli = await startCli(api)
    const ran = await cli.run(`server rename ${id(1)} Not_A_Name`)
    expect(ran).toMatchObject({
      exit: 2,
      err: expect.stringContaining(
        'name: Server name can only contain lowercase letters',
      ) as string,
    })
    expect(await cli.run('server list --page 0')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('page: ') as string,
    })
    expect(await cli.run('operation watch nonsense')).toMatchObject({ exit: 2 })
    expect(api.calls).toHaveLength(0)
  })

  test('a write keeps its Idempotency-Key in each retry', async () => {
    const api = await startApi()
    const cli = await startCli(api)
    let tries = 0
    api.on(serverAdd, (_, answer) => {
      tries++
      if (tries === 1) {
        answer.destroy()
        return 'done'
      }
      if (tries === 2) throw new Problem('unavailable', 'The database is away', undefined, 1)
      return { operation: anOperation({ kind: 'serverAdd' }) }
    })
    expect((await cli.run('server add 10.0.0.1')).exit).toBe(0)
    const keys = api.callsOf(serverAdd).map((c) => c.headers['idempotency-key'])
    expect(keys).toHaveLength(3)
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
    expect(new Set(keys).size).toBe(1)
    expect((await cli.run('server add 10.0.0.1 --idempotency-key once')).exit).toBe(0)
    expect(api.callsOf(serverAdd).at(-1)!.headers['idempotency-key']).toBe('once')
  })

  test('a write without a key is repeated if it was answered that the database is away', async () => {
    const api = await startApi()
    const cli = await startCli(api)
    api.on(serverUpdate, () => {
      if (api.callsOf(serverUpdate).length === 1)
        throw new Problem('unavailable', 'The database is away', undefined, 1)
      return aServer()
    })
    api.on(serverGet, () => aServer())
    expect((await cli.run(`server rename ${id(1)} rack-1`)).exit).toBe(0)
    expect(api.callsOf(serverUpdate)).toHaveLength(2)
    // Such an answer says that the change may be stored.
    api.on(serverUpdate, () => {
      throw new Problem('unavailable', 'It may be done. Look before you try again', undefined, 20)
    })
    expect((await cli.run(`server rename ${id(1)} rack-1`)).err).toContain('It may be done')
    expect(api.callsOf(serverUpdate)).toHaveLength(3)
  })

  test('a write without a key is not retried', async () => {
    const api = await startApi()
    const cli = await startCli(api)
    api.on(serverUpdate, (_, answer) => {
      answer.destroy()
      return 'done'
    })
    expect(await cli.run(`server rename ${id(1)} web-1`)).toMatchObject({
      exit: 7,
      err: expect.stringContaining('the connection was lost') as string,
    })
    expect(api.callsOf(serverUpdate)).toHaveLength(1)
  })

  test('a password or token is never sent over a network without TLS', async () => {
    const cli = await startCli()
    cli.env['STEELYARD_TOKEN'] = 'x'
    expect(await cli.run('server list --url http://steelyard.example.com')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('is not encrypted') as string,
    })
  })
})

describe('a response', () => {
  test.each([
    ['forbidden', 4],
    ['not_found', 5],
    ['name_taken', 6],
    ['stale', 6],
    ['invalid', 2],
    ['internal', 1],
    ['unavailable', 7],
  ] as const)(
    'a response with the error %s ends the command with exit code %i and the error message',
    async (code, exit) => {
      const api = await startApi()
      const cli = await startCli(api)
      api.on(serverUpdate, () => {
        throw new Problem(code, 'The sentence', { name: 'Why' })
      })
      const ran = await cli.run(`server rename ${id(1)} web-1`)
      expect(ran).toMatchObject({ exit, out: '' })
      expect(ran.err).toContain('The sentence\n  name: Why\n')
      const json = await cli.run(`server rename ${id(1)} web-1 --json`)
      expect(JSON.parse(json.err)).toEqual({
        error: 'The sentence',
        code,
        fields: { name: 'Why' },
        request_id: 'req-1',
      })
    },
  )

  test('the error says if the server is not Steelyard', async () => {
    const api = await startApi()
    const cli = await startCli(api)
    api.on(serverList, (_, answer) => {
      answer.writeHead(502).end('<html>\u001b[2J')
      return 'done'
    })
    const ran = await cli.run('server list')
    expect(ran).toMatchObject({
      exit: 7,
      err: `${api.url} answered 502, which is not a response of Steelyard\n`,
    })
    api.on(serverList, (_, answer) => {
      answer.writeHead(200).end('{"items": 1}')
      return 'done'
    })
    expect(await cli.run('server list')).toMatchObject({
      exit: 1,
      err: expect.stringContaining('does not understand') as string,
    })
    api.on(serverList, (_, answer) => {
      answer.writeHead(302, { location: 'https://elsewhere.example.com/' }).end()
      return 'done'
    })
    expect(await cli.run('server list')).toMatchObject({
      exit: 7,
      err: expect.stringContaining('https://elsewhere.example.com/') as string,
    })
  })

  test('a server that never responds is reported as unreachable', async () => {
    const cli = await startCli()
    cli.env['STEELYARD_TOKEN'] = 'x'
    const gone = createServer().listen(0, '127.0.0.1')
    await once(gone, 'listening')
    const { port } = gone.address() as AddressInfo
    gone.close()
    await once(gone, 'close')
    expect(await cli.run(`server list --url http://127.0.0.1:${port}`)).toMatchObject({
      exit: 7,
      err: expect.stringContaining('connection refused') as string,
    })
  })
})

test('a command waits longer for an answer than the backend works on it', async () => {
  const limits = vi.spyOn(AbortSignal, 'timeout')
  onTestFinished(() => limits.mockRestore())
  const api = await startApi()
  const cli = await startCli(api)
  const waited = async (line: string) => {
    limits.mockClear()
    await cli.run(line)
    return limits.mock.lastCall![0]
  }
  api.on(serverList, () => pageOf([]))
  // The extensions of a cluster are read for 30 s at most.
  expect(await waited('server list')).toBeGreaterThan(60_000)
  api.on(snapshotVerify, () => {
    throw new Problem('store_refused', 'It has no such file')
  })
  // A snapshot can be gigabytes long, and its store slow.
  expect(await waited(`snapshot verify ${id(1)}`)).toBe(3_600_000)
})
