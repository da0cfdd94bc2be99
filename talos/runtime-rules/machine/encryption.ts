/** Keys of volumes that only a machine with a TPM can make. */
import type { InventoryRule } from '../known.ts'
import { keysByVolume } from '../system/encryption.ts'

export const tpmRules: readonly InventoryRule[] = [
  {
    id: 'tpm-key',
    source:
      'Talos internal/pkg/encryption/keys/tpm2.go, NewKey: "failed to enroll the TPM2 key, as SecureBoot is disabled", and internal/pkg/encryption/encryption.go, tryHandlers: without another key that works the volume is never made',
    level: 'warn',
    *find(config, { server, secureBoot, isMember }) {
      // A volume of a member is judged by what it has (`encryption-of-filled`).
      if (isMember === true || secureBoot === undefined || secureBoot === true) return
      for (const { document, volume, keys } of keysByVolume(config)) {
        const tpm = keys.filter(
          (path) => document.nearest([...path, 'tpm']) !== document.nearest(path),
        )
        if (tpm.length === 0 || tpm.length < keys.length) continue
        const path = [...tpm[0]!, 'tpm']
        const checks = document.flag(...path, 'checkSecurebootStatusOnEnroll')
        const so = `${volume === 'STATE' || volume === 'EPHEMERAL' ? `${volume} is never made and the installation does not end` : `${volume} is never made`}. A second key in another slot, such as nodeID, helps`
        yield {
          document,
          path,
          sentence:
            checks && secureBoot === false
              ? `${server} was booted without SecureBoot, and checkSecurebootStatusOnEnroll demands it: if it is installed that way, ${so}`
              : `Whether ${server} has a TPM 2.0${checks ? ' and SecureBoot' : ''} is not known; without ${checks ? 'them' : 'it'}, ${so}`,
        }
      }
    },
  },
]
