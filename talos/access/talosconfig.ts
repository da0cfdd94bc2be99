import { stringify } from 'yaml'
import type { Credentials } from '../pki/clients.ts'

/**
 * The file that talosctl reads (`~/.talos/config`). `endpoints` are the control planes' addresses that calls go through, `nodes` those that
 * they are about when talosctl isn't told otherwise: none, as Talos writes it, or the one server that the file is for. Source: Talos `pkg/machinery/client/config/config.go`.
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
