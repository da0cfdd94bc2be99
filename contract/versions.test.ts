import { expect, test } from 'vitest'
import {
  canRunKubernetes,
  kubernetesVersionText,
  type OfferedTalos,
  supportEnded,
  talosVersionText,
} from './versions.ts'

const talos: OfferedTalos = {
  talos_version: 'v1.13.9',
  prerelease: false,
  support: { ends: null, ended: false },
  kubernetes_versions: ['1.36.3'],
  kubernetes: [{ version: '1.36.3', support: { ends: '2027-06-28', ended: false } }],
  kubernetes_minors: ['1.31', '1.36'],
}

test('any patch release of the supported minors can be entered', () => {
  for (const typed of ['1.36.3', '1.36.99', 'v1.31.0'])
    expect(canRunKubernetes(talos, typed)).toEqual({ ok: true })
  for (const typed of ['1.30.14', '1.37.0', '2.31.0'])
    expect(canRunKubernetes(talos, typed)).toEqual({
      ok: false,
      reason: `Talos v1.13.9 runs Kubernetes 1.31 to 1.36, not ${typed}`,
    })
  for (const typed of ['', '1.36', 'latest', '1.36.3-rc.1', '1.36.3; rm'])
    expect(canRunKubernetes(talos, typed)).toMatchObject({ ok: false })
})

test('a Talos version may be a prerelease, a Kubernetes version may not', () => {
  for (const good of ['v1.13.9', '1.13.9', 'v1.14.0-rc.1'])
    expect(talosVersionText().safeParse(good).success).toBe(true)
  for (const bad of ['v1.13', 'v1.13.9-', 'v1.13.9-dev.1', 'v1.13.9-rc.1.2', 'main'])
    expect(talosVersionText().safeParse(bad).success).toBe(false)
  expect(kubernetesVersionText.safeParse('v1.36.0-rc.1').success).toBe(false)
})

test('the end of support is reported from the end-of-life date on', () => {
  expect(supportEnded({ ends: '2026-09-03', ended: true })).toBe('out of support since 2026-09-03')
  expect(supportEnded({ ends: null, ended: true })).toBe('out of support')
  expect(supportEnded({ ends: '2027-06-28', ended: false })).toBeNull()
})
