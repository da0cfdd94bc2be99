import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { beforeAll, expect, test } from 'vitest'
import { buildProgram } from './build.ts'

const folder = fileURLToPath(new URL('dist/', import.meta.url))
beforeAll(() => buildProgram())
const pieces = () => readdirSync(folder).filter((file) => file.endsWith('.js'))

test('no piece of the bundle imports Node’s own modules, which would load undici, or has characters that double its memory', () => {
  const found = pieces().filter((file) =>
    /^import [^;]*"node:|[^\0-\x7f]/m.test(readFileSync(`${folder}${file}`, 'utf8')),
  )
  expect(found).toEqual([])
})

test('files that the program finds by their place are in the bundle’s folder', () => {
  const places = pieces().flatMap((file) =>
    [
      ...readFileSync(`${folder}${file}`, 'utf8').matchAll(
        /new URL\(["'`](\.[^"'`]+)["'`], import\.meta\.url\)/g,
      ),
    ].map(([, place]) => place!),
  )
  // The repository's root is two folders above the sources, and above the bundle.
  expect([...new Set(places)].toSorted()).toEqual([
    '../../',
    './answers-thread.js',
    './check-thread.js',
    './common-thread.js',
    './etcd-thread.js',
    './migrations/',
    './texts-thread.js',
  ])
  expect(
    places.filter((place) => !existsSync(new URL(place, new URL('dist/', import.meta.url)))),
  ).toEqual([])
  expect(readdirSync(`${folder}migrations`)).toEqual(
    readdirSync(new URL('src/db/migrations/', import.meta.url)),
  )
})

test('the bundled thread reads texts', async () => {
  const thread = new Worker(`${folder}texts-thread.js`)
  const answer = () =>
    new Promise((resolve, reject) => void thread.once('message', resolve).once('error', reject))
  expect(await answer()).toBe('ready')
  const answered = answer()
  thread.postMessage({ name: 'mask', given: ['machine:\n  token: secret\n'] }, [])
  expect(await answered).toMatchObject({ ok: true })
  await thread.terminate()
})
