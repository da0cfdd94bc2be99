import { expect, test } from 'vitest'
import { resources } from '#talos/client/resources.ts'
import { readDigest } from './reading.ts'

const without = async () => undefined

/** A machine that answers each list with these messages. */
const machine = (answers: (type: string) => Iterable<string>) => {
  let read = 0
  const client: Parameters<typeof readDigest>[0] = {
    get: without,
    listBytes: async ({ type }, receive) => {
      for (const answer of answers(type)) {
        read += 1
        if (!receive(Buffer.from(answer))) return
      }
    },
  }
  return { client, read: () => read }
}

test('the digest depends on each answer and on its kind, not on the order in which kinds answer', async () => {
  const digest = (answers: Record<string, string[]>) =>
    readDigest(machine((type) => answers[type] ?? []).client)
  const [disk, link] = [resources.disk.type, resources.link.type]
  const first = await digest({ [disk]: ['a', 'b'], [link]: ['c'] })
  expect(first).toEqual(expect.any(Number))
  expect(await digest({ [link]: ['c'], [disk]: ['a', 'b'] })).toBe(first)
  const others = [
    { [disk]: ['a', 'x'], [link]: ['c'] },
    { [disk]: ['a'], [link]: ['c'] },
    { [disk]: ['a'], [link]: ['b', 'c'] },
    { [disk]: ['a', 'b'] },
  ]
  const digests = await Promise.all(others.map(digest))
  expect(new Set([first, ...digests]).size).toBe(5)
})

test('answers without end have no digest, and are read only up to the limit', async () => {
  for (const text of ['x'.repeat(1_000), '']) {
    const { client, read } = machine(function* () {
      for (;;) yield text
    })
    expect(await readDigest(client)).toBeUndefined()
    expect(read()).toBeLessThan(10_000)
  }
})
