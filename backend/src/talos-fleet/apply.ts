import type { ApplyMode, TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'

interface Limits {
  readonly deadlineMs?: number | undefined
}

/*
 * The only functions that give a machine a configuration, or ask it for a dry run. Only
 * configurations may call them, and nothing else calls `applyConfiguration` of a client
 * (`tools/import-rules.ts`, `tools/house.test.ts`).
 */

/**
 * Gives a machine a configuration for good. Ends a trial on the machine: nobody may call it during
 * one but to confirm or to undo (`configurations/trials`). @throws TalosError
 */
export const apply = (
  client: TalosClient,
  yaml: string,
  how: { readonly mode: Exclude<ApplyMode, 'try'> },
  limits?: Limits,
): ReturnType<TalosClient['applyConfiguration']> => client.applyConfiguration(yaml, how, limits)

/** Gives a machine a configuration that it undoes after this time. @throws TalosError */
export const tryFor = (
  client: TalosClient,
  yaml: string,
  tryForMs: number,
  limits?: Limits,
): ReturnType<TalosClient['applyConfiguration']> =>
  client.applyConfiguration(yaml, { mode: 'try', tryForMs }, limits)

/**
 * What a machine would do with a configuration. A dry run in any mode but `try` would end a trial
 * that runs on the machine (Talos `v1alpha1_server.go`). In this mode Talos up to 1.13 refuses what
 * needs a restart. @throws TalosError
 */
export const dryRun = async (
  client: TalosClient,
  yaml: string,
  limits?: Limits,
): Promise<{ readonly reboots: boolean }> => {
  try {
    await client.applyConfiguration(yaml, { mode: 'try', dryRun: true }, limits)
    return { reboots: false }
  } catch (error) {
    const needsRestart =
      error instanceof TalosError &&
      error.kind === 'invalid_argument' &&
      error.message.includes('in immediate mode')
    if (!needsRestart) throw error
    return { reboots: true }
  }
}
