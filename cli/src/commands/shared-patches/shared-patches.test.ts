import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Problem } from '#contract/errors.ts'
import {
  sharedPatchCreate,
  sharedPatchPreview,
  sharedPatchRemove,
  sharedPatchRollOut,
  sharedPatchUndo,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { startCli } from '../../testing/cli.ts'
import { numberedServer, startInstallation } from '../../testing/installation.ts'
import { id } from '../../testing/things.ts'

const none = { labels: [], cluster_ids: [], roles: [], node_ids: [] }
const body = 'machine:\n  sysctls:\n    vm.swappiness: "{{label.swap}}"\n'

async function started() {
  const there = await startInstallation(
    [1, 2, 3].map((n) => ({
      ...numberedServer(n, { name: `poz-${n}` }),
      labels: { net: 'storage', swap: String(n) },
    })),
  )
  const cli = await startCli(there.api)
  const file = join(cli.folder, 'patch.yaml')
  await writeFile(file, body)
  return { there, api: there.api, cli, file }
}

test('two commands save a patch for the servers with a label and roll it out, canary first', async () => {
  const { api, cli, file } = await started()
  expect(await cli.run(`shared-patch save calm --file ${file} -l net=storage`)).toMatchObject({
    exit: 0,
    out: 'calm is saved for 3 servers. Roll it out: steelyard shared-patch roll-out calm\n',
  })
  expect(api.callsOf(sharedPatchCreate)[0]!.body).toEqual({
    name: 'calm',
    weight: 500,
    body,
    targets: { ...none, labels: ['net=storage'] },
  })
  const rolled = await cli.run('shared-patch roll-out calm --canary poz-2 --in-window --yes --wait')
  expect(rolled.exit).toBe(0)
  const [call] = api.callsOf(sharedPatchRollOut)
  expect(call!.body).toEqual({ canary_id: id(2), in_window: true })
  expect(call!.headers['if-match']).toBe('"1"')
  const shown = await cli.run('shared-patch show calm')
  expect(shown.out).toContain('3 current, 0 behind')
  expect(shown.out).toMatch(/^poz-2 .*current +1$/m)
  expect(shown.out).toContain('vm.swappiness: "{{label.swap}}"')
  expect((await cli.run('shared-patch list')).out).toMatch(/^calm +500 +3 +0 /m)
})

test('one command takes the last roll-out back, and a refusal of the API is shown', async () => {
  const { api, cli, file } = await started()
  await cli.run(`shared-patch save calm --file ${file} --server poz-1 --server poz-3`)
  expect(api.callsOf(sharedPatchCreate)[0]!.body).toMatchObject({
    targets: { node_ids: [id(1), id(3)] },
  })
  const undone = await cli.run('shared-patch undo calm --yes --in-window --wait')
  expect(undone.exit).toBe(0)
  expect(api.callsOf(sharedPatchUndo)[0]!.body).toEqual({ in_window: true })
  api.on(sharedPatchUndo, () => {
    throw new Problem('transition_refused', 'The last roll-out was undone already')
  })
  const refused = await cli.run('shared-patch undo calm --yes')
  expect(refused.exit).not.toBe(0)
  expect(refused.err).toContain('The last roll-out was undone already')
})

test('a roll-out, an undo and a deletion ask for the name of the patch, after the differences', async () => {
  const { api, cli, file } = await started()
  await cli.run(`shared-patch save calm --file ${file} -l net=storage`)
  for (const what of ['roll-out', 'undo', 'delete']) {
    const unsure = await cli.run(`shared-patch ${what} calm`)
    expect(unsure.exit).toBe(2)
    expect(unsure.err).toContain('--yes')
  }
  const calls = [sharedPatchRollOut, sharedPatchUndo, sharedPatchRemove]
  expect(calls.flatMap((call) => api.callsOf(call))).toEqual([])
  const rolled = await cli.run('shared-patch roll-out calm --server poz-1', {
    ask: () => Promise.resolve('calm'),
  })
  expect(rolled.err).toContain('3 servers (poz-1, poz-2, poz-3), without a reboot:\n  +machine:')
  expect(api.callsOf(sharedPatchRollOut)[0]!.body).toMatchObject({ node_ids: [id(1)] })
})

test('a saved patch is changed only where options say so, with the version that was read', async () => {
  const { api, cli, file } = await started()
  expect(await cli.run('shared-patch save calm -l a=b')).toMatchObject({
    exit: 2,
    err: expect.stringContaining(
      'There is no shared patch calm: name its file with --file',
    ) as string,
  })
  await cli.run(`shared-patch save calm --file ${file} -l net=storage --role worker --weight 7`)
  expect(api.callsOf(sharedPatchCreate)[0]!.body).toMatchObject({
    weight: 7,
    targets: { labels: ['net=storage'], roles: ['worker'] },
  })
  expect((await cli.run('shared-patch save calm --no-targets')).exit).toBe(0)
  const [call] = api.callsOf(sharedPatchUpdate)
  expect(call!.body).toEqual({ targets: none })
  expect(call!.headers['if-match']).toBe('"1"')
  expect(await cli.run('shared-patch save calm')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('Specify what to change') as string,
  })
  expect((await cli.run('shared-patch save calm --no-targets -l a=b')).err).toContain(
    'Give either targets or --no-targets',
  )
  api.on(sharedPatchUpdate, () => {
    throw new Problem('stale', 'This object has changed since you opened it.')
  })
  expect((await cli.run('shared-patch save calm --weight 8')).err).toContain('has changed since')
  expect((await cli.run('shared-patch delete calm --yes')).exit).toBe(0)
  expect((await cli.run('shared-patch list')).out).not.toContain('calm')
})

test('the preview is grouped by likeness, names refusals, and exits with 1 if there are any', async () => {
  const { api, cli, file } = await started()
  api.on(sharedPatchPreview, () => ({
    servers: 4,
    unchanged: 1,
    groups: [
      {
        servers: [
          { id: id(1), name: 'poz-1' },
          { id: id(2), name: 'poz-2' },
        ],
        lines: ['+parent: {{link}}'],
        example: '',
        effect: 'no_reboot' as const,
        warnings: ['It is tried first'],
      },
    ],
    refused: [{ server: { id: id(3), name: 'poz-3' }, reason: 'poz-3 has no link enp1s0' }],
    losses: [],
  }))
  expect(await cli.run(`shared-patch preview calm --file ${file} -l net=storage`)).toEqual({
    exit: 1,
    out: '2 servers (poz-1, poz-2), without a reboot:\n  +parent: {{link}}\n  # It is tried first\npoz-3: refused, poz-3 has no link enp1s0\n1 server: no difference\n',
    err: '',
  })
  expect(api.callsOf(sharedPatchCreate)).toEqual([])
})
