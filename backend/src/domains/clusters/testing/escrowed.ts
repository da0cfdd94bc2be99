import { readFileSync } from 'node:fs'
import path from 'node:path'
import { readSecrets, type SecretsBundle } from '#talos/secrets/bundle.ts'
import type { Backend } from '../../../testing/backend.ts'
import { openEscrow } from '../../../testing/escrow.ts'
import { readKeyFile } from '../../../vault/key-file.ts'

export interface Escrowed {
  readonly bundle: SecretsBundle
  readonly rotation: SecretsBundle | null
  readonly former: SecretsBundle[]
}

/** The secrets of a cluster as an operator reads them from the escrow file. */
export const escrowedOf =
  ({ config }: Pick<Backend, 'config'>) =>
  async (clusterId: string): Promise<Escrowed> => {
    const file = readFileSync(path.join(config.dataFolder, 'escrow', `${clusterId}.bin`))
    const { bytes } = openEscrow(await readKeyFile(config.keyFile), file)
    const {
      bundle,
      rotation,
      former = [],
    } = JSON.parse(bytes.toString('utf8')) as {
      bundle: string
      rotation?: { bundle: string }
      former?: { bundle: string }[]
    }
    return {
      bundle: readSecrets(bundle),
      rotation: rotation ? readSecrets(rotation.bundle) : null,
      former: former.map((one) => readSecrets(one.bundle)),
    }
  }
