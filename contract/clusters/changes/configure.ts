/** A change of patches on running servers, one server at a time. */
import * as z from 'zod/mini'
import { nameOf } from '../../names.ts'
import { NewPatch } from '../../patches.ts'

const mostPatches = 10

export const Configure = z.strictObject({
  kind: z.literal('configure'),
  /** Patches that each chosen server gets. A patch of the same name is replaced. */
  patches: z._default(
    z.array(NewPatch).check(z.maxLength(mostPatches, `At most ${mostPatches} patches at once`)),
    [],
  ),
  /** Names of patches to remove. A server without such a patch is left as it is. */
  remove: z._default(
    z
      .array(nameOf('Patch'))
      .check(z.maxLength(mostPatches, `At most ${mostPatches} patches at once`)),
    [],
  ),
  /**
   * Id of an earlier change of patches of this cluster that is taken back: its patches become again
   * what they were on each server when the change was requested. Then `patches` and `remove` are
   * empty.
   */
  take_back: z.optional(z.uuid()),
  /**
   * Id of a roll-out of a shared patch, which begins such changes: each server gets what the
   * roll-out says. Then `patches` and `remove` are empty.
   */
  roll_out: z.optional(z.uuid()),
  /**
   * Names of control planes that are not well and that the change is to mend. They are changed
   * first, and their problems don't stop the change.
   */
  mends: z._default(z.array(nameOf('Server')).check(z.maxLength(50)), []),
  /** The servers in the order of the change. Default: all servers, workers first. */
  node_ids: z.optional(
    z.array(z.uuid()).check(z.minLength(1, 'Choose at least one server'), z.maxLength(500)),
  ),
})
