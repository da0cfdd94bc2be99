/**
 * `GET /join/{token}?uuid=…&serial=…&mac=…`: the request of a server that boots a prepared image.
 * Outside of the API: no session, no JSON, and 200 with a harmless document for every request,
 * because anything else would keep the machine out of maintenance for hours.
 *
 * The response is 503 only if the token couldn't be checked: the database is unavailable, or too
 * many machines announce themselves at once. After a 503 Talos retries with back-off for three
 * hours and then reboots (`pkg/download`). After a document it doesn't retry, and the user would
 * wait for the machine in vain.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#contract/errors.ts'
import { canUseJoinToken, joinPath, joinTokenPattern } from '#contract/join-tokens.ts'
import type { Verdict } from '#contract/rule.ts'
import { earlyText } from '#talos/schematic/early.ts'
import { bucket } from '../../http/limits.ts'
import type { Platform } from '../../platform.ts'
import { admission } from './admission.ts'
import { digestIn, harmless, named, readAnnouncement, readSource } from './announcement.ts'
import { directory } from './directory.ts'
import type { Refusal, Refusals } from './refusals.ts'
import * as store from './store.ts'
import { statusOf } from './tokens.ts'

/**
 * Rate limit for announcements from one address: a machine announces itself once per boot. Many
 * machines behind one address can't be dialled anyway.
 */
const perAddress = { perSecond: 0.5, burst: 30 }
/**
 * Rate limits for announcements with one token, whatever their addresses: each is stored. Talos
 * retries after the 503 of the first limit.
 */
const perToken = { perSecond: 5, burst: 5_000 }
/** Of addresses that may not be dialled. These use up no use of the token. */
const undialable = { perSecond: 1 / 60, burst: 250 }
/** Refused announcements with one token whose image's documents are looked up. */
const refusedWithDocuments = { perSecond: 5, burst: 5_000 }

/** @param parts `mayDial`: whether Talos's API at an address may be dialled */
export function joinRoute(
  app: FastifyInstance,
  parts: Platform & { refusals: Refusals; mayDial: (address: string) => Verdict },
): void {
  const { db, clock, log, refusals, mayDial } = parts
  const tokens = directory(db)
  const admit = admission(parts)
  const paces = bucket({ ...perAddress, clock })
  const ofToken = bucket({ ...perToken, clock })
  const ofUndialable = bucket({ ...undialable, clock })
  const ofRefused = bucket({ ...refusedWithDocuments, clock })
  const send = (reply: FastifyReply, document: string) =>
    reply.status(200).type('application/yaml; charset=utf-8').send(document)
  const refuse = (
    { ip, id }: FastifyRequest,
    reply: FastifyReply,
    reason: string,
    about: Pick<Refusal, 'token' | 'announcement'> = {},
    document = harmless,
  ) => {
    refusals.note({
      action: 'join.refused',
      reason,
      ip: readSource(ip) ?? 'unknown',
      requestId: id,
      ...about,
    })
    return send(reply, document)
  }

  /**
   * The document with those of the image. Talos replaces what it read before by the answer, so a
   * machine would lose its address without them, also one that is refused.
   */
  const withEarly = async (document: string, tokenId: string, digest: string | null) => {
    const early = digest === null ? undefined : await store.earlyDocuments(db, tokenId, digest)
    return early === undefined ? document : `${document}---\n${earlyText(early)}`
  }

  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    // A client that only checks a link with HEAD announces nothing.
    if (request.method === 'HEAD') return send(reply, harmless)
    const text = request.url.slice(joinPath.length).split('?', 1)[0]!
    if (!joinTokenPattern.test(text)) return refuse(request, reply, 'This is not a join token')
    const token = await tokens.find(text)
    if (!token) return refuse(request, reply, 'There is no such join token')
    const read = readAnnouncement(request.url)
    const digest = digestIn(request.url)
    const about = { token, announcement: read.announcement }
    const refused = async (reason: string) =>
      refuse(
        request,
        reply,
        reason,
        about,
        ofRefused.take(token.id) > 0 ? harmless : await withEarly(harmless, token.id, digest),
      )
    const verdict = canUseJoinToken({
      status: statusOf({ ...token, max_uses: null, uses: 0 }, clock.now()),
    })
    if (!verdict.ok) return refused(verdict.reason)
    if (!read.ok) return refused(read.reason)
    const address = readSource(request.ip)
    if (address === undefined) return refused('The address of the sender is not a valid IP address')
    if (paces.take(address) > 0) {
      const reason = `Too many machines announce themselves from ${address}: if it is a proxy, name it in STEELYARD_TRUSTED_PROXIES`
      return refused(reason)
    }
    const dial = mayDial(address)
    if (!dial.ok && ofUndialable.take(token.id) > 0) return refused(dial.reason)
    const waitMs = ofToken.take(token.id)
    if (waitMs > 0)
      throw new Problem(
        'unavailable',
        'Too many servers announce themselves at once. Please come back in a moment.',
        undefined,
        waitMs / 1000,
      )
    const admission = await admit({
      tokenId: token.id,
      announcement: read.announcement,
      address,
      mayDial: dial,
      early: digest,
    })
    if (admission.kind === 'refused') {
      if (admission.over) tokens.forget(text)
      return refused(admission.reason)
    }
    if (!dial.ok)
      refusals.note({
        action: 'join.failed',
        reason: dial.reason,
        ip: address,
        requestId: request.id,
        ...about,
      })
    const document = admission.hostName === null ? harmless : named(admission.hostName)
    return send(reply, await withEarly(document, token.id, digest))
  }

  app.route({
    method: 'GET',
    url: `${joinPath}*`,
    config: { open: true },
    handler: answer,
    // Requests that the app refuses (too long, a parameter given twice) get the harmless document
    // like all others; other errors are a 503.
    errorHandler: (error, request, reply) => {
      if (!(error instanceof Problem) || error.code !== 'bad_request') throw error
      void refuse(request, reply, error.message)
    },
    onResponse: async (request, reply) => {
      const { id, ip } = request
      const duration_ms = Math.round(reply.elapsedTime)
      log.debug('request', {
        request_id: id,
        method: request.method,
        path: `${joinPath}…`,
        status: reply.statusCode,
        duration_ms,
        ip,
      })
    },
  })
  app.addHook('onClose', () => refusals.close())
}
