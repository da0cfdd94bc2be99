import { expect, test } from 'vitest'
import { paths } from './paths.ts'

test('ids are escaped, and undefined search params are omitted', () => {
  expect(paths.server('a/b', 'hardware')).toBe('/infra/servers/a%2Fb?tab=hardware')
  expect(paths.servers({ nodeType: 'worker', q: undefined })).toBe('/infra/servers?nodeType=worker')
  expect(paths.servers({ add: 'new' })).toBe('/infra/servers?add=new')
  expect(paths.patch('s', 'p')).toBe('/infra/servers/s/patches/p')
})
