import { expect, test } from 'vitest'
import { CallError } from '../../../api/http.ts'
import { sendFresh } from './fresh-version.ts'

const stale = () =>
  new CallError('Somebody else has changed this object since you opened it. Load it again.', {
    status: 412,
    code: 'stale',
  })

/** An object whose version grows before each of the first `times` requests arrives. */
function growing(times: number) {
  let version = 1
  const sent: number[] = []
  return {
    sent,
    versionOf: () => Promise.resolve(version),
    send: (given: number) => {
      sent.push(given)
      if (sent.length <= times) version += 1
      return given === version ? Promise.resolve('begun') : Promise.reject(stale())
    },
  }
}

test('a request is sent again with the new version if the object changed after its version was read', async () => {
  const { sent, versionOf, send } = growing(2)
  expect(await sendFresh(versionOf, send)).toBe('begun')
  expect(sent).toEqual([1, 2, 3])
})

test('after five attempts the last refusal is thrown', async () => {
  const { sent, versionOf, send } = growing(Infinity)
  await expect(sendFresh(versionOf, send)).rejects.toMatchObject({ status: 412 })
  expect(sent).toHaveLength(5)
})

test('nothing is sent again if the request would now have another effect', async () => {
  const sent: number[] = []
  const versions = [1, null]
  const send = (version: number) => {
    sent.push(version)
    return Promise.reject(stale())
  }
  expect(await sendFresh(() => Promise.resolve(versions.shift()!), send)).toBeNull()
  expect(sent).toEqual([1])
})

test('any other refusal is not repeated', async () => {
  const sent: number[] = []
  const send = (version: number) => {
    sent.push(version)
    return Promise.reject(
      new CallError('poz-render-01 is not ready', { status: 409, code: 'cluster_not_ready' }),
    )
  }
  await expect(sendFresh(() => Promise.resolve(1), send)).rejects.toMatchObject({
    code: 'cluster_not_ready',
  })
  expect(sent).toEqual([1])
})
