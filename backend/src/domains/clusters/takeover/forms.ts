/**
 * In which form servers that join a taken-over cluster get their configuration: the form of the
 * machines that are there. Pure.
 */
import type { ConfigForm } from '#talos/facts/form.ts'
import { isSince, lastInMain, type Minor, minorText, since } from '#talos/versions.ts'

interface Machine {
  readonly form: ConfigForm
}

interface Taken {
  readonly contract: Minor
  /** Whether joining servers get their configuration moved to documents. */
  readonly is_moved: boolean
}

/**
 * The contract of the cluster. A cluster of which some machines are in the main document is half
 * way: servers that join get that form, and are moved with the others.
 * @param talosVersion the lowest that the machines run
 */
export function takenForm(machines: readonly Machine[], talosVersion: string): Taken {
  const inDocuments = machines.every(({ form }) => form.inDocuments)
  if (inDocuments && !machines.some(({ form }) => form.encryption === 'moved'))
    return { contract: since.kubernetesDocuments, is_moved: false }
  return {
    contract: isSince(talosVersion, lastInMain) ? lastInMain : minorText(talosVersion),
    is_moved: inDocuments,
  }
}

/** Why Steelyard can't make other servers like this machine, or null. */
export const formProblem = ({ form }: Machine): string | null =>
  form.encryption === 'other'
    ? 'Its KubeEtcdEncryptionConfig has other providers or keys than one secretbox key and one AES-CBC key, as Talos writes them: a control plane that joins could not read Secrets. Encrypt all Secrets again with one secretbox key called key2, and remove the other providers'
    : null
