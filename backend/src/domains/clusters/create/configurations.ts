/**
 * The configurations that servers would get when they join, and what is wrong with their patches,
 * before anything is reserved or sent.
 */
import type { ClusterServer } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { ClusterParts } from '../parts.ts'
import { type Joining, previewBlueprint } from '../blueprint.ts'
import type { Finding } from './judged.ts'
import type { ChosenServer } from '../blueprint.ts'

/** The cluster with its name and servers, and what was asked for them. */
interface Asked {
  readonly name: string
  readonly resolved: Joining
  readonly servers: readonly ClusterServer[]
}

/** Problems of the bodies of patches, by Steelyard's rules for patches. */
export async function patchFindings(
  { patches }: Pick<ClusterParts, 'patches'>,
  servers: readonly ClusterServer[],
): Promise<Finding[]> {
  const found = await Promise.all(
    servers.map(async ({ patch }) => (patch === undefined ? [] : patches.check(patch.body))),
  )
  return found.flatMap((all, i) =>
    all.map((message) => ({
      check: 'patches',
      ok: false,
      message,
      field: `servers.${i}.patch.body`,
    })),
  )
}

/** A server's configuration with plaintext secrets; empty if its layers can't be merged. */
export async function judgedConfig(
  parts: Pick<ClusterParts, 'config' | 'patches' | 'configurations' | 'secrets'>,
  on: Db | Tx,
  { name, resolved, servers }: Asked,
  server: ChosenServer,
): Promise<{ yaml: string; warnings: readonly string[]; findings: Finding[] }> {
  const at = servers.findIndex((s) => s.node_id === server.node_id)
  const patch = servers[at]?.patch
  const finding = (message: string): Finding => ({
    check: 'configuration',
    ok: false,
    message: `${server.name}: ${message}`,
    field: `servers.${at}${patch === undefined ? '' : '.patch.body'}`,
  })
  try {
    const secrets = await parts.secrets.forPreview()
    const blueprint = previewBlueprint(parts.config, name, resolved, server, secrets)
    const set = { patches: patch === undefined ? [] : [patch], remove: [] }
    const judged = await parts.configurations.judge(on, server.node_id, blueprint, set)
    return { yaml: judged.yaml, warnings: judged.warnings, findings: judged.refused.map(finding) }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { yaml: '', warnings: [], findings: [finding(error.message)] }
  }
}

/**
 * Findings and warnings about the patches of servers that join, stored and new ones. Servers
 * without patches get what Steelyard generates, which needs no check.
 */
export async function judgePatches(
  parts: Pick<ClusterParts, 'config' | 'patches' | 'configurations' | 'secrets'>,
  on: Db | Tx,
  asked: Asked,
): Promise<{ findings: Finding[]; warnings: string[] }> {
  const findings: Finding[] = [...(await patchFindings(parts, asked.servers))]
  const warnings: string[] = []
  const isBad = (at: number) => findings.some((f) => f.field?.startsWith(`servers.${at}.`))
  const patched = asked.resolved.servers.filter(({ node_id, candidate }) => {
    const at = asked.servers.findIndex((s) => s.node_id === node_id)
    return !isBad(at) && (candidate.has_user_patch || asked.servers[at]?.patch !== undefined)
  })
  // One after another, because each waits in the queue of the reader.
  for (const server of patched) {
    const judged = await judgedConfig(parts, on, asked, server)
    findings.push(...judged.findings)
    warnings.push(...judged.warnings.map((warning) => `${server.name}: ${warning}`))
  }
  return { findings, warnings }
}
