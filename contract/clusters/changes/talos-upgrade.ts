/**
 * Changes that restart servers with another Talos image: another version, other extensions and
 * kernel arguments, or the previous version.
 */
import * as z from 'zod/mini'
import { ExtensionNames, KernelArgs } from '../../images/customization.ts'
import { talosVersionText } from '../../versions.ts'
import { snapshotFirst } from './snapshot-first.ts'

export const UpgradeTalos = z.strictObject({
  kind: z.literal('upgradeTalos'),
  version: talosVersionText(),
  /** The server that is upgraded first. By default a worker, if there is one. */
  canary: z.optional(z.uuid()),
  /**
   * True: each server installs the new version during its next boot, before anything uses its disk.
   * For servers on which a normal upgrade fails.
   */
  stage: z._default(z.boolean(), false),
  ...snapshotFirst,
})

/**
 * Servers get an image with these extensions and kernel arguments. A field that is left out keeps
 * its current value.
 */
export const Extensions = z
  .strictObject({
    kind: z.literal('extensions'),
    extensions: z.optional(ExtensionNames),
    kernel_args: z.optional(KernelArgs),
    /** Default: all servers. */
    node_ids: z.optional(
      z.array(z.uuid()).check(z.minLength(1, 'Choose at least one server'), z.maxLength(500)),
    ),
  })
  .check(
    z.refine((change) => change.extensions !== undefined || change.kernel_args !== undefined, {
      error: 'Give extensions or kernel arguments',
      path: ['extensions'],
    }),
  )

/** A server boots the Talos version that it ran before its last upgrade. */
export const RollbackTalos = z.strictObject({ kind: z.literal('rollbackTalos'), node_id: z.uuid() })
