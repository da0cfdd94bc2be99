/** The id of an offer. */
import * as z from 'zod/mini'
import { offerIdPattern } from '../clusters/clusters.ts'

export const offerIdSentence = 'An offer id is 0x and 64 hexadecimal digits in lower case'
export const OfferId = z
  .string()
  .check(z.maxLength(66, offerIdSentence), z.regex(offerIdPattern, offerIdSentence))
