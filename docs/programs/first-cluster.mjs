#!/usr/bin/env node
// Creates a cluster with the API: signs in, chooses free servers, creates the cluster, waits,
// fetches the kubeconfig. Needs only Node.js 20 or newer. STEELYARD_URL=http://127.0.0.1:8080
// STEELYARD_EMAIL=… STEELYARD_PASSWORD=… node docs/programs/first-cluster.mjs [NAME] > kubeconfig With
// STEELYARD_TOKEN, an API token, it needs neither email nor password.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

// Prints only the error message, because a stack trace doesn't help users.
process.on('uncaughtException', ({ message }) => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
})

const {
  STEELYARD_URL: url = 'http://127.0.0.1:8080',
  STEELYARD_EMAIL: email,
  STEELYARD_PASSWORD: password,
  STEELYARD_TOKEN: apiToken = '',
} = process.env
const [name = 'first'] = process.argv.slice(2)
let token = apiToken

async function api(
  method,
  path,
  body,
  { signInAgain = apiToken === '', key = randomUUID(), tries = 30 } = {},
) {
  const answer = await fetch(url + path, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
      // A request that is repeated with the same key after a lost connection is done once.
      ...(method === 'POST' && token && { 'idempotency-key': key }),
    },
    ...(body && { body: JSON.stringify(body) }),
  }).catch((error) => {
    if (tries === 0) throw error
  })
  // Steelyard can't be reached or is overloaded: wait, then try again.
  if (!answer || (answer.status === 503 && tries > 0)) {
    process.stderr.write(
      `${url} ${answer ? 'cannot answer now' : 'does not answer'}, trying again\n`,
    )
    await sleep(Number(answer?.headers.get('retry-after') ?? 2) * 1000)
    return api(method, path, body, { signInAgain, key, tries: tries - 1 })
  }
  const text = await answer.text()
  // An access token is valid for 10 minutes. A creation on real servers may take longer.
  if (answer.status === 401 && token && signInAgain)
    return signIn().then(() => api(method, path, body, { signInAgain: false, key, tries }))
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return answer.headers.get('content-type')?.startsWith('application/json')
    ? JSON.parse(text)
    : text
}

async function signIn() {
  token = ''
  token = (await api('POST', '/v1/authorize', { email, password })).accessToken
}
if (!apiToken) await signIn()

// Servers that may join a cluster. Chooses the largest group in one datacenter with one Talos
// version.
const { items } = await api('GET', '/v1/nodes?eligible=true')
const groups = new Map()
for (const server of items) {
  if (!server.datacenter) continue
  const key = `${server.datacenter.id} ${server.talos.version}`
  groups.set(key, [...(groups.get(key) ?? []), server])
}
const servers = [...groups.values()].reduce(
  (most, group) => (group.length > most.length ? group : most),
  [],
)
if (servers.length < 5)
  throw new Error(`Five free servers in one datacenter are needed, ${servers.length} are there`)

const { cluster, operation } = await api('POST', '/v1/clusters', {
  name,
  datacenter_id: servers[0].datacenter.id,
  talos_version: servers[0].talos.version,
  servers: servers
    .slice(0, 5)
    .map((s, i) => ({ node_id: s.id, role: i < 3 ? 'control_plane' : 'worker' })),
})

let now = operation
while (!['done', 'failed', 'cancelled'].includes(now.status)) {
  await sleep(1000)
  now = await api('GET', `/v1/operations/${operation.id}`)
  const done = now.steps.filter((step) => step.status === 'done').length
  process.stderr.write(
    `${now.status}: ${done} of ${now.steps.length} steps${now.reason ? `, ${now.reason}` : ''}\n`,
  )
}
if (now.status !== 'done') throw new Error(`The creation ended ${now.status}: ${now.reason}`)

process.stdout.write(await api('GET', `/v1/clusters/${cluster.id}/kubeconfig`))
