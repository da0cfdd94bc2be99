/** What callers may store, at its limit: no turn of the main thread is long, today or later. */
import { expect, test } from 'vitest'
import { startBackend } from '../backend.ts'
import { bombs, site, siteId } from './bombs.ts'
import { costOf, longestTurnMs } from '../turns.ts'

test.each(Object.entries(bombs))(
  'a full table of %s is listed, judged and read after a restart in short turns',
  async (_table, { plant, fill, calls }) => {
    const backend = await startBackend()
    const admin = await backend.signIn({ lasts: true })
    await site.execute(backend.platform.db)
    for (const statement of plant) await statement.execute(backend.platform.db)
    await fill?.(backend)
    const turns: [string, number][] = []
    const measure = async (what: string, act: () => Promise<unknown>) =>
      turns.push([what, (await costOf(act)).longestTurnMs])
    for (const [when, each] of [
      ['today', backend],
      ['after a restart', await startBackend({ beside: backend })],
    ] as const) {
      await measure(`${when}: judging`, () => each.domains.findings.judge())
      await measure(`${when}: judging again`, () => each.domains.findings.judge())
      await measure(`${when}: background`, () => each.engine.run(60_000))
      for (const [{ method, path, name }, query, body] of calls)
        await measure(`${when}: ${name} ${query}`, async () => {
          // Without `call`, which reads the answer and compares it with the contract.
          const { statusCode } = await each.app.inject({
            method,
            url: `${path.replace('{id}', siteId)}?${query}`,
            headers: { authorization: `Bearer ${admin.accessToken}` },
            ...(body && { payload: body }),
          })
          // A full table takes no more.
          expect([name, body && statusCode === 409 ? 200 : statusCode]).toEqual([name, 200])
        })
    }
    expect(turns.filter(([, ms]) => ms >= longestTurnMs)).toEqual([])
  },
)
