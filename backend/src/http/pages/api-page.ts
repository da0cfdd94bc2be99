/** The documentation of the API for people, at /docs/api: one page without scripts, generated. */
import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { contentPolicy } from '../headers.ts'
import { escapeHtml } from './escape.ts'
import { type Call, openapiDocument, type Schema } from '../openapi.ts'
import { madeOnce } from './made.ts'

const code = (text: string): string => `<code>${escapeHtml(text)}</code>`
/** Escapes a trusted text as HTML; parts in backticks become code. */
const prose = (text: string): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1)

/** `1 to 25 characters`, `at most 1000 items`; empty if there is no limit. */
function bounds(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined && most === undefined) return ''
  const range =
    least === undefined
      ? `at most ${most}`
      : most === undefined
        ? `at least ${least}`
        : `${least} to ${most}`
  return `, ${range}${unit}`
}

/** Describes the allowed values in words; shared objects are linked. */
function typeOf(schema: Schema): string {
  if (schema.$ref) return `<a href="#${nameOf(schema.$ref)}">${nameOf(schema.$ref)}</a>`
  if (schema.const !== undefined) return code(JSON.stringify(schema.const))
  if (schema.enum) return schema.enum.map((value) => code(String(value))).join(' ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map(typeOf))].join(' or ')
  if (schema.type === 'array')
    return `list of ${typeOf(schema.items ?? {})}${bounds(schema.minItems, schema.maxItems, ' items')}`
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object')
    return `object of ${typeOf(schema.additionalProperties)}`
  const length = bounds(schema.minLength, schema.maxLength, ' characters')
  return `${schema.format ?? String(schema.type ?? 'anything')}${length}${bounds(schema.minimum, schema.maximum, '')}`
}

const row = (name: string, required: boolean, schema: Schema, where = ''): string =>
  `<tr><td><code>${escapeHtml(name)}</code>${where}${required ? '' : ' <i>optional</i>'}</td><td>${typeOf(schema)}${
    schema.default === undefined ? '' : `, default ${code(JSON.stringify(schema.default))}`
  }${inner(schema)}</td><td>${prose(schema.description ?? '')}</td></tr>`

const table = (rows: readonly string[]): string =>
  rows.length === 0 ? '' : `<div class="wide"><table>${rows.join('')}</table></div>`

/** The fields of an object, as a table. */
const fields = ({ properties = {}, required = [] }: Schema): string =>
  table(Object.entries(properties).map(([name, one]) => row(name, required.includes(name), one)))

/** A table for the object that a field contains. */
function inner(schema: Schema): string {
  const object = [schema, schema.items, ...(schema.anyOf ?? [])].find(
    (one) => one?.properties !== undefined,
  )
  return object ? fields(object) : ''
}

const shape = (schema: Schema): string =>
  schema.properties ? fields(schema) : `<p>${typeOf(schema)}${inner(schema)}</p>`

const needs = ({ security }: Call): string => {
  const [needed] = security
  if (!needed) return 'Anybody'
  return needed.session.length === 0
    ? 'Any signed-in user'
    : `Scope ${needed.session.map(code).join(', ')}`
}

/** The call as a curl command. */
function curl(method: string, path: string, { security, requestBody }: Call): string {
  const example = requestBody?.content['application/json']?.example
  const parts = [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"$STEELYARD_URL${path}"`,
    ...(security.length > 0 ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...(example === undefined
      ? []
      : [
          "-H 'Content-Type: application/json'",
          `-d '${JSON.stringify(example, null, 2).replaceAll("'", "'\\''")}'`,
        ]),
  ]
  return `<pre tabindex="0">${escapeHtml(parts.join(' \\\n  '))}</pre>`
}

function section(method: string, path: string, call: Call): string {
  const parameters = call.parameters.map(({ name, in: where, required, description, schema }) =>
    row(
      name,
      required,
      { ...schema, ...(description !== undefined && { description }) },
      ` <small>${where}</small>`,
    ),
  )
  const answers = Object.entries(call.responses).map(([status, { description, content }]) => {
    const [media, answer] = Object.entries(content ?? {})[0] ?? []
    const shown =
      answer && Number(status) < 300
        ? `${media === 'application/json' ? '' : code(media ?? '')}${answer.schema ? shape(answer.schema) : ''}`
        : ''
    return `<dt>${status}</dt><dd><span class="means">${prose(description)}</span>${shown}</dd>`
  })
  const [body] = Object.values(call.requestBody?.content ?? {})
  return `<details id="${call.operationId}"><summary><code class="method">${method.toUpperCase()}</code> <code>${escapeHtml(path)}</code> <span>${prose(call.summary)}</span></summary>
<p>${needs(call)}.${path.startsWith('/v1/') ? ` Named <code>${call.operationId}</code> in the contract and in the audit log.` : ''}</p>${curl(method, path, call)}
${parameters.length > 0 ? `<h3>Parameters</h3>${table(parameters)}` : ''}
${body?.schema ? `<h3>Body${call.requestBody?.required ? '' : ', optional'}</h3>${shape(body.schema)}` : ''}
<h3>Responses</h3><dl>${answers.join('')}</dl></details>`
}

const style = `:root{color-scheme:light dark;background:light-dark(#fff,#14161a);color:light-dark(#16181d,#e6e8ec);font:15px/1.5 system-ui,sans-serif}body{max-width:68rem;margin:2rem auto;padding:0 1rem}code,pre{font:13px/1.45 ui-monospace,monospace}
pre{overflow:auto;max-height:24rem;padding:.5rem .75rem;border:1px solid #8885;border-radius:6px}details{border-bottom:1px solid #8884;padding:.4rem 0}summary{cursor:pointer;padding:.15rem 0}summary span{opacity:.8}
.method{display:inline-block;min-width:3.6rem;font-weight:700}.means{white-space:pre-line}.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}td{vertical-align:top;padding:.25rem .75rem .25rem 0;border-top:1px solid #8883;overflow-wrap:anywhere}
td:first-child{width:14rem;min-width:9rem}td td:first-child{width:auto}i,small{opacity:.75}dt{font-weight:700;margin-top:.5rem}dd{margin:0 0 0 1rem}h2{text-transform:capitalize;margin-top:2rem}nav a{display:inline-block;margin-right:1rem;padding:2px 0;text-transform:capitalize}a{color:light-dark(#1a4fd0,#8fb4ff)}
@media(max-width:40rem){table,tbody,tr,td,td:first-child{display:block;width:auto}tr{border-top:1px solid #8883;padding:.35rem 0}td{border:0;padding:0}dd{margin-left:0}}`

function page(version: string): string {
  const { paths, components } = openapiDocument(version)
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, call]) => ({ method, path, call })),
  )
  const groups = [...Map.groupBy(calls, ({ call }) => call.tags[0]!)]
  const sections = groups.map(
    ([tag, all]) =>
      `<h2 id="${tag}">${escapeHtml(tag)}</h2>${all.map(({ method, path, call }) => section(method, path, call)).join('')}`,
  )
  const objects = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<h3 id="${name}">${name}</h3><p>${prose(schema.description ?? '')}</p>${fields(schema)}`,
  )
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Steelyard API</title><style>${style}</style></head>
<body><main><h1>Steelyard API ${escapeHtml(version)}</h1><p>JSON over HTTP. Sign in by <a href="#authorize">POST /v1/authorize</a> and send the access token as <code>Authorization: Bearer …</code>. Errors are <a href="#Error"><code>{error, code, fields?, related?, request_id}</code></a>, or a <a href="#Problem">problem of RFC 9457</a> for a request that accepts <code>application/problem+json</code>.
Writes take <code>Idempotency-Key</code>; changes of one object take <code>If-Match</code> with its ETag. For programs: <a href="/v1/openapi.json">OpenAPI 3.1</a>. <a href="/docs">All documentation</a>.</p>
<nav aria-label="Groups of calls">${groups.map(([tag]) => `<a href="#${tag}">${escapeHtml(tag)}</a>`).join('')}<a href="#objects">Objects</a></nav>${sections.join('')}<h2 id="objects">Objects</h2>${objects.join('')}</main></body></html>`
}

/** Allows the page's own style by its digest, which unlike a nonce is the same for every client. */
const policy = contentPolicy([], `sha256-${createHash('sha256').update(style).digest('base64')}`)

export function apiPage(app: FastifyInstance, { version }: { version: string }): void {
  const send = madeOnce('text/html; charset=utf-8', () => page(version))
  app.get('/docs/api', { config: { open: true } }, (request, reply) =>
    send(request, reply.header('content-security-policy', policy)),
  )
}
