/** Checks files named by settings before the start, so that an unreadable certificate is reported together with other problems. */
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { constants } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { type Config, ConfigRefused, readConfig } from './config.ts'
import { dataFolder } from './data-folder.ts'
import { whyRefused } from './refusal.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The settings, with what they name on the disk.
 * @throws ConfigRefused with every problem of both at once
 */
export async function checkedConfig(environment: Environment, folder: string): Promise<Config> {
  const problems: string[] = []
  let config: Config | undefined
  try {
    config = readConfig(environment, folder)
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error
    problems.push(...error.problems)
  }
  problems.push(...(await problemsOfFiles(environment, folder)))
  if (!config || problems.length > 0) throw new ConfigRefused(problems)
  return config
}

async function problemsOfFiles(environment: Environment, folder: string): Promise<string[]> {
  const problems: string[] = []
  const named = (setting: string): string | undefined => {
    const given = environment[setting]?.trim()
    return given ? path.resolve(folder, given) : undefined
  }
  /** The file's text and its parsed value; undefined after reporting a problem. */
  async function readAs<T>(setting: string, what: string, parse: (text: Buffer) => T): Promise<T | undefined> {
    const file = named(setting)
    if (file === undefined) return undefined
    let text: Buffer
    try {
      text = await readFile(file)
    } catch (error) {
      problems.push(`${setting} names ${file}, which can't be read: ${whyRefused(error)}`)
      return undefined
    }
    try {
      return parse(text)
    } catch {
      problems.push(`${setting} names ${file}, which is not ${what}`)
      return undefined
    }
  }

  const certificate = await readAs('STEELYARD_TLS_CERT', 'a certificate in PEM', (text) => new X509Certificate(text))
  const key = await readAs('STEELYARD_TLS_KEY', 'a private key in PEM without a passphrase', (text) => createPrivateKey(text))
  if (certificate && key && !certificate.checkPrivateKey(key)) problems.push('STEELYARD_TLS_KEY is not the key of the certificate in STEELYARD_TLS_CERT')

  const keyFile = key && named('STEELYARD_TLS_KEY')
  if (keyFile && ((await stat(keyFile)).mode & 0o007) !== 0)
    problems.push(`STEELYARD_TLS_KEY names ${keyFile}, which everybody on this machine may use: chmod o= ${keyFile}`)

  const simulate = environment['STEELYARD_SIMULATE']?.trim()
  if (simulate && !/^\d+$/.test(simulate)) await readAs('STEELYARD_SIMULATE', 'a scenario file', String)
  await readAs('STEELYARD_SIMULATE_KEYS', 'JSON', (text) => JSON.parse(text.toString('utf8')) as unknown)

  const data = dataFolder(environment['STEELYARD_DATA']?.trim() || undefined, folder)
  const trouble = await troubleWithFolder(data)
  if (trouble) problems.push(`STEELYARD_DATA is ${data}, ${trouble}`)
  return problems
}

/** Whether a folder can be written to, or made; why not. */
async function troubleWithFolder(folder: string): Promise<string | undefined> {
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => error)
  if (found instanceof Error) {
    const parent = path.dirname(folder)
    if (found.code === 'ENOENT' && parent !== folder)
      return troubleWithFolder(parent).then((why) => why && `which can't be made: ${why.replace(/^which /, `${parent} `)}`)
    return `which can't be reached: ${whyRefused(found)}`
  }
  if (!found.isDirectory()) return 'which is not a folder'
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: unknown) => `which can't be written to: ${whyRefused(error)}`,
  )
}
