/** The passphrase of a backup: from a file that only its owner reads, or typed on the terminal. */
import { readFile, stat } from 'node:fs/promises'
import { Refusal, whyRefused } from '../refusal.ts'
import type { Surroundings } from './surroundings.ts'

/** It must resist offline guessing for as long as the file exists. */
const shortest = 12

/** The arguments of `backup` and `restore`. */
export interface BackupArguments {
  readonly file: string
  readonly passphraseFile: string | undefined
}

/** FILE and `--passphrase-file FILE`, in any order; undefined where it is anything else. */
export function readArguments(args: readonly string[]): BackupArguments | undefined {
  const files: string[] = []
  let passphraseFile: string | undefined
  for (let at = 0; at < args.length; at++) {
    if (args[at] === '--passphrase-file') passphraseFile = args[++at] ?? ''
    else files.push(args[at]!)
  }
  const [file] = files
  return files.length !== 1 || file === '' || file!.startsWith('-') || passphraseFile === '' ? undefined : { file: file!, passphraseFile }
}

async function fromFile(file: string): Promise<string> {
  const refused = (error: unknown) => new Refusal(`The passphrase can't be read from ${file}: ${whyRefused(error)}`, { cause: error })
  try {
    if (((await stat(file)).mode & 0o077) !== 0) throw new Refusal(`${file} can be read by others than its owner: chmod 0600 ${file}`)
    const text = await readFile(file, 'utf8')
    return text.split('\n', 1)[0]!.replace(/\r$/, '')
  } catch (error) {
    throw error instanceof Refusal ? error : refused(error)
  }
}

/** @throws Refusal where there is none, or a new one is too short or typed differently the second time */
export async function readPassphrase(file: string | undefined, isNew: boolean, { askSecret, interactive }: Surroundings): Promise<string> {
  if (file === undefined && !interactive) throw new Refusal('There is no terminal to ask for the passphrase: give --passphrase-file FILE')
  const passphrase = file === undefined ? await askSecret('Passphrase of the backup: ') : await fromFile(file)
  if (isNew && passphrase.length < shortest) throw new Refusal(`The passphrase has ${passphrase.length} characters, and needs ${shortest} or more`)
  if (isNew && file === undefined && (await askSecret('The same again: ')) !== passphrase) throw new Refusal('The two passphrases differ')
  return passphrase
}
