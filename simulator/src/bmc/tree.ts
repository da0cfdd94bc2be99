import type { Session } from './sessions.ts'
import type { Account } from './kept.ts'
import type { Json } from './refusal.ts'

/** A request that has passed authentication. */
export interface Call {
  readonly body: Json
  /** Null only where nobody needs to be signed in. */
  readonly account: Account | null
  readonly session: Session | null
  /** Address of the client. */
  readonly from: string
}

export interface Answer {
  readonly status: number
  readonly body?: Json
  readonly headers?: Record<string, string>
}

/** Privileges of Redfish (DSP0266, "Privilege model"). */
export type Privilege =
  | 'Login'
  | 'ConfigureComponents'
  | 'ConfigureManager'
  | 'ConfigureUsers'
  | 'ConfigureSelf'

type Act = (call: Call) => Answer | Promise<Answer>

/** What is at a path. The methods that exist make the header Allow. */
export interface Resource {
  /** The document. Absent at the target of an action. */
  readonly read?: () => Json
  /** Status of a read. Default: 200. */
  readonly status?: () => number
  readonly patch?: Act
  readonly post?: Act
  readonly remove?: Act
  /** Privileges of which a change needs one. Default: ConfigureManager. */
  readonly needs?: (call: Call) => readonly Privilege[]
}

/** All resources of a service, by path without a slash at the end. */
export type Tree = Map<string, Resource>

export const ROOT = '/redfish/v1'

export const link = (path: string): { '@odata.id': string } => {
  return { '@odata.id': path }
}

export const HEALTHY = { State: 'Enabled', Health: 'OK' } as const

/** A document with its id and type; `type` as `Chassis.v1_28_0.Chassis`. */
export const document = (
  path: string,
  type: string,
  id: string,
  name: string,
  more: Json,
): Json => {
  return { '@odata.id': path, '@odata.type': `#${type}`, Id: id, Name: name, ...more }
}

/** Adds a collection, whose members are the paths given. */
export const addCollection = (
  tree: Tree,
  path: string,
  kind: string,
  members: () => readonly string[],
  more: Omit<Resource, 'read'> & { readonly fields?: Json } = {},
): void => {
  const { fields, ...acts } = more
  tree.set(path, {
    read: () => {
      const paths = members()
      return {
        '@odata.id': path,
        '@odata.type': `#${kind}.${kind}`,
        Name: kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' '),
        'Members@odata.count': paths.length,
        Members: paths.map(link),
        ...fields,
      }
    },
    ...acts,
  })
}

export const NO_CONTENT: Answer = { status: 204 }
