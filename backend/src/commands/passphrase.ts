/**
 * The passphrase of a backup: from a file that only its owner can read, or typed on the terminal.
 */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { demandLength, passphraseIn } from '../backup/passphrase-file.ts'
import { Refusal } from '../refusal.ts'
import type { Surroundings } from './surroundings.ts'

/**
 * The arguments of `backup` and `restore`: FILE and `--passphrase-file FILE`, in any order.
 * Undefined if they are invalid, after printing the usage.
 */
export function readArguments(
  command: string,
  args: readonly string[],
  { cwd, err }: Surroundings,
): { file: string; passphraseFile: string | undefined } | undefined {
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      options: { 'passphrase-file': { type: 'string' } },
      allowPositionals: true,
    })
    const [file, ...more] = positionals
    const passphraseFile = values['passphrase-file']
    if (file && more.length === 0 && passphraseFile !== '')
      return { file: path.resolve(cwd, file), passphraseFile }
  } catch {
    // An unknown option, or an option without its value.
  }
  err(`Usage: steelyard ${command} FILE [--passphrase-file FILE]\n`)
  return undefined
}

/**
 * @throws Refusal if no passphrase was given, or a new one is too short or was repeated differently
 */
export async function readPassphrase(
  file: string | undefined,
  isNew: boolean,
  { askSecret, interactive }: Surroundings,
): Promise<string> {
  if (file === undefined && !interactive)
    throw new Refusal('There is no terminal to ask for the passphrase: give --passphrase-file FILE')
  const passphrase =
    file === undefined ? await askSecret('Passphrase of the backup: ') : await passphraseIn(file)
  if (isNew) demandLength(passphrase)
  if (isNew && file === undefined && (await askSecret('Repeat the passphrase: ')) !== passphrase)
    throw new Refusal('The two passphrases differ')
  return passphrase
}
