/** Images while the factory is down or slow, refuses requests or sends invalid responses. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import * as z from 'zod/mini'
import {
  extensionList,
  imageCreate,
  imageFactoryGet,
  imageGet,
  imageList,
  imageRegister,
  imageRemove,
  type NewImage,
} from '#contract/images.ts'
import { joinTokenRevoke } from '#contract/join-tokens.ts'
import { schematicId } from '#talos/schematic/schematic.ts'
import { testClock } from '../../testing/clock.ts'
import { system } from '../../http/caller.ts'
import { silent } from '../../log.ts'
import { sharedReader } from '../../testing/reader.ts'
import { type CallLimits, usualLimits } from './factory-call.ts'
import { factory } from './factory.ts'
import { images } from './images.ts'
import { image, imageWorld } from './testing.ts'

const world = await imageWorld()
const { backend, simulated, later, token, create } = world

test.each([
  ['nothing (connection refused)', { kind: 'down' }, /refuses connections$/],
  ['a page', { kind: 'nonsense', what: 'page' }, /sent an invalid response/],
  ['half an answer', { kind: 'nonsense', what: 'half' }, /sent an invalid response/],
  ['an answer without an end', { kind: 'nonsense', what: 'endless' }, /sent an invalid response/],
  ['a server error', { kind: 'refuse', status: 500 }, /failed with 500/],
] as const)(
  'if the factory returns %s, the image is stored and registered later',
  async (_name, fault, reason) => {
    for (const known of [false, true]) {
      await later()
      if (known) await world.people.operator.call(extensionList, { query: { version: 'v1.13.9' } })
      await simulated.fault(fault)
      const { status, answer } = await world.people.operator.call(imageCreate, {
        body: image({ kernel_args: [`x=${randomUUID()}`], extensions: ['siderolabs/gvisor'] }),
      })
      expect(status).toBe(201)
      expect(answer!.factory).toMatchObject({
        registered_at: null,
        reason: expect.stringMatching(reason) as string,
      })
      expect(simulated.schematic(answer!.schematic_id)).toBeUndefined()
      const params = { id: answer!.id }
      // The factory counts as unreachable even if its list was read recently.
      expect((await world.people.operator.call(imageFactoryGet)).answer).toMatchObject({
        reachable: false,
        reason: expect.stringMatching(reason) as string,
      })
      expect((await world.people.operator.call(imageRegister, { params })).problem).toMatchObject({
        code: 'factory_unreachable',
        error: expect.stringMatching(reason) as string,
      })
      await simulated.fault(null)
      const registered = (await world.people.operator.call(imageRegister, { params })).answer!
      expect(registered.factory).toMatchObject({
        simulated: true,
        reason: null,
        registered_at: expect.any(String) as string,
      })
      expect(registered.version).toBeGreaterThan(answer!.version)
      expect((await world.people.operator.call(imageFactoryGet)).answer).toMatchObject({
        reachable: true,
        reason: null,
      })
      expect(simulated.schematic(answer!.schematic_id)!.text).toBe(registered.schematic)
    }
  },
)

test('an image never becomes ready if the factory computes another id for its schematic', async () => {
  await world.people.operator.call(imageFactoryGet)
  await simulated.fault({ kind: 'nonsense', what: 'other-id' })
  const { answer } = await world.people.operator.call(imageCreate, {
    body: image({ kernel_args: ['other=1'] }),
  })
  expect(answer!.factory.registered_at).toBeNull()
  expect(answer!.factory.reason).toMatch(
    /knows the schematic as [0-9a-f]{12}…, not as [0-9a-f]{12}…/,
  )
  expect(
    (await world.people.operator.call(imageRegister, { params: { id: answer!.id } })).problem!.code,
  ).toBe('factory_unreachable')
  expect(
    (await world.people.operator.call(imageGet, { params: { id: answer!.id } })).answer!.factory
      .registered_at,
  ).toBeNull()
})

test('if the factory refuses an image at its creation, nothing is stored; if it refuses later, the reason is stored', async () => {
  await world.people.operator.call(imageFactoryGet)
  await simulated.fault({ kind: 'refuse', status: 403 })
  const refused = await world.people.operator.call(imageCreate, {
    body: image({ kernel_args: ['refused=1'] }),
  })
  expect(refused).toMatchObject({ status: 422, problem: { code: 'factory_refused' } })
  expect(refused.problem!.error).toBe(
    `The image factory at ${simulated.url} refuses: the simulated image factory refuses because of a fault`,
  )
  expect(
    (await world.people.operator.call(imageList, { query: { q: 'refused=1' } })).answer!.total,
  ).toBe(0)
  await simulated.fault({ kind: 'down' })
  const kept = (
    await world.people.operator.call(imageCreate, { body: image({ kernel_args: ['kept=1'] }) })
  ).answer!
  await simulated.fault({ kind: 'refuse', status: 403 })
  expect(
    (await world.people.operator.call(imageRegister, { params: { id: kept.id } })).problem!.code,
  ).toBe('factory_refused')
  expect(
    (await world.people.operator.call(imageGet, { params: { id: kept.id } })).answer!.factory
      .reason,
  ).toContain('refuses')
})

test('a registered image stays registered when the factory fails later', async () => {
  const made = (await world.people.operator.call(imageCreate, { body: image() })).answer!
  await simulated.fault({ kind: 'down' })
  expect(
    (await world.people.operator.call(imageRegister, { params: { id: made.id } })).problem!.code,
  ).toBe('factory_unreachable')
  expect((await world.people.operator.call(imageGet, { params: { id: made.id } })).answer).toEqual(
    made,
  )
})

/** The domain with the factory at `url`. */
const imagesOf = (url: string, limits: CallLimits) => {
  const config = {
    ...backend.config,
    publicUrl: 'https://steelyard.example.com',
    imageFactoryUrl: url,
    simulate: undefined,
  }
  return images({
    ...backend.platform,
    ...backend.domains,
    config,
    factory: factory({ url, clock: testClock(), log: silent, limits, read: sharedReader }),
  })
}
const read = (more: Partial<NewImage>) => ({ ...z.parse(imageCreate.body, image()), ...more })

