/**
 * Writes with an `Idempotency-Key` while the program is killed with −9. Each request is sent again,
 * with the same key, to the next process. The next process has to respond, with the first response
 * if there was one, and the write must have happened exactly once. It must not say that the request
 * is still running (409), because the process that ran it is dead. A long run kills the program ten
 * times, `npm test` at the two points of a call; each time 24 calls are sent.
 */
import { mkdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, inject, test } from 'vitest'
import { datacenterCreate, datacenterList } from '#contract/datacenters.ts'
import { joinTokenCreate, joinTokenList } from '#contract/join-tokens.ts'
import type { Operation } from '#contract/operation.ts'
import { authorize } from '#contract/sessions.ts'
import { subnetCreate, subnetList } from '#contract/network/subnets.ts'
import { apiClient } from '../../tools/api-client.ts'
import { longTests } from '../../tools/testing/length.ts'
import { copyTemplate } from '../template.ts'
import { failpointFile } from './testing/failpoint-file.ts'
import { admin, endDatabase, type Program, startProgram, temporaryFolder } from './processes.ts'

const kills = longTests ? 10 : 2
const callsAtOnce = 24

const { folder, remove } = temporaryFolder()
const data = `${folder}/data`
mkdirSync(data, { mode: 0o711 })
copyTemplate(inject('template'), data)
const failpoint = failpointFile(`${folder}/failpoint`)
const start = () => startProgram(data, failpoint.setting)
let program: Program = await start()
afterAll(async () => {
  await program.kill()
  await endDatabase(data)
  remove()
})
const { accessToken } = await apiClient(program.url).call(authorize, { body: admin })

interface Write {
  readonly operation: Operation
  readonly key: string
  readonly body: object
}
/** Each call creates an object with its own name, so that a duplicate would be noticed. */
const write = (kill: number, i: number): Write => {
  const n = kill * callsAtOnce + i
  const key = `key-${n}`
  const letters = [26 * 26, 26, 1]
    .map((of) => String.fromCharCode(65 + (Math.floor(n / of) % 26)))
    .join('')
  if (i % 3 === 0)
    return {
      operation: datacenterCreate,
      key,
      body: { country_code: 'DE', city_code: letters, city_name: key },
    }
  if (i % 3 === 1) return { operation: joinTokenCreate, key, body: { name: key } }
  return {
    operation: subnetCreate,
    key,
    body: {
      name: key,
      cidr: `10.${100 + Math.floor(n / 256)}.${n % 256}.0/24`,
      datacenter_id: inject('template').datacenterId!,
    },
  }
}
async function send({
  operation,
  key,
  body,
}: Write): Promise<{ status: number; text: string; retryAfter: string | null }> {
  const answer = await fetch(program.url + operation.path, {
    method: operation.method,
    headers: {
      authorization: `Bearer ${accessToken}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify(body),
  })
  return {
    status: answer.status,
    text: await answer.text(),
    retryAfter: answer.headers.get('retry-after'),
  }
}
/**
 * Retries requests that get the response "try later", as a client does, but not those that are said
 * to be running.
 */
async function sendAgain(one: Write): Promise<{ status: number; text: string }> {
  for (;;) {
    const { status, text, retryAfter } = await send(one)
    if (retryAfter === null || status === 409) return { status, text }
    await pause(Number(retryAfter) * 1000)
  }
}

/**
 * Points at which the program is killed: key stored but nothing done; committed but no response
 * sent. Undefined: a random time.
 */
const points = ['claim:after', 'answer:after', undefined]

test(`calls repeated with the same key after kill −9 are done once: ${kills * callsAtOnce} calls in ${kills} kills`, async () => {
  const wrong: string[] = []
  for (let kill = 0; kill < kills; kill++) {
    const point = points[kill % points.length]
    if (point !== undefined) failpoint.set(point)
    const writes = Array.from({ length: callsAtOnce }, (_, i) => write(kill, i))
    const answered = Promise.all(writes.map((one) => send(one).catch(() => undefined)))
    if (point === undefined) {
      await pause(20 + ((kill * 37) % 120))
      await program.kill()
    }
    const how = await Promise.race([program.ended, pause(60_000).then(() => 'not killed')])
    if (how !== 'SIGKILL') wrong.push(`${point ?? 'a moment'} was ${how}`)
    const before = await answered
    failpoint.clear()
    program = await start()
    const after = await Promise.all(writes.map(sendAgain))
    const once = await Promise.all(writes.map(sendAgain))
    for (const [i, { operation, key }] of writes.entries()) {
      const [was, now, again] = [before[i], after[i]!, once[i]!]
      if (now.status !== operation.status)
        wrong.push(`${key} (${operation.name}, ${point}): ${now.status} ${now.text}`)
      if (was?.status === operation.status && was.text !== now.text)
        wrong.push(`${key}: another answer than the first`)
      if (again.text !== now.text) wrong.push(`${key}: another answer the next time`)
    }
  }
  expect(wrong).toEqual([])
  const { call } = apiClient(program.url, accessToken)
  const each = (kills * callsAtOnce) / 3
  expect((await call(datacenterList, { query: { per_page: 1000 } })).total).toBe(each + 1)
  expect((await call(joinTokenList, { query: { per_page: 1000 } })).total).toBe(each)
  expect((await call(subnetList, { query: { per_page: 1000 } })).total).toBe(each)
})
