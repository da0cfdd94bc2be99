/** Sign-in and proof of identity through the OpenID Connect provider. Loaded when it is used. */
import type { Answer } from '#contract/operation.ts'
import { sessionProve, sessionProveProvider } from '#contract/people/profile.ts'
import {
  authorizeProvider,
  authorizeProviderFinish,
  isProofState,
  type ProviderAnswer,
} from '#contract/people/sign-in.ts'
import { signInBy } from '../auth.ts'
import { call } from '../client.ts'
import { readAnswer, send } from '../http.ts'

/**
 * Leads the browser to the provider. `returnTo`: path of the console to which the user comes back.
 */
export async function signInAtProvider(returnTo: string): Promise<void> {
  // A cookie binds the sign-in to this browser.
  const response = await send(
    authorizeProvider,
    { body: { return_to: returnTo } },
    { cookies: true },
  )
  const { url } = (await readAnswer(response)) as Answer<typeof authorizeProvider>
  location.assign(url)
}

/** Leads the browser to the provider, which asks the user to sign in again. */
export async function proveAtProvider(returnTo: string): Promise<void> {
  const { url } = await call(sessionProveProvider, { body: { return_to: returnTo } })
  location.assign(url)
}

/** Finishes what began at the provider, and returns the path to go to. */
export async function finishAtProvider(answer: ProviderAnswer): Promise<string | null> {
  if (isProofState(answer.state))
    return (await call(sessionProve, { body: { provider: answer } })).return_to
  return (
    (await signInBy(authorizeProviderFinish, answer)) as Answer<typeof authorizeProviderFinish>
  ).return_to
}
