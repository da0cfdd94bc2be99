/** The pages of the documentation as Steelyard serves them. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { checkPatch } from '#talos/config/patch-check.ts'
import { minors } from '#talos/versions.ts'
import { referencePages } from './reference.ts'
import { renderDocs } from './render.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const written = renderDocs(root, referencePages())
const pages = [...written].flatMap(([name, text]) =>
  name.endsWith('.html') ? [[name, String(text)] as const] : [],
)
const urlOf = (name: string) =>
  `/docs/${name.replace(/(?:^|\/)?(?:index)?\.html$/, '')}`.replace(/\/$/, '')
const hrefsOf = (text: string) =>
  [...text.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, to]) => to!)

test('every link of the documentation leads to a page, a heading or a file that is served', () => {
  const ids = new Map(
    pages.map(([name, text]) => [
      urlOf(name),
      new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)),
    ]),
  )
  const others = new Set(['/', '/docs/api', '/cli', '/v1/openapi.json', '/infra/servers'])
  for (const name of written.keys()) others.add(`/docs/${name}`)
  const broken = pages.flatMap(([name, text]) =>
    hrefsOf(text)
      .filter((href) => !/^https:\/\/[^/]+/.test(href))
      .filter((href) => {
        const [path, anchor] = href.split('#')
        const found = ids.get(path === '' ? urlOf(name) : path!)
        if (!found) return anchor !== undefined || !others.has(path!)
        return anchor !== undefined && !found.has(anchor)
      })
      .map((href) => `${name}: ${href}`),
  )
  expect(broken).toEqual([])
  expect(pages.length).toBeGreaterThan(20)
})

test('every page is linked from the index, has one heading of the first level, and no ids twice', () => {
  const index = new Set(['/docs', ...hrefsOf(String(written.get('index.html')))])
  expect(pages.map(([name]) => urlOf(name)).filter((url) => !index.has(url))).toEqual([])
  for (const [name, text] of pages) {
    expect([name, text.match(/<h1/g)?.length]).toEqual([name, 1])
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect([name, ids.length]).toEqual([name, new Set(ids).size])
  }
})

test('no page has scripts, styles of its own or content of other origins', () => {
  for (const [name, text] of pages)
    expect([name, /<script|<style| style=| src="https?:| on\w+="/.exec(text)]).toEqual([name, null])
})

test('a link that leads nowhere stops the build with the page and the link', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sy-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'docs'))
  writeFileSync(join(folder, 'package.json'), '{"version":"1.2.3"}')
  const render = (text: string) => {
    writeFileSync(join(folder, 'docs/a.md'), `# A\n\n## Part one\n\n${text}`)
    return String(renderDocs(folder).get('a.html'))
  }
  expect(render('[b](#part-one) [c](/docs/api) [d](../package.json)')).toContain(
    '<p><a href="#part-one">b</a> <a href="/docs/api">c</a> d (<code>package.json</code> of the source)</p>',
  )
  for (const [link, reason] of [
    ['(b.md)', 'docs/b.md does not exist'],
    ['(#part-two)', 'docs/a.md has no heading #part-two'],
    ['(/infra/nothing)', '/infra/nothing is no path of Steelyard'],
  ])
    expect(() => render(`[x]${link}`)).toThrow(`docs/a.md: ${reason}`)
  expect(render('<b>&amp;</b> `<i>`')).toContain('&lt;b&gt;&amp;&lt;/b&gt; <code>&lt;i&gt;</code>')
})

test('the patches of the page on connecting servers are valid for every minor', () => {
  const page = readFileSync(`${root}/docs/connecting-servers.html`, 'utf8')
  const patches = [...page.matchAll(/<pre class="patch"[^>]*>([^<]+)<\/pre>/g)].map(
    ([, body]) => body!,
  )
  expect(patches.length).toBeGreaterThan(2)
  for (const { version } of minors)
    for (const body of patches)
      expect([body, checkPatch(body, { talosVersion: version }).errors]).toEqual([body, []])
})
