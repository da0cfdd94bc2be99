// Renders the pages of `docs/` to HTML without scripts. Plain JavaScript, because `start.mjs` runs
// it in a checkout without the tools.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { Marked } from 'marked'

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escape = (text) => text.replaceAll(/[&<>"']/g, (char) => entities[char])
const plain = (html) =>
  Object.entries(entities).reduce(
    (text, [char, entity]) => text.replaceAll(entity, char),
    html.replaceAll(/<[^>]*>/g, ''),
  )

/** Paths of Steelyard that pages may link to. */
const served = [
  /^\/$/,
  /^\/docs\/(?:api|search)$/,
  /^\/cli$/,
  /^\/v1\/openapi\.json$/,
  /^\/infra\/servers$/,
]

/**
 * The id of a heading as GitHub makes it, so that links work in both places
 * (https://github.com/Flet/github-slugger).
 */
function slugs() {
  const used = new Map()
  return (text) => {
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-')
    const times = used.get(slug) ?? 0
    used.set(slug, times + 1)
    return times === 0 ? slug : `${slug}-${times}`
  }
}

/** Wide content scrolls by itself, so the keyboard must reach it. */
const scrolling = (label) => `class="wide" tabindex="0" role="group" aria-label="${label}"`

const urlOf = (source) =>
  posix.join(
    '/docs',
    source === 'CHANGELOG.md'
      ? 'changelog'
      : source.replace(/^docs\//, '').replace(/(?:(?:^|\/)README)?\.(?:md|html)$/, ''),
  )

/** The rest of a link: a page, a file that is served beside the pages, or a source. */
function targetOf(page, href, pages, files) {
  if (/^[a-z]+:/.test(href)) return { href }
  const [path, anchor] = href.split('#')
  // A page that is made when the pages are built has no file that a link could name.
  const isMade = path === '/docs/cli-reference'
  if (href.startsWith('/') && !isMade) {
    const to = href.split(/[?#]/, 1)[0]
    if (served.some((known) => known.test(to))) return { href }
    return { broken: `${to} is no path of Steelyard` }
  }
  const source = isMade
    ? 'docs/cli-reference.md'
    : path === ''
      ? page.source
      : posix.join(posix.dirname(page.source), path)
  const found = pages.get(source)
  if (found) {
    if (anchor !== undefined && !found.ids.has(anchor))
      return { broken: `${source} has no heading #${anchor}` }
    return { href: `${path === '' ? '' : found.url}${anchor === undefined ? '' : `#${anchor}`}` }
  }
  if (files.has(source)) return { href: `/${source}`, file: source }
  return { source }
}

/** Reads a page of Markdown: its headings, and how to render it once all pages are known. */
function markdownPage(text) {
  const ids = new Map()
  const slug = slugs()
  const collected = new Marked()
  const tokens = collected.lexer(text)
  for (const token of tokens)
    if (token.type === 'heading') {
      const title = plain(collected.parseInline(token.text))
      ids.set(token, { id: slug(title), title, depth: token.depth })
    }
  const headings = [...ids.values()]
  const render = (link) => {
    const marked = new Marked({
      renderer: {
        heading(token) {
          const inner = this.parser.parseInline(token.tokens)
          const id = ids.get(token)?.id
          return `<h${token.depth}${id === undefined ? '' : ` id="${escape(id)}"`}>${inner}</h${token.depth}>\n`
        },
        link({ href, tokens: inner }) {
          return link(href, this.parser.parseInline(inner))
        },
        image: ({ href, text: alt }) => link(href, alt, 'image'),
        code: ({ text: body }) => `<pre ${scrolling('Code')}><code>${escape(body)}</code></pre>\n`,
        table(token) {
          // An empty head is none to a screen reader.
          const cell = ({ text, tokens: inner }, kind) => {
            const tag = text === '' ? 'td' : kind
            return `<${tag}>${this.parser.parseInline(inner)}</${tag}>`
          }
          const row = (cells, tag) => `<tr>${cells.map((one) => cell(one, tag)).join('')}</tr>\n`
          const hasHead = token.header.some(({ text }) => text !== '')
          return `<div ${scrolling('Table')}><table>${hasHead ? `<thead>${row(token.header, 'th')}</thead>` : ''}<tbody>${token.rows.map((cells) => row(cells, 'td')).join('')}</tbody></table></div>\n`
        },
        // The pages contain no HTML, so what looks like it is text.
        html: ({ raw }) => escape(raw),
      },
    })
    return marked.parser(tokens)
  }
  return {
    title: headings[0]?.title ?? '',
    headings,
    ids: new Set(headings.map((h) => h.id)),
    render,
  }
}

/** Reads a page that is written in HTML: what is in its `main`, or else in its `body`. */
function htmlPage(text) {
  const title = plain(/<h1[^>]*>([\s\S]*?)<\/h1>/.exec(text)?.[1] ?? '').trim()
  const body = (/<main>([\s\S]*)<\/main>/.exec(text) ?? /<body>([\s\S]*)<\/body>/.exec(text))[1]
  const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  const render = (link) =>
    body
      .replaceAll(/<pre( class="(?:\w+)")?([^>]*)>/g, (_, kind = '', more) => {
        const known = /class="(\w+)"/.exec(kind)?.[1]
        return `<pre ${scrolling('Code').replace('"wide"', `"wide${known ? ` ${known}` : ''}"`)}${more}>`
      })
      .replaceAll('<div class="wide">', `<div ${scrolling('Table')}>`)
      .replaceAll(/<a href="([^"]+)">([\s\S]*?)<\/a>/g, (_, href, inner) =>
        link(plain(href), inner),
      )
  return { title, headings: [], ids, render }
}

const onThisPage = (headings) => {
  const parts = headings.filter(({ depth }) => depth === 2)
  return parts.length < 4
    ? ''
    : `<nav class="contents" aria-label="On this page"><ul>${parts
        .map(({ id, title }) => `<li><a href="#${escape(id)}">${escape(title)}</a></li>`)
        .join('')}</ul></nav>`
}

const searchForm = (text = '') =>
  `<form class="search" role="search" action="/docs/search"><label for="q">Search</label><input id="q" name="q" type="search" maxlength="100" value="${text}"><button>Search</button></form>`

/** Text of a page between two of its headings, for the search. */
function sectionsOf({ title, headings }, url, html) {
  const linked = headings.filter(({ depth }) => depth > 1)
  const starts = linked.map(({ id }) => html.indexOf(` id="${escape(id)}"`))
  const textIn = (from, to) =>
    plain(
      html
        .slice(from, to)
        // The heading, and the begun tag of the next one.
        .replace(/^[\s\S]*?<\/h\d>/, '')
        .replace(/<[^>]*$/, '')
        .replaceAll(/<\/(?:td|th|li|p|pre|h\d)>/g, ' '),
    )
      .replaceAll(/\s+/g, ' ')
      .trim()
  return [
    { url, page: title, heading: '', text: textIn(0, starts[0] ?? html.length) },
    ...linked.map(({ id, title: heading }, at) => ({
      url: `${url}#${id}`,
      page: title,
      heading,
      text: textIn(starts[at], starts[at + 1] ?? html.length),
    })),
  ]
}

const frame = ({ title, url, version, body }) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(title)} · Steelyard</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header><nav aria-label="Documentation"><a class="name" href="/docs"${url === '/docs' ? ' aria-current="page"' : ''}>Steelyard documentation</a><a href="/docs/api">API</a><a href="/docs/cli"${url === '/docs/cli' ? ' aria-current="page"' : ''}>Command line</a><a href="/">Console</a></nav>${url === '/docs/search' ? '' : searchForm()}</header>
<main id="content" tabindex="-1">
${body}
</main>
<footer>Steelyard ${escape(version)}</footer>
</body>
</html>
`

/** The contents of `docs/dist`, by file name. `made`: pages that are no files, by their source. */
export function renderDocs(root, made = new Map()) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const pages = new Map()
  const sources = globSync('docs/{*,decisions/*,develop/*,running/*}.{md,html}', {
    cwd: root,
  }).toSorted()
  for (const source of [...sources, ...globSync('CHANGELOG.md', { cwd: root }), ...made.keys()]) {
    const text = made.get(source) ?? readFileSync(join(root, source), 'utf8')
    const read = source.endsWith('.md') ? markdownPage(text) : htmlPage(text)
    pages.set(source, { ...read, source, url: urlOf(source) })
  }
  /** Files that pages show or offer. */
  const files = new Set(globSync('docs/{images/*.png,*.mjs,programs/*.mjs}', { cwd: root }))
  const broken = []
  const written = new Map()
  const sections = []
  for (const page of pages.values()) {
    const link = (href, inner, kind) => {
      const target = targetOf(page, href, pages, files)
      if (target.source !== undefined && !existsSync(join(root, target.source)))
        target.broken = `${target.source} does not exist`
      if (target.broken !== undefined) {
        broken.push(`${page.source}: ${target.broken}`)
        return inner
      }
      if (target.file !== undefined)
        written.set(target.file.slice('docs/'.length), readFileSync(join(root, target.file)))
      if (kind === 'image') return `<img src="${escape(target.href)}" alt="${escape(inner)}">`
      if (target.source !== undefined)
        return `${inner} (<code>${escape(target.source)}</code> of the source)`
      return `<a href="${escape(target.href)}">${inner}</a>`
    }
    const html = page.render(link)
    sections.push(...sectionsOf(page, page.url, html))
    const [title, ...rest] = html.split('</h1>')
    const body = `${title}</h1>\n${onThisPage(page.headings)}${rest.join('</h1>')}`
    written.set(
      page.url === '/docs' ? 'index.html' : `${page.url.slice('/docs/'.length)}.html`,
      frame({ title: page.title, url: page.url, version, body }),
    )
  }
  if (broken.length > 0)
    throw new Error(`Links of the documentation lead nowhere:\n${broken.join('\n')}`)
  // The server fills in the words and what it finds (backend/src/http/pages/docs-search.ts).
  written.set('search.json', JSON.stringify(sections))
  written.set(
    'search.html',
    frame({
      title: 'Search',
      url: '/docs/search',
      version,
      body: `<h1>Search</h1>\n${searchForm('__WORDS__')}\n__FOUND__`,
    }),
  )
  written.set('style.css', readFileSync(new URL('style.css', import.meta.url), 'utf8'))
  return written
}
