import { describe, expect, test } from 'vitest'
import { CallError } from '../http.ts'
import { sendFresh, sendUnlessEdited } from './fresh-version.ts'

const stale = () =>
  new CallError('This object has changed since you opened it. Load it again.', {
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

describe('a change of a part of an object', () => {
  const seen = { version: 1, price: { amount: 5 }, status: 'ready' }

  /** What the object is now, and each version that a request was sent with. */
  function changedTo(now: typeof seen) {
    const sent: number[] = []
    const send = (version: number) => {
      sent.push(version)
      return version === now.version ? Promise.resolve('saved') : Promise.reject(stale())
    }
    return {
      sent,
      save: () =>
        sendUnlessEdited(
          seen,
          () => Promise.resolve(now),
          (of) => of.price,
          send,
        ),
    }
  }

  test('is saved although another part has changed since it was seen', async () => {
    const { sent, save } = changedTo({ ...seen, version: 4, status: 'degraded' })
    expect(await save()).toBe('saved')
    expect(sent).toEqual([1, 4])
  })

  test('is refused if somebody else has changed the same part', async () => {
    const { sent, save } = changedTo({ ...seen, version: 2, price: { amount: 6 } })
    await expect(save()).rejects.toMatchObject({ code: 'stale' })
    expect(sent).toEqual([1])
  })
})
