import { VERSIONS } from '../factory/catalogue.ts'
import { imageTag } from './versions.ts'

/** The Kubernetes minors with images in the simulated registries. */
const KUBERNETES_MINORS = { first: 30, last: 37 }
/** No minor of Kubernetes has had more patch releases than this. */
const MOST_PATCHES = 20

const KUBERNETES = /\/(?:kubelet|kube-apiserver|kube-controller-manager|kube-scheduler|kube-proxy)$/
const INSTALLER = /\/(?:metal-|nocloud-)?installer(?:-base)?(?:-secureboot)?(?:\/[0-9a-f]{64})?$/

/** Whether a reference is that of a Talos installer. */
export const isInstaller = (reference: string): boolean => INSTALLER.test(repositoryOf(reference))

const repositoryOf = (reference: string): string => {
  const tag = imageTag(reference)
  return tag === null ? reference : reference.slice(0, reference.lastIndexOf(`:${tag}`))
}

/**
 * Whether a registry has an image. The registry's host isn't considered, because mirrors may have
 * any name.
 */
export const imageExists = (reference: string): boolean => {
  const tag = imageTag(reference)
  const repository = repositoryOf(reference)
  if (KUBERNETES.test(repository)) return isKubernetesVersion(tag ?? '')
  if (INSTALLER.test(repository)) return tag !== null && VERSIONS.includes(tag)
  return true
}

const isKubernetesVersion = (tag: string): boolean => {
  const [, minor = '', patch = ''] = /^v1\.(\d+)\.(\d+)(?:-[a-z]+)?$/.exec(tag) ?? []
  return (
    minor !== '' &&
    Number(minor) >= KUBERNETES_MINORS.first &&
    Number(minor) <= KUBERNETES_MINORS.last &&
    Number(patch) <= MOST_PATCHES
  )
}

/**
 * The error of containerd's client for a missing image, as Talos passes it on (Talos:
 * internal/pkg/containers/image/image.go).
 */
export const notFoundMessage = (reference: string): string =>
  `failed to pull image "${reference}": failed to resolve reference "${reference}": ${reference}: not found`
