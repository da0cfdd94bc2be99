/**
 * Secrets are created by the real program and sent to simulated servers. None may appear in logs,
 * responses, the audit log, events, metrics, reasons of operations, or any column of the database.
 * Only the key file and explicitly requested downloads contain secrets.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { allOperations } from '#contract/all.ts'
import {
  clusterCreate,
  clusterKubeconfig,
  clusterPreview,
  clusterTalosconfig,
} from '#contract/clusters/clusters.ts'
import { eventStream } from '#contract/events.ts'
import { imageCreate, imageRegister } from '#contract/images.ts'
import { joinArgument, joinTokenCreate } from '#contract/join-tokens.ts'
import type { Operation } from '#contract/operation.ts'
import { patchCreate, patchPreview, patchUpdate } from '#contract/patches.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { invitationCreate } from '#contract/people/invitations.ts'
import { sessionProve } from '#contract/people/profile.ts'
import { totpBegin, totpConfirm } from '#contract/people/second-factor.ts'
import { serverAdd, serverList, serverTalosconfig } from '#contract/servers/servers.ts'
import { authorize, authorizeLogout, authorizeRefresh } from '#contract/sessions.ts'
import { userCreate } from '#contract/users.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { clusterWorld } from './domains/clusters/testing/world.ts'
import { codeOf } from './domains/sessions/testing/authenticator.ts'
import { logger } from './log.ts'
import { plant, plantBundle, plantPem, secrets, found } from './testing/planted.ts'

const lines: string[] = []
const log = logger({
  level: 'debug',
  readable: false,
  now: () => Date.now(),
  write: (line) => void lines.push(line),
})
const world = await clusterWorld({ servers: 3, seed: 'canary', log })
const { backend, admin } = world
const listening = await backend.listen()
const { db, vault } = backend.platform
const registry = 'canary-registry-password-7f3a'

const answered: Record<string, string> = {}
const keep = (
  name: string,
  { status, text }: { status: number; text: string },
  wanted: number,
): void => {
  expect(status, `${name}: ${text}`).toBe(wanted)
  answered[name] = text
}

/** Every table of the database, as text. */
async function dump(): Promise<Record<string, string>> {
  const { rows: tables } = await sql<{ schema: string; name: string }>`
    select table_schema as schema, table_name as name from information_schema.tables
    where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`.execute(
    db,
  )
  const texts = await Promise.all(
    tables.map(async ({ schema, name }) => {
      const { rows } = await sql<{
        text: string
      }>`select t::text as text from ${sql.id(schema, name)} as t`.execute(db)
      return [`table ${name}`, rows.map((r) => r.text).join('\n')] as const
    }),
  )
  return Object.fromEntries(texts)
}

/** The files of the data folder, without the key file. */
function files(): Record<string, string> {
  const folder = backend.config.dataFolder
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => path.join(e.parentPath, e.name))
  return Object.fromEntries(
    names
      .filter((f) => f !== backend.config.keyFile)
      .map((f) => [`file ${path.relative(folder, f)}`, readFileSync(f, 'latin1')]),
  )
}

/** The stream of events as a reader gets it, from the first event to the newest. */
async function events(token: string): Promise<string> {
  const { id: newest } = await db
    .selectFrom('event')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  const stop = new AbortController()
  const response = await fetch(listening + eventStream.path, {
    headers: { authorization: `Bearer ${token}`, 'last-event-id': '0' },
    signal: stop.signal,
  })
  const decoder = new TextDecoder()
  let text = ''
  for await (const part of response.body!) {
    text += decoder.decode(part as Uint8Array, { stream: true })
    if (new RegExp(`^id: ?${newest}$`, 'm').test(text)) break
  }
  stop.abort()
  return text
}

