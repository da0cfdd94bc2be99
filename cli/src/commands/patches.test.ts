import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Patch,
  patchCreate,
  patchList,
  patchPreview,
  patchRemove,
  patchUpdate,
  type Preview,
} from '#contract/patches.ts'
import { serverGet } from '#contract/servers/servers.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { aServer, id, pageOf } from '../testing/things.ts'

const at = '2026-11-20T08:00:00.000Z'
const sysctls: Patch = {
  patch_id: id(3),
  node_id: id(1),
  name: 'sysctls',
  weight: 500,
  labels: { team: 'infra' },
  body: 'machine:\n  sysctls: {a: "1"}\n',
  read_only: false,
  version: 2,
  created_at: at,
  updated_at: at,
  created_by: 'a@example.com',
}
const merged: Preview = {
  diff: { before: 'machine: {}\n', after: 'machine:\n  sysctls:\n    a: "1"\n' },
  sources: [],
  errors: [],
  warnings: [],
  verdict: { kind: 'at_install', reason: 'Applied at install' },
}

/** Starts an API with one server and one patch. `preview` is the response to patch previews. */
async function withPatch({
  cluster = null,
  preview = merged,
}: { cluster?: { id: string; name: string } | null; preview?: Preview } = {}) {
  const api = await startApi()
  const cli = await startCli(api)
  api.on(serverGet, () => aServer({ cluster }))
  api.on(patchList, () => pageOf([sysctls]))
  api.on(patchPreview, () => preview)
  api.on(patchCreate, ({ body }) => ({
    ...sysctls,
    ...body,
    labels: body.labels ?? {},
    weight: body.weight ?? 500,
  }))
  api.on(patchUpdate, () => sysctls)
  api.on(patchRemove, () => undefined)
  const file = join(cli.folder, 'patch.yaml')
  await writeFile(file, sysctls.body)
  return { api, cli, file }
}

test('a patch from a file is previewed and then created', async () => {
  const { api, cli, file } = await withPatch()
  const made = await cli.run(
    `patch create ${id(1)} limits --file ${file} --weight 10 --label team=storage,rack=3`,
  )
  expect(made).toEqual({
    exit: 0,
    out: 'limits is created, and applied when the server is installed\n',
    err: '',
  })
  expect(api.callsOf(patchCreate)[0]!.body).toEqual({
    name: 'limits',
    weight: 10,
    labels: { team: 'storage', rack: '3' },
    body: sysctls.body,
  })
  const dry = await cli.run(`patch create ${id(1)} limits --file ${file} --dry-run`)
  expect(dry.out).toBe('machine:\n  sysctls:\n    a: "1"\n# Applied at install\n')
  expect(api.callsOf(patchCreate)).toHaveLength(1)
  expect(await cli.run(`patch create ${id(1)} limits`)).toMatchObject({
    exit: 2,
    err: expect.stringContaining('--file') as string,
  })
  expect(await cli.run(`patch create ${id(1)} limits --file ${file} --label team`)).toMatchObject({
    exit: 2,
    err: '"team" is not KEY=VALUE\n',
  })
  expect(
    await cli.run(`patch create ${id(1)} limits --file ${cli.folder}/none.yaml`),
  ).toMatchObject({ exit: 1 })
})

test('merge problems are printed with their lines, and nothing is saved', async () => {
  const errors = [
    { line: 2, column: 3, path: 'machine.sysctl', message: 'Talos has no field machine.sysctl' },
    { line: null, column: null, path: null, message: 'It removes certSANs' },
  ]
  const { api, cli, file } = await withPatch({ preview: { ...merged, errors } })
  const refused = await cli.run(`patch edit ${id(1)} sysctls --file ${file}`)
  expect(refused).toMatchObject({
    exit: 2,
    err: 'Line 2, column 3: Talos has no field machine.sysctl\nIt removes certSANs\n',
  })
  expect(api.callsOf(patchUpdate)).toHaveLength(0)
})

test('case 28: a file in another encoding is refused by its name and line, and UTF-16 with a byte order mark is read', async () => {
  const { api, cli } = await withPatch()
  const latin = join(cli.folder, 'latin.yaml')
  await writeFile(
    latin,
    Buffer.from('machine:\n  nodeAnnotations:\n    a/owner: "Zesp\xf3\xb3"\n', 'latin1'),
  )
  for (const command of [
    `patch create ${id(1)} x --file ${latin}`,
    `patch edit ${id(1)} sysctls --file ${latin}`,
  ])
    expect(await cli.run(command)).toMatchObject({
      exit: 2,
      err: expect.stringContaining(
        'latin.yaml is not UTF-8 text: see line 3, byte 47 of the file (0xF3)\n',
      ) as string,
    })
  expect(api.callsOf(patchCreate)).toHaveLength(0)
  const wide = join(cli.folder, 'wide.yaml')
  await writeFile(wide, Buffer.from('\ufeffmachine:\n  sysctls: {}\n', 'utf16le'))
  await cli.run(`patch create ${id(1)} wide --file ${wide} --dry-run`)
  expect(api.callsOf(patchPreview).at(-1)?.body).toMatchObject({
    body: 'machine:\n  sysctls: {}\n',
  })
})

