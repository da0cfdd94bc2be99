/** The passphrase of a backup in a file that only its owner can read. */
import { isUtf8 } from 'node:buffer'
import { readFile, stat } from 'node:fs/promises'
import { closing, isOpenToOthers } from '../private-file.ts'
import { Refusal, whyRefused } from '../refusal.ts'
import { BackupRefused } from './sealed.ts'

/** Minimum length. The passphrase must resist offline guessing for as long as the backup exists. */
const shortest = 12

/** @throws Refusal if the passphrase is too short */
export function demandLength(passphrase: string): void {
  if (passphrase.length < shortest)
    throw new BackupRefused(
      `The passphrase has ${passphrase.length} characters, and needs ${shortest} or more`,
    )
}

/** The first line of the file. @throws Refusal */
export async function passphraseIn(file: string): Promise<string> {
  try {
    const found = await stat(file)
    if (isOpenToOthers(found))
      throw new BackupRefused(
        `${file} can be read by others than its owner: ${closing(file, found)}`,
      )
    const bytes = await readFile(file)
    // Another encoding would lose characters, and then other passphrases would fit as well.
    if (!isUtf8(bytes))
      throw new BackupRefused(`${file} is not UTF-8 text: convert it (iconv -f latin2 -t utf-8)`)
    return bytes.toString().split('\n', 1)[0]!.replace(/\r$/, '')
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new BackupRefused(`The passphrase can't be read from ${file}: ${whyRefused(error)}`, {
      cause: error,
    })
  }
}
