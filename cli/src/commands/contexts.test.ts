import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { serverList } from '#contract/servers/servers.ts'
import { authorize } from '#contract/sessions.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { aServer, id, pageOf } from '../testing/things.ts'

async function withTwo() {
  const [main, lab] = [await startApi(), await startApi()]
  main.on(serverList, () => pageOf([aServer({ name: 'in-main' })]))
  lab.on(serverList, () => pageOf([aServer({ name: 'in-lab' })]))
  lab.on(authorize, ({ body }) => ({
    userData: { id: id(9), email: body.email, name: 'A' },
    accessToken: 'lab-1',
    refreshToken: 'refresh',
  }))
  lab.tokens.add('lab-1')
  const cli = await startCli(main)
  expect(await cli.run(`context add lab ${lab.url}/`)).toEqual({
    exit: 0,
    out: '',
    err: `lab is ${lab.url}. Sign in there: steelyard login --context lab\n`,
  })
  return { main, lab, cli }
}

test('a command goes to the context that it names, and each context has its own session', async () => {
  const { main, lab, cli } = await withTwo()
  expect((await cli.run('server list')).out).toContain('in-main')
  expect(await cli.run('server list --context lab')).toMatchObject({
    exit: 3,
    err: expect.stringContaining(`Not signed in to ${lab.url}`) as string,
  })
  await cli.run('login b@example.com --password-stdin --context lab', {
    readAll: async () => 'a password\n',
  })
  for (const line of ['--context lab server list', 'server list --context=lab'])
    expect((await cli.run(line)).out).toContain('in-lab')
  expect((await cli.run(`server list --url ${main.url}`)).out).toContain('in-main')
  expect(JSON.parse((await cli.run('context list --json')).out)).toEqual({
    items: [{ name: 'lab', url: lab.url, current: true, email: 'b@example.com' }],
  })
})

test('context use changes where later commands go', async () => {
  const { main, lab, cli } = await withTwo()
  await cli.run(`context add main ${main.url}`)
  expect((await cli.run('context use lab')).err).toBe(
    `Commands go to ${lab.url} now. Sign in there: steelyard login --context lab\n`,
  )
  expect((await cli.run('server list')).exit).toBe(3)
  expect((await cli.run('context use main')).err).toBe(`Commands go to ${main.url} now\n`)
  expect((await cli.run('server list')).out).toContain('in-main')
  expect((await cli.run('context list')).out).toMatch(
    /^CURRENT +NAME +ADDRESS +SIGNED IN AS\n- +lab +\S+ +-\n\* +main +\S+ +a@example.com\n$/,
  )
})

test('STEELYARD_CONTEXT names a context, and two names for one command are refused', async () => {
  const { main, cli } = await withTwo()
  cli.env['STEELYARD_CONTEXT'] = 'lab'
  expect((await cli.run('server list')).exit).toBe(3)
  expect((await cli.run(`server list --url ${main.url}`)).out).toContain('in-main')
  expect(await cli.run(`server list --url ${main.url} --context lab`)).toMatchObject({
    exit: 2,
    err: 'Give either --url or --context\n',
  })
  cli.env['STEELYARD_URL'] = main.url
  expect(await cli.run('server list')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('are both set') as string,
  })
})

test('a context is removed by its name, and wrong names and addresses are refused', async () => {
  const { lab, cli } = await withTwo()
  expect(await cli.run('context add Lab! http://127.0.0.1')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('lowercase') as string,
  })
  expect((await cli.run('context add far http://steelyard.example.com')).exit).toBe(2)
  expect((await cli.run('context add far nowhere')).exit).toBe(2)
  expect(await cli.run('server list --context constructor')).toMatchObject({
    exit: 5,
    err: expect.stringContaining('There is no context constructor') as string,
  })
  expect(await cli.run('context remove lab')).toEqual({ exit: 0, out: '', err: 'lab is removed\n' })
  expect((await cli.run('context use lab')).exit).toBe(5)
  expect((await cli.run('context list')).out).toBe('No contexts\n')
  expect(lab.calls).toEqual([])
  await writeFile(join(dirname(cli.sessions.path), 'contexts.json'), '{"lab": 1}')
  expect(await cli.run('context list')).toMatchObject({
    exit: 1,
    err: expect.stringContaining('is damaged') as string,
  })
})
