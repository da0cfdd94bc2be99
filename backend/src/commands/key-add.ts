/**
 * `key add`: adds a new current key to the key file. The next start encrypts all data keys with the
 * new key. After that, older keys may be removed.
 */
import { addKey, readKeyFile } from '../vault/key-file.ts'
import { withSettings } from './command.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

export const keyAdd = (around: Surroundings): Promise<number> =>
  withSettings(around, async ({ keyFile }) => {
    await readKeyFile(keyFile)
    const { current } = await addKey(keyFile)
    around.out(
      `${keyFile} now ends with the key ${current.id}. Start Steelyard again, then remove the older lines, and keep a copy where the backups aren't\n`,
    )
    return exitCodes.ok
  })
