import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { createAuthority, issueCertificate } from '#talos/pki/certificates.ts'
import { reader } from '../reading/reader.ts'
import type { Attributes, SpanOptions, Tracing } from '../tracing/tracing.ts'
import { kubernetes, kubernetesPort } from './client.ts'
import { KubernetesError, within } from './answers.ts'

// A hostile API server with a trusted certificate.
const address = `127.${100 + Math.floor(Math.random() * 100)}.${Math.floor(Math.random() * 250)}.7`
const authority = await createAuthority({
  kind: 'p256',
  subject: { commonName: 'kubernetes' },
  now: new Date(),
  lifetimeMs: 3_600_000,
})
const issue = (kind: 'server' | 'client') =>
  issueCertificate(authority, {
    kind: 'p256',
    subject: { commonName: 'test' },
    usages: [kind],
    names: kind === 'server' ? { addresses: [address] } : {},
    now: new Date(),
    lifetimeMs: 3_600_000,
  })
const [ours, client] = await Promise.all([issue('server'), issue('client')])

let answer: (request: IncomingMessage, reply: ServerResponse) => void = () => undefined
const asked: string[] = []
const server = createServer(
  { key: ours.key, cert: ours.crt, ca: authority.crt, requestCert: true },
  (request, reply) => {
    asked.push(`${request.method} ${request.url}`)
    answer(request, reply)
  },
)
await new Promise<void>((resolve) => server.listen(kubernetesPort, address, resolve))
afterAll(() => server.closeAllConnections())
afterAll(() => new Promise((resolve) => server.close(resolve)))
beforeEach(() => void asked.splice(0))

const parts = { dial: { check: () => ({ ok: true }) as const }, read: reader() }
const api = kubernetes([{ name: 'alpha', address }], { ...client, ca: authority.crt }, parts)
const { signal } = new AbortController()
const json =
  (body: unknown, status = 200) =>
  (_: IncomingMessage, reply: ServerResponse) =>
    void reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

test('an object is returned unchanged, a missing one as null, and a failure as an error with the cluster’s message', async () => {
  answer = json({ kind: 'APIGroup' })
  expect(await api.get('/apis/cilium.io', signal)).toEqual({ kind: 'APIGroup' })
  answer = json({ kind: 'Status', message: 'not found' }, 404)
  expect(await api.get('/apis/cilium.io', signal)).toBeNull()
  answer = json({ kind: 'Status', message: 'you \u001b[31mmay not' }, 403)
  await expect(api.get('/x', signal)).rejects.toMatchObject({
    status: 403,
    message: 'the API server answered 403: you �[31mmay not',
  })
  answer = (_, reply) => void reply.end('<html>')
  await expect(api.get('/x', signal)).rejects.toThrow('the API server sent invalid data')
})

test('a list is read page by page to its end, and only the needed fields are kept', async () => {
  answer = (request, reply) => {
    const next = new URL(`https://x${request.url}`).searchParams.get('continue')
    json(
      next === null
        ? { metadata: { continue: 'a&b=c' }, items: [1, 2] }
        : { metadata: {}, items: [3] },
    )(request, reply)
  }
  expect(
    await api.list(
      '/api/v1/services',
      { most: 10, fieldSelector: 'spec.type=LoadBalancer', keep: (o) => (o === 2 ? undefined : o) },
      signal,
    ),
  ).toEqual([1, 3])
  expect(asked).toEqual([
    'GET /api/v1/services?limit=250&fieldSelector=spec.type%3DLoadBalancer',
    'GET /api/v1/services?limit=250&fieldSelector=spec.type%3DLoadBalancer&continue=a%26b%3Dc',
  ])
  answer = json({}, 404)
  expect(await api.list('/apis/x', { most: 10, keep: (o) => o }, signal)).toBeNull()
})

test.each([
  ['that never ends', { metadata: { continue: 'x' }, items: [] }, 'more than 50 objects'],
  [
    'that is longer than the limit',
    { metadata: {}, items: Array.from({ length: 51 }, () => 1) },
    'more than 50 objects',
  ],
  ['without items', { metadata: {} }, 'invalid data (list)'],
  [
    'with an invalid continue token',
    { metadata: { continue: 7 }, items: [] },
    'invalid data (continue)',
  ],
  [
    'with a continue token that is too long',
    { metadata: { continue: 'x'.repeat(5_000) }, items: [] },
    'invalid data (continue)',
  ],
])('a list from the API server %s is refused', async (_what, body, sentence) => {
  answer = json(body)
  await expect(api.list('/api/v1/services', { most: 50, keep: (o) => o }, signal)).rejects.toThrow(
    sentence,
  )
  expect(asked.length).toBeLessThan(10)
})

const pod = { namespace: 'shop', name: 'web-0', uid: '0f1e' }

test('the answer of one control plane says more than the silence of another', async () => {
  answer = json({ message: 'This pod has more than one PodDisruptionBudget' }, 500)
  const [alpha, silent] = [
    { name: 'alpha', address },
    // Nothing listens there.
    { name: 'beta', address: address.replace(/7$/, '8') },
  ]
  for (const targets of [
    [alpha, silent],
    [silent, alpha],
  ]) {
    const both = kubernetes(targets, { ...client, ca: authority.crt }, parts)
    await expect(both.evict(pod, signal)).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining('more than one PodDisruptionBudget') as string,
    })
  }
  await expect(
    kubernetes([silent], { ...client, ca: authority.crt }, parts).evict(pod, signal),
  ).rejects.toMatchObject({ status: undefined, message: 'beta: connection refused' })
})

