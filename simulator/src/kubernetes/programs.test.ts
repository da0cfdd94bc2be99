import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { cluster, fleet, rack, until } from '../testing/fleet.ts'
import { as, type Ask } from '../testing/kubernetes.ts'

const program = readFileSync(
  fileURLToPath(new URL('../../../docs/prove-offer.mjs', import.meta.url)),
  'utf8',
)
const system = '/api/v1/namespaces/kube-system'
const deployments = '/apis/apps/v1/namespaces/kube-system/deployments'
const offer = (digit: string) => `0x${digit.repeat(64)}`
const address = '0x2c7536E3605D9C16a7a3D7b1898e529396a65c23'
const privateKey = '4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'

/**
 * A server that answers challenges as Steelyard does, and keeps the paths and bodies of the calls.
 */
async function steelyard() {
  const calls: { path: string; body: Record<string, string> }[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url!
    calls.push({ path, body: JSON.parse(await text(request)) as Record<string, string> })
    const message = `Steelyard proof of possession\nOffer: ${path.split('/')[3]}\nAddress: ${address}\nNonce: n-1`
    response.end(
      JSON.stringify(
        path.endsWith('/challenge')
          ? { address, nonce: 'n-1', message }
          : { proven_at: '2026-11-20T08:00:00.000Z' },
      ),
    )
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { calls, port: (server.address() as AddressInfo).port }
}

async function deploy(
  ask: Ask,
  name: string,
  given: { program?: string; url: string; offerId: string },
) {
  await ask('POST', `${system}/configmaps`, {
    metadata: { name },
    data: { 'prove-offer.mjs': given.program ?? program },
  })
  const made = await ask('POST', deployments, {
    metadata: { name },
    spec: {
      replicas: 1,
      template: {
        spec: {
          containers: [
            {
              name: 'proof',
              command: ['node', '/program/prove-offer.mjs'],
              env: [
                { name: 'STEELYARD_URL', value: given.url },
                { name: 'OFFER_ID', value: given.offerId },
              ],
              volumeMounts: [
                { name: 'program', mountPath: '/program' },
                { name: 'key', mountPath: '/key' },
              ],
            },
          ],
          volumes: [
            { name: 'program', configMap: { name } },
            { name: 'key', secret: { secretName: 'steelyard-cluster-key' } },
          ],
        },
      },
    },
  })
  expect(made).toMatchObject({ status: 201 })
}

test('a control plane runs the program of the documentation, and no other program', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  const ask = await as(bundle, machine!.plan.address)
  const { calls, port } = await steelyard()
  const url = `http://127.0.0.1:${port}`
  const base64 = (value: string) => Buffer.from(value).toString('base64')
  await ask('POST', `${system}/secrets`, {
    metadata: { name: 'steelyard-cluster-key' },
    data: { address: base64(address), 'private-key': base64(privateKey) },
  })

  await deploy(ask, 'another-program', {
    program: `${program}\n// and more`,
    url,
    offerId: offer('a'),
  })
  await deploy(ask, 'another-machine', {
    url: `http://localhost.example.com:${port}`,
    offerId: offer('b'),
  })
  await deploy(ask, 'proof', { url: `${url}/`, offerId: offer('c') })
  await until('the proof', () => calls.some(({ path }) => path.endsWith('/prove')))
  expect(calls).toEqual([
    { path: `/v1/offers/${offer('c')}/challenge`, body: {} },
    {
      path: `/v1/offers/${offer('c')}/prove`,
      body: { nonce: 'n-1', signature: expect.stringMatching(/^0x[0-9a-f]{128}$/) as string },
    },
  ])
  const ready = async (name: string) => (await ask('GET', `${deployments}/${name}`)).body['status']
  await until('the status of the Deployment', async () => (await ready('proof')) !== undefined)
  expect(await ready('proof')).toMatchObject({ readyReplicas: 1 })
  expect(await ready('another-program')).toBeUndefined()
  const log = machine!.journal.logLines('kubelet')!.since(0).join('\n')
  expect(log).toContain(`kube-system/proof: ${offer('c')} is in use: ${address} proved at`)
  expect(log).not.toContain('kube-system/another-')
})

test('a program that fails is run again, and the reason is in the log of the kubelet', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  const ask = await as(bundle, machine!.plan.address)
  const { calls, port } = await steelyard()
  const base64 = (value: string) => Buffer.from(value).toString('base64')
  const other = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  const key = {
    metadata: { name: 'steelyard-cluster-key' },
    data: { address: base64(other), 'private-key': base64(privateKey) },
  }
  await ask('POST', `${system}/secrets`, key)
  await deploy(ask, 'proof', { url: `http://127.0.0.1:${port}`, offerId: offer('c') })
  const log = () => machine!.journal.logLines('kubelet')!.since(0).join('\n')
  await until('the refusal', () =>
    log().includes(
      `The access address of the offer is ${address}, but the key in this cluster is that of ${other}`,
    ),
  )
  expect(calls.every(({ path }) => path.endsWith('/challenge'))).toBe(true)
  // A changed Secret takes effect at once.
  await ask('PUT', `${system}/secrets/steelyard-cluster-key`, {
    ...key,
    data: { ...key.data, address: base64(address) },
  })
  await until('the proof', () => calls.some(({ path }) => path.endsWith('/prove')))
})
