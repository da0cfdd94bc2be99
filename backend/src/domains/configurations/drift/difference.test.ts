import { expect, test } from 'vitest'
import { generateConfig } from '#talos/config/generate.ts'
import { masked } from '#talos/config/mask.ts'
import { generateSecrets } from '#talos/secrets/bundle.ts'
import { readyKeys } from '#talos/testing/keys.ts'
import { compose } from '../composing/render.ts'
import { differenceOf } from './difference.ts'

const secrets = await generateSecrets({ now: new Date(), keys: await readyKeys() })
const held = generateConfig({
  role: 'worker',
  clusterName: 'prod',
  endpoint: 'https://10.0.0.10:6443',
  talosVersion: 'v1.13.9',
  kubernetesVersion: '1.36.3',
  secrets,
  installDisk: '/dev/sda',
  installImage: 'ghcr.io/siderolabs/installer:v1.13.9',
})
const unknown = 'apiVersion: v1alpha1\nkind: QuantumLinkConfig\nname: q0\npassphrase: entangled\n'

test("a document of a newer Talos stays in the machine's configuration and is not shown", () => {
  const found = `${held}---\n${unknown}`
  const { same, keep, patch, diff } = differenceOf(held, found, 'v1.13.9')
  expect([same, patch, keep!.how]).toEqual([false, null, 'base'])
  expect(diff!.after).toContain('kind: QuantumLinkConfig')
  expect(diff!.after).toMatch(
    /# 4 lines not shown: Steelyard does not know this kind of document \(digest [0-9a-f]{12}\)/,
  )
  expect(diff!.after).not.toContain('entangled')
  // The unknown document is still in the configuration after a patch is merged.
  const composed = compose(
    found,
    [{ id: 'p', name: 'p', weight: 500, body: 'machine:\n  sysctls:\n    a.b: "1"\n' }],
    { talosVersion: 'v1.13.9' },
  )
  expect(composed.errors).toEqual([])
  expect(composed.yaml).toContain('passphrase: entangled')
  expect(composed.yaml).toContain('a.b: "1"')
})

test('if others changed secrets of a patch, the difference shows that they changed, but not their values', () => {
  const withAuth = (password: string) =>
    held.replace(
      'machine:\n',
      `machine:\n    registries:\n        config:\n            r.example.com:\n                auth:\n                    username: u\n                    password: ${password}\n`,
    )
  const { diff } = differenceOf(withAuth('first-password'), withAuth('second-password'), 'v1.13.9')
  expect(diff!.before).toContain(masked)
  expect(diff!.before + diff!.after).not.toMatch(/first-password|second-password/)
})

test('an unreadable configuration is reported as a difference', () => {
  const { same, diff } = differenceOf(held, 'machine: [', 'v1.13.9')
  expect(same).toBe(false)
  expect(diff!.after).toMatch(/^# It cannot be read: /)
})
