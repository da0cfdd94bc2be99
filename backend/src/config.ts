/**
 * Settings of the program, and the files that they name. They are read once, from a plain object,
 * and all problems are reported together.
 */
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import path from 'node:path'
import { readCidr } from '#contract/network/addresses.ts'
import { type Role as UserRole, roles as userRoles } from '#contract/permissions.ts'
import { email as emailSchema, newPassword } from '#contract/sessions.ts'
import * as z from 'zod/mini'
import { readAs, readTls } from './config-files.ts'
import { readProvider } from './config-provider.ts'
import { dataFolder } from './data-folder.ts'
import { readDatabaseUrl } from './db/url.ts'
import { type Level, levels } from './log.ts'
import { isLoopback, type Network, readNetwork } from './network.ts'
import { whyRefused } from './refusal.ts'
import { fallbackOf, type Setting, settings } from './settings.ts'
import { readTracing } from './tracing/settings.ts'

export type Config = ReturnType<typeof readConfig>

const programRoles = ['http', 'reconcile'] as const
type Role = (typeof programRoles)[number]

const isUserRole = (text: string): text is UserRole =>
  (userRoles as readonly string[]).includes(text)

type Environment = Readonly<Record<string, string | undefined>>

/** All problems with the settings: one sentence each, which begins with the setting's name. */
export class ConfigRefused extends Error {
  override readonly name = 'ConfigRefused'
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(`Steelyard can't start with these settings:\n${problems.map((p) => `  ${p}`).join('\n')}`)
    this.problems = problems
  }
}

/**
 * @param environment the process environment; empty values count as not set
 * @param folder the working directory, for relative paths
 * @throws ConfigRefused with every problem at once
 */
