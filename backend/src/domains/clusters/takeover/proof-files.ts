/** Parses the files that prove the ownership of a cluster. Pure: it runs on a worker thread. */
import type { clusterImportPreview } from '#contract/clusters/takeover.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import { readKubeconfig, readTalosconfig } from '#talos/access/access.ts'
import { ConfigError } from '#talos/config/problem.ts'
import { readSecrets, type SecretsBundle, secretsOfControlPlane } from '#talos/secrets/bundle.ts'

export type Handed = Partial<
  Pick<Input<typeof clusterImportPreview>['body'], 'secrets' | 'talosconfig' | 'kubeconfig'>
>

export const invalid = (field: string, sentence: string) =>
  new Problem('invalid', sentence, { [field]: sentence })

/** Converts a parser's error to a Problem. Parser errors never contain secrets. */
function read<T>(field: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    const why =
      error instanceof ConfigError
        ? (error.problems[0]?.message ?? 'it cannot be read')
        : error instanceof Error
          ? error.message
          : String(error)
    throw invalid(field, why.split('\n', 1)[0]!.slice(0, 200))
  }
}

/** Kinds of files by their distinctive top-level keys, to recognise mixed-up files. */
const marks: readonly (readonly [string, RegExp])[] = [
  // Listed before the talosconfig, because a kubeconfig has contexts too.
  ['a kubeconfig', /^kind:[ \t]*Config[ \t]*$/m],
  ['a talosconfig', /^contexts:[ \t]*$/m],
  ['a secrets bundle', /^(?:trustdinfo|certs):/m],
  ['a machine configuration', /^machine:/m],
]
const wanted = {
  secrets: 'a secrets bundle',
  talosconfig: 'a talosconfig',
  kubeconfig: 'a kubeconfig',
} as const

/** Refuses a file of another kind and names that kind. @throws Problem `invalid` */
function demandKind(field: keyof typeof wanted, text: string): void {
  const found = marks.find(([, mark]) => mark.test(text))?.[0]
  if (found !== undefined && found !== wanted[field])
    throw invalid(field, `This is ${found}, not ${wanted[field]}`)
}

/**
 * The content of the files: `bundle` of a secrets file, or `access` of a talosconfig, and
 * `kubernetesCa`, the kubeconfig's authority as PEM.
 * @throws Problem `invalid` with the field
 */
export function filesOf({ secrets, talosconfig, kubeconfig }: Handed) {
  for (const [field, text] of Object.entries({ secrets, talosconfig, kubeconfig }))
    if (text !== undefined) demandKind(field as keyof typeof wanted, text)
  const kubernetesCa =
    kubeconfig === undefined ? null : read('kubeconfig', () => readKubeconfig(kubeconfig)).ca
  if (secrets !== undefined)
    return { bundle: read('secrets', () => readSecrets(secrets)), access: null, kubernetesCa }
  return {
    bundle: null,
    access: read('talosconfig', () => readTalosconfig(talosconfig ?? '')),
    kubernetesCa,
  }
}

/** The bundle in a control plane's configuration. @throws Problem `invalid` */
export const bundleOf = (config: string, name: string): SecretsBundle =>
  read('talosconfig', () => {
    try {
      return secretsOfControlPlane(config)
    } catch (error) {
      throw new Error(
        `The configuration of ${name} does not contain all secrets of its cluster. ${error instanceof Error ? error.message : ''}`.trim(),
        {
          cause: error,
        },
      )
    }
  })
