/** Work without an operation that is killed, and the command line: see `rounds.ts`. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { channelCreate, channelTest } from '#contract/alerts/channels.ts'
import { deliveryGet, deliveryRetry } from '#contract/alerts/deliveries.ts'
import { auditList } from '#contract/audit.ts'
import { operationList } from '#contract/operations.ts'
import { patchList } from '#contract/patches.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { type Server, serverGet, serverUpdate } from '#contract/servers/servers.ts'
import { home } from '../../processes.ts'
import { patiently } from '../world.ts'
import { counting, leftOver, type Made } from './clusters.ts'
import type { KilledSite, Kind } from './rounds.ts'

interface Receiver {
  readonly url: string
  readonly received: { readonly id: string; readonly body: string }[]
  answer(how: 'now' | 'late' | 'refuses'): void
  close(): void
}

/** A webhook's receiver. A late answer takes 400 ms, so that kills hit it. */
export async function openReceiver(): Promise<Receiver> {
  const received: { id: string; body: string }[] = []
  let how: 'now' | 'late' | 'refuses' = 'now'
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => (body += part))
    request.on('end', () => {
      if (how !== 'refuses') received.push({ id: String(request.headers['webhook-id']), body })
      setTimeout(
        () => response.writeHead(how === 'refuses' ? 503 : 200).end(),
        how === 'late' ? 400 : 0,
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    received,
    answer: (next) => {
      how = next
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Messages to a webhook. Each arrives, with the same id and body as often as it comes. */
export async function deliveries({ call }: KilledSite, receiver: Receiver): Promise<Kind> {
  const channel = await call(channelCreate, {
    body: {
      name: 'kills',
      kind: 'webhook',
      url: receiver.url,
      secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    },
  })
  return {
    name: 'delivery',
    mostMs: 600,
    async begin() {
      receiver.answer('refuses')
      const { delivery_id: id } = await patiently(() =>
        call(channelTest, { params: { id: channel.id } }),
      )
      const params = { id }
      receiver.answer('late')
      await patiently(() => call(deliveryRetry, { params }))
      const state = async () => (await patiently(() => call(deliveryGet, { params }))).state
      return {
        isOver: async () => (await state()) === 'sent',
        async check(kills) {
          receiver.answer('now')
          const own = receiver.received.filter((one) => one.id === id)
          return [
            ...((await state()) === 'sent' ? [] : [`the message is ${await state()}`]),
            ...(own.length > 0 && own.length <= 1 + kills
              ? []
              : [`the message came ${own.length} times`]),
            ...(new Set(own.map(({ body }) => body)).size <= 1 ? [] : ['its body differs']),
          ]
        },
      }
    },
  }
}

/** Quarantines of servers, which are set and lifted. A client repeats what wasn't answered. */
export const quarantines = ({ call }: KilledSite, nodes: readonly Server[]): Kind => ({
  name: 'quarantine',
  mostMs: 80,
  async begin(round) {
    const reason = `kills ${round}`
    const quarantine = round % 2 === 0 ? { reason } : null
    const action = quarantine ? 'server.quarantined' : 'server.quarantine_lifted'
    const counted = async (id: string) =>
      (await patiently(() => call(auditList, { query: { action, target: id } }))).total
    const before = await Promise.all(nodes.map(({ id }) => counted(id)))
    let answered = 0
    let failure: Error | undefined
    const all = (async () => {
      for (const { id } of nodes) {
        await patiently(() => call(serverUpdate, { params: { id }, body: { quarantine } }), 120_000)
        answered++
      }
    })().catch((error: unknown) => {
      failure = error instanceof Error ? error : new Error('no error', { cause: error })
    })
    return {
      isOver: () => Promise.resolve(answered === nodes.length || failure !== undefined),
      async check() {
        await all
        const wrong = failure === undefined ? [] : [failure.message]
        for (const [i, { id, name }] of nodes.entries()) {
          const now = await patiently(() => call(serverGet, { params: { id } }))
          if ((now.quarantine?.reason ?? null) !== (quarantine?.reason ?? null))
            wrong.push(`the quarantine of ${name} is ${JSON.stringify(now.quarantine)}`)
          const more = (await counted(id)) - before[i]!
          if (more !== 1) wrong.push(`${name} has ${more} entries in the audit log`)
        }
        return wrong
      },
    }
  },
})

/** Runs commands as a pipeline does: with an API token and without a terminal. */
export async function pipeline({ site, url, call }: KilledSite) {
  const { token } = await call(apiTokenCreate, {
    body: {
      name: 'pipeline',
      scopes: [
        'clusters:read',
        'clusters:write',
        'servers:read',
        'servers:write',
        'network:read',
        'datacenters:read',
      ],
    },
  })
  return (line: string): Promise<{ readonly code: number | null; readonly text: string }> =>
    new Promise((resolve) => {
      const child = spawn(
        process.execPath,
        [join(home, 'cli/dist/steelyard.mjs'), ...line.split(' ')],
        {
          stdio: ['ignore', 'pipe', 'pipe'],
          env: {
            PATH: process.env['PATH'] ?? '',
            XDG_CONFIG_HOME: join(site.folder, 'nothing'),
            STEELYARD_URL: url,
            STEELYARD_TOKEN: token,
          },
        },
      )
      let text = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (more: string) => (text += more))
      child.once('close', (code) => resolve({ code, text }))
    })
}
type Pipeline = Awaited<ReturnType<typeof pipeline>>

/** `apply --wait` of a patch for each server of a cluster. The command has to end by itself. */
export const applies = (
  killed: KilledSite,
  run: Pipeline,
  { cluster, nodes }: Made,
  datacenter: string,
): Kind => ({
  name: 'apply --wait',
  mostMs: 2_500,
  async begin(round) {
    const { call, site } = killed
    const members = nodes.map(
      ({ name }, i) => `  - { server: ${name}, role: ${i === 0 ? 'control_plane' : 'worker'} }\n`,
    )
    const body = `machine:\n    sysctls:\n      vm.swappiness: "${round + 1}"\n`
    const patches = nodes.map(
      ({ name }) => `---\nkind: patch\nserver: ${name}\nname: kills\nbody: |\n  ${body}`,
    )
    const path = join(site.folder, `kills-${round}.yaml`)
    writeFileSync(
      path,
      `kind: cluster\nname: ${cluster.name}\ndatacenter: ${datacenter}\ntalos_version: v1.14.1\nkubernetes_version: ${cluster.kubernetes_version.replace('v', '')}\nservers:\n${members.join('')}${patches.join('')}`,
    )
    const more = await counting(killed, nodes)
    const changes = async () =>
      (
        await patiently(() =>
          call(operationList, { query: { target: cluster.id, kind: 'clusterConfigure' } }),
        )
      ).total
    const before = await changes()
    let ran: Awaited<ReturnType<Pipeline>> | undefined
    const all = (async () => {
      for (;;) {
        const end = await run(`apply -f ${path} --yes --wait`)
        // Until the change has begun the command may end, and a pipeline runs it again.
        if (end.code === 0 || (await changes()) > before) {
          ran = end
          return
        }
        await pause(200)
      }
    })()
    return {
      isOver: () => Promise.resolve(ran !== undefined),
      async check() {
        await all
        const later = await run(`diff -f ${path}`)
        const changed = (await changes()) - before
        const bodies = await Promise.all(
          nodes.map(({ id }) => patiently(() => call(patchList, { params: { id } }))),
        )
        const current = bodies.filter(({ items }) =>
          items.some((p) => p.name === 'kills' && p.body.includes(`"${round + 1}"`)),
        )
        return [
          ...(ran?.code === 0 ? [] : [`apply ended with ${ran?.code}: ${ran?.text}`]),
          ...(later.code === 0 ? [] : [`diff ended with ${later.code}: ${later.text}`]),
          ...(changed === 1 ? [] : [`the cluster was changed ${changed} times`]),
          ...(current.length === nodes.length ? [] : [`${current.length} servers have the patch`]),
          ...(await more({ applies: 1 })),
          ...(await leftOver(killed, nodes)),
        ]
      },
    }
  },
})

/** Labels of all servers by one command, which a pipeline repeats until it has ended well. */
export const labelImports = (
  { call }: KilledSite,
  run: Pipeline,
  nodes: readonly Server[],
): Kind => ({
  name: 'import of labels',
  mostMs: 900,
  async begin(round) {
    const counted = async (id: string) =>
      (await patiently(() => call(auditList, { query: { action: 'server.labelled', target: id } })))
        .total
    const before = await Promise.all(nodes.map(({ id }) => counted(id)))
    let isOver = false
    const names = nodes.map(({ name }) => name).join(' ')
    const all = (async () => {
      for (;;) {
        const end = await run(`server label ${names} round=${round} kills=yes`)
        if (end.code === 0) break
        await pause(200)
      }
      isOver = true
    })()
    return {
      isOver: () => Promise.resolve(isOver),
      async check() {
        await all
        const wrong: string[] = []
        for (const [i, { id, name }] of nodes.entries()) {
          const { labels } = await patiently(() => call(serverGet, { params: { id } }))
          if (labels?.['round'] !== String(round) || labels['kills'] !== 'yes')
            wrong.push(`${name} has the labels ${JSON.stringify(labels)}`)
          const more = (await counted(id)) - before[i]!
          if (more !== 1) wrong.push(`${name} has ${more} entries in the audit log`)
        }
        return wrong
      },
    }
  },
})
