/**
 * OpenID Connect providers for tests: a real one (oidc-provider, certified), and one that answers
 * whatever a test wants.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, SignJWT } from 'jose'
import OidcProvider from 'oidc-provider'
import { providerReturnPath } from '#contract/people/sign-in.ts'
import { whenOver } from '../../../testing/ending.ts'

export const clientId = 'steelyard'
export const clientSecret = 'the secret of the client, with % and + in it'

export interface Account {
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
  readonly groups?: readonly string[]
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  whenOver(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** @param accounts by subject. @param publicUrl of the Steelyard that may use it */
export async function realProvider(accounts: Record<string, Account>, publicUrl: string) {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined
  const issuer = await listen(createServer((request, response) => handle(request, response)))
  /** Who signs in at the next sign-in page; undefined: the user cancels. */
  let next: string | undefined
  const provider = new OidcProvider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [`${publicUrl}${providerReturnPath}`],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: {
      keys: [{ ...(await exportJWK(newKey().privateKey)), use: 'sig', alg: 'ES256', kid: 'one' }],
    },
    cookies: { keys: [randomUUID()] },
    scopes: ['openid', 'email', 'profile', 'groups'],
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups'],
    },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, ...accounts[id] }),
    }),
    // Nobody is asked for consent.
    async loadExistingGrant(context) {
      const grant = new context.oidc.provider.Grant({
        clientId,
        accountId: context.oidc.session!.accountId!,
      })
      grant.addOIDCScope('openid email profile groups')
      await grant.save()
      return grant
    },
  })
  const answer = provider.callback()
  handle = (request, response) => {
    if (!request.url!.startsWith('/interaction/')) {
      void answer(request, response)
      return
    }
    const result =
      next === undefined
        ? { error: 'access_denied', error_description: 'The user has cancelled' }
        : { login: { accountId: next } }
    void provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  }

  return {
    issuer,
    /** Who signs in when a browser comes; undefined: nobody, the user cancels. */
    signsIn: (account: string | undefined): void => void (next = account),
    /**
     * Does what a browser does at the provider: signs in as an account, or cancels. Returns the
     * query with which the browser comes back.
     */
    async visit(url: string, account: string | undefined): Promise<Record<string, string>> {
      next = account
      const jar = new Map<string, string>()
      let at = url
      for (let hops = 0; hops < 10; hops++) {
        const response = await fetch(at, {
          redirect: 'manual',
          headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
        })
        for (const cookie of response.headers.getSetCookie()) {
          const [name, value] = cookie.split(';', 1)[0]!.split(/=(.*)/s) as [string, string]
          jar.set(name, value)
        }
        const to = response.headers.get('location')
        if (to === null)
          throw new Error(
            `The provider answered ${response.status}: ${(await response.text()).slice(0, 500)}`,
          )
        at = new URL(to, issuer).href
        if (at.startsWith(`${publicUrl}${providerReturnPath}`))
          return Object.fromEntries(new URL(at).searchParams)
      }
      throw new Error('The provider redirects in circles')
    },
  }
}

/** What the lying provider answers. */
export interface Lies {
  /** Issuer in its metadata. */
  metadataIssuer?: string
  /** Claims of its ID tokens, instead of the right ones. */
  claims?: Record<string, unknown>
  /** When its ID tokens were issued, in seconds since 1970. */
  issuedAt?: number
  /** The response of its UserInfo endpoint, which it has only then. */
  userInfo?: Record<string, unknown>
  /** It signs with a key that it doesn't publish. */
  foreignKey?: boolean
  /** Status of its token endpoint. */
  status?: number
  /** Its metadata are this text. */
  metadata?: string
}

/**
 * A provider whose answers a test chooses. Its `finish` makes the answer that the browser would
 * bring.
 */
export async function lyingProvider() {
  const key = newKey()
  const foreign = newKey()
  const lies: Lies = {}
  /** The secrets that it has received and sent: PKCE verifiers, ID tokens, access tokens. */
  const sent: string[] = []
  let nonce = ''
  let issuer = ''
  const metadata = () => ({
    issuer: lies.metadataIssuer ?? issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    ...(lies.userInfo && { userinfo_endpoint: `${issuer}/userinfo` }),
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    authorization_response_iss_parameter_supported: true,
  })
  const idToken = () =>
    new SignJWT({
      email: 'liar@example.com',
      email_verified: true,
      nonce,
      sub: 'liar',
      iss: issuer,
      aud: clientId,
      ...lies.claims,
    })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuedAt(lies.issuedAt)
      .setExpirationTime('5 minutes')
      .sign((lies.foreignKey ? foreign : key).privateKey)
  const server = createServer((request, response) => {
    const send = (body: unknown, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    }
    const path = new URL(request.url!, 'http://x').pathname
    void (async () => {
      if (path === '/.well-known/openid-configuration') return send(lies.metadata ?? metadata())
      if (path === '/jwks')
        return send({
          keys: [{ ...(await exportJWK(key.publicKey)), use: 'sig', alg: 'ES256', kid: 'one' }],
        })
      if (path === '/userinfo') return send({ sub: 'liar', ...lies.userInfo })
      if (path === '/token') {
        let form = ''
        for await (const part of request) form += String(part)
        sent.push(new URLSearchParams(form).get('code_verifier') ?? '')
      }
      if (path === '/token' && lies.status === undefined) {
        const [access_token, id_token] = [`access token ${randomUUID()}`, await idToken()]
        sent.push(access_token, id_token)
        return send({ access_token, token_type: 'Bearer', expires_in: 60, id_token })
      }
      return send({ error: 'invalid_client' }, lies.status ?? 404)
    })()
  })
  issuer = await listen(server)
  return {
    issuer,
    lies,
    sent,
    /** Stops listening. */
    stop: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
    /** The answer to a sign-in that was begun with this address. */
    answerTo(
      url: string,
      more: Record<string, string> = {},
    ): { state: string; code: string; iss: string } & Record<string, string> {
      const asked = new URL(url).searchParams
      nonce = asked.get('nonce')!
      return { state: asked.get('state')!, code: 'a code', iss: issuer, ...more }
    },
  }
}
