/**
 * Permissions of signed-in users. A token has scopes. The backend enforces them; the console uses
 * the same list to disable controls with a reason.
 */
import * as z from 'zod/mini'
import { no, type Verdict, yes } from './rule.ts'

export const scopes = [
  'servers:read',
  'servers:write',
  'power:write',
  'clusters:read',
  'clusters:write',
  'network:read',
  'network:write',
  'datacenters:read',
  'datacenters:write',
  'marketplace:read',
  'marketplace:write',
  'secrets:read',
  'bmc:manage',
  'alerts:manage',
  'users:manage',
] as const
export const Scope = z.enum(scopes)
export type Scope = (typeof scopes)[number]

export const roles = ['viewer', 'operator', 'admin'] as const
export const Role = z.enum(roles)
export type Role = (typeof roles)[number]

/**
 * Viewers read. Operators also write, switch servers, download credentials and manage alerts: all but
 * bmc:manage and users:manage. Admins do everything.
 */
export const scopesOf: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: scopes.filter((s) => s.endsWith(':read') && s !== 'secrets:read'),
  operator: scopes.filter((s) => s !== 'bmc:manage' && s !== 'users:manage'),
  admin: scopes,
}

/** Whether a user with the scopes `held` may make a call that needs `needed`. */
export const permits = (held: readonly string[], needed: Scope | 'signed_in' | null): Verdict =>
  needed === null || needed === 'signed_in' || held.includes(needed)
    ? yes
    : no(`Your role does not include ${needed}`)
