/**
 * Reads the configuration of a machine that another tool has made. Pure: it runs on a worker
 * thread, because the machine wrote the text.
 */
import { factsOf } from '#talos/facts/facts.ts'
import { formOf } from '#talos/facts/form.ts'
import { namesHost } from '#talos/facts/host-name.ts'
import { imagesOf } from '#talos/facts/images.ts'
import { encryptionProblem } from '#talos/facts/unusual-encryption.ts'

/**
 * What a takeover needs from a configuration. Texts are empty if they aren't set. @throws
 * ConfigError for invalid YAML
 */
export function toldBy(config: string) {
  const facts = factsOf(config)
  return {
    role: facts.machineType === 'worker' ? ('worker' as const) : ('control_plane' as const),
    images: imagesOf(config),
    /** Why a server that joins couldn't read all objects in etcd. */
    encryptionProblem: encryptionProblem(config),
    form: formOf(config),
    /** Whether the machine has its host name from here. */
    namesHost: namesHost(config),
    clusterName: facts.clusterName ?? '',
    endpoint: facts.endpoint ?? '',
    podCidr: facts.podSubnets[0] ?? '',
    serviceCidr: facts.serviceSubnets[0] ?? '',
    /** Virtual addresses of the control planes. */
    virtualAddresses: facts.virtualAddresses,
  }
}
