import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { unpackKubeconfig } from './kubeconfig.ts'

test('an archive that unpacks to more than a kubeconfig can have is refused', () => {
  expect(() => unpackKubeconfig(gzipSync(Buffer.alloc(64 * 1024 * 1024)))).toThrow(
    'server sent invalid data (kubeconfig: not a gzip file)',
  )
})
