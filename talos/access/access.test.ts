import { X509Certificate } from 'node:crypto'
import { parse } from 'yaml'
import { expect, test } from 'vitest'
import { mintKubernetesClient, mintTalosClient } from '../pki/certificates.ts'
import { generateSecrets } from '../secrets/bundle.ts'
import { readyKeys } from '../testing/keys.ts'
import { kubeconfig, readKubeconfig, readTalosconfig, talosconfig } from './access.ts'

const now = new Date()
const bundle = await generateSecrets({ now, keys: await readyKeys() })
const decoded = (text: string) => Buffer.from(text, 'base64').toString()

test('a talosconfig has one context, its endpoints, and PEM in base64', async () => {
  const credentials = await mintTalosClient(bundle, {
    roles: ['os:admin'],
    lifetimeMs: 3_600_000,
    now,
  })
  const text = talosconfig({ context: 'prod', endpoints: ['10.0.0.1', 'fd00::1'], ...credentials })
  const read = parse(text) as {
    context: string
    contexts: Record<
      string,
      { endpoints: string[]; nodes?: string[]; ca: string; crt: string; key: string }
    >
  }
  expect(read.context).toBe('prod')
  const { ca, crt, key, ...rest } = read.contexts['prod']!
  expect(rest).toEqual({ endpoints: ['10.0.0.1', 'fd00::1'] })
  expect([decoded(ca), decoded(crt), decoded(key)]).toEqual([
    credentials.ca,
    credentials.crt,
    credentials.key,
  ])
  expect(decoded(key)).toContain('BEGIN ED25519 PRIVATE KEY')
  expect(
    parse(talosconfig({ context: 'a', endpoints: [], nodes: ['10.0.0.2'], ...credentials })),
  ).toMatchObject({
    contexts: { a: { endpoints: [], nodes: ['10.0.0.2'] } },
  })
})

test('a kubeconfig names cluster, user and context as Talos does', async () => {
  const credentials = await mintKubernetesClient(bundle, {
    commonName: 'admin',
    organizations: ['system:masters'],
    lifetimeMs: 3_600_000,
    now,
  })
  const text = kubeconfig({
    cluster: 'prod',
    server: 'https://10.0.0.9:6443',
    user: 'admin',
    ...credentials,
  })
  const read = parse(text) as {
    clusters: unknown[]
    users: { name: string; user: Record<string, string> }[]
    contexts: unknown[]
  }
  expect(read).toMatchObject({ apiVersion: 'v1', kind: 'Config', 'current-context': 'admin@prod' })
  expect(read.clusters).toMatchObject([
    { name: 'prod', cluster: { server: 'https://10.0.0.9:6443' } },
  ])
  expect(read.contexts).toEqual([
    { name: 'admin@prod', context: { cluster: 'prod', namespace: 'default', user: 'admin@prod' } },
  ])
  expect(
    new X509Certificate(decoded(read.users[0]!.user['client-certificate-data']!)).subject,
  ).toBe('O=system:masters\nCN=admin')
})

test('files without keys of their own are refused with what to give instead', () => {
  const omni =
    'context: o\ncontexts: {o: {endpoints: [https://omni.example.org], auth: {siderov1: {identity: me@example.org}}}}\n'
  expect(() => readTalosconfig(omni)).toThrow(
    /^The context o of the talosconfig signs in at Omni and has no keys of its own\. Give /,
  )
  expect(() => readTalosconfig('contexts: {o: {endpoints: [10.0.0.1]}}')).toThrow(
    'The talosconfig has no ca in its context o',
  )
  const file =
    'clusters: [{name: c, cluster: {server: "https://10.0.0.1:6443", certificate-authority: /ca.crt}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n'
  expect(() => readKubeconfig(file)).toThrow(/: write one that has \(kubectl config view --raw/)
})
