import { expect, test } from 'vitest'
import { patchUpdate } from '#contract/patches.ts'
import { joinTokenRevoke } from '#contract/join-tokens.ts'
import { cliOf, curlOf } from './shell.ts'

test('a curl command has the version and is quoted for a shell', () => {
  const line = curlOf(
    patchUpdate,
    { id: '7', patchId: 'a b' },
    { body: "it's" },
    { origin: 'https://steelyard.example.com', version: 3 },
  )
  expect(line).toContain(
    `${patchUpdate.method} 'https://steelyard.example.com/v1/nodes/7/patches/a%20b'`,
  )
  expect(line).toContain(`-H 'If-Match: "3"'`)
  expect(line).toContain(String.raw`-d '{"body":"it'\''s"}'`)
  expect(line).toContain('"Authorization: Bearer $STEELYARD_TOKEN"')
})

test('a curl command without a body sends none', () => {
  expect(curlOf(joinTokenRevoke, { id: '7' }, undefined, { origin: 'https://s.example' })).toBe(
    `curl -X DELETE 'https://s.example/v1/join-tokens/7' \\\n  -H "Authorization: Bearer $STEELYARD_TOKEN"`,
  )
})

test('a CLI command has flags, repeated options, and quotes if needed', () => {
  expect(
    cliOf(['image', 'create'], {
      'talos-version': 'v1.13.9',
      secureboot: true,
      'kernel-arg': ['console=ttyS0,115200', 'a=$(reboot)', '-selinux'],
      datacenter: null,
      token: undefined,
      uses: 3,
      quiet: false,
    }),
  ).toBe(
    "steelyard image create --talos-version v1.13.9 --secureboot --kernel-arg console=ttyS0,115200 --kernel-arg 'a=$(reboot)' --kernel-arg=-selinux --uses 3",
  )
  expect(cliOf(['server', 'rename', "it's"])).toBe(String.raw`steelyard server rename 'it'\''s'`)
})
