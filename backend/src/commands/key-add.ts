/**
 * `key add`: adds a new current key to the key file. The next start encrypts all data keys with the
 * new key. Snapshots and escrow files keep the key with which they were written.
 */
import { addKey, readKeyFile } from '../vault/key-file.ts'
import { withSettings } from './command.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

export const keyAdd = (around: Surroundings): Promise<number> =>
  withSettings(around, async ({ keyFile }) => {
    await readKeyFile(keyFile)
    const { current } = await addKey(keyFile)
    around.out(
      `${keyFile} now ends with the key ${current.id}. Start Steelyard again. Keep the older lines, with which older snapshots and escrow files are read, and keep a copy of the file where the backups aren't\n`,
    )
    return exitCodes.ok
  })
