import { expect, test } from 'vitest'
import { namesHost } from './host-name.ts'

test.each([
  ['machine: {network: {hostname: web-1}}', true],
  [
    'machine: {type: worker}\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: web-1\n',
    true,
  ],
  [
    'machine: {type: worker}\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n',
    false,
  ],
  ['machine: {network: {hostname: ""}}', false],
  ['machine: {network: {}}', false],
])('%j names the machine: %s', (config, names) => {
  expect(namesHost(config)).toBe(names)
})
