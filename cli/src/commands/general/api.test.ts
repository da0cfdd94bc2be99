import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { datacenterCreate, datacenterList } from '#contract/datacenters.ts'
import { Problem } from '#contract/errors.ts'
import { serverUpdate } from '#contract/servers/servers.ts'
import { poznan, signedIn } from '../../testing/signed-in.ts'
import { aServer, id, pageOf } from '../../testing/things.ts'

test('api prints the body of the answer, and its status on standard error', async () => {
  const { api, cli } = await signedIn()
  api.on(datacenterList, () => pageOf([poznan]))
  const ran = await cli.run('api GET /v1/datacenters?sort=code --query per_page=1000')
  expect(ran).toMatchObject({ exit: 0, err: 'HTTP 200\n' })
  expect(JSON.parse(ran.out)).toEqual(pageOf([poznan]))
  expect(api.callsOf(datacenterList)[0]!.query).toEqual({ sort: 'code', per_page: '1000' })
  expect((await cli.run('api get /v1/datacenters -o jsonpath={.items[*].code}')).out).toBe(
    'PL-POZ-1\n',
  )
})

test('api sends a body from the command line, from a file or from standard input', async () => {
  const { api, cli } = await signedIn()
  api.on(datacenterCreate, () => poznan)
  api.on(serverUpdate, () => aServer())
  const body = { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań', tier: 3 }
  const made = await cli.run(['api', 'POST', '/v1/datacenters', '-d', JSON.stringify(body)])
  expect(made).toMatchObject({ exit: 0, err: 'HTTP 201\n' })
  const [call] = api.callsOf(datacenterCreate)
  expect([call!.body, typeof call!.headers['idempotency-key']]).toEqual([body, 'string'])
  const file = join(cli.folder, 'server.json')
  await writeFile(file, '{"name": "rack-3"}')
  expect((await cli.run(`api PATCH /v1/nodes/${id(1)} -f ${file}`)).exit).toBe(0)
  expect(api.callsOf(serverUpdate)[0]!.body).toEqual({ name: 'rack-3' })
})

test('an answer that refuses is printed, and the exit code says its kind', async () => {
  const { api, cli } = await signedIn()
  api.on(datacenterList, () => {
    throw new Problem('not_found', 'There is no such object')
  })
  const ran = await cli.run('api GET /v1/datacenters -o jsonpath={.items}')
  expect(ran).toMatchObject({ exit: 5, err: 'HTTP 404\n' })
  expect(JSON.parse(ran.out)).toMatchObject({ error: 'There is no such object' })
})

test('without a session the call is sent without a token', async () => {
  const { api, cli } = await signedIn()
  api.on(datacenterList, () => pageOf([]))
  await cli.sessions.change(api.url, async () => null)
  const ran = await cli.run(`api GET /v1/datacenters --url ${api.url}`)
  expect(ran).toMatchObject({ exit: 3, err: 'HTTP 401\n' })
  expect(api.callsOf(datacenterList)[0]!.headers.authorization).toBeUndefined()
})

test('what is no path, no method, no parameter or no JSON is refused before anything is sent', async () => {
  const { api, cli } = await signedIn()
  const file = join(cli.folder, 'latin.json')
  await writeFile(file, Buffer.from('{"name": "Pozna\xf1"}', 'latin1'))
  const refused = async (...args: string[]) => {
    const { exit, err } = await cli.run(['api', ...args])
    expect(exit).toBe(2)
    return err
  }
  expect(await refused('GET', 'https://evil.example/v1/nodes')).toContain('is no path such as')
  expect(await refused('GET', '//evil.example/v1')).toContain('is no path such as')
  expect(await refused('BREW', '/v1/nodes')).toContain('METHOD is one of GET')
  expect(await refused('GET', '/v1/nodes', '--query', 'page')).toContain('NAME=VALUE')
  expect(await refused('POST', '/v1/datacenters', '-d', '{')).toContain('is not JSON')
  expect(await refused('POST', '/v1/datacenters', '-f', file)).toContain('is not UTF-8')
  expect(await refused('POST', '/v1/x', '-f', file, '-d', '{}')).toContain('either --data')
  expect(api.calls).toEqual([])
})