test('the test creates one secret of each kind', async () => {
  const [free, ...nodes] = world.nodes
  plant('password', admin.password)
  plant('access token', admin.accessToken)
  plant('refresh token', admin.refreshToken)
  plant('key file', readFileSync(backend.config.keyFile, 'utf8').trim().split(' ')[2]!)

  const password = plant('password of a new user', 'the password given to a songbird')
  const person = { email: 'canary@example.com', name: 'Canary', role: 'viewer' as const, password }
  keep(
    'userCreate',
    await admin.call(userCreate, { body: person }, { idempotencyKey: 'canary' }),
    201,
  )
  keep('userCreate twice', await admin.call(userCreate, { body: person }), 409)
  keep(
    'authorize with an unknown field',
    await backend.call(authorize, { body: { ...person } }),
    422,
  )
  const wrong = plant('wrong password', 'a wrong password typed by canary')
  keep(
    'authorize with a wrong password',
    await backend.call(authorize, { body: { email: person.email, password: wrong } }),
    401,
  )
  const rotated = (
    await backend.call(authorizeRefresh, {
      body: { refresh_token: admin.refreshToken, rotate: true },
    })
  ).answer!
  plant('rotated refresh token', rotated.refresh_token!)
  plant('second access token', rotated.access_token)
  // Requests with tokens in wrong places.
  for (const url of [
    `/v1/session?access_token=${admin.accessToken}`,
    `/v1/nodes/${admin.refreshToken}`,
    `/${admin.accessToken}`,
  ])
    keep(
      url.slice(0, 20),
      await backend.app
        .inject({ url, headers: { authorization: `Bearer ${admin.refreshToken}` } })
        .then((r) => ({ status: r.statusCode, text: r.body })),
      url.startsWith('/v1/') ? 401 : 404,
    )

  const auth = (more = '') =>
    `machine:\n  registries:\n    config:\n      reg.example.com:\n        auth:\n          username: robot\n          password: ${registry}${more}\n`
  plant('registry password', registry)
  const params = { id: free!.id }
  const patch = { name: 'registry', body: auth() }
  keep(
    'patchCreate',
    await admin.call(patchCreate, { params, body: patch }, { idempotencyKey: 'patch' }),
    201,
  )
  const { patch_id: patchId, body: shown } = JSON.parse(answered['patchCreate']!) as {
    patch_id: string
    body: string
  }
  expect(shown).toContain('••••')
  keep(
    'patchUpdate',
    await admin.call(patchUpdate, {
      params: { ...params, patchId },
      body: { body: `# said again\n${shown}` },
    }),
    200,
  )
  keep(
    'patchPreview',
    await admin.call(patchPreview, { params, body: { patch_id: patchId, body: shown } }),
    200,
  )
  // A refused value must appear neither in logs nor in the error.
  const broken = [
    auth(' : : ['),
    auth('\n          pasword: x'),
    auth().replace('password:', 'pasword:'),
    auth().replace('password: ', 'password: &a '),
    `${auth()}${auth()}`,
    auth().replace('password: ', 'password: [').trim(),
  ]
  for (const [i, body] of broken.entries()) {
    keep(
      `broken patch ${i}`,
      await admin.call(patchCreate, { params, body: { name: `broken-${i}`, body } }),
      422,
    )
    keep(
      `preview of broken patch ${i}`,
      await admin.call(patchPreview, { params, body: { body } }),
      200,
    )
  }

  const asked = world.ask(nodes)
  asked.servers[0]!.patch = { name: 'registry', body: auth() }
  keep('clusterPreview', await admin.call(clusterPreview, { body: asked }), 200)
  keep(
    'clusterCreate',
    await admin.call(clusterCreate, { body: asked }, { idempotencyKey: 'cluster' }),
    202,
  )
  const { cluster, operation } = JSON.parse(answered['clusterCreate']!) as {
    cluster: { id: string }
    operation: { id: string }
  }
  keep(
    'serverAdd again',
    await admin.call(serverAdd, { body: { addresses: [world.machine(free!).plan.address] } }),
    202,
  )
  expect((await world.ended(operation.id)).status).toBe('done')

  const sealed = await db
    .selectFrom('cluster_secret')
    .select(['kind', 'sealed'])
    .where('cluster_id', '=', cluster.id)
    .execute()
  for (const { kind, sealed: bytes } of sealed) {
    const clear = await vault.open(db, {
      table: 'cluster_secret',
      column: kind,
      owner: cluster.id,
      sealed: bytes,
    })
    if (kind === 'bundle') plantBundle(parse(clear.toString('utf8')), 'bundle')
    else {
      plant('chain key', clear.toString('hex'))
      plant('chain key as bytes', clear.toString('latin1'))
    }
  }
  const idempotencyKey = 'canary'
  const join = (await admin.call(joinTokenCreate, { body: { name: 'canary' } }, { idempotencyKey }))
    .answer!
  plant('join token', join.token)
  plant('join token without its beginning', join.token.slice('sy-join-'.length))
  const api = (
    await admin.call(
      apiTokenCreate,
      { body: { name: 'canary', scopes: ['servers:read'] } },
      { idempotencyKey },
    )
  ).answer!
  plant('API token', api.token)
  plant('API token without its beginning', api.token.slice('sy-api-'.length))
  const used = await backend.call(
    serverList,
    {},
    { headers: { authorization: `Bearer ${api.token}` } },
  )
  keep('serverList with an API token', used, 200)
  const invited = await admin.call(
    invitationCreate,
    { body: { email: 'invited@example.com', name: 'I', role: 'viewer' } },
    { idempotencyKey },
  )
  plant('link of an invitation', invited.answer!.url.split('#')[1]!)
  const app = (await admin.call(totpBegin)).answer!
  plant('secret of an authenticator app', app.secret)
  const recovery = (
    await admin.call(totpConfirm, { body: { code: codeOf(app.secret, backend.clock.now()) } })
  ).answer!.recovery_codes!
  for (const [i, code] of recovery.entries()) {
    plant(`recovery code ${i}`, code)
    plant(`recovery code ${i} without hyphens`, code.replaceAll('-', ''))
  }
  const wrongProof = plant('wrong password of a proof', 'a wrong proof typed by canary')
  keep(
    'sessionProve with a wrong password',
    await admin.call(sessionProve, { body: { password: wrongProof } }),
    422,
  )
  const wrongCode = plant('wrong recovery code', 'abcdabcdabcdabcd')
  keep(
    'authorize with a wrong code',
    await backend.call(authorize, {
      body: { email: admin.email, password: admin.password, code: wrongCode },
    }),
    401,
  )
  // The image factory doesn't answer, so an error message is stored with the image.
  await world.simulator.factory.fault({ kind: 'down' })
  const image = await admin.call(
    imageCreate,
    { body: { talos_version: 'v1.13.9', token_id: join.id } },
    { idempotencyKey },
  )
  expect(image.answer!.schematic).toContain(join.token)
  keep('imageRegister', await admin.call(imageRegister, { params: { id: image.answer!.id } }), 503)
  await world.simulator.factory.fault(null)
  const secretKey = plant('secret key of a store', 'wJalrXUtnFEMIcanaryKEY0123456789abcd')
  const bucket = {
    endpoint: 'http://127.0.0.1:9',
    region: 'eu-1',
    bucket: 'canary',
    access_key_id: 'CANARY',
  }
  keep(
    'storeCreate that is refused',
    await admin.call(storeCreate, {
      body: { name: 'canary', kind: 's3', ...bucket, secret_access_key: secretKey },
    }),
    422,
  )
  // One server joins with the token. Other announcements are refused or have the token in the wrong
  // place.
  const [booted] = await world.simulator.boot({
    kernel_command_line: `talos.platform=metal ${joinArgument(listening, join.token)}`,
  })
  await world.until(
    async () =>
      (await admin.call(serverList, { query: { q: booted!.disk.identity.uuid } })).answer!.total,
    (total) => total === 1,
  )
  const uuid = '4c4c4544-0042-4b10-8057-b9c04f4e4d32'
  for (const path of [
    `${join.token}?uuid=canary&serial=canary&mac=canary`,
    `${join.token}?uuid=${uuid}&serial=${join.token}`,
    `${join.token}/x`,
    `x${join.token}`,
  ])
    await backend.app.inject({
      url: `/join/${path}`,
      headers: { 'x-forwarded-for': join.token, 'user-agent': join.token },
    })
  const member = { params: { id: nodes[0]!.id } }
  const downloads = [
    await admin.call(clusterKubeconfig, { params: { id: cluster.id } }),
    await admin.call(clusterTalosconfig, { params: { id: cluster.id } }),
    await admin.call(serverTalosconfig, member),
  ]
  for (const [i, { status, text }] of downloads.entries()) {
    expect(status).toBe(200)
    const keys = [...text.matchAll(/(?:client-key-data|key): (\S+)/g)].map((m) => m[1]!)
    expect(keys.length).toBeGreaterThan(0)
    for (const key of keys)
      plantPem(`key of download ${i}`, Buffer.from(key, 'base64').toString('latin1'))
  }
  expect(secrets.size).toBeGreaterThan(30)
}, 600_000)

