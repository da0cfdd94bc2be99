/**
 * Stores: places for snapshots of clusters and for Steelyard's own backups. A store is a folder on
 * Steelyard's machine or a bucket of an S3-compatible service.
 */
import * as z from 'zod/mini'
import { codeText, nameText, sentenceText, urlText, wordText } from '../bounds/fields.ts'
import { list } from '../list.ts'
import { nameOf } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import { operation, type Words } from '../operation.ts'
import { changed, time } from '../page.ts'
import type { Limit } from '../rule.ts'

const storeKinds = ['folder', 's3'] as const

export const Store = z.object({
  id: z.uuid(),
  name: codeText,
  kind: z.enum(storeKinds),
  /** Absolute path; null for S3. */
  folder: z.nullable(urlText),
  /** URL of the S3 service. This and the other S3 fields are null for a folder. */
  endpoint: z.nullable(urlText),
  region: z.nullable(wordText),
  bucket: z.nullable(codeText),
  /** Prefix of the name of every object. */
  prefix: nameText,
  path_style: z.boolean(),
  access_key_id: z.nullable(nameText),
  /** When a file was last written to the store and read back. */
  verified_at: z.nullable(time),
  /** Why the last use of the store failed; null if it succeeded. */
  problem: z.nullable(sentenceText),
  problem_since: z.nullable(time),
  ...changed,
})
export type Store = z.infer<typeof Store>

/** Text without spaces and control characters. */
const word = (what: string, most: number) =>
  z
    .string()
    .check(
      z.trim(),
      z.minLength(1, `Enter the ${what}`),
      z.maxLength(most, `The ${what} has at most ${most} characters`),
      z.regex(/^[\x21-\x7e]+$/, `The ${what} can't contain spaces`),
    )

/**
 * S3's rules for bucket names, without dots: the wildcard certificates of virtual-hosted buckets
 * don't cover names with dots.
 */
const bucket = z
  .string()
  .check(
    z.trim(),
    z.regex(
      /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/,
      'A bucket name has 3 to 63 lowercase letters, digits and hyphens',
    ),
  )
