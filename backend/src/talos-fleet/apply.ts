import type { ApplyMode, TalosClient } from '#talos/client/client.ts'

/**
 * Gives a machine a configuration, or asks it for a dry run. Only configurations may call it, and
 * nothing else calls `applyConfiguration` of a client (`tools/import-rules.ts`, `tools/house.test.ts`).
 * @throws TalosError
 */
export const apply = (
  client: TalosClient,
  yaml: string,
  how: { readonly mode: ApplyMode; readonly dryRun?: boolean },
  limits?: { readonly deadlineMs?: number | undefined },
): ReturnType<TalosClient['applyConfiguration']> => client.applyConfiguration(yaml, how, limits)
