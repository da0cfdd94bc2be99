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

type Composers = Pick<ClusterParts, 'config' | 'patches' | 'configurations' | 'secrets'>

const setOf = (patch: ClusterServer['patch']) => ({
  patches: patch === undefined ? [] : [patch],
  remove: [],
})

/** The patches that the other servers of a request get. */
const besideOf = ({ resolved, servers }: Pick<Asked, 'resolved' | 'servers'>, own: ChosenServer) =>
  servers.flatMap(({ node_id, patch }) => {
    const other = resolved.servers.find((one) => one.node_id === node_id)
    return patch === undefined || other === undefined || node_id === own.node_id
      ? []
      : [{ by: other.name, body: patch.body }]
  })

/**
 * The configuration of a control plane, which decides what workers don't say; undefined if it can't
 * be composed. Of a new cluster it is one that joins.
 */
export async function decidedBy(
  parts: Composers,
  on: Db | Tx,
  { name, resolved, servers }: Asked,
): Promise<string | undefined> {
  if (!resolved.servers.some(({ role }) => role === 'worker')) return undefined
  const first = resolved.servers.find(({ role }) => role === 'control_plane')
  if (resolved.id !== undefined) return parts.configurations.controlPlaneOf(on, resolved.id)
  if (first === undefined) return undefined
  const patch = servers.find(({ node_id }) => node_id === first.node_id)?.patch
  const secrets = await parts.secrets.forPreview()
  const blueprint = previewBlueprint(parts.config, name, resolved, first, secrets)
  try {
    const { configurations } = parts
    return (await configurations.compose(on, first.node_id, blueprint, setOf(patch))).yaml
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return undefined
  }
}

/**
 * A server's configuration with plaintext secrets; empty if its layers can't be merged.
 * @param controlPlane the answer of `decidedBy`
 */
export async function judgedConfig(
  parts: Composers,
  on: Db | Tx,
  { name, resolved, servers }: Asked,
  server: ChosenServer,
  controlPlane: string | undefined,
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
    const judged = await parts.configurations.judge(on, server.node_id, blueprint, setOf(patch), {
      controlPlane: server.role === 'worker' ? controlPlane : undefined,
      beside: patch === undefined ? [] : besideOf({ resolved, servers }, server),
    })
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
  parts: Composers,
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
  const controlPlane = patched.some(({ role }) => role === 'worker')
    ? await decidedBy(parts, on, asked)
    : undefined
  // One after another, because each waits in the queue of the reader.
  for (const server of patched) {
    const judged = await judgedConfig(parts, on, asked, server, controlPlane)
    findings.push(...judged.findings)
    warnings.push(...judged.warnings.map((warning) => `${server.name}: ${warning}`))
  }
  return { findings, warnings }
}
