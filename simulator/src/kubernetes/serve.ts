import { createServer, type Server } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { wholeBody } from '../body.ts'
import { hasFeature } from '../config/versions.ts'
import type { Machine } from '../machine/machine.ts'
import { issue } from '../wire/certificates.ts'
import type { Speaker } from '../wire/port.ts'
import { answer } from './api.ts'
import { impersonated, userOf } from './access.ts'
import { addressOf } from './defaults.ts'
import { Objects } from './objects.ts'
import { Refusal } from './refusal.ts'
import type { Watch } from './watch.ts'

const YEAR_MS = 365 * 24 * 3_600_000
const MAX_BODY_BYTES = 3 * 1024 * 1024
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/**
 * The API server of a control plane: HTTPS with a certificate of the cluster's Kubernetes
 * authority. The same authority must have signed the caller's certificate.
 */
export const openKubernetes = async (machine: Machine): Promise<void> => {
  if (!machine.hasAddress) return
  await machine.ports.kubernetes.open((): Speaker => {
    const { cluster } = machine.config!.node!
    const host = new URL(cluster.endpoint).hostname
    const names = [
      machine.plan.address,
      machine.hostname,
      host,
      ...cluster.apiServerSans,
      ...'localhost 127.0.0.1 kubernetes kubernetes.default kubernetes.default.svc kubernetes.default.svc.cluster.local'.split(
        ' ',
      ),
      addressOf(cluster.serviceSubnet, 1),
    ]
    const identity = issue(cluster.ca!, {
      commonName: 'kube-apiserver',
      organizations: ['kube-master'],
      names,
      usages: ['serverAuth'],
      lifetimeMs: YEAR_MS,
      now: machine.world.clock.now(),
    })
    const server: Server = createServer(
      {
        cert: identity.crt,
        key: identity.key,
        ca: [cluster.ca!.crt, ...cluster.acceptedCas],
        requestCert: true,
        rejectUnauthorized: false,
        minVersion: hasFeature(machine.talosMinor, 'tls13') ? 'TLSv1.3' : 'TLSv1.2',
      },
      (request, response) => void handle(machine, request, response),
    )
    server.on('tlsClientError', () => undefined)
    server.on('clientError', (_error, socket) => socket.destroy())
    return server
  })
}

const tooLarge = (): Refusal =>
  new Refusal(
    413,
    'RequestEntityTooLarge',
    `the request is too large: the limit is ${MAX_BODY_BYTES} bytes`,
  )

const handle = async (
  machine: Machine,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  try {
    const user = userOf(request.socket as TLSSocket)
    const body = await wholeBody(request, MAX_BODY_BYTES, tooLarge)
    const cluster = machine.etcdCluster
    if (!cluster || !machine.apiServerUp)
      throw new Refusal(503, 'ServiceUnavailable', 'the API server is not ready')
    const given = answer(
      machine,
      cluster,
      impersonated(new Objects(cluster, machine.world.clock.now), user, request.headers),
      {
        method: request.method ?? 'GET',
        url: new URL(request.url ?? '/', 'https://kubernetes'),
        contentType: request.headers['content-type'] ?? '',
        accept: request.headers.accept ?? '',
        body,
      },
    )
    if ('watch' in given) stream(response, given.watch)
    else if ('plain' in given)
      send(response, given.status, given.plain, 'text/plain; charset=utf-8')
    else send(response, given.status, JSON.stringify(given.json), 'application/json')
  } catch (cause) {
    const refusal =
      cause instanceof Refusal
        ? cause
        : new Refusal(500, 'InternalError', cause instanceof Error ? cause.message : String(cause))
    send(response, refusal.code, JSON.stringify(refusal.status), 'application/json')
  }
}

const send = (response: ServerResponse, status: number, body: string, type: string): void => {
  if (response.destroyed) return
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-cache, private',
  })
  response.end(body)
}

/**
 * Sends the events of a watch as lines of JSON until client or server ends the watch. A slow reader
 * is disconnected.
 */
const stream = (response: ServerResponse, watch: Watch): void => {
  if (response.destroyed) return
  response.writeHead(200, {
    'content-type': 'application/json',
    'cache-control': 'no-cache, private',
  })
  response.flushHeaders()
  const stop = watch({
    send(event) {
      if (response.writableEnded || response.destroyed) return
      response.write(`${JSON.stringify(event)}\n`)
      if (response.writableLength > MAX_UNREAD_BYTES) response.destroy()
    },
    end: () => void response.end(),
  })
  response.once('close', stop)
}
