import { expect, test } from 'vitest'
import { generateSecrets } from '../secrets/bundle.ts'
import { readyKeys } from '../testing/keys.ts'
import { imagesOf } from '../facts/images.ts'
import { apart, compareConfigs, patchBetween } from './compare.ts'
import { generateConfig } from './generate.ts'
import { mergePatches } from './merge.ts'

const secrets = await generateSecrets({ now: new Date(), keys: await readyKeys() })
const config = (kubernetesVersion = '1.36.3') =>
  generateConfig({
    role: 'control_plane',
    clusterName: 'prod',
    endpoint: 'https://10.0.0.10:6443',
    talosVersion: 'v1.13.9',
    kubernetesVersion,
    secrets,
    installDisk: '/dev/sda',
    installImage: 'ghcr.io/siderolabs/installer:v1.13.9',
  })
const base = config()
const patched = (body: string, on = base) => mergePatches(on, [{ name: 'theirs', body }]).yaml

test('comments, quotes and the order of keys do not count as a difference', () => {
  const [head, ...rest] = base.split('\n')
  const reordered = `# applied by hand\n${rest.join('\n').replace('version: v1alpha1', '')}`
    .replace('debug: false', `debug: false # not now\n${head}`)
    .replace('/dev/sda', '"/dev/sda"')
  expect(reordered).not.toBe(base)
  expect(compareConfigs(base, reordered)).toMatchObject({ same: true, images: null, secrets: [] })
})

test('images changed by an upgrade are reported and do not count as a difference', () => {
  const upgraded = config('1.36.4')
  const { same, images } = compareConfigs(base, upgraded)
  expect(same).toBe(true)
  expect(images).toEqual(imagesOf(upgraded))
  expect(images!.kubelet).toBe('ghcr.io/siderolabs/kubelet:v1.36.4')
  const both = compareConfigs(
    base,
    patched('machine:\n  sysctls:\n    vm.swappiness: "1"\n', upgraded),
  )
  expect(both.same).toBe(false)
  expect(both.documents.map((d) => d.before?.yaml.includes('v1.36.4'))).toEqual([true, false])
})

test.each<[string, string]>([
  ['a value', 'machine:\n  sysctls:\n    vm.swappiness: "1"\n'],
  ['an element at the end of a list', 'machine:\n  certSANs:\n    - api.example.com\n'],
  [
    'a new document',
    'apiVersion: v1alpha1\nkind: VLANConfig\nname: eth0.5\nvlanID: 5\nparent: eth0\nup: true\n',
  ],
  ['a key that was taken out', 'machine:\n  nodeLabels:\n    $patch: delete\n'],
])('merging the difference as a patch results in the machine’s configuration: %s', (_, body) => {
  const theirs = patched(body)
  const compared = compareConfigs(base, theirs)
  expect(compared.same).toBe(false)
  const proposal = patchBetween(compared)!
  expect(compareConfigs(patched(proposal), theirs).same).toBe(true)
})

test('a removed list element can’t be expressed as a patch', () => {
  const two = patched('machine:\n  certSANs:\n    - a.example.com\n    - b.example.com\n')
  expect(patchBetween(compareConfigs(two, two.replace(/ *- a\.example\.com\n/, '')))).toBeNull()
})

test('changed secrets of the cluster are reported by their names, without values', async () => {
  const other = await generateSecrets({ now: new Date(), keys: await readyKeys() })
  const rotated = base.replaceAll(
    Buffer.from(secrets.certs.os.crt).toString('base64'),
    Buffer.from(other.certs.os.crt).toString('base64'),
  )
  expect(compareConfigs(base, rotated)).toMatchObject({ same: false, secrets: ['machine.ca'] })
})

test('a document without a model is kept unchanged, and a change of that document is reported', () => {
  const unknown = 'apiVersion: v1alpha1\nkind: QuantumLinkConfig\nname: q0\nmode: entangled\n'
  const theirs = `${base}---\n${unknown}`
  expect(
    compareConfigs(
      theirs,
      `${base}---\n# other\nkind: QuantumLinkConfig\napiVersion: v1alpha1\nmode: entangled\nname: q0\n`,
    ).same,
  ).toBe(true)
  const compared = compareConfigs(base, theirs)
  expect(compared.documents.at(-1)).toMatchObject({
    id: 'QuantumLinkConfig q0',
    before: null,
    after: { known: false },
  })
  expect(patchBetween(compared)).toBeNull()
  const { known, unknown: rest } = apart(theirs)
  expect(compareConfigs(known, base).same).toBe(true)
  expect(rest).toContain('mode: entangled')
})
