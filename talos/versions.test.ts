import { describe, expect, test } from 'vitest'
import {
  contractOf,
  has,
  images,
  isOlderPatch,
  isSince,
  kubernetesProblem,
  kubernetesSupportEnds,
  kubernetesVersions,
  minors,
  modelledMinor,
  modelledMinors,
  newestMinor,
  since,
  supportedMinor,
  supportedPairs,
  talosSupportEnds,
  upgradeProblem,
} from './versions.ts'

describe('versions', () => {
  test('versions are parsed as Talos parses them', () => {
    expect(['v1.13.9', '1.13', 'v1.13', '1.13.0-rc.1'].map((v) => contractOf(v))).toEqual(
      Array.from({ length: 4 }, () => ({ major: 1, minor: 13 })),
    )
    expect(() => contractOf('latest')).toThrow('Not a Talos version: latest')
    expect(contractOf()).toEqual({ major: 1, minor: 14 })
  })

  test('in each offered pair, the Talos version supports the Kubernetes version, and the newest pair is first', () => {
    expect(supportedPairs.map((pair) => pair.talos)).toEqual(
      minors.map((m) => m.version).toReversed(),
    )
    for (const { talos, kubernetes } of supportedPairs)
      expect(kubernetesProblem(talos, kubernetes)).toBeUndefined()
    expect(supportedMinor('1.11')).toBeUndefined()
    expect(supportedPairs[0]).toEqual({ talos: 'v1.14.1', kubernetes: '1.37.2' })
  })

  test('unsupported Kubernetes versions are refused with a message that names the supported range', () => {
    expect(kubernetesProblem('1.13', '1.31.0')).toBeUndefined()
    expect(kubernetesProblem('1.13', 'v1.36.99')).toBeUndefined()
    expect(kubernetesProblem('1.13', '1.30.14')).toBe(
      'Talos 1.13 runs Kubernetes 1.31 to 1.36, not 1.30.14',
    )
    expect(kubernetesProblem('1.12', '1.36.0')).toBe(
      'Talos 1.12 runs Kubernetes 1.30 to 1.35, not 1.36.0',
    )
    expect(kubernetesProblem('1.13', '2.31.0')).toContain('runs Kubernetes')
    expect(kubernetesProblem('1.13', 'latest')).toBe(
      'latest is not a Kubernetes version, for example 1.37.0',
    )
    expect(kubernetesProblem('1.9', '1.31.0')).toBe(
      'Talos 1.9 is not supported; choose 1.12, 1.13 or 1.14',
    )
  })

  test.each([
    ['v1.13.5', 'v1.13.9', undefined],
    ['v1.13.9', 'v1.13.5', undefined],
    ['v1.12.11', 'v1.13.9', undefined],
    ['v1.11.3', 'v1.12.0', undefined],
    ['v1.13.9', 'v1.14.1', undefined],
    [
      'v1.11.3',
      'v1.14.1',
      "Talos v1.11.3 can't become v1.14.1: upgrade one minor at a time, first to 1.12",
    ],
    [
      'v1.14.1',
      'v1.13.9',
      "Talos v1.14.1 can't become v1.13.9: Talos does not go back to an older minor",
    ],
    [
      'v1.11.3',
      'v1.13.9',
      "Talos v1.11.3 can't become v1.13.9: upgrade one minor at a time, first to 1.12",
    ],
    [
      'v1.13.9',
      'v1.12.11',
      "Talos v1.13.9 can't become v1.12.11: Talos does not go back to an older minor",
    ],
    ['v1.13.9', 'v1.15.0', 'Talos v1.15.0 is not supported; choose 1.12, 1.13 or 1.14'],
  ])('an upgrade from %s to %s', (from, to, problem) => {
    expect(upgradeProblem(from, to)).toBe(problem)
  })

  test('each minor is upgraded from the minor before it', () => {
    expect(minors.slice(1).map((m) => m.upgradesFrom)).toEqual(
      minors.slice(0, -1).map((m) => m.minor),
    )
    expect(isOlderPatch('v1.13.10', 'v1.13.9')).toBe(true)
    expect(isOlderPatch('v1.13.9', 'v1.13.10')).toBe(false)
    expect(isOlderPatch('v1.13.9', 'v1.12.11')).toBe(false)
  })

  test('Talos accepts every offered Kubernetes version, and the newest minor is first', () => {
    for (const m of minors) {
      const versions = kubernetesVersions(m)
      expect(versions).toHaveLength(m.kubernetesMinors[1] - m.kubernetesMinors[0] + 1)
      for (const version of versions) expect(kubernetesProblem(m.version, version)).toBeUndefined()
    }
    expect(kubernetesVersions(supportedMinor('1.12')!)).toEqual([
      '1.35.8',
      '1.34.10',
      '1.33.13',
      '1.32.13',
      '1.31.14',
      '1.30.14',
    ])
  })

  test('a newer patch release than the shipped one is offered once it is known', () => {
    const minor = supportedMinor('1.13')!
    expect(kubernetesVersions(minor)[0]).toBe('1.36.5')
    const known = (n: number) => (n === 36 ? '1.36.7' : undefined)
    expect(kubernetesVersions(minor, known).slice(0, 2)).toEqual(['1.36.7', '1.35.8'])
  })

  test('an older minor is not offered for new clusters, with the reason, and never the newest', () => {
    expect(minors.flatMap((m) => m.notForNew ?? [])).toEqual([
      'Talos 1.12 has had no fixes since 2026-04-27, so it is not offered for new clusters; clusters that run it can be upgraded',
    ])
    expect(minors.at(-1)!.notForNew).toBeUndefined()
  })

  test('support of a Talos minor ends with the release of the next one, support of a Kubernetes minor on its end-of-life date', () => {
    expect([talosSupportEnds('1.12'), talosSupportEnds('1.13')]).toEqual([
      '2026-04-27',
      '2026-09-03',
    ])
    expect(talosSupportEnds(newestMinor().minor)).toBeNull()
    expect([kubernetesSupportEnds(33), kubernetesSupportEnds(99)]).toEqual(['2026-06-28', null])
    // The end of support is known for every offered Kubernetes minor.
    for (const { kubernetesMinors } of minors)
      for (let m = kubernetesMinors[0]; m <= kubernetesMinors[1]; m++)
        expect(kubernetesSupportEnds(m)).not.toBeNull()
  })

  test('a feature is available from the first minor in its table row', () => {
    for (const feature of Object.keys(since) as (keyof typeof since)[]) {
      const first = Number(since[feature].split('.')[1])
      expect([
        has(`v1.${first - 1}.9`, feature),
        has(`v1.${first}.0`, feature),
        has(`v1.${first}.0-rc.1`, feature),
        has('v2.0.0', feature),
      ]).toEqual([false, true, true, true])
    }
    expect(isSince(undefined, minors.at(-1)!.minor)).toBe(true)
  })

  test('the newest minor is offered, and nobody calls it out of support', () => {
    expect(modelledMinors.map((m) => m.minor)).toEqual(['1.12', '1.13', '1.14'])
    expect(newestMinor()).toBe(minors.at(-1))
    expect(talosSupportEnds(minors.at(-1)!.minor)).toBeNull()
    expect(modelledMinor('1.14')?.version).toBe('v1.14.1')
    expect(kubernetesProblem('1.14', '1.37.2')).toBeUndefined()
    expect(kubernetesProblem('1.14', '1.31.0')).toBe(
      'Talos 1.14 runs Kubernetes 1.32 to 1.37, not 1.31.0',
    )
  })

  test('key kinds and image names depend on the version', () => {
    expect(['1.6', '1.7'].map((v) => has(v, 'rsaServiceAccountKey'))).toEqual([false, true])
    // Talos 1.14 has no other installer (Talos `hack/release.toml`).
    expect(images.factoryInstaller('a', '1.14.1')).toBe(
      'factory.talos.dev/metal-installer/a:v1.14.1',
    )
    expect(images.kubelet('v1.36.3')).toBe('ghcr.io/siderolabs/kubelet:v1.36.3')
  })
})
