import { createServer, type Server } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { hasFeature, releaseOf } from '../config/versions.ts'
import type { Machine } from '../machine/machine.ts'
import { issue } from '../wire/certificates.ts'
import type { EtcdCluster } from './etcd.ts'
import type { Member } from './stored.ts'
import { storageVersionOf } from './storage-version.ts'

/**
 * etcd's health, version and metrics over HTTP, which Talos 1.14 has put on a port of their own
 * (Talos: services/etcd.go, `listen-client-http-urls`). Clients need a certificate of etcd's
 * authority, and TLS 1.3.
 */

const YEAR_MS = 365 * 24 * 3_600_000

interface Reply {
  readonly status: number
  readonly type: string
  readonly body: string
}
type Own = { readonly machine: Machine; readonly cluster: EtcdCluster; readonly member: Member }

const text = (status: number, body: string): Reply => ({
  status,
  type: 'text/plain; charset=utf-8',
  body,
})
const notFound = text(404, '404 page not found\n')

/** Why the member isn't well, or null (etcd: etcdhttp/health.go, checkAlarms and checkLeader). */
const illness = ({ cluster }: Own, query: URLSearchParams): string | null => {
  const excluded = query.getAll('exclude')
  const alarm = (cluster.state.alarms ?? []).find(
    (known) => !excluded.includes(known.alarm.toUpperCase()),
  )
  if (alarm) return `ALARM ${alarm.alarm.toUpperCase()}`
  return query.get('serializable') === 'true' || cluster.leader ? null : 'RAFT NO LEADER'
}

const health = (own: Own, query: URLSearchParams): Reply => {
  const reason = illness(own, query)
  const body = JSON.stringify({ health: String(reason === null), reason: reason ?? '' })
  return reason === null ? text(200, body) : text(503, `${body}\n`)
}

/** The checks of `/livez` and `/readyz`, with the error of those that fail. */
const checksOf = ({
  cluster,
  member,
}: Own): Readonly<Record<'livez' | 'readyz', Readonly<Record<string, string | null>>>> => ({
  livez: { serializable_read: null },
  readyz: {
    data_corruption: (cluster.state.alarms ?? []).some(({ alarm }) => alarm === 'corrupt')
      ? 'alarm activated: CORRUPT'
      : null,
    serializable_read: null,
    linearizable_read: cluster.leader ? null : 'etcdserver: no leader',
    non_learner: member.learner ? 'non learner check failed: current node is a learner' : null,
  },
})

const checked = (own: Own, kind: 'livez' | 'readyz', query: URLSearchParams): Reply => {
  const excluded = query.getAll('exclude')
  const checks = Object.entries(checksOf(own)[kind]).filter(([name]) => !excluded.includes(name))
  const isWell = checks.every(([, error]) => error === null)
  const lines = checks.map(([name, error]) =>
    error === null ? `[+]${name} ok\n` : `[-]${name} failed: ${error}\n`,
  )
  if (!isWell) return text(503, `${lines.join('')}\n`)
  return text(200, query.has('verbose') ? `${lines.join('')}ok\n` : 'ok\n')
}

const metrics = ({ cluster, member }: Own): Reply => {
  const { bytes, inUse } = cluster.sizeOf(member)
  const gauges: readonly [name: string, help: string, value: number][] = [
    [
      'etcd_server_has_leader',
      'Whether or not a leader exists. 1 is existence, 0 is not.',
      cluster.leader ? 1 : 0,
    ],
    [
      'etcd_server_is_leader',
      'Whether or not this member is a leader. 1 if is, 0 otherwise.',
      cluster.leader?.id === member.id ? 1 : 0,
    ],
    [
      'etcd_server_is_learner',
      'Whether or not this member is a learner. 1 if is, 0 otherwise.',
      member.learner ? 1 : 0,
    ],
    [
      'etcd_mvcc_db_total_size_in_bytes',
      'Total size of the underlying database physically allocated in bytes.',
      bytes,
    ],
    [
      'etcd_mvcc_db_total_size_in_use_in_bytes',
      'Total size of the underlying database logically in use in bytes.',
      inUse,
    ],
  ]
  return {
    status: 200,
    type: 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores',
    body: gauges
      .map(
        ([name, help, value]) => `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`,
      )
      .join(''),
  }
}

const version = ({ machine, cluster }: Own): Reply => {
  const shown = storageVersionOf(cluster)
  return {
    status: 200,
    type: 'application/json',
    body: JSON.stringify({
      etcdserver: releaseOf(machine.talosMinor).etcd.replace(/^v/, ''),
      etcdcluster: shown,
      storage: shown,
    }),
  }
}

const replyTo = (machine: Machine, { url = '/' }: IncomingMessage): Reply => {
  const cluster = machine.etcdCluster
  const member = cluster?.member(machine.disk.state.etcd?.member ?? '')
  if (!cluster || !member) return notFound
  const { pathname, searchParams } = new URL(url, 'https://etcd')
  const own = { machine, cluster, member }
  switch (pathname) {
    case '/health':
      return health(own, searchParams)
    case '/livez':
      return checked(own, 'livez', searchParams)
    case '/readyz':
      return checked(own, 'readyz', searchParams)
    case '/version':
      return version(own)
    case '/metrics':
      return metrics(own)
    default:
      return notFound
  }
}

const answer = (machine: Machine, request: IncomingMessage, response: ServerResponse): void => {
  const isRead = request.method === 'GET'
  const { status, type, body } = isRead
    ? replyTo(machine, request)
    : text(405, 'Method Not Allowed\n')
  response.writeHead(status, { 'content-type': type, ...(!isRead && { allow: 'GET' }) }).end(body)
}

/** Opens the port while etcd runs. */
export const openEtcdHttp = async (machine: Machine): Promise<void> => {
  if (!machine.hasAddress || !hasFeature(machine.talosMinor, 'etcdHttpPort')) return
  await machine.ports.etcdHttp.open(() => {
    const ca = machine.config!.node!.cluster.etcdCa!
    const { crt, key } = issue(ca, {
      commonName: machine.hostname,
      names: [machine.plan.address, machine.hostname, 'localhost', '127.0.0.1'],
      usages: ['serverAuth', 'clientAuth'],
      lifetimeMs: YEAR_MS,
      now: machine.world.clock.now(),
    })
    const server: Server = createServer(
      { cert: crt, key, ca: ca.crt, requestCert: true, minVersion: 'TLSv1.3' },
      (request, response) => answer(machine, request, response),
    )
    server.on('tlsClientError', () => undefined)
    server.on('clientError', (_error, socket) => socket.destroy())
    return server
  })
}
