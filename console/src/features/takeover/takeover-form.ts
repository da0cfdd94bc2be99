/** Values of the takeover form, and the request body. */
import type { Read } from '../../lib/fields.ts'
import { objectWords, type ReplaceableObject } from '#contract/clusters/existing.ts'
import type { Asked } from '#contract/operation.ts'
import { clusterImportPreview, type Takeover } from '#contract/clusters/takeover.ts'
import { curlOf, quoted } from '../../lib/shell.ts'

export type ProofKind = 'secrets' | 'talosconfig'

export interface Typed {
  readonly kind: ProofKind
  readonly secrets: string
  readonly talosconfig: string
  readonly kubeconfig: string
  /** Separated by commas, spaces or line breaks. */
  readonly addresses: string
  readonly datacenter_id: string
  readonly name: string
}

export const blank: Typed = {
  kind: 'secrets',
  secrets: '',
  talosconfig: '',
  kubeconfig: '',
  addresses: '',
  datacenter_id: '',
  name: '',
}

export type Body = Asked<typeof clusterImportPreview>['body']

/** Reads only the proof of ownership. Also used for clusters that Steelyard already manages. */
export function readProof({
  kind,
  secrets,
  talosconfig,
}: Typed): Read<{ secrets?: string; talosconfig?: string }> {
  if (kind === 'secrets')
    return secrets.trim() === ''
      ? { ok: false, fields: { secrets: 'Choose or paste the secrets bundle' } }
      : { ok: true, body: { secrets } }
  return talosconfig.trim() === ''
    ? { ok: false, fields: { talosconfig: 'Choose or paste the talosconfig' } }
    : { ok: true, body: { talosconfig } }
}

export function readForm(typed: Typed): Read<Body> {
  const proof = readProof(typed)
  const addresses = typed.addresses.split(/[\s,]+/).filter((address) => address !== '')
  const fields = {
    ...(proof.ok ? {} : proof.fields),
    ...(typed.kind === 'secrets' &&
      addresses.length === 0 && { addresses: 'Enter the address of a control plane' }),
    ...(typed.datacenter_id === '' && { datacenter_id: 'Choose a datacenter' }),
  }
  if (!proof.ok || Object.keys(fields).length > 0) return { ok: false, fields }
  return {
    ok: true,
    body: {
      ...proof.body,
      ...(typed.kind === 'talosconfig' &&
        typed.kubeconfig.trim() !== '' && { kubeconfig: typed.kubeconfig }),
      ...(typed.name !== '' && { name: typed.name }),
      addresses,
      datacenter_id: typed.datacenter_id,
    },
  }
}

/** The curl command of the form. The files with secrets are read from the disk. */
export function previewCommand({
  secrets,
  talosconfig: _config,
  kubeconfig,
  ...rest
}: Body): string {
  const [kind, file] =
    secrets === undefined ? ['talosconfig', 'talosconfig'] : ['secrets', 'secrets.yaml']
  const isWhole = kubeconfig !== undefined
  const files = [`--rawfile file ${file}`, ...(isWhole ? ['--rawfile kubeconfig kubeconfig'] : [])]
  const fields = [`${kind}: $file`, ...(isWhole ? ['kubeconfig: $kubeconfig'] : [])].join(', ')
  return `jq -n ${files.join(' ')} --argjson rest ${quoted(JSON.stringify(rest))} '$rest + {${fields}}' |\n${curlOf(clusterImportPreview, {}, undefined)} \\\n  -H 'Content-Type: application/json' \\\n  -d @-`
}

/**
 * The objects that are replaced, with the name of the cluster that the user typed to confirm it.
 */
export const replacing = (
  { name }: Pick<Takeover, 'name'>,
  replace: readonly ReplaceableObject[],
) => (replace.length === 0 ? {} : { replace: [...replace], confirm: name })

/** What is lost by a replacement. */
export const replacedSentence = (replace: readonly ReplaceableObject[]): string =>
  [
    `Its ${replace.map((object) => objectWords[object]).join(' and its ')} ${replace.length === 1 ? 'is' : 'are'} deleted and made anew.`,
    ...(replace.includes('cluster_key')
      ? [
          "The offers that use the present key, also those of another Steelyard, can't be proved any more.",
        ]
      : []),
    ...(replace.includes('operator_binding')
      ? ['Whoever has access by the present binding loses it.']
      : []),
  ].join(' ')

/** Why the cluster can't be taken over, or null. */
export function standsInTheWay({
  checks,
  servers,
}: Pick<Takeover, 'checks' | 'servers'>): string | null {
  const bad = servers.filter((s) => s.problem !== null)
  const failed = checks.find((c) => !c.ok)
  if (bad.length > 0) return `${bad[0]!.name}: ${bad[0]!.problem}`
  return failed?.message ?? null
}
