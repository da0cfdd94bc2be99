import { expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { operationGet } from '#contract/operations.ts'
import { serverGet, serverList } from '#contract/servers/servers.ts'
import { signedIn } from '../testing/signed-in.ts'
import { anOperation, aServer, id, pageOf } from '../testing/things.ts'

const rack = () =>
  signedIn().then(({ api, cli }) => {
    const page = { ...pageOf([aServer(), aServer({ id: id(2), name: 'x' })]), total: 2 }
    api.on(serverList, () => page)
    api.on(serverGet, () => page.items[0]!)
    return { api, cli, page }
  })

test('-o prints a list and an object as JSON, YAML, names or by a template', async () => {
  const { cli, page } = await rack()
  const out = async (line: string | string[]) => (await cli.run(line)).out
  expect(JSON.parse(await out('server list -o json'))).toEqual(page)
  expect(await out('server list -o json')).toBe(await out('server list --json'))
  expect(parseYaml(await out('server list -o yaml'))).toEqual(page)
  expect(parseYaml(await out(`server show ${id(1)} -o yaml`))).toEqual(page.items[0])
  expect(await out('server list -o name')).toBe('brave-otter-042\nx\n')
  expect(await out(`server show ${id(1)} --output=name`)).toBe('brave-otter-042\n')
  expect(await out('-o jsonpath={.items[*].name} server list')).toBe('brave-otter-042 x\n')
  expect(
    await out([
      'server',
      'list',
      '-o',
      'jsonpath={range .items[*]}{.name}{"\\t"}{.id}{"\\n"}{end}',
    ]),
  ).toBe(`brave-otter-042\t${id(1)}\nx\t${id(2)}\n`)
})

test('-o wide shows every column, and --no-headers only the rows', async () => {
  const { cli } = await rack()
  const plain = (await cli.run('server list')).out.split('\n')
  const wide = (await cli.run('server list -o wide', { columns: 80 })).out.split('\n')
  expect(plain[0]).not.toContain('MAKER')
  expect(wide[0]).toMatch(/^NAME .* MAKER .* SERIAL/)
  const bare = await cli.run('server list --no-headers')
  expect(
    bare.out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[0]),
  ).toEqual(['brave-otter-042', 'x'])
})

test('on 80 columns, the list of servers has whole names and no broken line', async () => {
  const { api, cli } = await rack()
  const name = `rack-3-${'x'.repeat(30)}`
  api.on(serverList, () => pageOf([aServer({ name })]))
  const lines = (await cli.run('server list', { columns: 80 })).out.split('\n')
  expect(lines[0]).toMatch(/^NAME +STATUS /)
  expect(lines[1]).toContain(name)
  expect(Math.max(...lines.slice(0, 2).map((line) => line.length))).toBeLessThanOrEqual(80)
  expect(lines[2]).toMatch(/^Not shown: .*\(-o wide\)$/)
})

test('a list with more pages says so to a program on standard error', async () => {
  const { api, cli, page } = await rack()
  api.on(serverList, () => ({ ...page, total: 9 }))
  expect(await cli.run('server list -o name')).toEqual({
    exit: 0,
    out: 'brave-otter-042\nx\n',
    err: '2 of 9 (page 1)\n',
  })
})

test('each change of a watched object follows in the form of -o', async () => {
  const { api, cli } = await rack()
  const states = [anOperation({ status: 'running' }), anOperation({ status: 'done' })]
  api.on(operationGet, () => (states.length > 1 ? states.shift()! : states[0]!))
  expect((await cli.run(`operation watch ${id(1)} -o jsonpath={.status}`)).out).toBe(
    'running\ndone\n',
  )
})

test('hostile text in YAML reaches a terminal only as an escape', async () => {
  const { api, cli } = await rack()
  const name = 'a\u001b[2J\u009b2J\u202eb'
  api.on(serverGet, () => aServer({ name }))
  const { out } = await cli.run(`server show ${id(1)} -o yaml`)
  // oxlint-disable-next-line no-control-regex
  expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  expect((parseYaml(out) as { name: string }).name).toBe(name)
})

test('a form that the command has not is refused, and an error is JSON with -o json', async () => {
  const { cli } = await rack()
  const err = async (line: string) => {
    const ran = await cli.run(line)
    expect(ran).toMatchObject({ exit: 2, out: '' })
    return ran.err
  }
  expect(await err('server list -o xml')).toContain('-o is one of json, yaml, wide, name')
  expect(await err('server list -o jsonpath={.items')).toContain('} is missing')
  expect(await err('server list -o yaml --json')).toContain('Give either --json or -o')
  expect(await err('context use lab -o json')).toContain('context use has no -o')
  expect(await err('doctor -o yaml')).toContain('doctor prints text, or JSON with -o json')
  expect(JSON.parse(await err('server lst -o json'))).toMatchObject({ code: 'usage' })
})
