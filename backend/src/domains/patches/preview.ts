/** The effect of a patch on a configuration, as it is shown. Pure: it runs on the worker thread. */
import type { PatchProblem } from '#contract/patches.ts'
import { generatedLayer } from '#talos/config/generate.ts'
import type { Audience } from '#talos/config/mask.ts'
import { withPlaceholders } from './free-base.ts'
import type { Layer, RenderContext } from './layers.ts'
import { type LinkUse, linksOf, missingLinks } from './links.ts'
import { maskText, secretsOf } from './masking.ts'
import { compose } from './render.ts'

export interface PreviewInput {
  readonly base: string
  readonly talosVersion: RenderContext['talosVersion']
  readonly without: readonly Layer[]
  readonly with: readonly Layer[]
  /** The patch: one of the layers of `with`, its rules checked already. */
  readonly patch: Pick<Layer, 'name' | 'body'>
  readonly audience: Audience
  /** Names of the server's links; null where they are not known. */
  readonly links: readonly string[] | null
}

export interface Previewed {
  /** For people: secrets masked. Empty where the layers can't be merged. */
  readonly before: string
  readonly after: string
  /** With the patch, secrets in clear. */
  readonly yaml: string
  /** Lines of `after`. */
  readonly sources: { line: number; layer: string }[]
  readonly errors: PatchProblem[]
  /** Links that the patch configures; see `linksOf`. */
  readonly links: string[]
  readonly missing: LinkUse[]
}

export function previewOf({ base, talosVersion, without, with: layers, patch, audience, links }: PreviewInput): Previewed {
  const before = compose(base, without, { talosVersion })
  const after = compose(base, layers, { talosVersion })
  // Merged configurations are masked for everybody. Users who may read secrets see that one has changed,
  // which others must not find out by trying.
  const known = audience === 'may_read_secrets' ? secretsOf(before.yaml, 'everybody') : undefined
  const shown = maskText(after.yaml, 'everybody', known)
  return {
    before: before.yaml === '' ? '' : withPlaceholders(maskText(before.yaml, 'everybody').text),
    after: after.yaml === '' ? '' : withPlaceholders(shown.text),
    yaml: after.yaml,
    sources: after.sources.filter((s) => s.layer !== generatedLayer).map(({ line, layer }) => ({ line: shown.lines[line - 1] ?? 1, layer })),
    errors: after.errors.map(({ layer, ...e }) => ({ ...e, message: layer && layer !== patch.name ? `${layer}: ${e.message}` : e.message })),
    links: linksOf(patch.body),
    missing: links === null || after.yaml === '' ? [] : missingLinks(patch.body, after.yaml, links),
  }
}
