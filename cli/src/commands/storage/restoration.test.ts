import { expect, test } from 'vitest'
import { type Restoration, restorationGet } from '#contract/restoration.ts'
import { signedIn } from '../../testing/signed-in.ts'
import { anOperation, id } from '../../testing/things.ts'

const madeAt = '2026-11-20T08:00:00.000Z'
const held: Restoration = {
  restored: { backup_made_at: madeAt, restored_at: '2026-11-20T09:00:00.000Z', missing: null },
  clusters: [
    {
      id: id(20),
      name: 'web',
      servers: 3,
      unasked: [],
      unreachable: ['brave-otter-042'],
      operations: [anOperation()],
    },
    {
      id: id(21),
      name: 'db',
      servers: 2,
      unasked: ['calm-heron-007'],
      unreachable: [],
      operations: [],
    },
  ],
  operations: [
    anOperation({
      id: id(71),
      kind: 'serverAdd',
      target: { kind: 'datacenter', id: id(50), name: '8 addresses to PL-POZ-1' },
      created_by: null,
    }),
  ],
}

test('restoration show names what is held, and whether it can be resumed', async () => {
  const { api, cli } = await signedIn()
  api.on(restorationGet, () => held)
  const { exit, out } = await cli.run('restoration show')
  expect(exit).toBe(0)
  expect(out).toContain('Restored from a backup of 2026-11-20')
  expect(out).toMatch(/^web +yes +brave-otter-042 does not answer; continues Create cluster web$/m)
  expect(out).toMatch(/^db +no +1 of 2 servers contacted$/m)
  expect(out).toMatch(
    new RegExp(`^${id(71)} +Add servers 8 addresses to PL-POZ-1 +Steelyard$`, 'm'),
  )
})

test('restoration show says what a database lacks that went back in time, and that nothing is held', async () => {
  const { api, cli } = await signedIn()
  const missing = 'events 10412 to 10475'
  api.on(restorationGet, () => ({ ...held, restored: { ...held.restored!, missing } }))
  expect((await cli.run('restoration show')).out).toMatch(
    /^The database went back in time, to 2026-11-20 .*, and lacks events 10412 to 10475\.$/m,
  )
  api.on(restorationGet, () => ({ restored: null, clusters: [], operations: [] }))
  expect((await cli.run('restoration show')).out).toBe('Nothing is held\n')
})
