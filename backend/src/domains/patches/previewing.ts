/**
 * Previews a patch before it is saved: the merged configuration, Talos's own dry run, and warnings
 * about what would break although Talos accepts the patch.
 */
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { patchPreview, Preview, PreviewWarning } from '#contract/patches.ts'
import { TalosError } from '#talos/client/errors.ts'
import { heldSentence, holdOf } from '../../engine/holds.ts'
import type { ServerFacts } from '../servers/present.ts'
import type { For } from '../../reading/reader.ts'
import { credentialsLifetimeMs } from './configuring.ts'
import type { LinkUse } from './links.ts'
import { audienceOf, holdsScope, type PatchCore, type PatchPlatform } from './reading.ts'
import { layersOf, sentenceOf } from './render.ts'

export type Previewing = ReturnType<typeof previewing>

const afterRotation =
  'If the authorities of its cluster were changed outside of Steelyard, import the new secrets'
const mostNamed = 6

export function previewing(
  { db, servers, access }: PatchPlatform,
  { store, read, factsOf, baseOf }: PatchCore,
) {
  /**
   * Predicts what happens when a configuration is saved. A server in a cluster makes a dry run; a
   * server without a cluster isn't queried.
   * @param yaml with plaintext secrets: it is sent to the machine, which has the secrets anyway
   * @param isReal the configuration is the server's real one, not a stand-in
   * @param mayAsk the caller may change the server. Texts of other callers aren't sent to the
   * server
   */
  const verdict = async (
    server: ServerFacts,
    yaml: string,
    { isReal, mayAsk }: { isReal: boolean; mayAsk: boolean },
  ): Promise<Preview['verdict']> => {
    const unknown = (reason: string) => ({ kind: 'unknown', reason }) as const
    if (!server.cluster) return { kind: 'at_install', reason: 'Applied at install' }
    if (!isReal || server.status !== 'ready')
      return unknown(`${server.name} is still joining ${server.cluster.name}`)
    // The server is held after a restore: nothing is sent to it.
    if (await holdOf(db, server.id)) return unknown(heldSentence(server.name))
    if (!mayAsk)
      return unknown(
        `${server.name} made no dry run: only patches of users who may change servers (servers:write) are sent to a server`,
      )
    const keys = await access.talosCredentials(server.cluster.id, {
      role: 'os:admin',
      lifetimeMs: credentialsLifetimeMs,
    })
    if (!keys) return unknown(`The cluster ${server.cluster.name} has no credentials`)
    try {
      const connection = await servers.connection(server.id)
      const { mode } = await connection.secure(keys, (client) =>
        client.applyConfiguration(yaml, { mode: 'auto', dryRun: true }),
      )
      return mode === 'reboot'
        ? { kind: 'reboot', reason: `${server.name} reboots to apply it` }
        : { kind: 'no_reboot', reason: `Applied on ${server.name} without a reboot` }
    } catch (error) {
      if (error instanceof TalosError && error.kind === 'invalid_argument')
        return { kind: 'not_allowed', reason: error.message }
      if (!(error instanceof TalosError || error instanceof Problem)) throw error
      const reason = `${server.name} did not answer a dry run: ${error.message}`
      // Changed authorities are detected only by the next sweep, within two minutes. Until then
      // this hint names the likely cause.
      const isStrange =
        error instanceof TalosError && (error.kind === 'refused' || error.kind === 'certificate')
      return unknown(isStrange ? `${reason}. ${afterRotation}` : reason)
    }
  }

  /**
   * Eligibility checks that would no longer pass, and links that don't exist. `links`: the links
   * that all patches of the server would configure together.
   */
  const warnings = (
    server: ServerFacts,
    links: readonly string[],
    missing: readonly LinkUse[],
  ): PreviewWarning[] => {
    const held = new Set(servers.eligibilityFor(server).flatMap((e) => (e.ok ? [e.check] : [])))
    const patch_links = [...new Set(links)].toSorted()
    const lost = servers
      .eligibilityFor({ ...server, patch_links })
      .filter((e) => !e.ok && held.has(e.check))
    const own = server.links.filter((l) => l.physical).map((l) => l.name)
    const has =
      own.length === 0
        ? 'none'
        : own.slice(0, mostNamed).join(', ') +
          (own.length > mostNamed ? ` and ${own.length - mostNamed} more` : '')
    return [
      ...lost.map((e) => ({
        check: e.check,
        message: e.reason!,
        link: e.check === 'management_address' ? server.link : null,
        line: null,
      })),
      ...missing.map(({ link, line }) => ({
        check: null,
        message: `${server.name} has no link ${link}: it has ${has}`,
        link,
        line,
      })),
    ]
  }

  return {
    verdict,
    warnings,

    /** Previews a patch. Contacts no machine for callers without write permission. */
    preview: async (
      who: For,
      nodeId: string,
      asked: Input<typeof patchPreview>['body'],
    ): Promise<Preview> => {
      const server = await factsOf(db, nodeId)
      const { yaml: base, context, isReal } = await baseOf(server)
      const { talosVersion } = context
      const stored = await store.ofServer(db, nodeId)
      const edited = stored.find((p) => p.id === asked.patch_id)
      const audience = audienceOf(who.caller)
      const body = edited
        ? await read(who, 'unmask', asked.body, edited.body, audience)
        : asked.body
      const name = asked.name?.trim() || edited?.name || 'this patch'
      const refusals = await read(who, 'check', body, talosVersion)
      // Compares with the configuration without the edited patch, so that the difference shows the
      // patch's whole effect and not only the last edit.
      const others = stored.filter((p) => p.id !== edited?.id)
      const change = { name, weight: asked.weight, body }
      const after = stored.map((p) => (p.id === edited?.id ? { ...p, ...change } : p))
      const changed = layersOf(server, context, after, edited ? [] : [change])
      const without = layersOf(server, context, others)
      const links = server.hardware && server.links.map((l) => l.name)
      const isBad = refusals.length > 0
      // A patch that violates the rules isn't merged.
      const input = {
        base,
        talosVersion,
        without,
        with: isBad ? without : changed,
        patch: { name, body: isBad ? '' : body },
        audience,
        links,
      }
      const merged = await read(who, 'preview', input)
      const errors = isBad ? refusals : merged.errors
      return {
        diff: { before: merged.before, after: isBad ? '' : merged.after },
        sources: isBad ? [] : merged.sources,
        errors,
        warnings:
          errors.length > 0
            ? []
            : warnings(
                server,
                [...others.flatMap((p) => p.links), ...merged.links],
                merged.missing,
              ),
        verdict: errors[0]
          ? { kind: 'not_allowed', reason: sentenceOf(errors[0]) }
          : await verdict(server, merged.yaml, {
              isReal,
              mayAsk: holdsScope(who.caller, 'servers:write'),
            }),
      }
    },
  }
}
