import { fields, type Fields } from './shape.ts'

/** The fields of every document that configures a link. */
export const LINK =
  'up! mtu# addresses[]{address routePriority#} routes[]{destination gateway source metric# mtu# table} multicast!'

export interface DocumentKind {
  fields: Fields
  /** Documents of this kind need a name. */
  named: boolean
  /** First Talos minor with this kind. */
  since: number
}

/** Kinds with their fields as text. */
export const documentKinds = (
  since: number,
  { named, single }: Readonly<Record<'named' | 'single', Readonly<Record<string, string>>>>,
): ReadonlyMap<string, DocumentKind> =>
  new Map<string, DocumentKind>([
    ...Object.entries(named).map(([kind, text]): [string, DocumentKind] => [
      kind,
      { fields: fields(`apiVersion kind name ${text}`), named: true, since },
    ]),
    ...Object.entries(single).map(([kind, text]): [string, DocumentKind] => [
      kind,
      { fields: fields(`apiVersion kind ${text}`), named: false, since },
    ]),
  ])
