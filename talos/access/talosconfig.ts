import { stringify } from 'yaml'
import type { Credentials } from '../pki/clients.ts'
import { decodedPem, mapAt, textOf, yaml } from './reading.ts'

/**
 * A talosctl configuration (`~/.talos/config`). `endpoints` are the control planes that calls go through. `nodes` are the
 * default targets: none, as Talos writes it, or the one server of the file. Source: Talos `pkg/machinery/client/config/config.go`.
 */
export function talosconfig(options: Credentials & { context: string; endpoints: readonly string[]; nodes?: readonly string[] }): string {
  const encode = (pem: string) => Buffer.from(pem).toString('base64')
  return stringify(
    {
      context: options.context,
      contexts: {
        [options.context]: {
          endpoints: [...options.endpoints],
          ...(options.nodes === undefined || options.nodes.length === 0 ? {} : { nodes: [...options.nodes] }),
          ca: encode(options.ca),
          crt: encode(options.crt),
          key: encode(options.key),
        },
      },
    },
    { indent: 4, lineWidth: 0 },
  )
}

export interface ReadTalosconfig extends Credentials {
  readonly context: string
  readonly endpoints: readonly string[]
}

/** The current context of a talosconfig. Throws an Error with a sentence for the user. */
export function readTalosconfig(text: string): ReadTalosconfig {
  const root = yaml(text, 'talosconfig')
  const contexts = mapAt(root, 'contexts')
  const name = textOf(root?.['context']) ?? Object.keys(contexts ?? {})[0]
  const context = name === undefined ? undefined : mapAt(contexts, name)
  if (name === undefined || context === undefined) throw new Error('The talosconfig has no context')
  const pem = (key: string): string => decodedPem(textOf(context[key]), `The talosconfig has no ${key} in its context ${name}`)
  const endpoints = Array.isArray(context['endpoints']) ? context['endpoints'].filter((e) => typeof e === 'string') : []
  return { context: name, endpoints: endpoints.slice(0, 64), ca: pem('ca'), crt: pem('crt'), key: pem('key') }
}
