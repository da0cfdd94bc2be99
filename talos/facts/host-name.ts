/** Who names a machine: its configuration, or the network and the machine itself. */
import { textAt } from '../config/tree.ts'
import { rootsOf } from '../config/whole.ts'
import { rootOf } from './home.ts'

/**
 * Whether the configuration names the machine. Otherwise the name is that of DHCP, of the platform
 * or of the kernel's arguments, or else derived from the machine (Talos
 * `controllers/network/hostname_config.go`). @throws ConfigError for invalid YAML
 */
export function namesHost(config: string): boolean {
  const roots = rootsOf(config)
  const names = [
    textAt(rootOf(roots, ''), 'machine', 'network', 'hostname'),
    textAt(rootOf(roots, 'HostnameConfig'), 'hostname'),
  ]
  return names.some((name) => name !== undefined && name !== '')
}
