/** `key add`: adds a new current key to the key file. The next start rewraps all secrets; then older lines may be removed. */
import { ConfigRefused, readConfig } from '../config.ts'
import { addKey, KeyFileRefused, readKeyFile } from '../vault/key-file.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

export async function keyAdd(around: Surroundings): Promise<number> {
  try {
    const { keyFile } = readConfig(around.environment, around.cwd)
    await readKeyFile(keyFile)
    const { current } = await addKey(keyFile)
    around.out(`${keyFile} now ends with the key ${current.id}. Start Steelyard again, then remove the older lines, and keep a copy where the backups aren't\n`)
    return exitCodes.ok
  } catch (error) {
    if (!(error instanceof ConfigRefused) && !(error instanceof KeyFileRefused)) throw error
    around.err(`${error.message}\n`)
    return error instanceof ConfigRefused ? exitCodes.usage : exitCodes.failure
  }
}
