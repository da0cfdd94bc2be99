/** What each role sees of a patch and of merged configurations. */
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import {
  type NewPatch,
  patchCreate,
  patchGet,
  patchList,
  patchPreview,
  patchSchema,
  patchUpdate,
} from '#contract/patches.ts'
import { serverConfig } from '#contract/servers/servers.ts'
import { masked } from '#talos/config/mask.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })
const viewer = await backend.signIn({ role: 'viewer' })

/**
 * Values that may be secrets are "hunter1" and so on; the value that only the schema marks as
 * secret is "swordfish".
 */
const body = `machine:
  env:
    HTTPS_PROXY: http://hunter1@proxy.example:3128 # hunter2
  kubelet:
    extraConfig:
      maxPods: 123
  files:
    - path: /var/etc/agent.conf
      permissions: 0o600
      op: create
      content: |
        key: hunter3
---
apiVersion: v1alpha1
kind: ExtensionServiceConfig
name: agent
environment:
  - AGENT_TOKEN=hunter4
---
apiVersion: v1alpha1
kind: RegistryAuthConfig
name: registry.example
username: puller
password: swordfish
`
const build = () => buildServer(backend, { address: '10.0.0.5' })
const create = async (id: string, patch: Partial<NewPatch> = {}) => {
  const made = await operator.call(patchCreate, {
    params: { id },
    body: { name: 'agent', body, ...patch },
  })
  expect(made.status).toBe(201)
  return made.answer!
}
const secrets = /hunter|swordfish|\b123\b/

test('an operator sees a patch with the secrets of the schema masked; a viewer sees only its keys and structure', async () => {
  const id = await build()
  const { patch_id } = await create(id)
  const params = { id, patchId: patch_id }
  for (const text of [
    (await operator.call(patchGet, { params })).answer!.body,
    (await operator.call(patchList, { params: { id } })).answer!.items[2]!.body,
  ])
    expect(text).toBe(body.replace('swordfish', masked))
  for (const text of [
    (await viewer.call(patchGet, { params })).answer!.body,
    (await viewer.call(patchList, { params: { id } })).answer!.items[2]!.body,
  ]) {
    expect(text).not.toMatch(secrets)
    for (const kept of [
      `HTTPS_PROXY: ${masked}`,
      `maxPods: ${masked}`,
      'path: /var/etc/agent.conf',
      `- AGENT_TOKEN=${masked}`,
      'username: puller',
    ])
      expect(text).toContain(kept)
  }
})

test('merged configurations, previews and the audit log show no secret to anybody', async () => {
  const id = await build()
  const { patch_id } = await create(id)
  for (const who of [viewer, operator]) {
    const config = await who.call(serverConfig, { params: { id } })
    expect(config.text).toContain(`HTTPS_PROXY: ${masked}`)
    expect(config.text).not.toMatch(secrets)
    const shown = (await who.call(patchGet, { params: { id, patchId: patch_id } })).answer!.body
    const preview = await who.call(patchPreview, {
      params: { id },
      body: { patch_id, name: 'agent', body: shown },
    })
    expect(preview.answer).toMatchObject({ errors: [], verdict: { kind: 'at_install' } })
    expect(preview.answer!.diff.after).toContain('path: /var/etc/agent.conf')
    expect(preview.text).not.toMatch(secrets)
  }
  await backend.publish()
  const admin = await backend.signIn()
  expect((await admin.call(auditList, { query: { per_page: 200 } })).text).not.toMatch(
    /hunter|swordfish/,
  )
})

test('an operator’s edit of the shown text keeps the masked secrets', async () => {
  const id = await build()
  const made = await create(id)
  const params = { id, patchId: made.patch_id }
  const saved = await operator.call(patchUpdate, {
    params,
    body: { body: made.body.replace('hunter3', 'hunter5') },
  })
  expect(saved.answer!.body).toBe(made.body.replace('hunter3', 'hunter5'))
  const row = await backend.platform.db
    .selectFrom('patch')
    .select('body_sealed')
    .where('id', '=', made.patch_id)
    .executeTakeFirstOrThrow()
  const stored = await backend.platform.vault.open(backend.platform.db, {
    table: 'patch',
    column: 'body_sealed',
    owner: id,
    sealed: row.body_sealed,
  })
  expect(stored.toString()).toBe(body.replace('hunter3', 'hunter5'))
})

test('a preview shows a changed secret only to users with access to secrets, so other users can’t guess secrets through previews', async () => {
  const id = await build()
  await create(id, { weight: 1 })
  const changed = async (who: typeof viewer, value: string) => {
    const { answer } = await who.call(patchPreview, {
      params: { id },
      body: { weight: 2, body: `machine:\n  env:\n    HTTPS_PROXY: ${value}\n` },
    })
    return answer!.diff.after
      .split('\n')
      .find((line) => line.includes('HTTPS_PROXY'))!
      .trim()
  }
  expect(await changed(operator, 'http://other')).toBe(`HTTPS_PROXY: ${masked} (new value)`)
  expect(await changed(operator, 'http://hunter1@proxy.example:3128')).toBe(
    `HTTPS_PROXY: ${masked}`,
  )
  for (const guess of ['http://other', 'http://hunter1@proxy.example:3128'])
    expect(await changed(viewer, guess)).toBe(`HTTPS_PROXY: ${masked}`)
})

test('a mask that is moved to a document of another kind does not reveal the masked secret', async () => {
  const id = await build()
  const made = await create(id, {
    body: 'apiVersion: v1alpha1\nkind: EnvironmentConfig\nvariables:\n  mtu: hunter9\n',
  })
  const preview = await viewer.call(patchPreview, {
    params: { id },
    body: {
      patch_id: made.patch_id,
      body: `apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\nvariables:\n  mtu: ${masked}\n`,
    },
  })
  expect(preview.status).toBe(422)
  expect(preview.text).not.toContain('hunter')
})

test('the schema is that of the Talos version that reads the patch', async () => {
  const kinds = async (version: string) => {
    const { answer } = await operator.call(patchSchema, { query: { talos_version: version } })
    return { ...answer!, kinds: Object.keys(answer!.schema['$defs'] as object) }
  }
  const [older, newest] = [await kinds('v1.13.2'), await kinds('1.14.0')]
  expect([older.versions, newest.versions]).toEqual([['v1.13.9'], ['v1.14.1']])
  expect(newest.kinds).toContain('RAIDArrayConfig')
  expect(older.kinds).not.toContain('RAIDArrayConfig')
  // Fields of older configurations say where Talos 1.14 has them.
  const tells = ({ schema }: { schema: object }): boolean =>
    JSON.stringify(schema).includes('New configurations have it in KubeletConfig.extraArgs')
  expect([tells(older), tells(newest)]).toEqual([false, true])
  expect(
    (await operator.call(patchSchema, { query: { talos_version: '1.11.0' } })).problem,
  ).toMatchObject({ code: 'invalid', error: expect.stringContaining('1.11.0') as string })
})
