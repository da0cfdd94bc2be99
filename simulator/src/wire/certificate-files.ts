import { createAuthority } from '#talos/pki/certificates.ts'
import type { Pair } from '../config/node-config.ts'
import type { Machine } from '../machine/machine.ts'
import { issue } from './certificates.ts'

const YEAR_MS = 365 * 24 * 3_600_000
const API_SERVER = '/system/secrets/kubernetes/kube-apiserver'

interface Known {
  boot: string
  authorities: string
  texts: Map<string, Promise<string>>
}
const known = new WeakMap<Machine, Known>()

/**
 * The authority that signs the certificate in this file, or undefined if the machine has no such
 * file (Talos: pkg/machinery/constants).
 */
const signerOf = ({ config, services, apiServerUp }: Machine, path: string): Pair | undefined => {
  const cluster = config?.node?.cluster
  const ofFile: Record<string, Pair | null | undefined> = {
    ...(apiServerUp && {
      [`${API_SERVER}/apiserver.crt`]: cluster?.ca,
      [`${API_SERVER}/apiserver-kubelet-client.crt`]: cluster?.ca,
      [`${API_SERVER}/front-proxy-client.crt`]: cluster?.aggregatorCa,
    }),
    ...(services.isUp('etcd') && {
      '/system/secrets/etcd/server.crt': cluster?.etcdCa,
      '/system/secrets/etcd/peer.crt': cluster?.etcdCa,
    }),
  }
  const signer = ofFile[path]
  return signer?.key ? signer : undefined
}

/**
 * The content of a certificate file of Kubernetes or etcd. Talos signs these certificates at boot
 * and after a change of the authority, for a year.
 */
export const certificateText = async (
  machine: Machine,
  path: string,
): Promise<string | undefined> => {
  const signer = signerOf(machine, path)
  // The kubelet signs its serving certificate itself.
  const isOwn = path === '/var/lib/kubelet/pki/kubelet.crt' && machine.services.isUp('kubelet')
  if (!signer && !isOwn) return undefined
  let files = known.get(machine)
  const authorities = JSON.stringify(
    machine.config?.node && [
      machine.config.node.cluster.ca?.crt,
      machine.config.node.cluster.aggregatorCa?.crt,
    ],
  )
  if (files?.boot !== machine.bootId || files.authorities !== authorities)
    known.set(machine, (files = { boot: machine.bootId, authorities, texts: new Map() }))
  const leaf = {
    commonName: machine.hostname,
    names: machine.ownNames,
    usages: ['serverAuth', 'clientAuth'] as const,
    lifetimeMs: YEAR_MS,
    now: machine.now(),
  }
  const sign = async () =>
    signer
      ? issue(signer, leaf)
      : createAuthority({
          kind: 'p256',
          subject: { commonName: machine.hostname },
          now: new Date(leaf.now),
          lifetimeMs: YEAR_MS,
        })
  const made = files.texts.get(path) ?? sign().then(({ crt }) => `${crt.trimEnd()}\n`)
  files.texts.set(path, made)
  return made
}
