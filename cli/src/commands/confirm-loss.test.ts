import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Problem } from '#contract/errors.ts'
import { patchCreate, patchList, patchPreview, patchRemove } from '#contract/patches.ts'
import { canLose, type LossConsent, lossOfQuery, undoRule } from '#contract/servers/losses.ts'
import { serverGet } from '#contract/servers/servers.ts'
import type { Terminal } from '../terminal.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { aServer, id, pageOf } from '../testing/things.ts'
import { type Confirmed, withLosses } from './confirm-loss.ts'
import { CliError } from '../exit.ts'

const loss = {
  name: 'cp-1',
  reason: 'Steelyard would lose cp-1: eth0, the link that Steelyard reaches it on, is ignored',
}
const demand = (confirmed: readonly LossConsent[] = []) => {
  const verdict = canLose([loss], confirmed)
  if (!verdict.ok)
    throw new Problem('loss_not_confirmed', verdict.reason, {
      confirmed_loss: 'cp-1',
      undo_after_seconds: undoRule,
    })
}
const given = { 'confirm-loss': [], 'undo-after': undefined, 'for-good': false }

async function started() {
  const api = await startApi()
  const cli = await startCli(api)
  const patch = {
    patch_id: id(3),
    node_id: id(1),
    name: 'net',
    weight: 500,
    labels: {},
    body: 'machine: {}\n',
    read_only: false,
    version: 1,
    created_at: '2026-11-20T08:00:00.000Z',
    updated_at: '2026-11-20T08:00:00.000Z',
    created_by: 'a@example.com',
  }
  api.on(serverGet, () => aServer({ name: 'cp-1' }))
  api.on(patchList, () => pageOf([patch]))
  api.on(patchPreview, () => ({
    diff: { before: '', after: patch.body },
    sources: [],
    errors: [],
    warnings: [],
    verdict: { kind: 'at_install' as const, reason: 'Applied at install' },
  }))
  const consents: unknown[] = []
  api.on(patchCreate, ({ body }) => {
    demand(body.confirmed_loss)
    consents.push(body.confirmed_loss)
    return patch
  })
  api.on(patchRemove, ({ query }) => {
    demand(lossOfQuery(query))
    consents.push(lossOfQuery(query))
    return undefined
  })
  const file = join(cli.folder, 'net.yaml')
  await writeFile(file, patch.body)
  return { cli, file, of: id(1), consents }
}

describe('a change after which a server would be lost', () => {
  test('is refused with the reason and the option without a terminal', async () => {
    const { cli, file, of } = await started()
    const ran = await cli.run(`patch create ${of} net --file ${file}`)
    expect(ran.exit).not.toBe(0)
    expect(ran.err).toContain(loss.reason)
    expect(ran.err).toContain('--confirm-loss cp-1')
  })

  test('is sent with --confirm-loss and the name of the server, and with no other name', async () => {
    const { cli, file, of } = await started()
    const other = await cli.run(`patch create ${of} net --file ${file} --confirm-loss cp-2`)
    expect(other.exit).not.toBe(0)
    expect(
      await cli.run(`patch create ${of} net --file ${file} --confirm-loss cp-1`),
    ).toMatchObject({ exit: 0 })
    expect((await cli.run(`patch remove ${of} net --yes`)).exit).not.toBe(0)
    expect(await cli.run(`patch remove ${of} net --yes --confirm-loss cp-1`)).toMatchObject({
      exit: 0,
    })
  })

  test('is sent with the time after which Talos undoes it, or for good', async () => {
    const { cli, file, of, consents } = await started()
    const create = `patch create ${of} net --file ${file} --confirm-loss cp-1`
    for (const more of ['', ' --undo-after 10m', ' --undo-after 90s', ' --for-good'])
      expect(await cli.run(`${create}${more}`)).toMatchObject({ exit: 0 })
    await cli.run(`patch remove ${of} net --yes --confirm-loss cp-1 --undo-after 1h`)
    await cli.run(`patch remove ${of} net --yes --confirm-loss cp-1 --for-good`)
    const sent = (undo_after_seconds: number | null) => [{ name: 'cp-1', undo_after_seconds }]
    expect(consents).toEqual([
      ['cp-1'],
      ...[600, 90, null, 3_600, null].map((seconds) => sent(seconds)),
    ])
    for (const more of ['--undo-after 59s', '--undo-after 61m', '--undo-after 5', '--undo-after x'])
      expect((await cli.run(`${create} ${more}`)).err).toContain('60 to 3600 s; --for-good is')
    expect((await cli.run(`${create} --undo-after 5m --for-good`)).err).toContain('Give either')
    expect(consents).toHaveLength(6)
  })

  test('asks on a terminal for the name, and sends nothing if another one is typed', async () => {
    const asked: string[] = []
    const at = (answer: string): Pick<Terminal, 'ask'> => ({
      ask: async (question) => {
        asked.push(question)
        return answer
      },
    })
    const calls: unknown[] = []
    const call = async (confirmed: Confirmed) => {
      calls.push(confirmed)
      if (confirmed.confirmed_loss === undefined)
        throw new CliError('failure', loss.reason, {
          body: {
            code: 'loss_not_confirmed',
            error: loss.reason,
            request_id: 'r',
            fields: { confirmed_loss: 'cp-1', undo_after_seconds: undoRule },
          },
        })
      return 'sent'
    }
    const context = (answer: string) => ({ terminal: at(answer) as Terminal })
    await expect(withLosses(context('yes'), given, call)).rejects.toThrow('Nothing was done')
    expect(calls).toEqual([{}])
    expect(await withLosses(context('cp-1'), given, call)).toBe('sent')
    expect(calls).toEqual([{}, {}, { confirmed_loss: ['cp-1'] }])
    expect(asked[0]).toContain('Type cp-1 to continue')
    calls.length = 0
    await withLosses(context('cp-1'), { ...given, 'undo-after': '10m' }, call)
    expect(calls).toEqual([{}, { confirmed_loss: [{ name: 'cp-1', undo_after_seconds: 600 }] }])
    expect(asked.at(-1)).toContain(
      'The change of the network of cp-1 is tried first: Talos undoes it after 10 min unless',
    )
  })
})