test('an eviction that a budget forbids says which', async () => {
  const message = "Cannot evict pod as it would violate the pod's disruption budget."
  const cause = 'The disruption budget web needs 2 healthy pods and has 2 currently'
  const causes = [{ reason: 'DisruptionBudget', message: cause }]
  answer = json({ kind: 'Status', message, details: { causes } }, 429)
  expect(await api.evict(pod, signal)).toEqual({ blocked: cause })
  answer = json({ kind: 'Status', message }, 429)
  expect(await api.evict(pod, signal)).toEqual({ blocked: message })
  answer = json('"', 429)
  expect(await api.evict(pod, signal)).toEqual({
    blocked: 'a PodDisruptionBudget forbids it',
  })
})

test('an eviction names the pod by its UID, so that another pod that has its name stays', async () => {
  let sent = ''
  answer = (request, reply) => {
    request.on('data', (part: Buffer) => (sent += part.toString()))
    request.on('end', () => json({ kind: 'Status', reason: 'Conflict' }, 409)(request, reply))
  }
  expect(await api.evict(pod, signal)).toBe('gone')
  expect(JSON.parse(sent)).toMatchObject({
    metadata: { namespace: 'shop', name: 'web-0' },
    deleteOptions: { preconditions: { uid: '0f1e' } },
  })
})

test.each([401, 429, 500])(
  'an answer %i of one control plane is not that of the others',
  async (status) => {
    const both = kubernetes(
      [
        { name: 'alpha', address },
        { name: 'beta', address },
      ],
      { ...client, ca: authority.crt },
      { dial: { check: () => ({ ok: true }) }, read: reader() },
    )
    answer = (request, reply) =>
      asked.length % 2 === 1
        ? json({ message: 'its clock is wrong' }, status)(request, reply)
        : json({ kind: 'Node' })(request, reply)
    expect(await both.get('/x', signal)).toEqual({ kind: 'Node' })
    expect(asked).toHaveLength(2)
    // The one that answered is asked first.
    answer = json({ kind: 'Node' })
    await both.get('/x', signal)
    expect(asked).toHaveLength(3)
    answer = json({ message: 'no' }, status)
    await expect(both.get('/x', signal)).rejects.toMatchObject({ status })
    expect(asked).toHaveLength(5)
  },
)

test.each([
  ['expired', 7_200_000, address, /expired or not valid yet: its clock/],
  ['of a later time', -7_200_000, address, /expired or not valid yet/],
  ['for another address', 0, '127.9.9.9', /its certificate is for 127\.9\.9\.9$/],
])('a certificate that is %s is said to be that', async (_what, ageMs, to, said) => {
  const shown = await issueCertificate(authority, {
    kind: 'p256',
    subject: { commonName: 'test' },
    usages: ['server'],
    names: { addresses: [to] },
    now: new Date(Date.now() - ageMs),
    lifetimeMs: 3_600_000,
  })
  server.setSecureContext({ key: shown.key, cert: shown.crt, ca: authority.crt })
  await expect(api.get('/x', signal)).rejects.toThrow(said)
  server.setSecureContext({ key: ours.key, cert: ours.crt, ca: authority.crt })
})

test("Test that a caller's own time limit is told as one, and that a caller who ends the call gets its own reason", async () => {
  answer = () => undefined
  const target = { name: 'alpha', address }
  for (const ask of [
    (limit: AbortSignal) => api.readyz(target, limit),
    (limit: AbortSignal) => api.get('/x', limit),
  ])
    await expect(within(signal, 300, ask)).rejects.toThrow(/did not answer within 300 ms$/)
  const stop = new AbortController()
  setTimeout(() => stop.abort(new Error('Steelyard stops')), 20)
  await expect(within(stop.signal, 60_000, (limit) => api.get('/x', limit))).rejects.toThrow(
    'Steelyard stops',
  )
})

test('a response that does not end is aborted', async () => {
  answer = (_, reply) => {
    reply.on('error', () => undefined)
    const more = () => {
      while (!reply.destroyed && reply.write('x'.repeat(65_536)));
      if (!reply.destroyed) reply.once('drain', more)
    }
    more()
  }
  await expect(api.get('/x', signal)).rejects.toThrow(
    new KubernetesError('alpha: the API server sent more than 8 MiB'),
  )
})

test('a call is a span with its method, address and status, and never with its path', async () => {
  const ended: unknown[] = []
  const tracing = {
    child: (name: string, { attributes }: SpanOptions = {}) => {
      const all: Record<string, unknown> = { ...attributes }
      return {
        set: (more: Attributes) => void Object.assign(all, more),
        within: <T>(act: () => T) => act(),
        end: (failure?: string) => void ended.push({ name, failure, ...all }),
      }
    },
  } as Tracing
  const traced = kubernetes(
    [{ name: 'alpha', address }],
    { ...client, ca: authority.crt },
    { dial: { check: () => ({ ok: true }) }, read: reader(), tracing },
  )
  answer = json({ kind: 'Status', message: 'a secret' }, 403)
  await expect(traced.get('/api/v1/namespaces/of-a-customer', signal)).rejects.toThrow('a secret')
  answer = (_, reply) => void reply.destroy()
  await expect(traced.get('/x', signal)).rejects.toThrow(KubernetesError)
  const to = {
    name: 'kubernetes GET',
    'http.request.method': 'GET',
    'server.address': address,
    'server.port': kubernetesPort,
  }
  expect(ended).toEqual([
    { ...to, failure: 'status 403', 'http.response.status_code': 403 },
    { ...to, failure: 'KubernetesError' },
  ])
})