test('patch edit sends only the given fields, and the preview includes the unchanged fields', async () => {
  const { api, cli } = await withPatch()
  expect((await cli.run(`patch edit ${id(1)} sysctls --weight 600 --no-labels`)).exit).toBe(0)
  expect(api.callsOf(patchUpdate)[0]).toMatchObject({
    params: { id: id(1), patchId: id(3) },
    body: { weight: 600, labels: {} },
  })
  expect(api.callsOf(patchPreview)[0]!.body).toEqual({
    patch_id: id(3),
    name: 'sysctls',
    weight: 600,
    body: sysctls.body,
  })
  expect(await cli.run(`patch edit ${id(1)} sysctls`)).toMatchObject({
    exit: 2,
    err: expect.stringContaining('what to change') as string,
  })
  expect(await cli.run(`patch edit ${id(1)} sysctls --label a=b --no-labels`)).toMatchObject({
    exit: 2,
  })
  expect(await cli.run(`patch edit ${id(1)} other --weight 1`)).toMatchObject({ exit: 5 })
})

test("for a server in a cluster, the effect of the patch is printed, and the user must type the server's name", async () => {
  const verdict = { kind: 'reboot', reason: 'kernel arguments change' } as const
  const { api, cli, file } = await withPatch({
    cluster: { id: id(20), name: 'web' },
    preview: { ...merged, verdict },
  })
  const asked: string[] = []
  const ask = (answer: string) => ({
    ask: async (question: string) => {
      asked.push(question)
      return answer
    },
  })
  expect(await cli.run(`patch create ${id(1)} limits --file ${file}`, ask('web'))).toMatchObject({
    exit: 1,
    err: 'Nothing was done\n',
  })
  expect(asked).toEqual([
    'brave-otter-042 is in the cluster web. Applied with a reboot: kernel arguments change. Type brave-otter-042 to continue: ',
  ])
  expect(api.callsOf(patchCreate)).toHaveLength(0)
  expect(
    await cli.run(`patch create ${id(1)} limits --file ${file}`, ask('brave-otter-042')),
  ).toMatchObject({ out: 'limits is created and applied\n' })
  expect((await cli.run(`patch edit ${id(1)} sysctls --weight 1 --yes`)).exit).toBe(0)
})

test('warnings are part of the confirmation and of the output of a dry run; without either, they go to standard error', async () => {
  const warnings = [
    {
      check: 'management_address' as const,
      link: 'eth0',
      line: null,
      message: 'It stops DHCP on eth0',
    },
    {
      check: null,
      link: 'eth7',
      line: 5,
      message: 'brave-otter-042 has no link eth7: it has eth0',
    },
  ]
  const joined = await withPatch({
    cluster: { id: id(20), name: 'web' },
    preview: { ...merged, warnings },
  })
  const asked: string[] = []
  await joined.cli.run(`patch create ${id(1)} limits --file ${joined.file}`, {
    ask: async (question) => (asked.push(question), ''),
  })
  expect(asked[0]).toContain(
    'It stops DHCP on eth0. Line 5: brave-otter-042 has no link eth7: it has eth0. Type brave-otter-042',
  )
  const free = await withPatch({ preview: { ...merged, warnings } })
  const dry = await free.cli.run(`patch create ${id(1)} limits --file ${free.file} --dry-run`)
  expect(dry.out).toContain(
    '# Warning: It stops DHCP on eth0\n# Warning: Line 5: brave-otter-042 has no link eth7',
  )
  expect(await free.cli.run(`patch create ${id(1)} limits --file ${free.file}`)).toMatchObject({
    out: expect.stringContaining('limits is created') as string,
    err: expect.stringContaining('Warning: It stops DHCP on eth0\n') as string,
  })
})

test('removing a patch requires typing its name', async () => {
  const { api, cli } = await withPatch()
  expect(await cli.run(`patch remove ${id(1)} sysctls`)).toMatchObject({
    exit: 2,
    err: expect.stringContaining('--yes') as string,
  })
  expect(api.callsOf(patchRemove)).toHaveLength(0)
  expect(
    await cli.run(`patch remove ${id(1)} sysctls`, { ask: async () => 'sysctls' }),
  ).toMatchObject({ exit: 0, out: 'sysctls is removed\n' })
  expect(api.callsOf(patchRemove)[0]!.params).toEqual({ id: id(1), patchId: id(3) })
})
