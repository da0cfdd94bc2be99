import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Problem } from '#contract/errors.ts'
import { patchCreate, patchList, patchPreview, patchRemove } from '#contract/patches.ts'
import { canLose } from '#contract/servers/losses.ts'
import { serverGet } from '#contract/servers/servers.ts'
import type { Terminal } from '../terminal.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { aServer, id, pageOf } from '../testing/things.ts'
import { withLosses } from './confirm-loss.ts'
import { CliError } from '../exit.ts'

const loss = {
  name: 'cp-1',
  reason: 'Steelyard would lose cp-1: eth0, the link that Steelyard reaches it on, is ignored',
}
const demand = (confirmed: readonly string[] = []) => {
  const verdict = canLose([loss], confirmed)
  if (!verdict.ok)
    throw new Problem('loss_not_confirmed', verdict.reason, { confirmed_loss: 'cp-1' })
}

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
  api.on(patchCreate, ({ body }) => {
    demand(body.confirmed_loss)
    return patch
  })
  api.on(patchRemove, ({ query }) => {
    demand(query.confirmed_loss?.split(','))
    return undefined
  })
  const file = join(cli.folder, 'net.yaml')
  await writeFile(file, patch.body)
  return { cli, file, of: id(1) }
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

  test('asks on a terminal for the name, and sends nothing if another one is typed', async () => {
    const asked: string[] = []
    const at = (answer: string): Pick<Terminal, 'ask'> => ({
      ask: async (question) => {
        asked.push(question)
        return answer
      },
    })
    const calls: unknown[] = []
    const call = async (confirmed: { confirmed_loss?: string[] }) => {
      calls.push(confirmed)
      if (confirmed.confirmed_loss === undefined)
        throw new CliError('failure', loss.reason, {
          body: {
            code: 'loss_not_confirmed',
            error: loss.reason,
            request_id: 'r',
            fields: { confirmed_loss: 'cp-1' },
          },
        })
      return 'sent'
    }
    const context = (answer: string) => ({ terminal: at(answer) as Terminal })
    await expect(withLosses(context('yes'), [], call)).rejects.toThrow('Nothing was done')
    expect(calls).toEqual([{}])
    expect(await withLosses(context('cp-1'), [], call)).toBe('sent')
    expect(calls).toEqual([{}, {}, { confirmed_loss: ['cp-1'] }])
    expect(asked[0]).toContain('Type cp-1 to continue')
  })
})
