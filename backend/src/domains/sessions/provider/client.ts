/**
 * The calls to the OpenID Connect provider: code flow with PKCE (OpenID Connect Core 1.0, RFC
 * 7636). The library checks issuer, audience, nonce, times and signature. It is loaded at its first
 * use, because most installations have no provider. Responses are limited in size and time, and
 * their texts are not trusted.
 */
import type { ClientAuth, Configuration, CustomFetchOptions, ServerMetadata } from 'openid-client'
import { connectionFault, OutOfTime } from '#contract/connections/causes.ts'
import { connectionReason } from '#contract/connections/words.ts'
import { Problem } from '#contract/errors.ts'
import { providerMinutes } from '#contract/people/sign-in.ts'
import { text as printable } from '#talos/client/text.ts'
import type { ProviderConfig } from '../../../config-provider.ts'
import type { Platform } from '../../../platform.ts'
import { byUrl, whyNoAnswer } from '../../../endpoints/no-answer.ts'
import { collector } from '../../../reading/collect.ts'
import type { Identity } from '../../users/api.ts'
import { emailOf, hasGroups, isSubject, mergedClaims } from './claims.ts'

const library = () => import('openid-client')

const timeoutSeconds = 10
const mostBytes = 256 * 1024
/** How far the provider's clock may be ahead. */
const aheadMs = 60_000
/** The provider's metadata is read again after this time. */
const keptMs = 3_600_000

/** Reads a response up to a limit, because the library would read any length. */
async function limitedFetch(url: string, options: CustomFetchOptions): Promise<Response> {
  const response = await fetch(url, options as RequestInit)
  if (response.body === null) return response
  const collected = collector(mostBytes)
  // Leaving the loop closes the connection.
  for await (const part of response.body)
    if (!collected.take(part as Uint8Array)) throw new TypeError('The response is too long')
  return new Response(collected.bytes(), {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
  })
}

/** One sign-in at the provider: the random values that its answer must agree with. */
export interface Flow {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** The user has to sign in at the provider again, even if the provider has a session. */
  readonly isProof: boolean
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
/**
 * Codes of responses that can't be read, and of no response. Other codes are about what the
 * provider says.
 */
const unreachable = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
])

/** The innermost cause of an error of the library: an object with what was compared. */
function detailsOf(error: unknown): Readonly<Record<string, unknown>> {
  let at = error
  while (at instanceof Error) at = at.cause
  return typeof at === 'object' && at !== null ? (at as Record<string, unknown>) : {}
}

const wrongTimes = 'its times are wrong: check the clocks'

/**
 * A sentence for the reason of the library; undefined for a refusal that has no sentence of its
 * own.
 */
