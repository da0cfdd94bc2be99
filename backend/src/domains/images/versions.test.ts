import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { versionList } from '#contract/versions.ts'
import { minors } from '#talos/versions.ts'
import { testClock } from '../../testing/clock.ts'
import { silent } from '../../log.ts'
import { sharedReader } from '../../testing/reader.ts'
import { compareVersions, factory } from './factory.ts'
import { kubernetesReleases } from './kubernetes-releases.ts'
import { imageWorld } from './testing.ts'
import { versions } from './versions.ts'

const limits = { callMs: 300, overallMs: 600, tries: 1, pauseMs: 1, atOnce: 4 }
const at = Date.UTC(2026, 10, 21)
const stops: (() => void)[] = []
afterAll(() => stops.forEach((stop) => stop()))

/** The versions that are offered if the factory gives this answer. */
async function beside(answer: RequestListener | readonly unknown[], now = at, releases = '') {
  const state = { answer }
  const server = createServer((request, response) => {
    if (typeof state.answer === 'function') state.answer(request, response)
    else
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(state.answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const clock = testClock(now)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    clock,
    url,
    offered: versions({
      factory: factory({ url, clock, log: silent, limits, read: sharedReader }),
      releases: kubernetesReleases({ url: releases, clock, log: silent, read: sharedReader }),
      clock,
    }),
    become: (next: typeof answer) => (state.answer = next),
  }
}
const names = (list: { items: readonly { talos_version: string }[] }) =>
  list.items.map((v) => v.talos_version)
const shipped = minors
  .filter((m) => m.notForNew === undefined)
  .map((m) => m.version)
  .toReversed()

describe('the offered versions', () => {
  test('the offered versions come from the image factory, newest first, without prereleases and unsupported minors', async () => {
    const { offered } = await beside([
      'v1.11.6',
      'v1.12.9',
      'v1.13.0',
      'v1.13.11',
      'v1.13.9',
      'v1.13.12-rc.0',
      'v1.15.2',
      'v1.13.0',
      'main',
      '',
    ])
    const list = await offered.list({})
    expect(names(list)).toEqual(['v1.13.11', 'v1.13.9', 'v1.13.0'])
    expect(list).toMatchObject({ source: 'factory', reason: null })
    expect(names(await offered.list({ prereleases: 'true' }))[0]).toBe('v1.13.12-rc.0')
    expect(list.items[0]).toMatchObject({ kubernetes_minors: ['1.31', '1.36'], prerelease: false })
    expect(list.items[0]!.kubernetes_versions[0]).toBe('1.36.5')
  })

  test('the default for a new cluster is the newest patch release that the factory builds', async () => {
    const { offered } = await beside(['v1.12.12', 'v1.13.11', 'v1.13.10'])
    expect(offered.pairs()[0]!.talos).toBe(shipped[0])
    expect(offered.problem('v1.13.42', '1.36.3')).toBeUndefined()
    await offered.refresh()
    expect(offered.pairs()).toEqual([
      { talos: 'v1.13.11', kubernetes: '1.36.5' },
      { talos: 'v1.12.12', kubernetes: '1.35.8' },
    ])
    expect(offered.pairsForNew()).toEqual([{ talos: 'v1.13.11', kubernetes: '1.36.5' }])
    expect(offered.problem('v1.13.42', '1.36.3')).toMatch(
      /^The image factory does not build Talos v1\.13\.42$/,
    )
    expect(offered.problem('v1.13.11', '1.36.99')).toBeUndefined()
    expect(offered.problem('v1.13.11', '1.30.14')).toBe(
      'Talos 1.13 runs Kubernetes 1.31 to 1.36, not 1.30.14',
    )
    expect(offered.problem('v1.15.2', '1.37.1')).toBe(
      'Talos v1.15.2 is not supported; choose 1.12, 1.13 or 1.14',
    )
  })

  test('the list of versions has notices about unsupported newer versions and about the end of support', async () => {
    const { offered } = await beside(['v1.13.11', 'v1.14.3', 'v1.15.2', 'v1.16.0-beta.0'])
    const { notices, items } = await offered.list({})
    expect(notices).toEqual([
      'Talos v1.15.2 is out. This version of Steelyard makes clusters of Talos 1.13 and 1.14.',
      "The community's support of Talos ended: 1.13 on 2026-09-03, 1.14.",
      'Talos 1.12 has had no fixes since 2026-04-27, so it is not offered for new clusters; clusters that run it can be upgraded.',
    ])
    expect(items.map((v) => v.support)).toEqual([
      { ends: null, ended: true },
      { ends: '2026-09-03', ended: true },
    ])
    expect(items[0]!.kubernetes.filter((k) => !k.support.ended).map((k) => k.version)).toEqual([
      '1.37.2',
      '1.36.5',
      '1.35.8',
    ])
    expect(offered.warnings('v1.13.11', '1.34.9')).toEqual([
      'Talos 1.13 has been out of support since 2026-09-03: it gets no fixes any more.',
      'Kubernetes 1.34 has been out of support since 2026-10-27: it gets no fixes any more.',
    ])
    const newest = await beside(['v1.14.3', 'v1.13.11'])
    expect((await newest.offered.list({})).items[0]!.support).toEqual({ ends: null, ended: false })
    expect(newest.offered.warnings('v1.14.3', '1.37.2')).toEqual([])
    const before = await beside(['v1.12.12', 'v1.13.11'], Date.UTC(2026, 5, 1))
    expect((await before.offered.list({})).items.map((v) => v.support.ended)).toEqual([false])
    expect(before.offered.warnings('v1.13.11', '1.36.3')).toEqual([])
  })

  test('patch releases of Kubernetes come from its own list, where it answers as expected', async () => {
    const asked: string[] = []
    const { url } = await beside((request, response) => {
      asked.push(request.url!)
      const minor = Number(/stable-1\.(\d+)\.txt$/.exec(request.url!)?.[1])
      if (minor === 35) response.writeHead(404).end()
      else if (minor === 34) response.end('v1.35.0\n')
      else if (minor === 33) response.end('<html>')
      else response.end(`v1.${minor}.19\n`)
    })
    const { offered, clock } = await beside(['v1.13.9'], at, url)
    const of = async () => (await offered.list({})).items[0]!.kubernetes_versions.slice(0, 5)
    expect(await of()).toEqual(['1.36.19', '1.35.8', '1.34.10', '1.33.13', '1.32.19'])
    expect(offered.pairs()[0]!.kubernetes).toBe('1.36.19')
    const calls = asked.length
    await of()
    expect(asked).toHaveLength(calls)
    clock.advance(16 * 60_000)
    await of()
    expect(asked.length).toBeGreaterThan(calls)
  })

  test('a patch release of Kubernetes is offered after a week, when its kubelet has an image', async () => {
    const out = at - 6 * 24 * 3_600_000
    let patch = 19
    const { url } = await beside((_, response) =>
      response
        .writeHead(200, { 'last-modified': new Date(out).toUTCString() })
        .end(`v1.36.${patch}\n`),
    )
    const { offered, clock } = await beside(['v1.13.9'], at, url)
    const newest = async () => (await offered.list({})).items[0]!.kubernetes_versions[0]
    expect(await newest()).toBe('1.36.5')
    clock.advance(2 * 24 * 3_600_000)
    expect(await newest()).toBe('1.36.19')
    patch = 20
    clock.jump(-2 * 24 * 3_600_000)
    clock.advance(7 * 3_600_000)
    expect(await newest()).toBe('1.36.19')
  })

  test('prereleases are sorted by number, before their release', () => {
    const sorted = [
      'v1.13.0-alpha.1',
      'v1.13.0-beta.0',
      'v1.13.0-rc.0',
      'v1.13.0-rc.10',
      'v1.13.0',
      'v1.13.10',
    ]
    expect(sorted.toReversed().toSorted(compareVersions)).toEqual(sorted)
  })
})

describe('an image factory', () => {
  test.each<[string, RequestListener, RegExp]>([
    ['fails with an error', (_, response) => response.writeHead(500).end('x'), /failed with 500/],
    [
      'is huge',
      (_, response) => response.end(`[${'"v1.13.9",'.repeat(300_000)}"v1.13.9"]`),
      /sent an invalid response: more than/,
    ],
    [
      'has too many versions',
      (_, response) =>
        response.end(JSON.stringify(Array.from({ length: 6_000 }, (_v, i) => `v1.13.${i}`))),
      /not a list of versions/,
    ],
    ['is malformed', (_, response) => response.end('["v1.13.9"'), /sent an invalid response/],
    [
      'is of a newer format',
      (_, response) => response.end('{"versions":[{"version":"v1.16.0"}]}'),
      /not a list of versions/,
    ],
    [
      'is of a newer format of names',
      (_, response) => response.end('["talos-2027.1","talos-2027.2"]'),
      /an unknown format/,
    ],
    ['never arrives', () => undefined, /did not answer within/],
  ])(
    "if the factory's list %s, the built-in list stays in use, with the reason",
    async (_, answer, reason) => {
      const { offered } = await beside(answer)
      const list = await offered.list({})
      expect(list).toMatchObject({
        source: 'shipped',
        reason: expect.stringMatching(reason) as string,
      })
      expect(names(list)).toEqual(shipped)
      // A version pair that can't be checked is accepted here; the installation reports if it
      // fails.
      expect(offered.problem('v1.13.42', '1.36.3')).toBeUndefined()
    },
  )

  test('a slow factory delays a caller by at most two seconds, and its list is cached for the next caller', async () => {
    let answerNow: (() => void) | null = null
    const { offered, clock } = await beside(
      (_, response) => (answerNow = () => response.end('["v1.13.11"]')),
    )
    const first = offered.list({})
    await expect.poll(() => answerNow).not.toBeNull()
    clock.advance(2_000)
    expect(await first).toMatchObject({
      source: 'shipped',
      reason: expect.stringContaining('has not answered within 2 s') as string,
    })
    answerNow!()
    await expect.poll(() => offered.pairs()[0]!.talos).toBe('v1.13.11')
  })

  test('if the factory fails, its last list stays in use, and the factory is called again every ten minutes', async () => {
    const { offered, clock, become } = await beside(['v1.13.10'])
    expect(names(await offered.list({}))).toEqual(['v1.13.10'])
    become(['v1.13.11', 'v1.13.10'])
    expect(names(await offered.list({}))).toEqual(['v1.13.10'])
    clock.advance(11 * 60_000)
    expect(names(await offered.list({}))).toEqual(['v1.13.11', 'v1.13.10'])
    become((_, response) => response.writeHead(500).end())
    clock.advance(11 * 60_000)
    expect(await offered.list({})).toMatchObject({
      source: 'factory',
      reason: expect.stringContaining('500') as string,
      items: [{ talos_version: 'v1.13.11' }, {}],
    })
  })

  test('if the factory builds no supported minor, the built-in versions stay in use', async () => {
    const { offered } = await beside(['v1.15.2', 'v1.13.0-rc.0'])
    expect(names(await offered.list({}))).toEqual(shipped)
    expect(offered.problem('v1.13.9', '1.36.3')).toBeUndefined()
  })
})

test('every signed-in user can list the versions, and an unknown filter is refused', async () => {
  const { people, backend } = await imageWorld()
  const { answer } = await people.viewer.call(versionList)
  expect(answer).toMatchObject({
    source: 'factory',
    items: expect.arrayContaining([
      expect.objectContaining({ talos_version: 'v1.13.9' }),
    ]) as unknown,
  })
  expect(
    (await people.viewer.call(versionList, { query: { prereleases: 'yes' } as never })).status,
  ).toBe(400)
  expect((await backend.app.inject({ method: 'GET', url: '/v1/images/versions' })).statusCode).toBe(
    401,
  )
})
