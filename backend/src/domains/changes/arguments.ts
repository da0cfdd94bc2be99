/** What a change was asked for, as its operation stores it. */
import * as z from 'zod/mini'
import { ClusterChange, isChange } from '#contract/clusters/changes/changes.ts'
import { Problem } from '#contract/errors.ts'
import { type Operation, operationTable } from '#contract/operations.ts'
import type { ClusterParts } from '../clusters/api.ts'
import type { ChangeTurn } from './frame.ts'
import { kindOf } from './planning.ts'

/** Another version of Steelyard has stored the change in a form that this version doesn't know. */
export class Unreadable extends Problem {
  constructor() {
    super(
      'transition_refused',
      'This version of Steelyard cannot read the change. Start the version that began it: the change continues there',
    )
  }
}

/** The operation's change and the confirmed disks, from its arguments. @throws Unreadable */
export async function argumentsOf(
  parts: ClusterParts,
  clusterId: string,
  { id, kind }: Operation,
): Promise<
  Pick<ChangeTurn<ClusterChange>, 'change' | 'confirmed' | 'confirmedLoss' | 'appliedSet'> & {
    readonly chosen: readonly string[] | null
    readonly isOther: boolean
  }
> {
  if (!isChange(kind)) throw new Error(`${kind} is no change of a cluster`)
  try {
    const {
      change,
      confirmed_disks: confirmed,
      confirmed_loss: confirmedLoss,
      applied_set: appliedSet,
      other_image: isOther,
      chosen,
    } = await parts.operations.argumentsOf(parts.db, id, kind)
    const { sealed } = kindOf(operationTable[kind].change)
    return {
      change: z.parse(
        ClusterChange,
        sealed ? await sealed.open(parts, parts.db, clusterId, change) : change,
      ),
      confirmed,
      confirmedLoss,
      appliedSet,
      isOther,
      chosen,
    }
  } catch (error) {
    throw error instanceof z.core.$ZodError ? new Unreadable() : error
  }
}
