/** Shared by the tests of signing in with a provider. */
import {
  authorizeProvider,
  authorizeProviderFinish,
  type ProviderAnswer,
} from '#contract/people/sign-in.ts'
import type { Backend } from '../../../testing/backend.ts'
import { clientId, clientSecret } from '../testing/provider.ts'

export const publicUrl = 'http://localhost:8080'
export const settings = (issuer: string, more: Record<string, string> = {}) => ({
  STEELYARD_PUBLIC_URL: publicUrl,
  STEELYARD_OIDC_ISSUER: issuer,
  STEELYARD_OIDC_CLIENT_ID: clientId,
  STEELYARD_OIDC_CLIENT_SECRET: clientSecret,
  STEELYARD_OIDC_NAME: 'Example ID',
  STEELYARD_OIDC_SCOPES: 'openid email profile groups',
  ...more,
})
export const roles = { STEELYARD_OIDC_ROLES: 'ops=operator,admins=admin,everybody=viewer' }

/** Begins a sign-in in a browser. */
export async function beginAt(on: Backend, returnTo?: string) {
  const begun = await on.call(authorizeProvider, {
    body: { ...(returnTo !== undefined && { return_to: returnTo }) },
  })
  const [cookie] = String(begun.headers['set-cookie'] ?? '').split(';', 1)
  return { ...begun, url: begun.answer?.url ?? '', cookie: cookie! }
}

/** Finishes it with the answer that the provider gave the browser. */
export const finishAt = (
  answer: ProviderAnswer | Record<string, string>,
  cookie: string,
  on: Backend,
) => on.call(authorizeProviderFinish, { body: answer as ProviderAnswer }, { headers: { cookie } })
