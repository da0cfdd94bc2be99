/** The items of a list in groups, counted: of one value of a filter, or of a label. */
import * as z from 'zod/mini'
import { WorstFinding } from '../findings/findings.ts'
import { type AnyList, meaningsOf, narrowingOf } from '../list.ts'
import { type Operation, operation } from '../operation.ts'
import { groupingOf, groupingSentence } from './grouping.ts'

/** Most groups that an answer lists. */
export const mostGroups = 1000

/**
 * Declares the call that counts the items of a list by what they have in common: `GET
 * {path}/groups`. `counted`: the field with the number of items, which has the name of the noun.
 */
export const listGroups = <
  L extends AnyList,
  C extends Readonly<Record<string, z.core.$ZodType<number>>>,
>(
  { list, path, scope }: Pick<Operation, 'path' | 'scope'> & { readonly list: L },
  name: string,
  counted: C,
) => {
  const { nouns, groups = [] } = list
  const [, many] = nouns
  return {
    ...operation(name, `GET ${path}/groups`, scope, {
      summary: `The ${many} of a list in groups, with the number of ${many} in each and their worst finding, of all pages: by name, or in the order of the filter's values if these are fixed, and last those in no group. At most ${mostGroups} groups.`,
      query: z.strictObject({
        by: z.string().check(
          z.trim(),
          z.maxLength(400),
          z.refine((text) => groupingOf(groups, text) !== null, { error: groupingSentence(list) }),
        ),
        ...narrowingOf(list),
      }),
      answer: z.object({
        items: z.array(
          z.object({
            /** Value of the filter or of the label that all of a group have; null: they have none. */
            value: z.nullable(z.string()),
            name: z.nullable(z.string()),
            ...counted,
            /** The worst finding of the group; null if nothing is wrong. */
            finding: z.nullable(WorstFinding),
          }),
        ),
        /** Number of all groups. */
        total: z.int(),
        /** Number of items in all groups. */
        ...counted,
      }),
    }),
    meanings: {
      ...meaningsOf(list),
      by: `What the ${many} of a group have in common: ${groups.map((key) => `\`${key}\``).join(', ')}, or \`label:\` and the key of a label. The filter of this name finds those of a group by its \`value\`.`,
    },
  }
}
