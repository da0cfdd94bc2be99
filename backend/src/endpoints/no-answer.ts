/** Why a service that the backend calls gave no answer: a channel, a store, a provider. */
import { type Attempt, connectionSentence } from '#contract/connections/words.ts'

/** What makes an authority known to the backend (docs/operations.md, "An authority of your own"). */
const authority = 'set NODE_EXTRA_CA_CERTS to its PEM file and restart Steelyard'

/** @param place the name of the service @param by what was tried */
export const whyNoAnswer = (place: string, error: unknown, by: Attempt['by']): string =>
  connectionSentence(place, error, { by, authority, now: new Date() })

/** @param url the URL that was called, or its protocol with a colon */
export const byUrl = ({ protocol }: { readonly protocol: string }): 'http' | 'https' =>
  protocol === 'https:' ? 'https' : 'http'