const endpoint = z.string().check(
  z.trim(),
  z.maxLength(300),
  z.refine(
    (text) =>
      URL.canParse(text) &&
      /^https?:$/.test(new URL(text).protocol) &&
      /^\/?$/.test(new URL(text).pathname) &&
      !/[?#@]/.test(text),
    {
      error:
        'The endpoint is a URL without path, user name and query, such as https://s3.eu-central-1.amazonaws.com',
    },
  ),
  z.overwrite((text) => (URL.canParse(text) ? new URL(text).origin : text)),
)
const prefix = z
  .string()
  .check(
    z.trim(),
    z.maxLength(200, 'The prefix has at most 200 characters'),
    z.regex(
      /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*(?:[A-Za-z0-9_-][A-Za-z0-9._-]*)?$/,
      'The prefix can contain letters, digits, dots, hyphens and underscores, and slashes between folders, such as steelyard/prod',
    ),
  )
const secret = z
  .string()
  .check(
    z.minLength(1, 'Enter the secret access key'),
    z.maxLength(500, 'The secret access key has at most 500 characters'),
  )

const s3Fields = ['endpoint', 'region', 'bucket', 'access_key_id', 'secret_access_key'] as const

export const NewStore = z
  .strictObject({
    name: nameOf('Store'),
    kind: z.enum(storeKinds),
    /** Absolute path of a folder inside `STEELYARD_STORE_FOLDERS`. */
    folder: z.optional(
      z
        .string()
        .check(
          z.trim(),
          z.maxLength(500),
          z.regex(/^\/[^\0]*$/, 'The folder is an absolute path, such as /srv/steelyard'),
        ),
    ),
    endpoint: z.optional(endpoint),
    region: z.optional(word('region', 60)),
    bucket: z.optional(bucket),
    prefix: z._default(prefix, ''),
    /** True: `https://endpoint/bucket/…`. False: `https://bucket.endpoint/…`. */
    path_style: z._default(z.boolean(), true),
    access_key_id: z.optional(word('access key id', 200)),
    /** Never returned by any call. */
    secret_access_key: z.optional(secret),
  })
  .check((context) => {
    const { value } = context
    const wrong = (field: string, message: string) =>
      void context.issues.push({ code: 'custom', path: [field], message, input: value })
    if (value.kind === 'folder') {
      if (value.folder === undefined) wrong('folder', 'Enter the folder')
      for (const field of s3Fields)
        if (value[field] !== undefined)
          wrong(field, 'A store of kind folder does not have this field')
      return
    }
    if (value.folder !== undefined) wrong('folder', 'Only a store of kind folder has a folder')
    for (const field of s3Fields)
      if (value[field] === undefined) wrong(field, 'Required for a store of kind s3')
  })
export type NewStore = z.infer<typeof NewStore>

/**
 * A change of the place moves no files: they must be at the new place already. A folder can't be
 * changed.
 */
export const StoreChange = z.strictObject({
  name: z.optional(nameOf('Store')),
  endpoint: z.optional(endpoint),
  region: z.optional(word('region', 60)),
  bucket: z.optional(bucket),
  prefix: z.optional(prefix),
  path_style: z.optional(z.boolean()),
  access_key_id: z.optional(word('access key id', 200)),
  /** Never returned by any call. Without it, the stored one is kept. */
  secret_access_key: z.optional(secret),
})
export type StoreChange = z.infer<typeof StoreChange>

const stores = list<Store>()({
  nouns: ['store', 'stores'],
  columns: {
    name: { label: 'Name', sort: true, value: (s: Store) => s.name },
    kind: { label: 'Kind', value: (s: Store) => (s.kind === 's3' ? 'S3' : 'Folder') },
    place: { label: 'Place', kind: 'mono', value: (s: Store) => storePlace(s) },
    verified_at: {
      label: 'Verified',
      help: 'When a file was last written and read back',
      kind: 'time',
      sort: true,
      value: (s: Store) => s.verified_at,
    },
    problem: { label: 'Status', value: (s: Store) => s.problem },
    created_at: {
      label: 'Created',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (s: Store) => s.created_at,
    },
  },
  filters: {
    kind: {
      label: 'Kind',
      help: 'Only stores of this kind',
      choices: { folder: 'Folder', s3: 'S3' },
    },
  },
  order: 'name',
})

/** `/srv/steelyard`, or `https://s3.example.com/bucket/prefix`. */
export const storePlace = ({
  folder,
  endpoint: url,
  bucket: name,
  prefix: start,
}: Pick<Store, 'folder' | 'endpoint' | 'bucket' | 'prefix'>): string =>
  folder ?? `${url}/${name}${start === '' ? '' : `/${start}`}`

/**
 * Users who can read clusters can read stores. Only admins can change stores, because Steelyard
 * connects to the endpoint and writes to the folder.
 */
const calls = callsOf(
  'store',
  '/v1/stores',
  { read: 'clusters:read', write: 'users:manage' },
  Store,
)
export const storeLimit: Limit = {
  most: 100,
  nouns: 'stores',
  remedy: 'remove one that is not used any more',
}

export const storeList = calls.list(
  stores,
  'Stores for snapshots and backups. The secret access key is never returned.',
)
export const storeGet = calls.get('One store.')
export const storeCreate = calls.create({
  summary:
    'Add a store. A small file is written, read back and removed first; a store that fails this test is not added.',
  body: NewStore,
  errors: ['name_taken', 'store_refused', 'dial_refused'],
})
export const storeUpdate = calls.update({
  summary:
    'Rename a store, or change the access key or the place of a bucket. It is tested first. If the store has files, the newest must be at the new place already.',
  body: StoreChange,
  errors: ['stale', 'name_taken', 'store_refused', 'dial_refused', 'store_in_use'],
})
export const storeRemove = calls.remove(
  'Remove a store that no schedule and no snapshot uses. Files in it stay.',
  ['stale', 'store_in_use'],
)
export const storeTest = operation('storeTest', 'POST /v1/stores/{id}/test', 'users:manage', {
  summary: 'Write a small file to the store, read it back and remove it.',
  kept: true,
  answer: z.object({
    ok: z.boolean(),
    /** What failed, and what to do. */
    problem: z.nullable(z.string()),
    took_ms: z.int(),
  }),
})

export const storeFolderList = operation(
  'storeFolderList',
  'GET /v1/store-folders',
  'users:manage',
  {
    summary:
      'The folders of the machine that Steelyard runs on inside which a store of kind `folder` may be, from `STEELYARD_STORE_FOLDERS`.',
    answer: z.object({ folders: z.array(z.string()) }),
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    NewStore: [NewStore, 'A store to add: a folder, or a bucket of an S3-compatible service.'],
    Store: [Store, 'A place for snapshots of clusters and for backups of Steelyard.'],
  },
  fields: {
    access_key_id: 'Id of the access key of the S3 service.',
    bucket: 'Name of the bucket, which must exist.',
    'storeCreate.endpoint':
      'URL of the S3 service, without path, such as https://s3.eu-central-1.amazonaws.com.',
    folder:
      'Absolute path of a folder inside `STEELYARD_STORE_FOLDERS`, on the machine that Steelyard runs on.',
    path_style: 'True: the bucket is in the path of URLs. False: it is in the host name.',
    prefix: 'Prefix of the name of every object, such as `steelyard/prod`.',
    region: 'Region of the bucket.',
    secret_access_key: 'Secret access key. Stored encrypted and never returned.',
    'storeCreate.kind':
      '`folder`: a folder on the machine that Steelyard runs on. `s3`: a bucket of an S3-compatible service.',
    'storeList.kind': 'Only stores of this kind.',
  },
  bodies: {
    storeCreate: {
      name: 'offsite',
      kind: 's3',
      endpoint: 'https://s3.example.com',
      region: 'eu-central-1',
      bucket: 'steelyard',
      access_key_id: 'AKIA0000000000000000',
      secret_access_key: 'the secret access key',
    },
    storeUpdate: { name: 'offsite-2' },
  },
}