function reasonOf(error: unknown, isProof: boolean): string | undefined {
  const { attribute, claim, claims, parameters } = detailsOf(error)
  if (
    attribute === 'issuer' ||
    claim === 'iss' ||
    (parameters instanceof URLSearchParams && parameters.has('iss'))
  )
    return 'it names another issuer'
  if (claim === 'nonce') return 'its nonce is not the one that Steelyard sent'
  if (claim === 'aud') return 'it is for another client'
  if (isProof && typeof claims === 'object' && claims !== null && !('auth_time' in claims))
    return 'it does not say when you signed in there. Use a password or a passkey of Steelyard instead'
  if (codeOf(error) === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') return wrongTimes
  return undefined
}

export function providerClient(
  provider: ProviderConfig,
  { clock, log, redirectUri }: Pick<Platform, 'clock' | 'log'> & { redirectUri: string },
) {
  const { name, issuer, clientId, clientSecret, scopes, roleClaim, roles, allowPlain } = provider
  let known: { at: number; configuration: Promise<Configuration> } | undefined

  const unanswered = (sentence: string) => new Problem('provider_unreachable', sentence)
  const refused = (reason: string) =>
    new Problem('provider_refused', `The answer of ${name} is not valid: ${reason}`)

  /**
   * Converts an error of the library to a Problem. @throws Problem provider_unreachable,
   * provider_refused
   */
  const fail = (error: unknown, isProof = false): never => {
    if (error instanceof Problem) throw error
    const code = codeOf(error)
    log.warn('provider.failed', {
      code,
      address: issuer.origin,
      error,
      reason: connectionReason(error),
    })
    // The end of the library's own time limit.
    if (code === 'OAUTH_TIMEOUT')
      throw unanswered(whyNoAnswer(name, new OutOfTime(timeoutSeconds * 1000), byUrl(issuer)))
    if (connectionFault(error) !== undefined)
      throw unanswered(whyNoAnswer(name, error, byUrl(issuer)))
    // The library throws the TypeError of `fetch` for a connection that fails.
    if (unreachable.has(code) || error instanceof TypeError)
      throw unanswered(`${name} does not answer, or its answer cannot be read. Try again later.`)
    const said =
      error instanceof Error && 'error' in error && typeof error.error === 'string'
        ? ` (${printable(error.error, 60)})`
        : ''
    const reason = reasonOf(error, isProof)
    throw reason === undefined
      ? new Problem('provider_refused', `${name} refused the sign-in${said}`)
      : refused(reason)
  }

  const discover = async (): Promise<Configuration> => {
    const {
      allowInsecureRequests,
      ClientSecretBasic,
      ClientSecretPost,
      customFetch,
      discovery,
      enableNonRepudiationChecks,
      None,
    } = await library()
    // `client_secret_basic` is the default of clients and of providers without a list (OpenID
    // Connect Discovery 1.0, section 3).
    const way = ({ token_endpoint_auth_methods_supported: ways }: ServerMetadata) =>
      (!ways || ways.includes('client_secret_basic') ? ClientSecretBasic : ClientSecretPost)(
        clientSecret,
      )
    const authentication: ClientAuth =
      clientSecret === undefined ? None() : (as, ...rest) => way(as)(as, ...rest)
    return discovery(issuer, clientId, undefined, authentication, {
      timeout: timeoutSeconds,
      [customFetch]: limitedFetch,
      // Checks the signature of ID tokens too, although they come straight from the provider.
      execute: [enableNonRepudiationChecks, ...(allowPlain ? [allowInsecureRequests] : [])],
    })
  }

  const configuration = async (): Promise<Configuration> => {
    if (!known || clock.monotonic() - known.at > keptMs)
      known = { at: clock.monotonic(), configuration: discover() }
    const mine = known
    try {
      return await mine.configuration
    } catch (error) {
      // The next call asks again.
      if (known === mine) known = undefined
      return fail(error)
    }
  }

  return {
    /**
     * Resolves if the provider answers with metadata of its own. @throws Problem
     * provider_unreachable, provider_refused
     */
    ready: async (): Promise<void> => void (await configuration()),

    /**
     * The address to which the browser goes. @throws Problem provider_unreachable, provider_refused
     */
    async begin({ state, nonce, verifier, isProof }: Flow): Promise<string> {
      const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await library()
      return buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: scopes,
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(isProof && { prompt: 'login', max_age: '0' }),
      }).href
    },

    /**
     * Exchanges the code for the user's identity.
     * @param parameters the query with which the provider sent the browser back
     * @throws Problem provider_unreachable, provider_refused
     */
    async finish(
      parameters: Readonly<Record<string, string | undefined>>,
      { state, nonce, verifier, isProof }: Flow,
    ): Promise<Identity> {
      const { authorizationCodeGrant, fetchUserInfo } = await library()
      const config = await configuration()
      const url = new URL(redirectUri)
      for (const [key, value] of Object.entries(parameters))
        if (value !== undefined) url.searchParams.set(key, value)
      try {
        const tokens = await authorizationCodeGrant(config, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
          // How long ago the user may have signed in at the provider.
          ...(isProof && { maxAge: providerMinutes * 60 }),
        })
        const own = tokens.claims()!
        // The library checks neither. It compares the token's end with the same clock.
        if (!isSubject(own.sub)) throw refused('it does not say who you are (sub)')
        if (own.iat * 1000 > Date.now() + aheadMs) throw refused(wrongTimes)
        const lacks = emailOf(own) === null || (roles !== undefined && !hasGroups(own, roleClaim))
        // Some providers put such claims only into the response of this call.
        const more =
          lacks && config.serverMetadata().userinfo_endpoint !== undefined
            ? await fetchUserInfo(config, tokens.access_token, own.sub)
            : {}
        return { issuer: own.iss, subject: own.sub, claims: mergedClaims(own, more) }
      } catch (error) {
        return fail(error, isProof)
      }
    },
  }
}
