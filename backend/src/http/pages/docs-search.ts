/**
 * The search of the documentation: `/docs/search?q=WORDS` looks for the words in an index that the
 * build of the pages has written. The pages have no scripts, so the server answers with a page.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod/mini'
import { escapeHtml } from './escape.ts'
import { docsPolicy } from '../headers.ts'

/** Files of the build that the search reads and nobody gets as they are. */
export const searchFiles: ReadonlySet<string> = new Set(['/search.html', '/search.json'])

/** A part of a page below one of its headings. */
const Sections = z.array(
  z.object({ url: z.string(), page: z.string(), heading: z.string(), text: z.string() }),
)
type Section = z.infer<typeof Sections>[number]

const mostCharacters = 100
const mostWords = 8
const mostFound = 20
/** Characters of a section's text that a result shows, around the first word. */
const shown = 200

/** The words of a search, in lower case. */
const wordsOf = (text: string): string[] =>
  text
    .slice(0, mostCharacters)
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, mostWords)

/**
 * How well a section fits: 0 if a word is missing, more if words stand in its heading or in the
 * title of its page.
 */
function fits({ page, heading, text }: Section, words: readonly string[]): number {
  const [title, name, body] = [page.toLowerCase(), heading.toLowerCase(), text.toLowerCase()]
  const points = words.map(
    (word) =>
      (name.includes(word) ? 4 : 0) +
      (title.includes(word) ? 2 : 0) +
      (body.includes(word) ? 1 : 0),
  )
  return points.includes(0) ? 0 : points.reduce((sum, one) => sum + one, 0)
}

/** The sections that contain all words, the best first, in the order of the pages if equal. */
function search(sections: readonly Section[], text: string): readonly Section[] {
  const words = wordsOf(text)
  if (words.length === 0) return []
  return sections
    .map((section) => ({ section, points: fits(section, words) }))
    .filter(({ points }) => points > 0)
    .toSorted((a, b) => b.points - a.points)
    .slice(0, mostFound)
    .map(({ section }) => section)
}

function extractOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase()
  const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0))
  const from = Number.isFinite(first) ? Math.max(0, first - shown / 4) : 0
  const part = text.slice(from, from + shown)
  return `${from > 0 ? '… ' : ''}${part.trim()}${from + shown < text.length ? ' …' : ''}`
}

function resultsOf(sections: readonly Section[], text: string): string {
  const words = wordsOf(text)
  if (words.length === 0)
    return '<p>Enter a word, such as the name of a setting or a part of a message.</p>'
  const found = search(sections, text)
  if (found.length === 0)
    return '<p>No page has all of these words. Try fewer of them, or a shorter form.</p>'
  const items = found.map(
    ({ url, page, heading, text: body }) =>
      `<li><a href="${escapeHtml(url)}">${escapeHtml(heading === '' ? page : `${page}: ${heading}`)}</a><p>${escapeHtml(extractOf(body, words))}</p></li>`,
  )
  return `<ol class="found">${items.join('')}</ol>`
}

/** Adds `/docs/search` if the documentation is built. */
export function serveDocsSearch(app: FastifyInstance, docsFolder: string): void {
  const [pageFile, indexFile] = ['search.html', 'search.json'].map((name) =>
    path.join(docsFolder, name),
  ) as [string, string]
  if (!existsSync(pageFile) || !existsSync(indexFile)) return
  // Read at the first search: most processes never search.
  let read: Promise<{ page: string; sections: readonly Section[] }> | undefined
  const index = async () => ({
    page: await readFile(pageFile, 'utf8'),
    sections: Sections.parse(JSON.parse(await readFile(indexFile, 'utf8'))),
  })
  app.get('/docs/search', { config: { open: true } }, async (request, reply) => {
    const { q } = request.query as { q?: unknown }
    const text = (Array.isArray(q) ? String(q[0]) : typeof q === 'string' ? q : '').slice(
      0,
      mostCharacters,
    )
    read ??= index()
    const { page, sections } = await read
    return reply
      .header('content-security-policy', docsPolicy)
      .header('cache-control', 'no-cache')
      .type('text/html; charset=utf-8')
      .send(
        page
          .replace('__FOUND__', () => resultsOf(sections, text))
          .replace('__WORDS__', () => escapeHtml(text)),
      )
  })
}
