/** The settings of the OpenID Connect provider (OpenID Connect Core 1.0). */
import { type Role, roles } from '#contract/permissions.ts'
import { onlyHere } from './network.ts'

export type ProviderConfig = NonNullable<ReturnType<typeof readProvider>>

type Setting =
  `STEELYARD_OIDC_${'ISSUER' | 'CLIENT_ID' | 'CLIENT_SECRET' | 'NAME' | 'SCOPES' | 'ROLE_CLAIM' | 'ROLES'}`
interface Reading {
  readonly value: (name: Setting) => string | undefined
  readonly wrong: (name: Setting, why: string) => void
  readonly insecure: boolean
}

/**
 * The settings of the OpenID Connect provider. Undefined without an issuer, or if a setting is
 * wrong, which is then reported.
 */
export function readProvider({ value, wrong, insecure }: Reading) {
  const given = value('STEELYARD_OIDC_ISSUER')
  const clientId = value('STEELYARD_OIDC_CLIENT_ID')
  const dependent = [
    'STEELYARD_OIDC_CLIENT_ID',
    'STEELYARD_OIDC_CLIENT_SECRET',
    'STEELYARD_OIDC_NAME',
    'STEELYARD_OIDC_ROLES',
  ] as const
  if (given === undefined) {
    for (const name of dependent)
      if (value(name) !== undefined) wrong(name, 'needs STEELYARD_OIDC_ISSUER')
    return undefined
  }
  const issuer = URL.canParse(given) ? new URL(given) : undefined
  const isPlain = issuer?.protocol === 'http:'
  if (!issuer || !/^https?:$/.test(issuer.protocol))
    wrong('STEELYARD_OIDC_ISSUER', 'must be a URL that begins with https://')
  else if (isPlain && !onlyHere(given) && !insecure)
    wrong('STEELYARD_OIDC_ISSUER', 'must begin with https://, unless STEELYARD_INSECURE=1')
  if (clientId === undefined)
    wrong('STEELYARD_OIDC_CLIENT_ID', 'must be set together with STEELYARD_OIDC_ISSUER')
  const scopes = value('STEELYARD_OIDC_SCOPES')!
  if (!scopes.split(' ').includes('openid')) wrong('STEELYARD_OIDC_SCOPES', 'must contain openid')
  const map = readRoleMap(value('STEELYARD_OIDC_ROLES'), (why) =>
    wrong('STEELYARD_OIDC_ROLES', why),
  )
  if (!issuer || clientId === undefined) return undefined
  return {
    issuer,
    /**
     * Whether the provider may be called without TLS: on this machine, or on a network that the
     * operator trusts.
     */
    allowPlain: isPlain,
    clientId,
    clientSecret: value('STEELYARD_OIDC_CLIENT_SECRET'),
    /** For the button "Sign in with …". */
    name: value('STEELYARD_OIDC_NAME') ?? issuer.hostname,
    scopes,
    /** Name of the claim with the user's groups, or the path to it with dots. */
    roleClaim: value('STEELYARD_OIDC_ROLE_CLAIM')!,
    /**
     * Value of the claim → role; `*` is anybody. Undefined: roles are given in Steelyard, and only
     * users of Steelyard may sign in.
     */
    roles: map,
  }
}

const isRole = (text: string): text is Role => (roles as readonly string[]).includes(text)

/**
 * Reads `ops=operator,platform admins=admin,*=viewer`. Entries may be separated by semicolons
 * instead, for groups with commas such as LDAP names.
 */
function readRoleMap(
  text: string | undefined,
  wrong: (why: string) => void,
): ReadonlyMap<string, Role> | undefined {
  if (text === undefined) return undefined
  const map = new Map<string, Role>()
  for (const entry of text.split(text.includes(';') ? ';' : ',')) {
    const at = entry.lastIndexOf('=')
    const [group, role] = [entry.slice(0, Math.max(at, 0)).trim(), entry.slice(at + 1).trim()]
    if (group === '' || !isRole(role))
      wrong(
        `holds ${entry.trim().slice(0, 60)}: write GROUP=ROLE, separated by commas or semicolons, with the roles ${roles.join(', ')}`,
      )
    else map.set(group, role)
  }
  return map
}
