/** The browser's side of passkeys (WebAuthn). Loaded when a passkey is used. */
import { startAuthentication, startRegistration, WebAuthnError } from '@simplewebauthn/browser'
import {
  authorizePasskeyBegin,
  type PasskeyAnswer,
  type PasskeyChallenge,
} from '#contract/people/passkeys.ts'
import { authorizePasskey } from '#contract/people/sign-in.ts'
import { signInBy } from '../auth.ts'
import { callOpen } from '../client.ts'

const sentences: Readonly<Record<string, string>> = {
  // The browser doesn't say whether the user declined, the time ran out, or no passkey was found.
  NotAllowedError:
    'The passkey was not used: it was declined, not found, or not used in time. Try again.',
  InvalidStateError: 'This device already has a passkey for this account.',
  SecurityError: 'The browser offers no passkeys at this address.',
  NotSupportedError: 'This device has no passkey that can be used here.',
}

/** The sentence for an error of the browser. */
function said(error: unknown): Error {
  const name =
    error instanceof WebAuthnError && error.cause instanceof Error
      ? error.cause.name
      : error instanceof Error
        ? error.name
        : ''
  return new Error(sentences[name] ?? 'The browser could not use a passkey.', { cause: error })
}

/** Answers a challenge with a passkey of the user. */
export async function answerPasskey({
  challenge_id,
  options,
}: PasskeyChallenge): Promise<PasskeyAnswer> {
  try {
    return {
      challenge_id,
      credential: { ...(await startAuthentication({ optionsJSON: options as never })) },
    }
  } catch (error) {
    throw said(error)
  }
}

/** Makes a new passkey. */
export async function makePasskey({
  challenge_id,
  options,
}: PasskeyChallenge): Promise<PasskeyAnswer> {
  try {
    return {
      challenge_id,
      credential: { ...(await startRegistration({ optionsJSON: options as never })) },
    }
  } catch (error) {
    throw said(error)
  }
}

/** Signs in with a passkey. No email is needed. */
export async function signInWithPasskey(): Promise<void> {
  const answer = await answerPasskey(await callOpen(authorizePasskeyBegin))
  await signInBy(authorizePasskey, answer)
}