test('an image is stored even if the factory does not answer in time', async () => {
  const slow = imagesOf(simulated.url, {
    callMs: 200,
    overallMs: 300,
    tries: 2,
    pauseMs: 10,
    atOnce: 16,
  })
  await simulated.fault({ kind: 'slow', ms: 60_000 })
  const made = await slow.create(system, read({ kernel_args: ['slow=1'] }))
  expect(made.factory).toMatchObject({
    registered_at: null,
    reason: `The image factory at ${simulated.url} did not answer within 200 ms`,
  })
  await expect(slow.register(system, made.id)).rejects.toMatchObject({
    code: 'factory_unreachable',
  })
  expect((await slow.factory()).versions).toEqual(['v1.14.1', 'v1.13.9', 'v1.12.11'])
})

/** A factory that answers with `knows(schematic)`. */
async function factoryThat(
  knows: (text: string) => string,
): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const server = createServer(async (request, response) => {
    const given = await text(request)
    if (request.method === 'GET') return void response.end('["v1.13.9"]')
    const schematic = knows(given)
    return void response
      .writeHead(201)
      .end(JSON.stringify({ id: createHash('sha256').update(schematic).digest('hex'), schematic }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    server.closeAllConnections()
    server.close()
    return once(server, 'close')
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop }
}

test("if the factory quotes a YAML text differently, the factory's id of the schematic is used", async () => {
  const quoting = await factoryThat((given) =>
    stringify(parse(given), { defaultStringType: 'QUOTE_SINGLE' }),
  )
  const domain = imagesOf(quoting.url, usualLimits)
  const made = await domain.create(system, read({ kernel_args: ['on', 'a=1'] }))
  expect(made.factory).toMatchObject({ reason: null, registered_at: expect.any(String) as string })
  expect(made.schematic_id).not.toBe(schematicId({ extraKernelArgs: ['on', 'a=1'] }))
  expect(made.url).toContain(made.schematic_id)
  expect((await domain.register(system, made.id)).schematic_id).toBe(made.schematic_id)
  await quoting.stop()
})

test.each([
  ['another argument', (given: string) => given.replace('a=1', 'a=2')],
  ['an argument more', (given: string) => `${given}        - b=1\n`],
  ['a bomb of aliases', (given: string) => `x: &x [1]\ny: [*x, *x]\n${given}`],
  ['no YAML', () => '{'],
])(
  'if the factory stores %s instead of the given schematic, its id is not used',
  async (_name, knows) => {
    const lying = await factoryThat(knows)
    const made = await imagesOf(lying.url, usualLimits).create(
      system,
      read({ kernel_args: ['a=1'] }),
    )
    expect(made.factory).toMatchObject({
      registered_at: null,
      reason: expect.stringContaining('would be those of another image') as string,
    })
    expect(made.schematic_id).toBe(schematicId({ extraKernelArgs: ['a=1'] }))
    await lying.stop()
  },
)

test('a failed registration does not undo one that succeeded in the meantime', async () => {
  await later()
  await simulated.fault({ kind: 'down' })
  const made = (await create({ kernel_args: ['two=1'] })).answer!
  expect(made.factory.registered_at).toBeNull()
  const waiting: (() => void)[] = []
  const failing = createServer((request, response) => {
    if (request.method === 'GET') response.end('["v1.13.9"]')
    else waiting.push(() => void response.writeHead(500).end())
  })
  failing.listen(0, '127.0.0.1')
  await once(failing, 'listening')
  const url = `http://127.0.0.1:${(failing.address() as AddressInfo).port}`
  const trying = imagesOf(url, { ...usualLimits, tries: 1 }).register(system, made.id)
  const tried = Promise.allSettled([trying])
  await expect.poll(() => waiting.length).toBe(1)
  await simulated.fault(null)
  await later()
  const { answer } = await world.people.operator.call(imageRegister, { params: { id: made.id } })
  expect(answer!.factory).toMatchObject({
    reason: null,
    registered_at: expect.any(String) as string,
  })
  for (const answerNow of waiting) answerNow()
  expect(await tried).toMatchObject([
    { status: 'rejected', reason: { code: 'factory_unreachable' } },
  ])
  expect(
    (await world.people.operator.call(imageGet, { params: { id: made.id } })).answer!.factory,
  ).toEqual(answer!.factory)
  failing.closeAllConnections()
  failing.close()
  await once(failing, 'close')
})

test('changes made while the call to the factory runs are not overwritten', async () => {
  await later()
  const join = await token()
  const made = (await create()).answer!
  const waiting: (() => void)[] = []
  const thinking = createServer(async (request, response) => {
    const body = await text(request)
    if (request.method === 'GET') response.end('["v1.13.9"]')
    else
      waiting.push(
        () =>
          void response
            .writeHead(201)
            .end(JSON.stringify({ id: createHash('sha256').update(body).digest('hex') })),
      )
  })
  thinking.listen(0, '127.0.0.1')
  await once(thinking, 'listening')
  const slow = imagesOf(`http://127.0.0.1:${(thinking.address() as AddressInfo).port}`, usualLimits)
  const creating = slow.create(system, read({ token_id: join.id, kernel_args: ['thinking=1'] }))
  const registering = slow.register(system, made.id)
  const both = Promise.allSettled([creating, registering])
  await expect.poll(() => waiting.length).toBe(2)
  await world.people.operator.call(joinTokenRevoke, { params: { id: join.id } })
  await world.people.operator.call(imageRemove, { params: { id: made.id } })
  for (const answer of waiting) answer()
  expect(await both).toMatchObject([
    { status: 'rejected', reason: { code: 'conflict', message: 'The join token was revoked' } },
    { status: 'rejected', reason: { code: 'not_found' } },
  ])
  expect(
    (await world.people.operator.call(imageList, { query: { q: 'thinking=1' } })).answer!.total,
  ).toBe(0)
  thinking.closeAllConnections()
  thinking.close()
  await once(thinking, 'close')
})

test('a factory that can’t put documents into an image gets them on the kernel command line, if they fit', async () => {
  const root = (bytes: number) =>
    `-----BEGIN CERTIFICATE-----\n${randomBytes(bytes).toString('base64')}\n-----END CERTIFICATE-----`
  const early = (bytes: number) => ({
    trusted_roots: [root(bytes)],
    network: null,
    time_servers: [],
    registry_mirrors: [],
  })
  await simulated.fault({ kind: 'old' })
  const { id: token_id } = await token()
  const { answer: made } = await create({ token_id, early: early(600) })
  expect(made!.early!.way).toBe('kernel_line')
  expect(made!.schematic).not.toContain('embeddedMachineConfiguration')
  expect(made!.kernel_args.filter((arg) => arg.startsWith('talos.config.early='))).toHaveLength(1)
  expect(made!.kernel_command_line).toHaveLength(1_960 - made!.early!.line_left)
  const { problem } = await create({ token_id, early: early(1_500) })
  expect(problem).toMatchObject({ code: 'factory_refused' })
  expect(problem!.error).toMatch(/command line would have \d{4} characters; at most 1960 fit$/)
  await simulated.fault(null)
  const { answer: inside } = await create({ token_id, early: early(1_500) })
  expect(inside!.early!.way).toBe('embedded')
  const refused = await create({
    early: {
      ...early(10),
      network: { static_addresses: [], name_servers: [], documents: 'machine: {}\n' },
    },
  })
  expect(refused.problem?.fields).toEqual({
    'early.network.documents': expect.stringContaining('The main document') as string,
  })
})