/**
 * Calls that return a secret on purpose: credentials, and images with their join token, for users
 * who may create tokens.
 */
const isDownload = (o: Operation): boolean => o.scope === 'secrets:read'
const tellsToken = (o: Operation, token: string): boolean =>
  (o.name === 'imageGet' || o.name === 'imageList') && token === admin.accessToken
const queries: Readonly<Record<string, string>> = {
  extensionList: '?version=v1.13.9',
  serverGroups: '?by=cluster',
  clusterGroups: '?by=finding',
}
/** Calls every GET of the contract, except event streams, on every object. */
async function reads(token: string): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${token}` }
  const files = await db.selectFrom('snapshot').select(['id', 'cluster_id']).execute()
  const kept: Readonly<Record<string, string[]>> = {
    snapshots: files.filter((s) => s.cluster_id !== null).map((s) => s.id),
    backups: files.filter((s) => s.cluster_id === null).map((s) => s.id),
  }
  /** Ids of the objects of a path: `join_token` is the table of `joinTokenGet`. */
  const idsOf = async (noun: string): Promise<string[]> => {
    if (kept[noun]) return kept[noun]
    const get = allOperations.find((o) => o.method === 'GET' && o.path === `/v1/${noun}/{id}`)!
    const table = get.name.replace(/Get$/, '').replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)
    const rows = db.selectFrom((table === 'cc' ? 'capacity_commitment' : table) as 'server')
    return (await rows.select('id').execute()).map((r) => r.id)
  }
  const members = await db.selectFrom('cluster_server').select(['cluster_id', 'node_id']).execute()
  const patches = await db.selectFrom('patch').select(['id', 'server_id']).execute()
  const texts: Record<string, string> = {}
  for (const operation of allOperations.filter(
    (o) => o.method === 'GET' && o.media !== 'text/event-stream',
  )) {
    const noun = operation.path.split('/')[2]!
    const urls = operation.path.includes('{id}')
      ? (await idsOf(noun)).flatMap((id) => {
          const url = operation.path.replace('{id}', id)
          return url.includes('{node_id}')
            ? members
                .filter((m) => m.cluster_id === id)
                .map((m) => url.replace('{node_id}', m.node_id))
            : [url]
        })
      : [`${operation.path}${queries[operation.name] ?? ''}`.replace('{seq}', '1')]
    const all = urls.flatMap((url) =>
      url.includes('{patchId}')
        ? [
            ...patches.filter((p) => url.includes(p.server_id)).map((p) => p.id),
            'static-system',
            'default-node',
          ].map((id) => url.replace('{patchId}', id))
        : [url],
    )
    // Reading a machine's events takes a while, so all machines are read at once.
    await Promise.all(
      all.map(async (url) => {
        const response = await backend.app.inject({ url, headers })
        if ((isDownload(operation) || tellsToken(operation, token)) && response.statusCode === 200)
          return
        texts[url] = response.body
        expect({ url, possible: [200, 403, 409, 503].includes(response.statusCode) }).toEqual({
          url,
          possible: true,
        })
      }),
    )
  }
  return texts
}

test('no response, table, file, log, event or metric contains a secret', async () => {
  const viewer = await backend.signIn({ role: 'viewer' })
  await backend.publish()
  const [byViewer, byAdmin] = await Promise.all([
    reads(viewer.accessToken),
    reads(admin.accessToken),
  ])
  expect(Object.keys(byAdmin).length).toBeGreaterThan(30)
  expect(
    Object.entries(byViewer).filter(
      ([url, text]) => /kubeconfig|talosconfig/.test(url) && !text.includes('forbidden'),
    ),
  ).toEqual([])
  const heard = await events(admin.accessToken)
  expect(heard.split('\nid:').length).toBeGreaterThan(20)
  keep(
    'logout',
    await backend.call(authorizeLogout, { body: { refresh_token: admin.refreshToken } }),
    204,
  )
  await backend.publish()
  const tables = await dump()
  expect(tables['table audit_entry']!.length).toBeGreaterThan(1000)
  expect(tables['table cluster_secret']!.length).toBeGreaterThan(1000)
  const written = files()
  expect(Object.keys(written).some((f) => f.includes('escrow'))).toBe(true)
  expect(lines.length).toBeGreaterThan(20)
  const metrics = (await backend.app.inject({ url: '/metrics' })).body
  expect(
    found({
      ...answered,
      ...byViewer,
      ...byAdmin,
      ...tables,
      ...written,
      logs: lines.join(''),
      events: heard,
      metrics,
    }),
  ).toEqual([])
})

test('the search for secrets finds plain, hex and base64 text', () => {
  const [name, secret] = [...secrets][0]!
  for (const text of [
    secret,
    `x${Buffer.from(secret).toString('hex')}`,
    Buffer.from(`{"a":"${secret}"}`).toString('base64'),
  ])
    expect(found({ here: text })).toContain(`${name} in here`)
})
