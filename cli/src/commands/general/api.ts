/** `steelyard api`: any call of the API, with the session of the command line. */
import { bytesOf, textIn, textOf } from '../../api/long-read.ts'
import { command, type Command } from '../../command.ts'
import { CliError, exitCodes, exitOfStatus } from '../../exit.ts'
import { readText } from '../../files.ts'
import { manyLines, oneLine, safeJson } from '../../text.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
/** A response that is silent for longer has lost its connection; the stream of events isn't. */
const silentMs = 90_000

/** The path with the parameters of `--query`. Throws CliError `usage`. */
function pathOf(path: string, parameters: readonly string[]): string {
  if (!path.startsWith('/') || path.startsWith('//'))
    throw new CliError('usage', `${oneLine(path)} is no path such as /v1/clusters`, {
      hint: 'The address of Steelyard is given with --url',
    })
  const url = new URL(path, 'http://steelyard')
  for (const parameter of parameters) {
    const [name = '', ...value] = parameter.split('=')
    if (name === '' || value.length === 0)
      throw new CliError('usage', `--query takes NAME=VALUE, not ${oneLine(parameter)}`)
    url.searchParams.append(name, value.join('='))
  }
  return `${url.pathname}${url.search}`
}

/** The text of `--data` or of a file, which must be JSON. Throws CliError `usage`. */
async function bodyOf(data: string | undefined, file: string | undefined) {
  if (data !== undefined && file !== undefined)
    throw new CliError('usage', 'Give either --data or --file')
  const text = file === undefined ? data : await readText(file)
  if (text === undefined) return undefined
  try {
    JSON.parse(text)
  } catch (cause) {
    throw new CliError(
      'usage',
      `${file === undefined ? 'The text of --data' : oneLine(file)} is not JSON: ${oneLine(cause instanceof Error ? cause.message : String(cause))}`,
      { cause },
    )
  }
  return text
}

export const apiCommand: Command = command({
  name: 'api',
  summary:
    'Send a request to the API and print the body of its answer; the status goes to standard error. /docs/api of a Steelyard describes all calls.',
  operands: {
    method: { value: 'METHOD', help: methods.join(', ') },
    path: { value: 'PATH', help: 'Path, such as /v1/clusters' },
  },
  options: {
    data: { kind: 'text', short: 'd', value: 'JSON', help: 'Body of the request' },
    file: {
      kind: 'text',
      short: 'f',
      value: 'FILE',
      help: 'File with the body of the request, or - for standard input',
    },
    query: {
      kind: 'text',
      value: 'NAME=VALUE',
      help: 'Parameter of the query',
      many: true,
      whole: true,
    },
  },
  examples: [
    'api GET /v1/clusters --query status=ready',
    'api GET /v1/clusters -o jsonpath={.items[*].name}',
    `api POST /v1/datacenters -d '{"country_code":"PL","city_code":"POZ","city_name":"Poznań","tier":3}'`,
    'api PATCH /v1/nodes/0198c0de-0000-7000-8000-000000000001 -f server.json',
  ],
  async run({ terminal, api, json, show }, { operands, options }) {
    const asked = operands.method.toUpperCase()
    const method = methods.find((m) => m === asked)
    if (method === undefined) throw new CliError('usage', `METHOD is one of ${methods.join(', ')}`)
    const path = pathOf(operands.path, options.query)
    const answer = await api.raw(method, path, await bodyOf(options.data, options.file))
    const media = answer.headers.get('content-type') ?? ''
    terminal.err(`HTTP ${answer.status}\n`)
    if (/^application\/(?:[\w.-]+\+)?json\b/.test(media)) {
      const text = await textIn(answer)
      let value: unknown
      try {
        value = JSON.parse(text)
      } catch (cause) {
        throw new CliError('failure', 'The body of the answer is not JSON', { cause })
      }
      // An error has no fields that a template for the result could select.
      if (answer.ok) show(value, (v) => `${safeJson(v, 2)}\n`)
      else terminal.out(`${safeJson(value, 2)}\n`)
    } else if (answer.body !== null) {
      if (json && answer.ok)
        throw new CliError('usage', `The answer is ${oneLine(media)}, not JSON: leave out -o`)
      const isScreen = terminal.columns !== null
      for await (const part of textOf(bytesOf(answer.body, silentMs)))
        terminal.out(isScreen ? manyLines(part) : part)
    }
    return answer.ok ? exitCodes.ok : exitCodes[exitOfStatus(answer.status)]
  },
})
