/** The move of a cluster's configurations to the documents of Talos 1.14. */
import * as z from 'zod/mini'
import { no, type Verdict, yes } from '../../rule.ts'

/** Talos never moves a configuration itself. A cluster that is half way can go on. */
export const MoveToDocuments = z.strictObject({ kind: z.literal('documents') })

/** Whether a cluster's Talos knows the documents. The plan asks each server. */
export function canMoveToDocuments({ talos_version }: { readonly talos_version: string }): Verdict {
  const [major = 0, minor = 0] = talos_version.replace(/^v/, '').split('.').map(Number)
  return major > 1 || minor >= 14
    ? yes
    : no(`The cluster runs Talos ${talos_version}: documents are for Talos 1.14 and newer`)
}
