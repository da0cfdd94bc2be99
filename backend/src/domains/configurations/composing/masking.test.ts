import { expect, test } from 'vitest'
import { masked } from '#talos/config/mask.ts'
import { patchMask } from '#contract/patches.ts'
import { maskText, unmask } from './masking.ts'

test('the contract names the mask that is used', () => {
  expect(patchMask).toBe(masked)
})

const wireguard = `# the tunnel to the office
apiVersion: v1alpha1
kind: WireguardConfig
name: wg0
privateKey: "YEs4Hn9VdVRWVzXEkEJ0cw5xJGTHrNaqPBBPZ5FqVWA=" # rotate in May
listenPort: 51820
peers:
  - publicKey: one
    presharedKey: c2VjcmV0LW9uZQ==
    allowedIPs: [10.1.0.0/24]
  - publicKey: two
    presharedKey: c2VjcmV0LXR3bw==
    allowedIPs: [10.2.0.0/24]
`

test('secrets are masked, and comments and layout are kept', () => {
  const { text } = maskText(wireguard, 'may_read_secrets')
  expect(text).not.toContain('YEs4Hn9V')
  expect(text).not.toContain('c2VjcmV0')
  expect(text).toContain(`privateKey: ${masked} # rotate in May`)
  expect(text.split('\n')).toHaveLength(wireguard.split('\n').length)
  expect(text).toContain('# the tunnel to the office')
})

test('a text without secrets is shown unchanged', () => {
  const text = '# why\nmachine:\n    sysctls: {vm.swappiness: "1"} # because\n'
  expect(maskText(text, 'may_read_secrets').text).toBe(text)
})

test('saving the masked text unchanged keeps all secrets', () => {
  const back = unmask(maskText(wireguard, 'may_read_secrets').text, wireguard, 'may_read_secrets')
  expect(maskText(back, 'may_read_secrets').text).toBe(maskText(wireguard, 'may_read_secrets').text)
  expect(back).toContain('YEs4Hn9VdVRWVzXEkEJ0cw5xJGTHrNaqPBBPZ5FqVWA=')
  expect(back).toContain('c2VjcmV0LW9uZQ==')
})

test('if a WireGuard peer is removed, its secret is not assigned to the next peer', () => {
  const shown = maskText(wireguard, 'may_read_secrets').text
  const withoutFirst = shown.replace(/ {2}- publicKey: one\n(?: {4}.*\n){2}/, '')
  const back = unmask(withoutFirst, wireguard, 'may_read_secrets')
  expect(back).toContain('c2VjcmV0LXR3bw==')
  expect(back).not.toContain('c2VjcmV0LW9uZQ==')
})

test('a new secret is accepted; a mask without a stored secret is refused with its line number', () => {
  const shown = maskText(wireguard, 'may_read_secrets').text
  expect(
    unmask(
      shown.replace(`privateKey: ${masked}`, 'privateKey: bmV3'),
      wireguard,
      'may_read_secrets',
    ),
  ).toContain('privateKey: bmV3')
  expect(() =>
    unmask(`machine:\n  sysctls:\n    a: ${masked}\n`, wireguard, 'may_read_secrets'),
  ).toThrow(/^Line 3, column \d+: .* replaces a secret that is not in the saved patch/)
})

test('a line number in the plain text is mapped to the line in the masked text', () => {
  const text = `apiVersion: v1alpha1
kind: RegistryTLSConfig
name: registry.local
clientIdentity:
  key: |
    -----BEGIN EC PRIVATE KEY-----
    AAAA
    -----END EC PRIVATE KEY-----
  cert: |
    -----BEGIN CERTIFICATE-----
    BBBB
    -----END CERTIFICATE-----
`
  const { text: shown, lines } = maskText(text, 'may_read_secrets')
  expect(shown).not.toContain('AAAA')
  const line = text.split('\n').findIndex((l) => l.includes('cert:')) + 1
  expect(shown.split('\n')[lines[line - 1]! - 1]).toContain('cert:')
})

test('an unreadable text is not shown', () => {
  expect(maskText('machine: [', 'may_read_secrets').text).toMatch(/^# It is not shown/)
})
