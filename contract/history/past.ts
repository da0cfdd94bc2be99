/**
 * Reading what was at a time of the past: the parameter `at`, and what an answer about the past adds.
 * Such an answer has only what the history records. All else is null, never the value of today.
 */
import * as z from 'zod/mini'
import { codeText } from '../bounds/fields.ts'
import { type Operation, variantOf, type Words } from '../operation.ts'
import { time } from '../page.ts'

/** Fields of every answer about the past. */
const OfPast = {
  /** The time that was asked for. */
  at: time,
  /** The fields that are null because the history doesn't record them, by path. */
  not_recorded: z.array(codeText),
}

type Schema = z.core.$ZodType
type Query = z.ZodMiniObject

/** The same call, which also reads the past. */
export const withPast = <P extends Schema, Q extends Query, A extends Schema, M extends object>(
  of: Operation<P, Q, z.ZodMiniUndefined, A> & M,
): Omit<M, keyof Operation> &
  Operation<
    P,
    z.ZodMiniObject<Q['shape'] & { at: z.ZodMiniOptional<typeof time> }, z.core.$strict>,
    z.ZodMiniUndefined,
    A
  > => ({
  ...of,
  query: z.strictObject({ ...(of.query.shape as Q['shape']), at: z.optional(time) }),
  errors: [...of.errors, 'before_history'],
})

/** The answer of a call about the past. */
export const pastOf = <P extends Schema, Q extends Query, A extends z.core.$ZodLooseShape>(
  of: Operation<P, Q>,
  answer: z.ZodMiniObject<A>,
) => variantOf(of, { query: { at: time }, answer: z.object({ ...answer.shape, ...OfPast }) })

/** Why a call that has no past refuses `at`. */
export const noPast = 'The past can only be read, and this call reads nothing of it'

const meaningOfAt =
  'Answers what was at this time, with the rights that the caller has now. Fields that the history does not record are null, and `not_recorded` lists them. 422 `before_history` says when the history begins.'

/** Words for the API documentation. */
export const words: Words = {
  fields: Object.fromEntries(
    ['serverList', 'serverGet', 'clusterList', 'clusterGet', 'findingList', 'overviewGet'].map(
      (name) => [`${name}.at`, meaningOfAt],
    ),
  ),
}
