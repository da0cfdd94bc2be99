/**
 * What a machine has to know before it reaches anybody, at a site without DHCP or with an authority
 * of its own. The documents that tell it come with its image.
 */
import { zstdDecompressSync } from 'node:zlib'
import { isObject, text } from '../config/shape.ts'
import { kernelArgument } from './kernel-line.ts'
import type { Machine } from './machine.ts'

/** Documents of the image in the order in which Talos reads them, with the names of their sources. */
export const earlySources = (machine: Machine): { source: string; read: () => string }[] => {
  const { plan, world } = machine
  const embedded = world.schematic(plan.schematic)?.embedded ?? ''
  const early = kernelArgument(machine.kernelCommandLine, 'talos.config.early')
  return [
    ...(embedded === '' ? [] : [{ source: 'embedded', read: () => embedded }]),
    ...(early === null
      ? []
      : [
          {
            source: 'cmdline-early',
            read: () => zstdDecompressSync(Buffer.from(early, 'base64')).toString('utf8'),
          },
        ]),
  ]
}

/** Why the machine reaches nobody now, as Go says it, or null. */
export const siteProblem = ({ plan, config }: Machine): string | null => {
  const site = plan.boot?.site
  if (site === undefined) return null
  const bodies = (config?.loaded.documents ?? []).map(({ kind, body }) => ({ kind, body }))
  const hasAddress = bodies.some(
    ({ body }) =>
      Array.isArray(body.addresses) &&
      body.addresses.some((one) => isObject(one) && text(one.address) !== ''),
  )
  if (site.no_dhcp && !hasAddress) return 'connect: network is unreachable'
  const squeezed = (pem: string): string => pem.replaceAll(/\s/g, '')
  const { authority } = site
  const trusts = bodies.some(
    ({ kind, body }) =>
      kind === 'TrustedRootsConfig' &&
      squeezed(text(body.certificates)).includes(squeezed(authority ?? '')),
  )
  return authority === undefined || trusts
    ? null
    : 'tls: failed to verify certificate: x509: certificate signed by unknown authority'
}
