import { describe, expect, test } from 'vitest'
import { contractOf, hasRsaServiceAccountKey, images, kubernetesProblem, minors, supportedMinor, supportedPairs } from './versions.ts'

describe('versions', () => {
  test('are read as Talos reads them', () => {
    expect(['v1.13.9', '1.13', 'v1.13', '1.13.0-rc.1'].map((v) => contractOf(v))).toEqual(Array.from({ length: 4 }, () => ({ major: 1, minor: 13 })))
    expect(() => contractOf('latest')).toThrow('Not a Talos version: latest')
    expect(contractOf()).toEqual({ major: 1, minor: 13 })
  })

  test('every pair offered is one that Talos supports, the newest first', () => {
    expect(supportedPairs.map((pair) => pair.talos)).toEqual(minors.map((m) => m.version).toReversed())
    for (const { talos, kubernetes } of supportedPairs) expect(kubernetesProblem(talos, kubernetes)).toBeUndefined()
    expect(supportedMinor('1.11')).toBeUndefined()
  })

  test('Kubernetes versions are refused with what would be possible', () => {
    expect(kubernetesProblem('1.13', '1.31.0')).toBeUndefined()
    expect(kubernetesProblem('1.13', 'v1.36.99')).toBeUndefined()
    expect(kubernetesProblem('1.13', '1.30.14')).toBe('Talos 1.13 runs Kubernetes 1.31 to 1.36, not 1.30.14')
    expect(kubernetesProblem('1.12', '1.36.0')).toBe('Talos 1.12 runs Kubernetes 1.30 to 1.35, not 1.36.0')
    expect(kubernetesProblem('1.13', '2.31.0')).toContain('runs Kubernetes')
    expect(kubernetesProblem('1.13', 'latest')).toBe('latest is not a Kubernetes version, for example 1.36.3')
    expect(kubernetesProblem('1.9', '1.31.0')).toBe('Talos 1.9 is not supported; choose 1.12 or 1.13')
  })

  test('kinds of keys and names of images follow from them', () => {
    expect([contractOf('1.6'), contractOf('1.7')].map(hasRsaServiceAccountKey)).toEqual([false, true])
    expect(images.installer('1.13.9')).toBe('ghcr.io/siderolabs/installer:v1.13.9')
    expect(images.kubelet('v1.36.3')).toBe('ghcr.io/siderolabs/kubelet:v1.36.3')
  })
})
