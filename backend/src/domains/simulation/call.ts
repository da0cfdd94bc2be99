/** The call that only an installation with simulated servers has. It is no part of the API. */
import * as z from 'zod/mini'
import { operation } from '#contract/operation.ts'

export const simulatedPast = operation('simulatedPast', 'POST /v1/simulated-past', 'users:manage', {
  summary:
    'Make up a history and figures of 30 days for the clusters that are there. Once in the life of an installation; a later call changes nothing.',
  answer: z.object({ entries: z.int(), figures: z.boolean() }),
})
