import { expect, test } from 'vitest'
import {
  type Drift,
  serverDrift,
  serverDriftKeep,
  serverDriftOverwrite,
} from '#contract/servers/drift.ts'
import { serverGet, serverList } from '#contract/servers/servers.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { aServer, id, pageOf } from '../testing/things.ts'

const seen = 'ab'.repeat(32)
const drifted: Drift = {
  state: 'drifted',
  reason: 'Configuration was changed outside of Steelyard',
  since: '2026-11-20T08:00:00.000Z',
  seen,
  diff: {
    before: 'machine:\n  sysctls:\n    a: "1"\n',
    after: 'machine:\n  sysctls:\n    a: "2"\n',
  },
  keep: { how: 'patch', reason: 'If kept, the difference becomes a patch of the server' },
}
const none: Drift = { state: 'none', reason: null, since: null, seen: null, diff: null, keep: null }

async function withDrift(drift: Drift) {
  const api = await startApi()
  const cli = await startCli(api)
  api.on(serverGet, () => aServer())
  api.on(serverDrift, () => drift)
  api.on(serverDriftKeep, () => none)
  api.on(serverDriftOverwrite, () => ({ ...drift, state: 'overwriting' as const }))
  return { api, cli }
}

test('changes made by others are shown as a line diff, with the commands to keep or overwrite them', async () => {
  const { cli } = await withDrift(drifted)
  const { exit, out } = await cli.run(`server drift ${id(1)}`)
  expect(exit).toBe(0)
  expect(out).toContain('Configuration was changed outside of Steelyard, seen since 2026-11-20')
  expect(out).toContain('-     a: "1"\n+     a: "2"\n')
  expect(out).toContain('--keep')
  expect((await (await withDrift(none)).cli.run(`server drift ${id(1)}`)).out).toBe(
    'brave-otter-042 has the configuration that Steelyard sent\n',
  )
})

test('keeping and overwriting send the digest that was shown; overwriting asks for confirmation', async () => {
  const { api, cli } = await withDrift(drifted)
  expect(await cli.run(`server drift ${id(1)} --keep`)).toMatchObject({
    exit: 0,
    out: 'Kept as a patch\n',
  })
  expect(api.callsOf(serverDriftKeep)[0]!.body).toEqual({ seen })
  expect(await cli.run(`server drift ${id(1)} --overwrite`)).toMatchObject({
    exit: 2,
    err: expect.stringContaining('--yes') as string,
  })
  expect(api.callsOf(serverDriftOverwrite)).toHaveLength(0)
  expect(await cli.run(`server drift ${id(1)} --overwrite --yes`)).toMatchObject({ exit: 0 })
  expect(api.callsOf(serverDriftOverwrite)[0]!.body).toEqual({ seen })
  expect(await cli.run(`server drift ${id(1)} --overwrite --keep`)).toMatchObject({
    exit: 2,
    err: 'Give either --keep or --overwrite\n',
  })
})

test('the list of servers has the column CONFIGURATION only if a configuration was changed outside of Steelyard', async () => {
  const { api, cli } = await withDrift(drifted)
  api.on(serverList, () =>
    pageOf([aServer({ drift: { since: '2026-11-20T08:00:00.000Z', seen } })]),
  )
  expect((await cli.run('server list')).out).toMatch(
    /CONFIGURATION\n.*changed outside of Steelyard\n/,
  )
  api.on(serverList, () => pageOf([aServer()]))
  expect((await cli.run('server list')).out).not.toContain('CONFIGURATION')
})
