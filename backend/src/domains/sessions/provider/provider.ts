/**
 * Signing in through the OpenID Connect provider, and proving an identity with it. A sign-in is
 * bound to the browser that began it by a cookie, a proof to its session. Whoever the provider
 * vouches for is found by issuer and subject; by email only at the first time.
 */
import { randomBytes } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import {
  isProofState,
  type ProviderAnswer,
  providerCookie,
  providerMinutes,
  providerReturnPath,
  stateOf,
} from '#contract/people/sign-in.ts'
import { text as printable } from '#talos/client/text.ts'
import type { UserCaller } from '../../../http/caller.ts'
import type { CallContext } from '../../../http/serve.ts'
import type { Platform } from '../../../platform.ts'
import type { Challenges } from '../challenges/challenges.ts'
import { cookie } from '../cookies.ts'
import { hashOf } from '../token-hash.ts'
import type { Identity } from '../../users/api.ts'
import { type Flow, providerClient } from './client.ts'

export type Provider = ReturnType<typeof provider>

/**
 * Sentences for the errors that a provider sends to the browser (OpenID Connect Core 1.0, section
 * 3.1.2.6; RFC 6749, section 4.1.2.1).
 */
const sentences: Readonly<Record<string, string>> = {
  access_denied: 'refused the sign-in, or you cancelled it there',
  login_required: 'asks you to sign in there first',
  temporarily_unavailable: 'cannot sign anybody in now. Try again later',
  server_error: 'has an internal error. Try again later',
}

const secretPattern = /^[A-Za-z0-9_-]{43}$/
type From = Pick<CallContext, 'cookies' | 'isEncrypted'>

const over = () =>
  new Problem(
    'challenge_over',
    'This sign-in was finished already, took too long, or was begun in another browser. Start again.',
  )

interface Returned {
  readonly identity: Identity
  readonly returnTo: string | null
}

export function provider({
  config,
  clock,
  log,
  challenges,
}: Pick<Platform, 'config' | 'clock' | 'log'> & { challenges: Challenges }) {
  const { provider: settings, publicUrl } = config
  const client =
    settings &&
    providerClient(settings, { clock, log, redirectUri: `${publicUrl}${providerReturnPath}` })
  const binding = cookie(providerCookie, providerMinutes * 60, publicUrl)
  /** The secret of the browser's cookie, if it has one. */
  const secretIn = (from: From): string | undefined => {
    const secret = binding.read(from)
    return secret !== undefined && secretPattern.test(secret) ? secret : undefined
  }
  const there = () => {
    if (!client) throw new Problem('conflict', 'No identity provider is set up here')
    return client
  }
  const flowOf = async (id: string, isProof: boolean): Promise<Flow> => ({
    state: stateOf(id, isProof),
    nonce: await challenges.derive('nonce', id),
    verifier: await challenges.derive('verifier', id),
    isProof,
  })
  const finish = async (
    { error, error_description, ...answer }: ProviderAnswer,
    id: string,
    isProof: boolean,
  ): Promise<Identity> => {
    if (error === undefined) return there().finish(answer, await flowOf(id, isProof))
    log.info('provider.refused', {
      code: printable(error, 60),
      reason: printable(error_description ?? '', 200),
    })
    throw new Problem(
      'provider_refused',
      `${settings!.name} ${sentences[error] ?? `refused the sign-in (${printable(error, 60)})`}.`,
    )
  }
  /** The challenge's id in a `state`; an id that doesn't exist if the state isn't one. */
  const idIn = (state: string): string | undefined =>
    /^[a-z-]+\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(state)?.[1]

  return {
    name: settings?.name ?? null,

    /**
     * `cookie`: `Set-Cookie` that binds the sign-in to the browser. @throws Problem conflict,
     * provider_unreachable, provider_refused
     */
    async begin(from: From, returnTo: string | undefined) {
      const target = there()
      // A browser that begins several sign-ins keeps its cookie, so that each of them can be
      // finished.
      const secret = secretIn(from) ?? randomBytes(32).toString('base64url')
      const id = await challenges.begin('provider_sign_in', providerMinutes, {
        browser_hash: hashOf(secret),
        return_to: returnTo ?? null,
      })
      const url = await target.begin(await flowOf(id, false))
      return { url, cookie: binding.write(secret, from) }
    },

    /** @throws Problem challenge_over, provider_unreachable, provider_refused */
    async finish(answer: ProviderAnswer, from: From): Promise<Returned> {
      const id = isProofState(answer.state) ? undefined : idIn(answer.state)
      const secret = secretIn(from)
      const challenge =
        id === undefined || secret === undefined
          ? undefined
          : await challenges.spend('provider_sign_in', id, { browserHash: hashOf(secret) })
      if (!challenge) throw over()
      return { identity: await finish(answer, challenge.id, false), returnTo: challenge.return_to }
    },

    /** @throws Problem conflict, provider_unreachable, provider_refused */
    async beginProof(caller: UserCaller, returnTo: string | undefined): Promise<{ url: string }> {
      const target = there()
      const id = await challenges.begin('provider_proof', providerMinutes, {
        session_id: caller.sessionId,
        return_to: returnTo ?? null,
      })
      return { url: await target.begin(await flowOf(id, true)) }
    },

    /** @throws Problem challenge_over, provider_unreachable, provider_refused */
    async finishProof(caller: UserCaller, answer: ProviderAnswer): Promise<Returned> {
      const id = isProofState(answer.state) ? idIn(answer.state) : undefined
      const challenge =
        id === undefined
          ? undefined
          : await challenges.spend('provider_proof', id, { sessionId: caller.sessionId })
      if (!challenge) throw over()
      return { identity: await finish(answer, challenge.id, true), returnTo: challenge.return_to }
    },
  }
}
