/**
 * Restarts for a configuration that takes effect with the next boot. Talos up to 1.13 makes them
 * itself. Talos 1.14 accepts every configuration without a restart and doesn't tell whether one is
 * needed (`v1alpha1_server.go`, ApplyConfiguration), so Steelyard's own table decides
 * (`talos/network-effect/trial.ts`).
 */
import type { TalosClient } from '#talos/client/client.ts'
import { has } from '#talos/versions.ts'
import type { Job } from '../../../engine/engine.ts'
import { sentBy } from '../../../reading/asker.ts'
import { dryRun } from '../../../talos-fleet/apply.ts'
import type { ServerFacts } from '../../servers/api.ts'
import type { ConfigurationParts, Core } from '../parts.ts'

export type Restarts = ReturnType<typeof restarts>

export function restarts(
  { db, read, clusters }: Pick<ConfigurationParts, 'db' | 'read' | 'clusters'>,
  { kept }: Pick<Core, 'kept'>,
) {
  const needs = async (server: ServerFacts, before: string, after: string): Promise<boolean> =>
    server.talos_version !== null &&
    has(server.talos_version, 'restartsApart') &&
    (await read(sentBy(server.id), 'trial', before, after, server.talos_version)).restarts.length >
      0

  return {
    /** Whether Steelyard has to restart the machine for this change. */
    needs,

    /** Whether the machine restarts for this change, by itself or by Steelyard. @throws TalosError */
    isNeeded: async (
      client: TalosClient,
      server: ServerFacts,
      before: string,
      after: string,
    ): Promise<boolean> =>
      (await dryRun(client, after)).reboots || (await needs(server, before, after)),

    /** Why the server must not restart for a change that is saved; null if it may. */
    whyNot: async ({ id, name, cluster, status }: ServerFacts): Promise<string | null> => {
      const why = status === 'ready' && cluster && (await clusters.whyNotRestart(cluster.id, id))
      return why ? `${name} restarts to apply it. ${why}` : null
    },

    /** Stores, before the generation is sent, that it takes effect with the next boot. */
    async note(job: Job, server: ServerFacts, client: TalosClient, generation: number) {
      const bootId = await client.bootId()
      await job.fence.write((tx) =>
        kept.noteRestart(tx, server.cluster!.id, server.id, generation, bootId),
      )
    },

    /** Whether the machine, which has its newest generation, has yet to restart for it. */
    async isDue(server: ServerFacts, client: TalosClient): Promise<boolean> {
      const sentIn = await kept.restartIn(db, server.cluster!.id, server.id)
      return sentIn !== null && (await client.bootId()) === sentIn
    },

    /** Restarts the machine. Safe to repeat: a boot that ends already is ended. */
    order: (job: Job, { id }: ServerFacts, client: TalosClient): Promise<unknown> =>
      job.effect(`restart/${id}`, () => client.reboot()),
  }
}
