/** The API's documentation for people at /docs/api: one page, made from the contract, that needs no script. */
import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { contentPolicy, type PolicySources } from './headers.ts'
import { openapiDocument } from './openapi.ts'

interface Described {
  operationId: string
  summary: string
  tags: string[]
  parameters: { name: string; in: string; required: boolean; schema: object }[]
  requestBody?: { content: Record<string, { schema: object }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>
  security: { session: string[] }[]
}

const noncePlaceholder = '__NONCE__'

const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
const json = (value: object): string => `<pre>${escape(JSON.stringify(value, null, 2))}</pre>`

const needs = ({ security }: Described): string => {
  const [needed] = security
  if (!needed) return 'Anybody'
  return needed.session.length === 0 ? 'Any signed-in user' : `Scope ${needed.session.map((s) => `<code>${escape(s)}</code>`).join(', ')}`
}

function section(method: string, path: string, call: Described): string {
  const parameters = call.parameters.map(
    (p) => `<tr><td><code>${escape(p.name)}</code></td><td>${p.in}${p.required ? '' : ', optional'}</td><td>${json(p.schema)}</td></tr>`,
  )
  const answers = Object.entries(call.responses).map(([status, { description, content }]) => {
    const [media, answer] = Object.entries(content ?? {})[0] ?? []
    const shown = answer && Number(status) < 300 ? `<p>${escape(media ?? '')}</p>${json(answer.schema)}` : ''
    return `<h4>${status}</h4><p class="means">${escape(description)}</p>${shown}`
  })
  const [body] = Object.values(call.requestBody?.content ?? {})
  return `<details id="${call.operationId}"><summary><code class="method">${method.toUpperCase()}</code> <code>${escape(path)}</code> <span>${escape(call.summary)}</span></summary>
<p>${needs(call)}. Named <code>${call.operationId}</code> in the contract and in the audit log.</p>
${parameters.length > 0 ? `<h3>Parameters</h3><table>${parameters.join('')}</table>` : ''}
${body ? `<h3>Body</h3>${json(body.schema)}` : ''}
<h3>Answers</h3>${answers.join('')}</details>`
}

const style = `:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}body{max-width:62rem;margin:2rem auto;padding:0 1rem}code,pre{font:13px/1.45 ui-monospace,monospace}
pre{overflow:auto;max-height:24rem;padding:.5rem .75rem;border:1px solid #8885;border-radius:6px}details{border-bottom:1px solid #8884;padding:.4rem 0}summary{cursor:pointer}summary span{opacity:.8}
.method{display:inline-block;min-width:3.6rem;font-weight:700}.means{white-space:pre-line}td{vertical-align:top;padding:.2rem .75rem .2rem 0}td pre{margin:0}h2{text-transform:capitalize;margin-top:2rem}`

/** Takes a fifth of a second to make, so it is made once; `nonce` is then put in by each answer. */
function page(version: string, nonce: string): string {
  const { paths } = openapiDocument(version) as { paths: Record<string, Record<string, Described>> }
  const calls = Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, call]) => ({ method, path, call })))
  const groups = Map.groupBy(calls, ({ call }) => call.tags[0]!)
  const sections = [...groups].map(([tag, all]) => `<h2>${escape(tag)}</h2>${all.map(({ method, path, call }) => section(method, path, call)).join('')}`)
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Steelyard API</title><style nonce="${nonce}">${style}</style></head>
<body><h1>Steelyard API ${escape(version)}</h1><p>JSON over HTTP. Sign in by <a href="#authorize">POST /v1/authorize</a> and send the access token as <code>Authorization: Bearer …</code>. Errors are <code>{error, code, fields?, request_id}</code>.
Writes take <code>Idempotency-Key</code>; changes of one object take <code>If-Match</code> with its ETag. For programs: <a href="/v1/openapi.json">OpenAPI 3.1</a>.</p>${sections.join('')}</body></html>`
}

export function docsRoutes(app: FastifyInstance, { version, sources }: { version: string; sources: PolicySources }): void {
  let text: string | undefined
  app.get('/docs/api', { config: { open: true } }, async (_request, reply) => {
    text ??= page(version, noncePlaceholder)
    const nonce = randomBytes(16).toString('base64url')
    return reply.header('content-security-policy', contentPolicy(sources, nonce)).type('text/html; charset=utf-8').send(text.replace(noncePlaceholder, nonce))
  })
}
