import { expect, it } from 'vitest'
import { mergePatches } from '../../config/merge.ts'
import { volumeChangeFindings } from './volume-changes.ts'

const base = 'version: v1alpha1\nmachine: {type: worker}\n'
const documents = (body: string) =>
  mergePatches(base, body === '' ? [] : [{ name: 'mine', body }]).documents
const found = (before: string, after: string) =>
  volumeChangeFindings(documents(before), documents(after), 'gull')

const old = (name: string, keys: string) =>
  `machine: {systemDiskEncryption: {${name}: {provider: luks2, keys: [${keys}]}}}`
const volume = (more: string, name = 'EPHEMERAL', kind = 'VolumeConfig') =>
  `apiVersion: v1alpha1\nkind: ${kind}\nname: ${name}\n${more}\n`
const encrypted = (keys: string, ...more: readonly string[]) =>
  volume(`encryption: {provider: luks2, keys: [${keys}]}`, ...more)
const user = (more: string) =>
  volume(
    `provisioning: {diskSelector: {match: "!system_disk"}, minSize: 1GiB}\n${more}`,
    'data',
    'UserVolumeConfig',
  )
const node = '{slot: 0, nodeID: {}}'
const word = (text: string, slot = 0) => `{slot: ${slot}, static: {passphrase: ${text}}}`

it.each([
  ['the encryption is taken away', encrypted(node), '', /EPHEMERAL of gull is encrypted.*come up/],
  ['it is taken away in the old form', old('state', node), '', /STATE of gull is encrypted/],
  ['a size remains', encrypted(node), volume('provisioning: {maxSize: 40GiB}'), /is encrypted/],
  ['of a user volume', user(`encryption: {provider: luks2, keys: [${node}]}`), user(''), /use it/],
  [
    'the passphrase changes',
    encrypted(word('one')),
    encrypted(word('two')),
    /No key that.* restart gull, and only then/,
  ],
  ['the method changes', encrypted(node), encrypted('{slot: 0, tpm: {}}'), /No key that/],
  [
    'the slot of a key with a token changes',
    encrypted('{slot: 0, tpm: {}}'),
    encrypted('{slot: 1, tpm: {}}'),
    /No key that/,
  ],
  [
    'the slot of a passphrase changes',
    encrypted(word('x')),
    encrypted(word('x', 1)),
    /No key that/,
  ],
  [
    'a key is bound to STATE',
    encrypted(node),
    encrypted('{slot: 0, nodeID: {}, lockToState: true}'),
    /No key that/,
  ],
  [
    'one of two keys is taken out',
    encrypted(`${node}, ${word('x', 1)}`),
    encrypted(word('x', 1)),
    /only if gull has restarted since the remaining ones were added/,
  ],
  [
    'one of two keys is replaced',
    encrypted(`${node}, ${word('x', 1)}`),
    encrypted(`${node}, ${word('y', 1)}`),
    /only if gull has restarted/,
  ],
  ['the file system changes', user(''), user('filesystem: {type: ext4}'), /file system xfs.*ext4/],
])('warns if %s', (_, before, after, sentence) => {
  const all = found(before, after)
  expect(all.map(({ message }) => message)).toEqual([expect.stringMatching(sentence)])
  expect(all[0]!.layer).toBe(after === '' ? 'generated' : 'mine')
})

it.each([
  ['nothing changes', encrypted(node), encrypted(node)],
  ['a key is added', encrypted(node), encrypted(`${node}, ${word('x', 1)}`)],
  [
    'keys change their order',
    encrypted(`${node}, ${word('x', 1)}`),
    encrypted(`${word('x', 1)}, ${node}`),
  ],
  ['it moves to its document', old('ephemeral', node), encrypted(node)],
  ['a server of KMS moves', kms('https://a.example.org'), kms('https://b.example.org')],
  ['a user volume is taken away', user(`encryption: {provider: luks2, keys: [${node}]}`), ''],
  ['a file system is named', user(''), user('filesystem: {type: xfs}')],
  [
    'a folder becomes a partition',
    volume('volumeType: directory', 'data', 'UserVolumeConfig'),
    user('filesystem: {type: ext4}'),
  ],
  ['a volume is encrypted, of which another rule tells', '', encrypted(node)],
])('says nothing if %s', (_, before, after) => {
  expect(found(before, after)).toEqual([])
})

function kms(endpoint: string): string {
  return encrypted(`{slot: 0, kms: {endpoint: "${endpoint}"}}`)
}
