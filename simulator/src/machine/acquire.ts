import { ConfigLoadErrorEventSchema } from '#talos/proto/gen/machine/machine_pb.ts'
import { Interrupted } from '../clock.ts'
import { judgeConfig } from '../config/judge.ts'
import { multiError } from '../config/multi-error.ts'
import { loadConfig } from '../config/load.ts'
import { configUrl } from './kernel-line.ts'
import type { ActiveConfig } from './active.ts'
import type { Machine } from './machine.ts'
import { earlySources, siteProblem } from './site.ts'
import { type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { gunzipSync } from 'node:zlib'
import { wholeBody } from '../body.ts'

/**
 * Time limit of an attempt, half of which may be spent waiting for the values of variables (Talos:
 * constants.ConfigLoadAttemptTimeout).
 */
const ATTEMPT_MS = 180_000
/**
 * Minimum time limit in real time, whatever the simulation's speed, because the server of the
 * configuration runs in real time.
 */
const LEAST_ATTEMPT_MS = 3_000
const SECOND_MS = 1_000
/** Longest pause before Talos's controllers retry a failed attempt. */
const MOST_BETWEEN_MS = 60_000

/**
 * Downloads the configuration that `talos.config` names, complete or partial (Talos: pkg/download
 * and internal/app/machined/pkg/controllers/config/acquire.go). Any status other than 200 and 204
 * is retried with growing pauses, and so is a response without a valid document, including an empty
 * one. Until a download succeeds, the machine doesn't enter maintenance. Null if no URL is named.
 * Rejects with `Interrupted` when the machine is interrupted.
 */
export const acquireConfig = async (
  machine: Machine,
  signal: AbortSignal,
): Promise<ActiveConfig | null> => {
  const early = await readEarly(machine, signal)
  const source = configUrl(machine.kernelCommandLine)
  if (source === null) return early
  for (let round = 0; ; round++) {
    const body = await fetched(machine, source, signal)
    const problem = problemOf(machine, body)
    if (problem === null) {
      machine.journal.kernel('[talos] machine config loaded successfully, source: metal')
      return machine.activate(unpacked(body))
    }
    machine.journal.kernel(`[talos] failed to load config via platform metal: ${problem}`)
    machine.journal.event(ConfigLoadErrorEventSchema, { error: problem })
    await machine.takes(Math.min(MOST_BETWEEN_MS, SECOND_MS * 1.5 ** round), signal)
  }
}

/**
 * Activates the documents of the image, each source in place of the one before it (Talos: SetConfig).
 * Talos reads a source that it can't load again and again, so the machine gets no further.
 */
const readEarly = async (machine: Machine, signal: AbortSignal): Promise<ActiveConfig | null> => {
  let active: ActiveConfig | null = null
  for (const { source, read } of earlySources(machine))
    for (let round = 0; ; round++) {
      const body = Buffer.from(read())
      const problem = problemOf(machine, body)
      if (problem === null) {
        active = machine.activate(unpacked(body))
        break
      }
      machine.journal.kernel(`[talos] failed to load config from ${source}: ${problem}`)
      machine.journal.event(ConfigLoadErrorEventSchema, { error: problem })
      await machine.takes(Math.min(MOST_BETWEEN_MS, SECOND_MS * 1.5 ** round), signal)
    }
  return active
}

const problemOf = (machine: Machine, body: Buffer): string | null => {
  try {
    const text = unpacked(body)
    if (text.trim() === '') return 'config not found'
    const loaded = loadConfig(text, machine.talosMinor)
    if (!loaded.v1alpha1 && loaded.documents.length === 0) return 'config not found'
    const installed = machine.disk.state.installed !== null
    const { errors } = judgeConfig(loaded, {
      talosVersion: machine.talosVersion,
      installed,
      disks: machine.hardware.disks,
    })
    return errors.length > 0 ? multiError(errors) : null
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

/**
 * Retries the download until the response is 200 or 204. The pauses are 0.5 s, 1.5 s, 3.5 s and so
 * on, each plus up to a second.
 */
const fetched = async (machine: Machine, source: string, signal: AbortSignal): Promise<Buffer> => {
  for (let attempt = 1; ; attempt++) {
    const { url, missing } = populate(source, machine.announced)
    if (missing.length > 0) {
      machine.journal.kernel(`[talos] waiting for URL variables: ${missing.join(', ')}`)
      await machine.takes(ATTEMPT_MS / 2, signal)
    }
    machine.journal.kernel(`[talos] fetching machine config from: "${url}"`)
    try {
      const limit = AbortSignal.timeout(
        Math.max(LEAST_ATTEMPT_MS, ATTEMPT_MS / machine.world.clock.speed),
      )
      const problem = siteProblem(machine)
      if (problem !== null) throw new Error(problem)
      const { status, body } = await download(
        url,
        machine.plan.address,
        AbortSignal.any([signal, limit]),
      )
      if (status === 200 || status === 204) return body
      machine.journal.kernel(
        `[talos] failed to download config from "${source}": status code ${status}, body ${JSON.stringify(body.toString('utf8', 0, 32))}`,
      )
    } catch (cause) {
      if (signal.aborted) throw new Interrupted()
      machine.journal.kernel(
        `[talos] failed to download config from "${source}": ${cause instanceof Error ? cause.message : String(cause)}`,
      )
    }
    const backoff = ((2 ** attempt - 1) / 2) * SECOND_MS
    await machine.takes(Math.min(ATTEMPT_MS, backoff) + Math.random() * SECOND_MS, signal)
  }
}

/**
 * Fills in the variables of a `talos.config` URL as Talos does (Talos:
 * internal/app/machined/pkg/runtime/v1alpha1/platform/metal/url). Only the query is read, and the
 * names of variables may be in upper or lower case. If the query has variables, its keys are
 * sorted; otherwise it is unchanged. `missing`: the variables that have no value yet; Talos waits
 * for them.
 */
export const populate = (
  source: string,
  variables: Machine['announced'],
): { url: string; missing: string[] } => {
  const [, before = '', query = '', fragment = ''] =
    /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(source) ?? []
  const values = parseQuery(query)
  const missing: string[] = []
  let isActive = false
  for (const [name, value] of Object.entries(variables)) {
    const pattern = new RegExp(`\\$\\{${name}\\}`, 'gi')
    // The legacy form: `?uuid=` without a value.
    const own = name === 'uuid' ? values.get('uuid') : undefined
    const isBare = own !== undefined && !(own.length === 1 && own[0]?.trim() !== '')
    if (!isBare && ![...values.values()].flat().some((text) => new RegExp(pattern).test(text)))
      continue
    isActive = true
    if (value === '') {
      missing.push(name)
      continue
    }
    if (isBare) values.set('uuid', [value])
    for (const [key, texts] of values)
      values.set(
        key,
        texts.map((text) => text.replaceAll(pattern, () => value)),
      )
  }
  if (!isActive) return { url: source, missing }
  const written = [...values.keys()]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .flatMap((key) => values.get(key)!.map((text) => `${escape(key)}=${escape(text)}`))
    .join('&')
  return { url: `${before}?${written}${fragment}`, missing }
}

/** Like Go's `url.ParseQuery`. Invalid pairs are dropped. */
const parseQuery = (query: string): Map<string, string[]> => {
  const found = new Map<string, string[]>()
  for (const part of query.split('&')) {
    if (part === '' || part.includes(';')) continue
    const at = part.indexOf('=')
    try {
      const [key, value] = (at === -1 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]).map(
        (text) => decodeURIComponent(text.replaceAll('+', ' ')),
      )
      found.set(key!, [...(found.get(key!) ?? []), value!])
    } catch {
      // An invalid escape: Go drops the pair too.
    }
  }
  return found
}

/** Like Go's `url.QueryEscape`. */
const escape = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+')

const MAX_REDIRECTS = 10
const MAX_BYTES = 32 * 1024 * 1024
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/**
 * One GET from the machine's own address, following redirects. If there is no response, rejects
 * with a message in Talos's style.
 */
const download = async (url: string, localAddress: string, signal: AbortSignal) => {
  let target = new URL(url)
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const { status, body, location } = await get(target, localAddress, signal)
    if (!REDIRECTS.has(status) || location === undefined) return { status, body }
    target = new URL(location, target)
  }
  throw new Error(`stopped after ${MAX_REDIRECTS} redirects`)
}

const get = (
  url: URL,
  localAddress: string,
  signal: AbortSignal,
): Promise<{ status: number; body: Buffer; location: string | undefined }> =>
  new Promise((resolve, reject) => {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new Error(`unsupported protocol scheme "${url.protocol.slice(0, -1)}"`)
    const call = (url.protocol === 'https:' ? overHttps : overHttp)(
      url,
      {
        localAddress,
        family: 4,
        signal,
        agent: false,
        headers: { 'user-agent': 'Go-http-client/1.1', 'accept-encoding': 'gzip' },
      },
      (response) => {
        read(response).then(
          (body) =>
            resolve({
              status: response.statusCode ?? 0,
              body,
              location: response.headers.location,
            }),
          reject,
        )
      },
    )
    call.on('error', reject)
    call.end()
  })

const read = async (response: IncomingMessage): Promise<Buffer> => {
  const body = await wholeBody(response, MAX_BYTES, () => new Error('the answer is too large'))
  return response.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
}

/** Text of a configuration that may be compressed. Throws if the compressed data is corrupt. */
const unpacked = (body: Buffer): string =>
  (body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body) : body).toString('utf8')
