import { expect, test } from 'vitest'
import { type OfferedTalos, versionList } from '#contract/versions.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'

const offered = (talos_version: string, more: Partial<OfferedTalos> = {}): OfferedTalos => ({
  talos_version,
  prerelease: false,
  support: { ends: '2026-09-03', ended: true },
  kubernetes_versions: ['1.36.3', '1.33.12'],
  kubernetes: [
    { version: '1.36.3', support: { ends: '2027-06-28', ended: false } },
    { version: '1.33.12', support: { ends: '2026-06-28', ended: true } },
  ],
  kubernetes_minors: ['1.31', '1.36'],
  ...more,
})

test('versions are listed with a mark for new and unsupported ones, and the reason why the list may be outdated', async () => {
  const api = await startApi()
  const cli = await startCli(api)
  const answer = {
    items: [offered('v1.13.9')],
    source: 'shipped' as const,
    reason: 'The image factory at https://factory.example refuses connections',
    notices: ['Talos v1.14.2 is out.'],
  }
  api.on(versionList, () => answer)
  const { exit, out, err } = await cli.run('versions')
  expect(exit).toBe(0)
  expect(out).toMatch(/^TALOS +SUPPORT +KUBERNETES +OF THESE SUPPORTED$/m)
  expect(out).toMatch(/^v1\.13\.9 +out of support since 2026-09-03 +1\.31 to 1\.36 +1\.36\.3$/m)
  expect(err).toBe(
    'Talos v1.14.2 is out.\nThe image factory at https://factory.example refuses connections. These versions were shipped with Steelyard.\n',
  )
  expect(JSON.parse((await cli.run('versions --prereleases --json')).out)).toEqual(answer)
  expect(api.callsOf(versionList).at(-1)!.query).toEqual({ prereleases: 'true' })
})