export function readConfig(environment: Environment, folder: string) {
  const problems: string[] = []
  const value = (name: Setting): string | undefined => environment[name]?.trim() || fallbackOf(name)
  const wrong = (name: Setting, why: string): void => void problems.push(`${name} ${why}`)
  const file = (name: Setting): string | undefined => {
    const given = value(name)
    return given === undefined ? undefined : path.resolve(folder, given)
  }

  const portText = value('PORT')!
  const port = /^\d{1,5}$/.test(portText) ? Number(portText) : -1
  if (port < 0 || port > 65_535) wrong('PORT', `must be a number from 0 to 65535, not ${portText}`)

  const url = (name: Setting): string | undefined => {
    const given = value(name)
    if (given === undefined) return undefined
    const parsed = URL.canParse(given) ? new URL(given) : undefined
    if (!parsed || !/^https?:$/.test(parsed.protocol)) {
      wrong(name, 'must be a URL that begins with http:// or https://')
      return undefined
    }
    // The URL is shown to users and put into kernel arguments, so it must not contain credentials.
    // Paths are appended to it.
    if (parsed.username !== '' || parsed.password !== '')
      wrong(name, 'must hold no user name and no password')
    if (name !== 'WAITLIST_URL' && (parsed.search !== '' || parsed.hash !== ''))
      wrong(name, 'must end before ? and #')
    // The console's addresses, cookies and passkeys belong to a whole origin.
    if (name === 'STEELYARD_PUBLIC_URL' && /[^/]/.test(parsed.pathname))
      wrong(
        name,
        "must have no path: Steelyard can't live below a path of another site. Give it a host name of its own",
      )
    return parsed.href.replace(/(?<!\/)\/+$/, '')
  }
  const items = (name: Setting): string[] =>
    (value(name) ?? '').split(',').flatMap((text) => text.trim() || [])
  const cidrs = (name: Setting): Network[] =>
    items(name).flatMap((text) => {
      const read = readNetwork(text)
      const meant = readCidr(text)
      const why =
        !meant.ok && meant.corrected !== null
          ? `has host bits set: ${meant.corrected} is the network`
          : 'is not a CIDR'
      if (!read) wrong(name, `holds ${text.slice(0, 60)}, which ${why}`)
      return read ?? []
    })
  const origins = (name: Setting): string[] =>
    items(name).flatMap((text) => {
      const parsed = /^https?:/.test(text) && URL.canParse(text) ? new URL(text) : undefined
      // Browsers send an origin without a slash at its end.
      const isOrigin = parsed !== undefined && parsed.href === `${parsed.origin}/`
      if (!isOrigin)
        wrong(
          name,
          `holds ${text.slice(0, 60)}, which is not an origin, such as https://console.example.com`,
        )
      return isOrigin ? [parsed.origin] : []
    })
  type Given = readonly [Setting, string | undefined]
  const together = ([a, first]: Given, [b, second]: Given): void => {
    if (first !== undefined && second === undefined) wrong(b, `must be set together with ${a}`)
    if (second !== undefined && first === undefined) wrong(a, `must be set together with ${b}`)
  }

  const email = value('STEELYARD_ADMIN_EMAIL')
  // The password isn't trimmed: spaces at its ends belong to it.
  const password = environment['STEELYARD_ADMIN_PASSWORD'] || undefined
  let firstUser: { readonly email: string; readonly password: string } | undefined
  if (email !== undefined && password !== undefined) {
    const readEmail = z.safeParse(emailSchema, email)
    const readPassword = z.safeParse(newPassword, password)
    if (!readEmail.success) wrong('STEELYARD_ADMIN_EMAIL', 'must be an email address')
    if (!readPassword.success) wrong('STEELYARD_ADMIN_PASSWORD', 'must have 12 to 128 characters')
    if (readEmail.success && readPassword.success)
      firstUser = { email: readEmail.data, password: readPassword.data }
  } else together(['STEELYARD_ADMIN_EMAIL', email], ['STEELYARD_ADMIN_PASSWORD', password])

  const certFile = file('STEELYARD_TLS_CERT')
  const keyFile = file('STEELYARD_TLS_KEY')
  together(['STEELYARD_TLS_CERT', certFile], ['STEELYARD_TLS_KEY', keyFile])
  const tls = certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined

  const insecureText = value('STEELYARD_INSECURE')
  if (insecureText !== undefined && insecureText !== '0' && insecureText !== '1')
    wrong('STEELYARD_INSECURE', 'must be 1 or 0')
  const insecure = insecureText === '1'
  const host = value('HOST')!
  const trustedProxies = cidrs('STEELYARD_TRUSTED_PROXIES')
  const local = host === 'localhost' || isLoopback(host)
  if (!local && !tls && trustedProxies.length === 0 && !insecure) {
    wrong(
      'HOST',
      `is ${host}, which others can reach: set STEELYARD_TLS_CERT and STEELYARD_TLS_KEY, or STEELYARD_TRUSTED_PROXIES, or STEELYARD_INSECURE=1`,
    )
  }

  const databaseText = value('DATABASE_URL')
  const databaseRead = databaseText === undefined ? undefined : readDatabaseUrl(databaseText)
  if (databaseRead?.ok === false) wrong('DATABASE_URL', databaseRead.problem)
  const databaseUrl = databaseRead?.ok === true ? databaseRead.url : undefined

  const logLevel = value('LOG_LEVEL')! as Level
  if (!levels.includes(logLevel)) wrong('LOG_LEVEL', `must be one of ${levels.join(', ')}`)

  const roles = items('STEELYARD_ROLES')
  if (
    roles.length === 0 ||
    !roles.every((r): r is Role => (programRoles as readonly string[]).includes(r))
  )
    wrong('STEELYARD_ROLES', `must be ${programRoles.join(', ')} or both, comma-separated`)

  const idleText = value('STEELYARD_SESSION_IDLE_HOURS')!
  const sessionIdleHours = /^\d{1,2}(?:\.\d{1,3})?$/.test(idleText) ? Number(idleText) : 0
  if (sessionIdleHours <= 0 || sessionIdleHours > 24)
    wrong('STEELYARD_SESSION_IDLE_HOURS', 'must be a number of hours above 0, at most 24')

  const secondFactorRoles = items('STEELYARD_SECOND_FACTOR_ROLES')
  if (!secondFactorRoles.every(isUserRole))
    wrong(
      'STEELYARD_SECOND_FACTOR_ROLES',
      `must be roles, comma-separated: ${userRoles.join(', ')}`,
    )
  const provider = readProvider({ value, wrong, insecure })
  const tracing = readTracing({ value, wrong })
  const localText = value('STEELYARD_LOCAL_SIGN_IN')!
  if (localText !== '0' && localText !== '1') wrong('STEELYARD_LOCAL_SIGN_IN', 'must be 1 or 0')
  if (localText === '0' && value('STEELYARD_OIDC_ISSUER') === undefined)
    wrong('STEELYARD_LOCAL_SIGN_IN', 'is 0, so nobody could sign in: set STEELYARD_OIDC_ISSUER')
  const trialText = value('STEELYARD_TRIAL_SECONDS')!
  const trialSeconds = /^\d{1,3}$/.test(trialText) ? Number(trialText) : 0
  if (trialSeconds < 5 || trialSeconds > 600)
    wrong('STEELYARD_TRIAL_SECONDS', 'must be a number of seconds from 5 to 600')
  const whole = (name: Setting, least: number, most: number): number => {
    const text = value(name)!
    const given = /^\d{1,12}$/.test(text) ? Number(text) : -1
    if (given < least || given > most)
      wrong(name, `must be a whole number from ${least} to ${most}`)
    return given
  }
  const historyDays = whole('STEELYARD_HISTORY_DAYS', 1, 36_500)
  const historyEntries = whole('STEELYARD_HISTORY_ENTRIES', 10_000, 1_000_000_000)
  const minutesText = value('STEELYARD_OFFER_DETECTION_MINUTES')!
  const offerDetectionMinutes = /^\d{1,4}(?:\.\d{1,3})?$/.test(minutesText)
    ? Number(minutesText)
    : 0
  if (offerDetectionMinutes <= 0 || offerDetectionMinutes > 1440)
    wrong('STEELYARD_OFFER_DETECTION_MINUTES', 'must be a number of minutes above 0, at most 1440')

  // Users copy these texts into a terminal, so a line break or an escape sequence is refused.
  const command = (
    name: Setting,
    parts: readonly string[],
    needed: readonly string[] = [],
  ): string => {
    const text = value(name)!
    const named = Array.from(text.matchAll(/\{[^{}]*\}/g), ([part]) => part)
    const foreign = named.find((part) => !parts.includes(part))
    if (!/^[\x20-\x7e]{1,300}$/.test(text))
      wrong(name, 'must be one line of printable ASCII characters, at most 300')
    else if (foreign !== undefined)
      wrong(
        name,
        `holds ${foreign}, which is not one of its placeholders (${parts.join(', ') || 'it has none'})`,
      )
    else if (needed.some((part) => !named.includes(part)))
      wrong(name, `must hold ${needed.join(' and ')}`)
    return text
  }
  const offerTool = {
    name: command('STEELYARD_OFFER_TOOL', []),
    /** Undefined: the version of this program. */
    version:
      value('STEELYARD_OFFER_TOOL_VERSION') === undefined
        ? undefined
        : command('STEELYARD_OFFER_TOOL_VERSION', []),
    updateCommand: command('STEELYARD_OFFER_UPDATE_COMMAND', ['{tool}', '{version}']),
    addressCommand: command(
      'STEELYARD_OFFER_ADDRESS_COMMAND',
      ['{tool}', '{version}', '{offerId}', '{chainAddress}'],
      ['{offerId}', '{chainAddress}'],
    ),
  }

  const simulate = value('STEELYARD_SIMULATE')
  if (
    simulate !== undefined &&
    /^\d+$/.test(simulate) &&
    (Number(simulate) < 1 || Number(simulate) > 10_000)
  )
    wrong('STEELYARD_SIMULATE', 'must be a number from 1 to 10000, or a scenario file')

  const simulatedKeysFile = file('STEELYARD_SIMULATE_KEYS')
  if (simulatedKeysFile !== undefined && simulate === undefined)
    wrong('STEELYARD_SIMULATE_KEYS', 'is for simulated servers only: set STEELYARD_SIMULATE too')

  const storeFolders = items('STEELYARD_STORE_FOLDERS')
  for (const folder of storeFolders)
    if (!path.isAbsolute(folder))
      wrong(
        'STEELYARD_STORE_FOLDERS',
        `holds ${folder.slice(0, 60)}, which is not an absolute path`,
      )

  const data = dataFolder(environment['STEELYARD_DATA']?.trim() || undefined, folder)
  const config = {
    host,
    port,
    /** Data folder; contains everything that must survive a restart. */
    dataFolder: data,
    /** URL of an external PostgreSQL; undefined for the embedded one. */
    databaseUrl,
    firstUser,
    keyFile: file('STEELYARD_KEY_FILE') ?? path.join(data, 'key'),
    /** Number of simulated servers, or a scenario file. */
    simulate,
    dialNetworks: cidrs('STEELYARD_DIAL_NETWORKS').map((n) => n.cidr),
    /** Networks that BMCs may be in. */
    bmcNetworks: cidrs('STEELYARD_BMC_NETWORKS').map((n) => n.cidr),
    /** Folders that may contain stores. */
    storeFolders: storeFolders.length > 0 ? storeFolders : [path.join(data, 'stores')],
    /** Networks in which the endpoints of S3 stores may be, in addition to public addresses. */
    storeNetworks: cidrs('STEELYARD_STORE_NETWORKS').map((n) => n.cidr),
    /** Networks in which webhooks, mail servers and Alertmanagers may be, in addition to public addresses. */
    alertNetworks: cidrs('STEELYARD_ALERT_NETWORKS').map((n) => n.cidr),
    /** File with the passphrase of Steelyard's own backups in stores. */
    backupPassphraseFile: file('STEELYARD_BACKUP_PASSPHRASE_FILE'),
    tls,
    trustedProxies,
    /** Networks that may read `/metrics`, in addition to this machine. */
    metricsNetworks: cidrs('STEELYARD_METRICS_NETWORKS'),
    /** Origins of consoles that are served elsewhere and may call the API (CORS). */
    consoleOrigins: origins('STEELYARD_CONSOLE_ORIGINS'),
    insecure,
    /** The public URL, without a trailing slash. */
    publicUrl:
      url('STEELYARD_PUBLIC_URL') ??
      `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    imageFactoryUrl: url('IMAGE_FACTORY_URL') ?? '',
    /** Kubernetes' list of releases. Simulated servers run the shipped versions. */
    kubernetesReleasesUrl: simulate === undefined ? (url('KUBERNETES_RELEASES_URL') ?? '') : '',
    /** An unused session ends after this time. */
    sessionIdleHours,
    /** Roles whose users need a second factor. */
    secondFactorRoles: secondFactorRoles as UserRole[],
    /** Whether users may sign in with a password or a passkey of this installation. */
    localSignIn: localText === '1',
    /** The OpenID Connect provider, if there is one. */
    provider,
    /** Where traces are sent, if they are on. */
    tracing,
    /** Time after which a machine undoes a change of its network that isn't confirmed. */
    trialSeconds,
    historyDays,
    historyEntries,
    /** How long Steelyard looks for the offer of a cluster. */
    offerDetectionMinutes,
    /**
     * The command-line tool that the dialog with the clusters' keys names. Its commands contain
     * placeholders in braces.
     */
    offerTool,
    waitlistUrl: url('WAITLIST_URL'),
    logLevel,
    roles: roles as Role[],
    /** Pregenerated private keys of cluster authorities; only allowed in a simulation. */
    simulatedKeysFile,
    /** Name of the side effect at which the process kills itself; set only by tests. */
    failpoint: value('FAILPOINT'),
  }
  const unknown = Object.keys(environment).filter(
    (name) => name.startsWith('STEELYARD_') && !(name in settings) && !others.has(name),
  )
  for (const name of unknown)
    problems.push(`${name} is not a setting: docs/running/settings.md lists them all`)
  if (problems.length > 0) throw new ConfigRefused(problems)
  return config
}

/**
 * Known variables that aren't settings of the program: those of the CLI and of the script in
 * docs/api-first-cluster.md.
 */
const others: ReadonlySet<string> = new Set([
  'STEELYARD_CA_FILE',
  'STEELYARD_CONTEXT',
  'STEELYARD_TOKEN',
  'STEELYARD_URL',
  'STEELYARD_EMAIL',
  'STEELYARD_PASSWORD',
])

/**
 * The settings, with the content of the files that they name.
 * @throws ConfigRefused with all problems of settings and files
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
  const named = (setting: Setting): string | undefined => {
    const given = environment[setting]?.trim()
    return given ? path.resolve(folder, given) : undefined
  }
  await readTls(
    { certFile: named('STEELYARD_TLS_CERT'), keyFile: named('STEELYARD_TLS_KEY') },
    problems,
  )
  const simulate = environment['STEELYARD_SIMULATE']?.trim()
  if (simulate && !/^\d+$/.test(simulate))
    await readAs(
      'STEELYARD_SIMULATE',
      named('STEELYARD_SIMULATE'),
      { what: 'a scenario file', parse: String },
      problems,
    )
  await readAs(
    'STEELYARD_SIMULATE_KEYS',
    named('STEELYARD_SIMULATE_KEYS'),
    { what: 'JSON', parse: (bytes) => JSON.parse(bytes.toString('utf8')) as unknown },
    problems,
  )

  const data = dataFolder(environment['STEELYARD_DATA']?.trim() || undefined, folder)
  const trouble = await troubleWithFolder(data)
  if (trouble) problems.push(`STEELYARD_DATA is ${data}, ${trouble}`)
  return problems
}

/** Why the folder can neither be written to nor created; undefined if it can. */
async function troubleWithFolder(folder: string): Promise<string | undefined> {
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => error)
  if (found instanceof Error) {
    const parent = path.dirname(folder)
    if (found.code === 'ENOENT' && parent !== folder)
      return troubleWithFolder(parent).then(
        (why) => why && `which can't be made: ${why.replace(/^which /, `${parent} `)}`,
      )
    return `which can't be reached: ${whyRefused(found)}`
  }
  if (!found.isDirectory()) return 'which is not a folder'
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: unknown) =>
      `which can't be written to: ${whyRefused(error)}. It belongs to the user with the id ${found.uid}: start Steelyard as that user, or name another folder`,
  )
}
