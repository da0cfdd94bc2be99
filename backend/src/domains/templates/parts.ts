/** What the use cases of templates need, and the form of a template. */
import * as z from 'zod/mini'
import type { SnapshotSchedule } from '#contract/clusters/changes/snapshots.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { ServerExtensions } from '#contract/clusters/extensions.ts'
import { ListedTemplate, NewTemplate, type Template } from '#contract/templates/templates.ts'
import type { Platform } from '../../platform.ts'
import type { Clusters } from '../clusters/api.ts'
import type { Datacenters } from '../datacenters/api.ts'
import type { Installers, OfferedVersions } from '../images/api.ts'
import type { Patches } from '../patches/api.ts'
import type { Servers } from '../servers/api.ts'
import type { Subnets } from '../subnets/api.ts'
import type { ListedTemplateRow, TemplateRow } from './store.ts'

export interface TemplateParts extends Platform {
  readonly datacenters: Pick<Datacenters, 'find'>
  readonly servers: Pick<Servers, 'inDatacenter' | 'get'>
  readonly clusters: Pick<Clusters, 'idOf'>
  readonly subnets: Pick<Subnets, 'free' | 'byCluster'>
  readonly patches: Pick<Patches, 'check' | 'holdsSecret' | 'ofServer'>
  /** The schedule of a cluster's snapshots; null if it has none. */
  readonly scheduleOf: (clusterId: string) => Promise<SnapshotSchedule | null>
  /** The id of the store with this name; null if there is none. */
  readonly storeNamed: (name: string) => Promise<string | null>
  readonly versions: OfferedVersions
  readonly installers: Pick<Installers, 'demandBuildable' | 'schematic'>
  /** The cluster as the API shows it. @throws Problem not_found */
  readonly shown: (id: string) => Promise<Cluster>
  /**
   * What the images of its servers have, read from the machines. @throws Problem cluster_not_ready
   */
  readonly extensionsOf: (id: string, signal: AbortSignal) => Promise<ServerExtensions[]>
}

/**
 * A stored template, with the defaults of fields that were added after it was saved.
 * @throws ZodError if a later version has other rules for it
 */
export const definition = (row: Pick<TemplateRow, 'name' | 'definition'>): NewTemplate =>
  z.parse(NewTemplate, { ...row.definition, name: row.name })

const writtenBy = (row: Omit<TemplateRow, 'name' | 'definition'>) => ({
  revision: row.revision,
  created_by: row.created_by_name,
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
export const present = (row: TemplateRow): Template => ({
  id: row.id,
  ...definition(row),
  ...writtenBy(row),
})
/** @throws ZodError if a later version has other rules for it */
export const presentListed = (row: ListedTemplateRow): ListedTemplate =>
  z.parse(ListedTemplate, {
    ...row.listed,
    id: row.id,
    name: row.name,
    ...writtenBy(row),
  })
