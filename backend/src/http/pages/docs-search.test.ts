import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startBackend } from '../../testing/backend.ts'

const sections = [
  { url: '/docs/a', page: 'Alerts', heading: '', text: 'A mail server gets messages.' },
  {
    url: '/docs/a#mail',
    page: 'Alerts',
    heading: 'Mail',
    text: `${'x '.repeat(300)}STARTTLS <b>is</b> used.`,
  },
  { url: '/docs/b', page: 'Backup', heading: '', text: 'A store keeps files.' },
]

const { app } = await startBackend({
  prepare: ({ config }) => {
    const folder = path.join(config.dataFolder, 'docs')
    mkdirSync(folder, { recursive: true })
    writeFileSync(path.join(folder, 'search.json'), JSON.stringify(sections))
    writeFileSync(path.join(folder, 'search.html'), '<input value="__WORDS__">__FOUND__')
  },
})
const searched = (query: string) => app.inject({ url: `/docs/search${query}` })
const linksIn = (body: string) => [...body.matchAll(/href="([^"]+)"/g)].map(([, to]) => to)

test('the search finds sections that have all words, those with the words in their heading first', async () => {
  expect(linksIn((await searched('?q=mail')).body)).toEqual(['/docs/a#mail', '/docs/a'])
  expect(linksIn((await searched('?q=STORE+files')).body)).toEqual(['/docs/b'])
  expect((await searched('?q=store+mail')).body).toContain('No page has all of these words')
  expect((await searched('')).body).toContain('Enter a word')
})

test('a result shows the text around the word, and neither words nor texts become HTML', async () => {
  const { body, headers } = await searched(`?q=${encodeURIComponent('starttls')}`)
  expect(body).toContain('… ')
  expect(body).toContain('STARTTLS &#60;b&#62;is&#60;/b&#62; used.')
  expect(headers['content-security-policy']).toContain("form-action 'self'")
  expect((await searched(`?q=${encodeURIComponent('"><script>')}`)).body).toContain(
    'value="&#34;&#62;&#60;script&#62;"',
  )
})

test('a search of any length is answered, and the index is no page', async () => {
  const long = await searched(`?q=${'a%20'.repeat(500)}`)
  expect(long.statusCode).toBe(200)
  expect((await app.inject({ url: '/docs/search.json' })).statusCode).toBe(404)
})
