import { expect, test } from 'vitest'
import { certificatesSaid } from './certificates-said.ts'

test('a server shows the certificate that expires first, what renews it, and how many more there are', () => {
  const now = Date.parse('2026-11-20T12:00:00Z')
  const ending = (
    kind: 'etcd_server' | 'kubelet' | 'etcd_ca',
    name: string | null,
    day: string,
  ) => ({
    kind,
    name,
    ends_at: `2026-11-${day}T12:00:00Z`,
    reason: 'Restart the server',
  })
  const certificates_ending = [
    ending('kubelet', 'web-1', '29'),
    ending('etcd_server', 'web-1', '25'),
    ending('kubelet', 'web-2', '22'),
    ending('etcd_ca', null, '21'),
  ]
  const said = (server: string) => certificatesSaid({ certificates_ending }, server, now)
  expect(said('web-1')).toEqual({
    tone: 'warn',
    word: 'Expires soon',
    why: 'etcd, in 5 d and 1 more. Restart the server',
  })
  expect(certificatesSaid({ certificates_ending }, 'web-1', now + 6 * 86_400_000)).toMatchObject({
    word: 'Expired',
    why: 'etcd, 1 d ago and 1 more. Restart the server',
  })
  expect(said('web-2')?.why).toBe('Kubelet, in 2 d. Restart the server')
  expect(said('web-3')).toBeNull()
  expect(certificatesSaid({}, 'web-1', now)).toBeNull()
})
